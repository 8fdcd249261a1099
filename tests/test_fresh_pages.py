"""A newcomer's machine from end to end: every page and part of a page, with one run of each kind. Left to .ci/full."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from app.focus import choices
from sentviz.analysis.embeddings.projection import METHODS
from sentviz.data.datasets import datasets, info
from sentviz.runs.catalog import language, reads_pairs
from sentviz.runs.registry import built_in, find_paper, papers
from sentviz.runs.store import Run, runs
from tests.kit import DEFAULT, ROOT, opened, sane

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not (ROOT / "checkpoints" / "english").is_dir(), reason="checkpoints/ is not here"),
]
SENTENCE = "Not a bad film, for once."


def kind(run: Run) -> tuple[Any, ...]:
    """Return the properties by which pages and commands distinguish runs."""
    has = run.capabilities
    model = type(run.shape), has.components > 1, has.gate, has.lexicon, reads_pairs(run), language(run), len(run.labels) > 2
    return *model, run.has_weights, bool(run.epochs), bool(run.measured)


@cache
def of_each_kind() -> tuple[str, ...]:
    """Return the first run of each kind and the default run; empty without checkpoints."""
    if not (ROOT / "checkpoints" / "english").is_dir():
        return ()
    available = runs()
    first = {kind(run): name for name, run in reversed(available.items()) if isinstance(run, Run)}
    return tuple(sorted({*first.values(), DEFAULT}))


def parts(page: str, **fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a page as it opens, and with every value of each field."""
    yield page, {}
    for field, values in fields.items():
        for value in values:
            yield page, {field: value}


def views(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every page that shows a run, with its parts."""
    row = str(run.frame("test.parquet")["id"].iloc[0])
    beside = next(
        (name for name, candidate in runs().items() if isinstance(candidate, Run) and name != run.name and candidate.labels == run.labels),
        "",
    )
    over = choices("over")
    yield from parts("explore", text=(SENTENCE,), row=(row,), large=choices("large"))
    yield from parts("attention", look=choices("look"), specials=("show", "hide"), row=(row,))
    yield from parts("compare", versus=(beside,), row=(row,), over=over)
    yield from parts("hardmax", lab=("review", "playground", "leaders"))
    yield from parts(
        "confusion", view=("matrix", "curves", "calibration"), over=over, versus=(beside,), slice=("cell=1,0", "lasso=nonsense")
    )
    yield from parts("behaviour", capability=("names",))
    yield from parts("words", words=choices("words"), stops=("drop", "keep"), over=over)
    yield from parts("embeddings", method=tuple(METHODS), dims=("2", "3"), sample=("stored", "all"), over=over, depth=("0",))
    yield from parts("explanations")
    yield from parts("cls", text=(SENTENCE,))
    yield from parts("components")
    yield from parts("scalars", scale=choices("scale"))
    yield from parts("curves", axis=("epoch", "step"), seeds=("lines", "bands"), travel=("joint", "aligned"))
    yield from parts("runs", shelf=("sets", "phenomena", "errors"))


@pytest.mark.parametrize("name", of_each_kind())
def test_every_part_of_every_page_of_a_run(newcomer: Path, name: str) -> None:
    run, wrong = runs()[name], {}
    assert isinstance(run, Run)
    for page, query in views(run):
        try:
            sane(opened(page, run=name, **query))
        except (AssertionError, RuntimeError) as error:
            wrong[page, str(query)] = str(error)[:400]
    assert not wrong, "\n".join(f"{where}: {message}" for where, message in wrong.items())


@pytest.mark.parametrize("paper", built_in())
def test_every_part_of_a_papers_page(newcomer: Path, paper: str) -> None:
    page, wrong = find_paper(paper).page, {}
    sets = {dataset for study in find_paper(paper).studies.values() for dataset in study.datasets}
    for part, study in product(page.parts, sets or {""}):
        try:
            sane(opened(page.url, run="", part=part, **({"study": study} if study else {})))
        except (AssertionError, RuntimeError) as error:
            wrong[part, study] = str(error)[:400]
    assert not wrong, "\n".join(f"{where}: {message}" for where, message in wrong.items())


def test_every_page_of_no_run(newcomer: Path) -> None:
    for paper in ("all", *papers()):
        sane(opened("claims", run="", paper=paper))
    for verdict in ("any", "holds", "fails", "open", "unjudged"):
        sane(opened("claims", run="", verdict=verdict))
    for page in ("glossary", "colours"):
        sane(opened(page, run=""))
    app = opened("data", run="")
    for name in datasets()["name"]:
        app.session_state["data-chosen"] = name
        app.run()
        assert ("is not on this machine" in sane(app)) == (not info(name).maker)
