"""How many texts are long enough for SentiFormer's window to leave anything out.

A text of at most window // 2 + 1 tokens is seen whole by each of its tokens: there the sparse model computes what the full one does.
`python -m sentviz.papers.sentiformer.reach` measures anew by the tokenizers of the runs here; what ships is `measured/reach.csv`.
"""

from __future__ import annotations

from pathlib import Path

from sentviz.papers.studies.stored import Stored
from sentviz.runs.store import Run

MEASURED = Stored(
    Path(__file__).parent / "measured" / "reach.csv",
    ("dataset", "split", "n", "median", "longest", "within", "beyond", "run"),
    "The reach of the window is",
    "python -m sentviz.papers.sentiformer.reach",
    ("dataset", "split", "run"),
)


def measure(run: Run, split: str = "test") -> dict[str, object]:
    """Return the lengths of a run's test texts in tokens: median, longest, the longest that each token sees completely (`within`), and
    the share of longer texts (`beyond`). The run must have a window.

    Raises:
        DataMissingError: the data set is not on this machine.
    """
    import numpy as np

    from sentviz.data import datasets
    from sentviz.models.loading import load

    model, dataset = load(run), str(run.config["data"]["name"])
    texts = datasets.load_split(dataset, split).frame["text"].tolist()
    recipe = run.config["recipe"]
    lengths = np.array([len(ids) for ids in model.tokenizer.ids_batch(texts, max_length=recipe["max_length"], cls=recipe["cls"])])
    within = model.config.window // 2 + 1  # type: ignore[union-attr]
    shares = {
        "median": int(np.median(lengths)),
        "longest": int(lengths.max()),
        "within": within,
        "beyond": float((lengths > within).mean()),
    }
    return {"dataset": dataset, "split": split, "n": len(lengths), **shares, "run": run.name}


def main() -> None:
    """Measure every data set of the study that has a run with a window and weights, and store the table."""
    import pandas as pd

    from sentviz.papers.sentiformer.study import DATASETS, WHOLE, configurations
    from sentviz.runs.catalog import study_runs

    runs, able = study_runs().runs, []
    for dataset in DATASETS:
        able += [run for run in configurations(runs, dataset).get(WHOLE, []) if run.has_weights][:1]
    MEASURED.write(pd.DataFrame([measure(run) for run in able], columns=list(MEASURED.columns)).round(4))


if __name__ == "__main__":
    main()
