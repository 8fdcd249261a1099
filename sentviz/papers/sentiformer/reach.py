"""How many texts are long enough for SentiFormer's window to leave anything out.

A text of at most window // 2 + 1 tokens is seen whole by each of its tokens: there the sparse model computes what the full one does.
`python -m sentviz.papers.sentiformer.reach` measures anew by the tokenizers of the runs here; what ships is `measured/reach.csv`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.io.files import replacing
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

FILE = Path(__file__).parent / "measured" / "reach.csv"
COLUMNS = ["dataset", "split", "n", "median", "longest", "within", "beyond", "run"]


def measure(run: Run, split: str = "test") -> dict[str, object]:
    """Of a run with a window, over its test texts: tokens (median, longest), those seen whole (`within`), the share of longer texts.

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


def measured() -> pd.DataFrame:
    """What ships: dataset, split, n, median, longest, within, beyond (a share), run; empty where nothing was measured."""
    import pandas as pd

    return pd.read_csv(FILE) if FILE.is_file() else pd.DataFrame(columns=COLUMNS)


def main() -> None:
    """Write the table for every data set with a windowed run here."""
    import pandas as pd

    from sentviz.papers.sentiformer.study import DATASETS, WHOLE, configurations
    from sentviz.runs.catalog import study_runs

    runs = study_runs().runs
    by_dataset = ([run for run in configurations(runs, dataset).get(WHOLE, []) if run.has_weights] for dataset in DATASETS)
    able = [seeds[0] for seeds in by_dataset if seeds]
    frame = pd.DataFrame([measure(run) for run in able], columns=COLUMNS)
    FILE.parent.mkdir(exist_ok=True)
    with replacing(FILE) as fresh:
        frame.round(4).to_csv(fresh, index=False)


if __name__ == "__main__":
    main()
