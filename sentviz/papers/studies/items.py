"""Makers of the items of any paper: from its list of items, from its own makers, or from its printed tables and accuracies.

Items are tables (`sentviz.io.table`) and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from sentviz.analysis.claim import decided_in_words
from sentviz.charts.figure import Figure, file_safe
from sentviz.charts.measured_vs_printed import measured_beside_printed
from sentviz.charts.subjects import Study, sourced
from sentviz.errors import InputError, nearest
from sentviz.io.declared import file_name
from sentviz.io.lazy import pd
from sentviz.io.table import Column, Table
from sentviz.papers.studies.claims import claims_of, judged, ledger
from sentviz.papers.studies.compare_configurations import beside, configurations, over_seeds, points
from sentviz.papers.studies.tables import tables_of
from sentviz.runs.items import STATE_WORDS, Added, Item
from sentviz.runs.printed import printed_results
from sentviz.runs.registry import Paper
from sentviz.runs.sections import FigureBlock, TableBlock
from sentviz.runs.store import Run

LIST, CLAIMS = "items", "claims"  # made for every paper: the list of its items, and the verdicts on its claims

PaperItem = Table | Figure
Maker = Callable[[Sequence[Run]], list[PaperItem]]


def of_first(choose: Callable[[Sequence[Run]], Sequence[Run]], draw: Callable[[Run], Sequence[PaperItem]]) -> Maker:
    """Return a maker of items of the first run that `choose` returns; it makes nothing if there is none."""
    return lambda runs: [item for run in choose(runs)[:1] for item in draw(run)]


def figure_maker(*figures: str | Mapping[str, Any]) -> Maker:
    """Return a maker of figures of the gallery: for each data set of their study that has runs.

    Args:
        figures: names, or mappings of the name and the figure's options.
    """
    settings = [{"name": figure} if isinstance(figure, str) else dict(figure) for figure in figures]

    def make_figures(runs: Sequence[Run]) -> list[PaperItem]:
        from sentviz.charts.gallery import FIGURES, make

        items: list[PaperItem] = []
        for of in dict.fromkeys(of for setting in settings for of in FIGURES[setting["name"]].names):
            for setting in settings:
                if of in FIGURES[setting["name"]].names:
                    options = {name: value for name, value in setting.items() if name != "name"}
                    with suppress(InputError):  # There is no run of this data set.
                        items.append(make(setting["name"], Study.of(of, runs), **options))
        return items

    return make_figures


def makers(paper: Paper) -> dict[str, Maker]:
    """Return a maker for each item of a paper that can be made, then for what is added to it, then its list of items and its claims.

    A paper that names neither tables nor makers gets its printed tables and, for each data set of its studies, the accuracies measured
    and printed.

    Raises:
        SentvizError: the paper's list of items, its makers or its claims cannot be loaded.
    """
    every: list[Item | Added] = [*paper.items(), *paper.added()]
    listed_items = [item for item in every if item.tables or item.figures]
    own: Mapping[str, Maker] = paper.load("makers", {})
    by_item: dict[str, Maker] = {**own, **{item.id: _item_maker(paper, item, own.get(item.id)) for item in listed_items}}
    if not (paper.makers or tables_of(paper)):
        by_item |= {name: _printed_table(paper, name) for name in paper.printed_tables()}
        by_item |= {name: _beside(paper, dataset) for name, dataset in measured_items(paper).items()}
    if paper.items():
        by_item[LIST] = lambda runs: [listed(paper)]
    if claims_of(paper):
        by_item[CLAIMS] = _claims(paper)
    return by_item


def make_table(paper: Paper, name: str, runs: Sequence[Run], dataset: str = "all") -> Table:
    """Return a table of a paper, made of runs and a data set.

    Raises:
        SentvizError: the paper's tables cannot be loaded.
    """
    able = tables_of(paper)
    if name not in able:
        raise InputError(f"{paper.short} has no table {name!r}; it has {', '.join(able) or 'none'}.")
    return able[name](runs, dataset)


def paper_faults(paper: Paper) -> Iterator[str]:
    """Yield a sentence for each figure and table that a paper's page or items name, and that does not exist, with file and line; and for
    each claim that is shown on a part that the page does not have.

    Raises:
        SentvizError: the paper's list of items, its tables, its printed numbers or its claims cannot be loaded.
    """
    from sentviz.charts.gallery import FIGURES

    printed_results(paper)
    known = {"figure": list(FIGURES), "table": list(tables_of(paper))}
    for file, kind, name in _named(paper):
        if name not in known[kind]:
            path, written = paper.folder / file, f":::{kind} {name}" if file == "page.md" else f'"{name}"'
            lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
            line = next((number for number, text in enumerate(lines, 1) if written in text), 0)
            similar = nearest(name, known[kind]).rstrip("; ") or "no name is similar"
            yield f"{file_name(path)}, line {line}: there is no {kind} {name!r}; {similar}."
    for claim in claims_of(paper):
        if claim.shows not in ("", *paper.page.parts):
            yield f"The claim {claim.id} of {paper.short} is shown on the part {claim.shows!r}, which its page does not have."


def _named(paper: Paper) -> Iterator[tuple[str, Literal["figure", "table"], str]]:
    """Yield the figures and tables that a paper names, each with the file."""
    for block in (block for section in paper.page.sections for block in section.walk()):
        if isinstance(block, FigureBlock):
            yield "page.md", "figure", block.name
        elif isinstance(block, TableBlock) and isinstance(block.table, str) and ":" not in block.table:
            yield "page.md", "table", block.table
    every: list[Item | Added] = [*paper.items(), *paper.added()]
    for entry in every:
        yield from (("items.toml", "table", name) for name in entry.tables)
        yield from (("items.toml", "figure", each if isinstance(each, str) else each["name"]) for each in entry.figures)


def _item_maker(paper: Paper, item: Item | Added, own: Maker | None) -> Maker:
    """Return a maker of what `own` makes and of the tables and figures that an item names, without those that lack runs or measurements."""

    def make_item(runs: Sequence[Run]) -> list[PaperItem]:
        dataset, tables = item.dataset if isinstance(item, Item) else "all", []
        for name in item.tables:
            with suppress(InputError):
                tables.append(make_table(paper, name, runs, dataset))
        return [*(own(runs) if own else []), *tables, *figure_maker(*item.figures)(runs)]

    return make_item


def measured_items(paper: Paper) -> dict[str, str]:
    """Return the items that compare runs with the paper, with their data sets; empty if the paper names tables or makers."""
    return {} if paper.makers or tables_of(paper) else {f"accuracy-{dataset}": dataset for dataset in _models(paper)}


def beside_print(paper: Paper, runs: Sequence[Run], dataset: str) -> pd.DataFrame:
    """Return test accuracies of a paper's studies: model, printed, value, low, high, n, seeds; NaN if unknown."""
    models, frame = _models(paper)[dataset], printed_results(paper)
    accuracies = frame[(frame["dataset"] == dataset) & (frame["metric"] == "accuracy")].set_index("configuration")["value"]
    return beside(models, accuracies, over_seeds(configurations(runs, dataset, models)))


