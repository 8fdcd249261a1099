"""Every page and part of a page with a small run: it opens, its link leads back to the same state, and it shows what is stored.

`pytest tests/golden --bless` writes the outline of each page: its elements in order, each with its label or text. Only the outlines
named in `BARS` contain the two bars: places and finder, views and the choice of model and rows.
"""

import pytest

from tests.golden.outlines import compare_outline, outline
from tests.golden.views import BARS, NDT, PAPER_VIEWS, VIEWS, check_link
from tests.kit import SHIPPED, opened, sane
from tests.shipped import often

pytestmark = SHIPPED


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_shows_what_is_stored_and_its_link_leads_back(name: str, small_world: None, request: pytest.FixtureRequest) -> None:
    page, query = VIEWS[name]
    app = opened(page, **{"run": NDT} | query)
    sane(app)
    check_link(app)
    compare_outline(name, list(outline(app.main, bars=name in BARS)), request.config.getoption("--bless"))


USUAL = [
    "sevenessxin-run--part-padding",
    "hardmax-paper-run",
    "sevenessxin-run--part-items",
    "sevenessxin-run--part-curve",
    "ndt-run--part-compare",
    "sentiformer-run--part-speed",
    "ndt-run--part-cost",
    "sentiformer-run--part-theory",
    "data-run",
    "sevenessxin-run--part-results",
    "sevenessxin-run--part-training",
    "runs-run",
    "sentiformer-run--part-future",
    "fused-run--part-results",
    "fused-run--part-coverage",
    "ndt-run--part-results",
    "sevenessxin-run--part-matrix",
    "sevenessxin-run--part-claims-claim-sevenessxin-98eda4",
    "ndt-run--part-confusion",
    "sentiformer-run--part-carriers",
    "ndt-run--part-base",
    "sentiformer-run--part-failures",
    "sevenessxin-run--part-log",
    "fused-run--part-cls",
    "ndt-run",
    "ndt-run--part-roc",
]
"""Those that run most further lines of code a second: `often` leaves the rest to the full run."""


@pytest.mark.parametrize("name", often(PAPER_VIEWS, *USUAL))
def test_a_page_of_a_paper_shows_what_is_stored(name: str, plain_machine: None, request: pytest.FixtureRequest) -> None:
    page, query = PAPER_VIEWS[name]
    app = opened(page, **query)
    sane(app)
    compare_outline(name, list(outline(app.main, bars=name in BARS)), request.config.getoption("--bless"))
