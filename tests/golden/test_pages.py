"""Every page and part of a page with a small run: it opens, its link leads back to the same state, and it shows what is stored.

`pytest tests/golden --bless` writes the outline of each page: its elements in order, each with its label or text. Only the outlines
named in `BARS` contain the two bars: places and finder, views and the choice of model and rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1.element_tree import Block, Element

from app.focus import Focus
from sentviz.analysis.explain import SCORES
from sentviz.charts.figure import file_safe
from sentviz.papers.studies.claims import claims_of
from sentviz.runs.registry import built_in
from tests.golden.controls import key_of
from tests.golden.make import MEASUREMENTS
from tests.golden.test_golden import STORED
from tests.kit import PAGES, SHIPPED, opened, sane
from tests.shipped import often

pytestmark = SHIPPED
NDT, FUSED, HARDMAX = MEASUREMENTS
OUTLINES = STORED.with_name("pages")
LONGEST = 160  # characters of a text that are stored
VARYING = (
    "id",
    "url",
    "form_id",
    "deferred_file_id",
    "js_content",
    "css_content",
    "html_content",
    "spec",
    "arrow_data",
    "lazy_data",
)  # parts of elements that say nothing to a reader, or are tested as files
DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
CHANGING = re.compile(r"\b[0-9a-f]{12,}\b")  # digests and the key of a visitor
LATER = (
    *("confusion-slice-words", "confusion-row", "words-stops", "attention-specials"),
    *("explore-large", "explore-target", "explore-row", "explore-off", "explore-token", "explore-gates"),
)
"""Beginnings of the names of views that are left to the full run."""
LONG = ", ".join(["a dull, warm song"] * 3)  # more tokens than the small runs read
LIBRARY = ("claims", "runs", "data", "glossary")
PAPERS = tuple(paper.page.url for paper in built_in().values())
BARS = (
    "explore",
    "explore-text-a-dull-warm-song",
    "explore-run-toy-hardmax-d2",
    "confusion",
    "scalars",
    "scalars-run-toy-cls-last-scaled-gated-aware",
    "fused-run--part-claims-claim-fused-299d3f",
    "yours",
    "runs-run",
    "glossary-run",
    "weights-attention",
    "measurements-cls",
    "fit-attention",
    "fit-comparison",
)
"""Views whose outlines contain the bars: one for each place, and for each state in which the bars differ."""


def label(element: Any, *varying: str) -> str:
    """Return what an element says, its label and value or the columns of a table, and a digest of its settings, without `varying` ones."""
    value = getattr(element, "value", "")
    settings = [f"{field.name} {part}" for field, part in element.proto.ListFields() if field.name not in (*VARYING, *varying)]
    if isinstance(value, pd.DataFrame):
        timeless = value.drop(columns=["milliseconds", "speed"], errors="ignore")
        return f"{', '.join(map(str, value.columns))} #{digest(timeless.to_csv(), *settings)}"
    if element.type == "plotly_chart":
        return f"#{digest(*settings, *words_of(json.loads(element.proto.spec)))}"
    texts = [str(part) for part in (getattr(element, "label", ""), value) if part not in ("", None)]
    return f"{CHANGING.sub('…', ' '.join(dict.fromkeys(texts)))[:LONGEST]} #{digest(*settings)}"


def words_of(part: Any, name: str = "") -> Iterator[str]:
    """Yield the texts of a chart without its computed colours, and how many numbers it has where. Tests of figures compare the numbers."""
    if isinstance(part, dict) and "bdata" in part:
        yield f"{name} {part.get('shape') or len(part['bdata']) // 8}"
    elif isinstance(part, dict):
        for key in sorted(part.keys() - {"template"}):
            yield from words_of(part[key], key)
    elif isinstance(part, list):
        yield f"{name} {len(part)}"
        for each in part:
            yield from words_of(each)
    elif isinstance(part, bool | None) or (isinstance(part, str) and not part.startswith("rgb")):
        yield f"{name} {part}"


def digest(*texts: str) -> str:
    """Return six hex digits of some texts without numbers that have decimals, in which machines differ."""
    return hashlib.sha256(DECIMALS.sub("", CHANGING.sub("", "\0".join(texts))).encode()).hexdigest()[:6]


def outline(block: Any, depth: int = 0, *, menus: bool = False, bars: bool = True, in_bar: bool = False) -> Iterator[str]:
    """Yield a line for each element and block, in order.

    Args:
        menus: yield the files of a figure, not only a digest of them.
        bars: yield the bars, too.
        in_bar: whether the block is in a bar, whose links have the state of the page.
    """
    for child in block.children.values():
        if isinstance(child, Block):
            key = key_of(str(getattr(child.proto, "id", "")))
            is_bar = key in ("places", "views")
            if (is_bar and not bars) or (key == "remarks" and not child.children):
                continue
            named = getattr(child, "label", "")
            inside = list(outline(child, depth + 1, menus=menus, bars=bars, in_bar=in_bar or is_bar))
            settings = [f"{field.name} {part}" for field, part in child.proto.ListFields() if field.name != "id"] if child.proto else None
            yield " " * depth + f"{child.type}{f': {named}' if named else ''} #{'' if settings is None else digest(*settings)}"
            of_figure = not menus and child.type == "popover" and any("download_button: CSV" in line for line in inside)
            yield from [" " * (depth + 1) + f"files #{digest(*inside)}"] if of_figure else inside
        elif isinstance(child, Element):
            yield " " * depth + f"{child.type}: {label(child, 'query_string') if in_bar else label(child)}"


def of_small_runs() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every page of a run as it opens with the first run, its parts, and the pages on which the other two runs have more."""
    for page in (page for page in PAGES if page not in PAPERS and page not in LIBRARY):
        yield page, {}
    yield from parts("explore", text=("a dull, warm song",), off=("1.1~2.2",), token=("2",), large=("chosen",), target=("positive",))
    yield from parts("explore", mix=("1.2.0.5",), row=("test-3",), versus=(FUSED,))
    for page, look in (("explore", {}), ("attention", {"look": "scores"}), ("causes", {}), ("compare", {})):
        yield page, look | {"text": LONG}
    yield from parts("attention", look=("long", "bertviz", "layers", "scores"), specials=("hide",), token=("2",), component=("2",))
    yield from parts("confusion", view=("curves", "calibration", "slices"), versus=(FUSED,), over=("demo",), row=("test-3",))
    yield from parts("confusion", slice=("cell=1,0", "cell=1,1", "words=3-5", "lasso=nonsense"))
    yield from parts("words", words=("count",), stops=("keep",), slice=("cell=1,1",))
    yield from parts("embeddings", dims=("3",), slice=("cell=1,1",))
    yield from parts("scalars", scale=("change",))
    yield from parts("curves", axis=("step",), seeds=("bands",))
    yield from parts("compare", versus=(FUSED,), row=("test-3",))
    yield from parts("comparison", versus=(FUSED,), over=("demo",))
    for look in ("maps", "lexicon", "gates"):
        yield "attention", {"run": FUSED, "look": look}
    yield from parts("explore", strength=("gate.0.5",), gates=("2.shut",), score=("exact",))
    yield from parts("causes", second=("a clever, tender garden",))
    yield "causes", {"second": "a clever, tender garden", "path": "head:1.1.2~state:1.2", "direction": "break"}
    yield from parts("embeddings", method=("pca",))
    yield from parts("labels", view=("repeats", "train"))
    yield from parts("yours", wish=("open", "train"))
    yield "cls", {"run": FUSED}
    yield "scalars", {"run": FUSED}
    for lab in ("review", "playground", "leaders"):
        yield "hardmax", {"run": HARDMAX, "lab": lab}
    yield "explore", {"run": HARDMAX}


