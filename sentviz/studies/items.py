"""What the items of any paper are made of: its own makers, or what can be said of every paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.figures.figure import file_safe
from sentviz.gallery import sourced
from sentviz.registry import Paper, printed
from sentviz.runs import Run
from sentviz.studies.claims import judged, ledger
from sentviz.studies.collected import configurations, points, summary
from sentviz.studies.made import Made, Maker, Table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["beside_print", "makers", "measured_items"]


def makers(paper: Paper) -> dict[str, Maker]:
    """A maker for each item of a paper that can be made, then for what we add, the verdicts on its claims last.

    A paper that brings no makers has its printed tables as they are, and on each data set of its studies the accuracies measured beside
    the printed ones.

    Raises:
        SentvizError: its makers or claims cannot be loaded.
    """
    found: dict[str, Maker] = {**paper.all_makers()}  # type: ignore[dict-item]  # what a paper names is not known before it is loaded
    if not paper.makers:
        found |= {name: _printed_table(paper, name) for name in paper.tables()}
        found |= {name: _beside(paper, dataset) for name, dataset in measured_items(paper).items()}
    if paper.all_claims():
        found["claims"] = _claims(paper)
    return found


def measured_items(paper: Paper) -> dict[str, str]:
    """Items of a paper without makers that compare runs with the print, each with its data set."""
    return {} if paper.makers else {f"accuracy-{dataset}": dataset for dataset in _models(paper)}


def beside_print(paper: Paper, runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """Test accuracies of a paper's study: model, printed, value, low, high, n, seeds; NaN where there is none."""
    import pandas as pd

    models = _models(paper)[dataset]
    said = [frame[(frame["paper"] == paper.short) & (frame["name"] == "accuracy")] for frame in (printed(dataset, one) for one in models)]
    rows = pd.DataFrame({"model": models, "printed": [float(frame["value"].iloc[0]) if len(frame) else None for frame in said]})
    measured = summary(configurations(runs, dataset, models))
    here = measured[measured["metric"] == "accuracy"].drop(columns="metric")
    numbers = ["printed", "value", "low", "high", "n", "seeds"]
    return rows.merge(here, on="model", how="left")[["model", *numbers]].astype(dict.fromkeys(numbers, float))


def _models(paper: Paper) -> dict[str, list[str]]:
    """The models of all studies of a paper by data set."""
    found: dict[str, list[str]] = {}
    for study in paper.studies.values():
        for dataset in study.datasets:
            found[dataset] = list(dict.fromkeys([*found.get(dataset, []), *study.models]))
    return found


def _printed_table(paper: Paper, name: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        import pandas as pd

        item = next((item for item in paper.items() if item["id"] == name), {})
        frame = pd.read_csv(paper.tables()[name])
        return [Table(file_safe(name), item.get("title", name), frame, f"As {paper.short} prints it ({paper.citation}).")]

    return make


def _beside(paper: Paper, dataset: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        from sentviz.figures.beside import measured_beside_printed

        here = configurations(runs, dataset, _models(paper)[dataset])
        frame = beside_print(paper, runs, dataset)
        if frame[["printed", "value"]].isna().all(axis=None):
            return []
        title = f"Accuracy on {dataset}"
        words = "Test accuracy, measured with 95% intervals over test rows and, with several seeds, over seeds, beside the print."
        figure = measured_beside_printed(frame, points(here, "accuracy"), title=title, percent=True)
        sources = [run for seeds in here.values() for run in seeds]
        return [Table(file_safe("accuracy", dataset), title, frame, words), sourced(figure, *sources)]

    return make


def _claims(paper: Paper) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        words = "Every claim in our words, held against the paper's own tables, data sets, simulated runs or the runs here."
        return [Table("claims", "Claims", ledger(judged(runs, [paper.name])), words)]

    return make
