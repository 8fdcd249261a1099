"""A newcomer's machine, without data sets, network or a cache: every page and part of a page, with one run of each kind."""

from __future__ import annotations

import threading
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
    first = {kind(run): name for name, run in reversed(runs().items()) if isinstance(run, Run)}
    return tuple(sorted({*first.values(), DEFAULT}))


def parts(page: str, **fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a page as it opens, and with every value of each field."""
    yield page, {}
    yield from ((page, {field: value}) for field, values in fields.items() for value in values)


def views(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every page that shows a run, with its parts."""
    row = str(run.frame("test.parquet")["id"].iloc[0])
    alike = (name for name, each in runs().items() if isinstance(each, Run) and name != run.name and each.labels == run.labels)
    over, beside = choices("over"), (next(alike, ""),)
    yield from parts("explore", text=(SENTENCE,), row=(row,), large=choices("large"))
    yield from parts("attention", look=choices("look"), specials=("show", "hide"), row=(row,))
    yield from parts("compare", versus=beside, row=(row,), over=over)
    yield from parts("hardmax", lab=("review", "playground", "leaders"))
    view, slices = ("matrix", "curves", "calibration"), ("cell=1,0", "lasso=nonsense")
    yield from parts("confusion", view=view, over=over, versus=beside, slice=slices)
    yield from parts("behaviour", capability=("names",))
    yield from parts("words", words=choices("words"), stops=("drop", "keep"), over=over)
    yield from parts("embeddings", method=tuple(METHODS), dims=("2", "3"), sample=("stored", "all"), over=over, depth=("0",))
    yield from parts("cls", text=(SENTENCE,))
    yield from parts("scalars", scale=choices("scale"))
    yield from parts("curves", axis=("epoch", "step"), seeds=("lines", "bands"), travel=("joint", "aligned"))
    yield from parts("runs", shelf=("sets", "phenomena", "errors"))
    yield from ((page, {}) for page in ("explanations", "components"))


def check(many: Iterator[tuple[str, dict[str, str]]]) -> None:
    """Open pages; fail with those that have a fault."""
    wrong = {}
    for page, query in many:
        try:
            sane(opened(page, **query))
        except (AssertionError, RuntimeError) as error:
            wrong[page, str(query)] = str(error)[:400]
    assert not wrong, "\n".join(f"{where}: {message}" for where, message in wrong.items())


@pytest.mark.parametrize("name", of_each_kind())
def test_every_part_of_every_page_of_a_run(newcomer: Path, name: str) -> None:
    run = runs()[name]
    assert isinstance(run, Run)
    check((page, {"run": name} | query) for page, query in views(run))


@pytest.mark.parametrize("paper", built_in())
def test_every_part_of_a_papers_page(newcomer: Path, paper: str) -> None:
    page, studies = find_paper(paper).page, find_paper(paper).studies.values()
    sets = {dataset for study in studies for dataset in study.datasets} or {""}
    check((page.url, {"run": "", "part": part} | ({"study": of} if of else {})) for part, of in product(page.parts, sets))


def test_every_page_of_no_run(newcomer: Path) -> None:
    fields = {"paper": ("all", *papers()), "verdict": ("holds", "fails", "open", "unjudged")}
    check((page, {"run": ""} | query) for each in (parts("claims", **fields), parts("glossary"), parts("colours")) for page, query in each)
    app = opened("data", run="")
    for name in datasets()["name"]:
        app.session_state["data-chosen"] = name
        assert ("is not on this machine" in sane(app.run())) == (not info(name).maker)


def test_what_a_page_cannot_fetch_it_says(newcomer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If neither the cache nor the hub can be used, the button is replaced by a sentence and stays available."""
    monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")
    app = opened("confusion", run="sst2/ndt-unit-2")
    assert "rows are not on this machine." in sane(app)
    app.button(key="again-sst2").click().run()
    for thread in [thread for thread in threading.enumerate() if thread.name == info("sst2").title]:
        thread.join(30)
    assert "cannot be written" in sane(app.run()) and app.button(key="again-sst2")