def parts(page: str, **fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a page with every value of each field."""
    for name, values in fields.items():
        for value in values:
            yield page, {name: value}


def named(page: str, query: dict[str, str]) -> str:
    """Return the name of the file with a page's outline."""
    return file_safe("-".join([page, *(f"{name}-{value}" for name, value in query.items())])[:100])


def of_papers() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield of each paper the page as it opens, the board with a claim, and every part; and the pages of the library."""
    for url, paper in zip(PAPERS, built_in().values(), strict=True):
        yield url, {"run": ""}
        yield url, {"run": "", "part": "claims", "claim": f"{paper.name}-{claims_of(paper)[0].id}"}
        yield from ((url, {"run": "", "part": part}) for part in paper.page.parts if part != "claims")
    for page in LIBRARY:
        yield page, {"run": ""}


VIEWS = {named(page, query): (page, query) for page, query in of_small_runs()}
KEPT = ("explore", "hardmax-run-toy-hardmax-d2-lab-review", "cls")
"""Beginnings of the names of views that show what the visitor did before: what was tried, a part, a measure."""
ON_PAGE: dict[str, list[str]] = defaultdict(list)  # page -> names of its views
for _name, (_page, _) in VIEWS.items():
    if not _name.startswith((*LATER, *KEPT)) and "-text-" not in _name:
        ON_PAGE[_page].append(_name)
GONE_BACK_TO = {name for names in ON_PAGE.values() for name in names[1:]}
"""Views that `test_links.py` compares with their outlines, too; a new visit to each is left to the full run."""


def check_link(app: Any) -> None:
    """Check that the address of a page leads back to the same state."""
    focus, notes = Focus.parse(app.query_params, (NDT, FUSED, HARDMAX), SCORES, FUSED)
    assert focus == app.session_state["focus"] and not notes


@pytest.mark.parametrize("name", often(VIEWS, *(name for name in VIEWS if not name.startswith(LATER) and name not in GONE_BACK_TO)))
def test_a_page_shows_what_is_stored_and_its_link_leads_back(name: str, small_world: None, request: pytest.FixtureRequest) -> None:
    page, query = VIEWS[name]
    app = opened(page, **{"run": NDT} | query)
    sane(app)
    check_link(app)
    compare_outline(name, list(outline(app.main, bars=name in BARS)), request.config.getoption("--bless"))


PAPER_VIEWS = {named(page, query): (page, query) for page, query in of_papers()}
FIRST_PARTS = [named(url, {"run": "", "part": paper.page.parts[1]}) for url, paper in zip(PAPERS, built_in().values(), strict=True)]
BOARDS = [name for name in PAPER_VIEWS if "part-claims" in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", often(PAPER_VIEWS, *BOARDS, FIRST_PARTS[0]))
def test_a_page_of_a_paper_shows_what_is_stored(name: str, plain_machine: None, request: pytest.FixtureRequest) -> None:
    page, query = PAPER_VIEWS[name]
    app = opened(page, **query)
    sane(app)
    compare_outline(name, list(outline(app.main, bars=name in BARS)), request.config.getoption("--bless"))


def compare_outline(name: str, lines: list[str], bless: bool, folder: Path = OUTLINES) -> None:
    """Compare an outline with the stored one, or store it."""
    path = folder / f"{name}.txt"
    if bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stored = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    differences = list(unified_diff(stored, "\n".join(lines).splitlines(), "stored", "now", lineterm="", n=1))
    assert not differences, "\n".join([f"{name} differs; if it should, `pytest tests/golden --bless` stores it", *differences[:40]])
