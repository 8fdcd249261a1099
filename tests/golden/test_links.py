"""Going back and forward on a page shows the outlines in `tests/golden/pages`; nothing more is stored."""

import pytest

from tests.golden.clicking import Page
from tests.golden.outlines import OUTLINES, compare_outline, outline
from tests.golden.views import BARS, NDT, ON_PAGE, VIEWS, check_link
from tests.kit import SHIPPED, opened, sane

pytestmark = SHIPPED
SEVERAL = [page for page, names in ON_PAGE.items() if len(names) > 1]


@pytest.mark.parametrize("page", SEVERAL)
def test_going_back_and_forward_shows_what_a_link_shows(page: str, small_world: None) -> None:
    """A visit to one view after the other, and back to the first, shows of each what is stored of a new visit."""
    names = ON_PAGE[page]
    visit, wrong = Page(opened(page, **{"run": NDT} | VIEWS[names[0]][1])).settled(), []
    for name in [*names[1:], names[0]]:
        visit.app.query_params = {key: [value] for key, value in ({"run": NDT} | VIEWS[name][1]).items()}
        visit.app.run()
        visit.settled()
        sane(visit.app)
        check_link(visit.app)
        try:
            compare_outline(name, list(outline(visit.app.main, bars=name in BARS)), bless=False, folder=OUTLINES)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n\n".join(wrong)
