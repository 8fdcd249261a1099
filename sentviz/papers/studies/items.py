"""What the items of any paper are made of: its own makers, or what can be said of every paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.figures.colours import Theme
from sentviz.figures.figure import file_safe
from sentviz.gallery import sourced
from sentviz.papers.studies.claims import claims_of, judged, ledger
from sentviz.papers.studies.collected import configurations, points, summary
from sentviz.papers.studies.made import Made, Maker, Table
from sentviz.runs.registry import Paper, printed
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd


def makers(paper: Paper, theme: Theme = "light") -> dict[str, Maker]:
    """A maker for each item of a paper that can be made, then for what we add, the verdicts on its claims last.

    A paper that brings no makers has its printed tables as they are, and on each data set of its studies the accuracies measured beside
    the printed ones, in a theme; a paper's own makers draw for print.

    Raises:
        SentvizError: its makers or claims cannot be loaded.
    """
    found: dict[str, Maker] = {**paper.load("makers", {})}
    if not paper.makers:
        found |= {name: _printed_table(paper, name) for name in paper.tables()}
        found |= {name: _beside(paper, dataset, theme) for name, dataset in measured_items(paper).items()}
    if claims_of(paper):
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


def listed(paper: Paper, runs: Sequence[Run]) -> pd.DataFrame:
    """Every item of a paper: printed, title, state, shown on, why, and, where items name data sets, how much of their studies is here."""
    import pandas as pd

    frame = pd.DataFrame(paper.items())
    titles = {f"page/{section.name}": section.title for section in paper.page.sections} | {"page": "this one"}
    frame["shown on"] = [
        titles.get(view, f"{view[:1].upper()}{view[1:]}".replace("/", ", ")) for view in frame.get("view", [""] * len(frame))
    ]
    columns = ["printed", "title", "state", "shown on", "runs", "why"]
    if "data" in frame:
        models = _models(paper)
        here = {name: configurations(runs, name, models[name]) for name in models}
        said = {name: f"{name} {len(here[name])} of {len(models[name])} ({sum(map(len, here[name].values()))} runs)" for name in models}
        wanted = [list(models) if data == "all" else [data] if isinstance(data, str) else data for data in frame["data"]]
        live = [names if state == "live" else [] for names, state in zip(wanted, frame["state"], strict=True)]
        frame["here"] = [", ".join(said[name] for name in names if name in said) or "–" for names in live]
        columns.insert(4, "here")
    return frame[[name for name in columns if name in frame]]


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


def _beside(paper: Paper, dataset: str, theme: Theme) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        from sentviz.figures.beside import measured_beside_printed

        here = configurations(runs, dataset, _models(paper)[dataset])
        frame = beside_print(paper, runs, dataset)
        if frame[["printed", "value"]].isna().all(axis=None):
            return []
        title = f"Accuracy on {dataset}"
        words = "Test accuracy, measured with 95% intervals over test rows and, with several seeds, over seeds, beside the print."
        figure = measured_beside_printed(frame, points(here, "accuracy"), title=title, percent=True, theme=theme)
        sources = [run for seeds in here.values() for run in seeds]
        return [Table(file_safe("accuracy", dataset), title, frame, words), sourced(figure, *sources)]

    return make


def _claims(paper: Paper) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        words = "Every claim in our words, held against the paper's own tables, data sets, simulated runs or the runs here."
        return [Table("claims", "Claims", ledger(judged(runs, [paper.name])), words)]

    return make
