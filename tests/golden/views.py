"""The views of the app whose outlines are stored: pages with small runs, and pages of papers and of the library."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.focus import Focus
from sentviz.analysis.explain import SCORES
from sentviz.charts.figure import file_safe
from sentviz.papers.studies.claims import claims_of
from sentviz.runs.registry import built_in
from tests.golden.make import MEASUREMENTS
from tests.kit import PAGES

NDT, FUSED, HARDMAX = MEASUREMENTS
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


def usual(kind: str) -> list[str]:
    """Return the views of a kind of test that run most further lines of code a second: the rest is left to the full run."""
    lines = Path(__file__).with_name("usual.txt").read_text(encoding="utf-8").splitlines()
    return [name for of, name in map(str.split, lines) if of == kind]


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
PAPER_VIEWS = {named(page, query): (page, query) for page, query in of_papers()}


def check_link(app: Any) -> None:
    """Check that the address of a page leads back to the same state."""
    focus, notes = Focus.parse(app.query_params, (NDT, FUSED, HARDMAX), SCORES, FUSED)
    assert focus == app.session_state["focus"] and not notes
