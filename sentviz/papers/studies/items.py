"""Makers of the items of any paper: from its list of items, from its own makers, or from its printed tables and accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError
from sentviz.figures.colours import Theme
from sentviz.figures.figure import file_safe
from sentviz.gallery import sourced
from sentviz.papers.studies.claims import claims_of, judged, ledger
from sentviz.papers.studies.collected import configurations, points, summary
from sentviz.papers.studies.item_types import Maker, PaperItem, Table, TableMaker, figure_maker
from sentviz.runs.registry import Paper, printed
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd


def makers(paper: Paper, theme: Theme = "light") -> dict[str, Maker]:
    """Return a maker for each item of a paper that can be made, then for what is added to it, the verdicts on its claims last.

    A paper that names neither tables nor makers gets its printed tables and, for each data set of its studies, the accuracies measured
    and printed.

    Raises:
        SentvizError: the paper's list of items, its makers or its claims cannot be loaded.
    """
    listed_items = [item for item in (*paper.items(), *paper.added()) if item.get("tables") or item.get("figures")]
    own: Mapping[str, Maker] = paper.load("makers", {})
    by_item: dict[str, Maker] = {**own, **{item["id"]: _item_maker(paper, item, own.get(item["id"]), theme) for item in listed_items}}
    if not (paper.makers or paper.tables):
        by_item |= {name: _printed_table(paper, name) for name in paper.printed_tables()}
        by_item |= {name: _beside(paper, dataset, theme) for name, dataset in measured_items(paper).items()}
    if claims_of(paper):
        by_item["claims"] = _claims(paper)
    return by_item


def make_table(paper: Paper, name: str, runs: Sequence[Run], dataset: str = "all") -> Table:
    """Return a table of a paper, made of runs and a data set.

    Raises:
        InputError: there is no table of this name, or runs or measurements are missing; the message names the command that helps.
        SentvizError: the paper's tables cannot be loaded.
    """
    able: Mapping[str, TableMaker] = paper.load("tables", {})
    if name not in able:
        raise InputError(f"{paper.short} has no table {name!r}; it has {', '.join(able) or 'none'}.")
    return able[name](runs, dataset)


def _item_maker(paper: Paper, item: Mapping[str, Any], own: Maker | None, theme: Theme) -> Maker:
    """Return a maker of what `own` makes and of the tables and figures that an item names, without those that lack runs or measurements."""

    def make_item(runs: Sequence[Run]) -> list[PaperItem]:
        dataset, tables = item.get("data", "all"), []
        for name in item.get("tables", ()):
            with suppress(InputError):
                tables.append(make_table(paper, name, runs, dataset if isinstance(dataset, str) else "all"))
        return [*(own(runs) if own else []), *tables, *figure_maker(*item.get("figures", ()), theme=theme)(runs)]

    return make_item


def measured_items(paper: Paper) -> dict[str, str]:
    """Return the items that compare runs with the paper, with their data sets; empty if the paper names tables or makers."""
    return {} if paper.makers or paper.tables else {f"accuracy-{dataset}": dataset for dataset in _models(paper)}


def beside_print(paper: Paper, runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """Return test accuracies of a paper's studies: model, printed, value, low, high, n, seeds; NaN if unknown."""
    import pandas as pd

    models = _models(paper)[dataset]
    reported = [
        frame[(frame["paper"] == paper.short) & (frame["name"] == "accuracy")] for frame in (printed(dataset, model) for model in models)
    ]
    rows = pd.DataFrame({"model": models, "printed": [float(frame["value"].iloc[0]) if len(frame) else None for frame in reported]})
    measured = summary(configurations(runs, dataset, models))
    accuracy = measured[measured["metric"] == "accuracy"].drop(columns="metric")
    numbers = ["printed", "value", "low", "high", "n", "seeds"]
    return rows.merge(accuracy, on="model", how="left")[["model", *numbers]].astype(dict.fromkeys(numbers, float))


def listed(paper: Paper, runs: Sequence[Run]) -> pd.DataFrame:
    """Return every item of a paper: printed, title, state, shown on, why. If items name data sets, `here` counts the runs of their
    studies.
    """
    import pandas as pd

    frame = pd.DataFrame(paper.items())
    titles = {f"page/{section.name}": section.title for section in paper.page.sections} | {"page": "Every item"}
    frame["shown on"] = [
        titles.get(view, f"{view[:1].upper()}{view[1:]}".replace("/", ", ")) for view in frame.get("view", [""] * len(frame))
    ]
    is_live = frame["state"] == "live"
    frame["state"] = is_live.map({True: "available", False: "not available"})
    columns = ["printed", "title", "state", "shown on", "why", "runs"]
    if "data" in frame:
        models = _models(paper)
        by_dataset = {name: configurations(runs, name, models[name]) for name in models}
        counts = {
            name: f"{name} {len(by_dataset[name])} of {len(models[name])} ({sum(map(len, by_dataset[name].values()))} runs)"
            for name in models
        }
        wanted = [list(models) if data == "all" else [data] if isinstance(data, str) else data for data in frame["data"]]
        live = [names if drawn else [] for names, drawn in zip(wanted, is_live, strict=True)]
        frame["here"] = [", ".join(counts[name] for name in names if name in counts) or "–" for names in live]
        columns.insert(5, "here")
    return frame[[name for name in columns if name in frame]]


def _models(paper: Paper) -> dict[str, list[str]]:
    """Return the models of all studies of a paper by data set."""
    by_dataset: dict[str, list[str]] = {}
    for study in paper.studies.values():
        for dataset in study.datasets:
            by_dataset[dataset] = list(dict.fromkeys([*by_dataset.get(dataset, []), *study.models]))
    return by_dataset


def _printed_table(paper: Paper, name: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[PaperItem]:
        import pandas as pd

        item = next((item for item in paper.items() if item["id"] == name), {})
        frame = pd.read_csv(paper.printed_tables()[name])
        return [Table(file_safe(name), item.get("title", name), frame, f"As reported by {paper.short} ({paper.citation}).")]

    return make


def _beside(paper: Paper, dataset: str, theme: Theme) -> Maker:
    def make(runs: Sequence[Run]) -> list[PaperItem]:
        from sentviz.figures.beside import measured_beside_printed

        by_model = configurations(runs, dataset, _models(paper)[dataset])
        frame = beside_print(paper, runs, dataset)
        if frame[["printed", "value"]].isna().all(axis=None):
            return []
        title = f"Accuracy on {dataset}"
        words = (
            "Test accuracy, measured with 95% intervals over test rows and, with several seeds, over seeds, next to the reported values."
        )
        figure = measured_beside_printed(frame, points(by_model, "accuracy"), title=title, percent=True, theme=theme)
        sources = [run for seeds in by_model.values() for run in seeds]
        return [Table(file_safe("accuracy", dataset), title, frame, words), sourced(figure, *sources)]

    return make


def _claims(paper: Paper) -> Maker:
    def make(runs: Sequence[Run]) -> list[PaperItem]:
        words = "Every claim in our words, compared with the paper's own tables, data sets, simulated runs or the installed runs."
        return [Table("claims", "Claims", ledger(judged(runs, [paper.name])), words)]

    return make
