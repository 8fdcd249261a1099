"""Every page and part of a page with a small run: it opens, its link leads back to the same state, and it shows what is stored.

`pytest tests/golden --bless` writes the outline of each page: its elements in order, each with its label or text. Only the outlines
named in `BARS` contain the two bars: places and finder, views and the choice of model and rows.
"""

import pytest

from tests.golden.outlines import compare_outline, outline
from tests.golden.views import BARS, NDT, PAPER_VIEWS, VIEWS, check_link, usual
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


@pytest.mark.parametrize("name", often(PAPER_VIEWS, *usual("page-of-a-paper")))
def test_a_page_of_a_paper_shows_what_is_stored(name: str, plain_machine: None, request: pytest.FixtureRequest) -> None:
    page, query = PAPER_VIEWS[name]
    app = opened(page, **query)
    sane(app)
    compare_outline(name, list(outline(app.main, bars=name in BARS)), request.config.getoption("--bless"))