def listed(paper: Paper) -> Table:
    """Return the list of every item: item, kind, content, state, place, link, why; link has no server in it."""
    url, titles = paper.page.url, paper.page.titles
    rows = [
        (item.name, item.kind, item.title, STATE_WORDS[item.state], item.shown_on(titles), item.link(paper.name, url), item.why)
        for item in paper.items()
    ]
    frame = pd.DataFrame(rows, columns=["item", "kind", "content", "state", "place", "link", "why"])
    words = (
        "Every table, figure, equation, definition, claim and other item of the paper. Live: drawn, computed or tested in the app."
        " Reprinted only: the paper's own numbers."
    )
    columns = (
        Column("item"),
        Column("content"),
        Column("state"),
        Column("place", "part of the page, or page"),
        Column("link", "link in the app"),
        Column("why", "difference from the paper"),
    )
    return Table("items", f"Every item of {paper.short}", frame, words, columns)


def _models(paper: Paper) -> dict[str, list[str]]:
    """Return the models of all studies of a paper by data set."""
    by_dataset: dict[str, list[str]] = {}
    for study in paper.studies.values():
        for dataset in study.datasets:
            by_dataset[dataset] = list(dict.fromkeys([*by_dataset.get(dataset, []), *study.models]))
    return by_dataset


def _printed_table(paper: Paper, name: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[PaperItem]:
        title = next((item.title for item in paper.items() if item.id == name), name)
        frame = pd.read_csv(paper.printed_tables()[name])
        return [Table(file_safe(name), title, frame, f"As reported by {paper.short} ({paper.citation}).")]

    return make


def _beside(paper: Paper, dataset: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[PaperItem]:
        by_model = configurations(runs, dataset, _models(paper)[dataset])
        frame = beside_print(paper, runs, dataset)
        if frame[["printed", "value"]].isna().all(axis=None):
            return []
        title = f"Accuracy on {dataset}"
        words = (
            "Test accuracy, measured with 95 % intervals over test rows and, with several seeds, over seeds, next to the reported values."
        )
        figure = measured_beside_printed(frame, points(by_model, "accuracy"), title=title, percent=True)
        sources = [run for seeds in by_model.values() for run in seeds]
        return [Table(file_safe("accuracy", dataset), title, frame, words), sourced(figure, *sources)]

    return make


def _claims(paper: Paper) -> Maker:
    def make(runs: Sequence[Run]) -> list[PaperItem]:
        frame = judged(runs, [paper.name])
        words = (
            "Every claim in our words, compared with the paper's own tables, data sets, simulated runs or the installed runs."
            f" {decided_in_words(frame['verdict'], frame['kind'])}."
        )
        return [Table("claims", "Claims", ledger(frame), words)]

    return make
