"""Every control of every page is operated once, and what it changes is as stored; so are a few longer ways through a page.

`pytest tests/golden --bless` writes `tests/golden/clicks`: below each click, how many lines of the outline went, and which lines came.
A click that ends in an exception, or in a sentence that reports a fault of ours, fails. So does a click on a page as it opens whose link
does not show what the click showed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.golden.clicking import Step, follow, forget_work, walk
from tests.golden.test_golden import STORED
from tests.golden.test_pages import BOARDS, FIRST_PARTS, FUSED, NDT, PAPER_VIEWS, VIEWS, compare_outline, named
from tests.shipped import often
from tests.test_app import SHIPPED

pytestmark = [SHIPPED, pytest.mark.slow]
CLICKS = STORED.with_name("clicks")
HOSTILE = "<script>alert(1)</script> $x$ **b** `c` [a](javascript:b) \\ | <b>&amp;"
SAME = (  # parts of the names of views that have the controls of another one
    "-row-",
    "-slice-",
    "-target-",
    "-off-",
    "-mix-",
    "-text-",
    "-token-2",
    "-component-2",
    "-large",
    "-calibration",
    "-dims-",
    "-stops-",
)
WALKED = {name: view for name, view in VIEWS.items() if not any(part in name for part in SAME)}
OWN = ("sentiformer-run--part-theory", "sentiformer-run--part-gates", "ndt-run--part-lambda")  # parts with controls of their own
WHATIF: tuple[tuple[str, dict[str, str]], ...] = (("explore", {"whatif": "open"}), ("explore", {"run": FUSED, "whatif": "open"}))
WALKED |= {named(page, query): (page, query) for page, query in WHATIF}
WALKED_PAPERS = {name: view for name, view in PAPER_VIEWS.items() if "part-" not in name or name in (*BOARDS, *FIRST_PARTS, *OWN)}
MORE = ("explore", "compare", "embeddings", "cls")
"""Pages of which a link says less than the page after a click: what was tried, the app's own first run, computed layers, a measure."""
QUICK = ("attention", "labels", "hardmax-run-toy-hardmax-d2-lab-review", "scalars", "comparison")
SENTENCE, OVER = "text_input sentence", "selectbox focus-over"
WAYS: dict[str, tuple[str, dict[str, str], tuple[Step, ...], bool]] = {
    "type": ("explore", {}, ((SENTENCE, "a clever, tender garden"), ("button pin", ""), (SENTENCE, "a dull garden")), True),
    "hostile": ("explore", {}, ((SENTENCE, HOSTILE), ("expander swap-section", ""), ("button pin", "")), False),
    "long": ("explore", {}, ((SENTENCE, "a dull song, " * 40),), False),
    "swap": ("explore", {}, (("expander swap-section", ""),), True),
    "studio": ("curves", {}, (("!button open-studio-curves", ""),), True),
    "studio-size": ("curves", {}, (("!button open-studio-curves", ""), ("button_group studio-size", "own")), True),
    "export": ("curves", {}, (("button_group size-curves", "one column"),), True),
    "second": ("confusion", {}, (("selectbox beside", ""),), True),
    "cell": ("confusion", {}, (("plotly_chart plot-matrix", ""),), True),
    "mine": ("confusion", {}, ((OVER, "your file"), ("file_uploader mine-file", "")), True),
    "models": ("comparison", {}, ((OVER, "your file"), ("file_uploader mine-file", "models.csv")), True),
    "sheets": ("confusion", {}, ((OVER, "your file"), ("file_uploader mine-file", "sheets.xlsx")), True),
    "yours": ("yours", {}, (("file_uploader yours-uploader", ""),), True),
    "follow": ("compare", {}, (("text_input compare-sentence", HOSTILE), ("button compare-swap", "")), False),
}
"""Ways of several clicks: page, its link, the clicks, and whether what is new on the page after them is operated, too."""
OFTEN = ("hostile", "mine")


@pytest.fixture
def own_home(plain_machine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep what pages store in a folder of this test alone, and load now what the app would load beside the first clicks."""
    import_module("sklearn.metrics")
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    yield
    forget_work()


@pytest.mark.parametrize("name", often(WALKED, *QUICK))
def test_a_click_changes_what_is_stored(name: str, small_world: None, own_home: None, request: pytest.FixtureRequest) -> None:
    page, query = WALKED[name]
    changes = list(walk(page, {"run": NDT} | query, links=not query and page not in MORE))
    compare_outline(name, changes, request.config.getoption("--bless"), CLICKS)


@pytest.mark.parametrize("name", often(WALKED_PAPERS, "sevenessxin-run--part-results"))
def test_a_click_on_a_page_of_a_paper_changes_what_is_stored(name: str, own_home: None, request: pytest.FixtureRequest) -> None:
    page, query = WALKED_PAPERS[name]
    compare_outline(name, list(walk(page, query)), request.config.getoption("--bless"), CLICKS)


@pytest.mark.parametrize("name", often(WAYS, *OFTEN))
def test_several_clicks_change_what_is_stored(name: str, small_world: None, own_home: None, request: pytest.FixtureRequest) -> None:
    page, query, steps, on = WAYS[name]
    compare_outline(f"way-{name}", list(follow(page, {"run": NDT} | query, steps, on=on)), request.config.getoption("--bless"), CLICKS)
