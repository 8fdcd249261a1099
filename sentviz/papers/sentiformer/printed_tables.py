"""Printed numbers of the SentiFormer paper: tables I and II and its throughputs, with our names for models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sentviz.data.examples import EXAMPLES
from sentviz.io.lazy import pd
from sentviz.runs.registry import read_paper

SARCASTIC = next(example.text for example in EXAMPLES if example.paper == "sentiformer")  # section V-E
FOLDER = Path(__file__).parent / "printed"
_TABLES = read_paper(FOLDER.parent).printed
MODELS = {**_TABLES["accuracy"].models, **_TABLES["ablation"].models}  # name in the paper -> our preset
TITLES = {
    "sentiformer-sinusoid": "without aware positions",
    "sentiformer-no-gate": "without gates",
    "sentiformer-full": "without the window",
    "sentiformer-no-norm": "without layer norm",
}
COLUMNS = {dataset: column for column, of in _TABLES["accuracy"].columns.items() for dataset in of.datasets}


def table(name: str) -> pd.DataFrame:
    """Return a printed table with a column `preset`, "" for models that are not ours (BERT-base, DistilBERT)."""
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
    frame = pd.read_csv(FOLDER / f"{name}.csv")
    frame["preset"] = [MODELS.get(name, "") for name in frame["variant" if name == "ablation" else "model"]]
    return frame


def accuracies(dataset: str) -> pd.DataFrame:
    """Return every printed accuracy that can be compared with a data set of ours: model (title), printed (0..1), in the paper's order.

    On SST-5 the ablations of table II follow. Models of table I that are not available here are included.
    """
    main = table("accuracy")
    column = COLUMNS[dataset]
    frame = pd.DataFrame({"model": main["model"], "printed": main[column] / 100})
    if column == "sst5":
        parts = table("ablation").query("preset != 'sentiformer'")
        frame = pd.concat([frame, pd.DataFrame({"model": parts["preset"].map(TITLES), "printed": parts["sst5_accuracy_pct"] / 100})])
    return frame.reset_index(drop=True)
