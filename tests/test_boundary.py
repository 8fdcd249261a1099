"""An error of the library stands in the place of the part that failed, and the rest of the page is drawn."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from app.text import md


def page(how):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    """Draw a part that fails as asked, and another part after it."""
    import streamlit as st

    from app.blocks.boundary import boundary
    from sentviz.errors import InputError
    from sentviz.models.budget import Budget, Spent

    @boundary("own", **how.get("boundary", {}))
    def draw() -> str:
        st.text("before")
        if error := how.get("error"):
            raise Spent(Budget(20.0)) if error == "spent" else KeyError("x") if error == "other" else InputError(error)
        return "result"

    st.text(f"{draw()} after")


def drawn(**how: object) -> AppTest:
    """Return the page."""
    return AppTest.from_function(page, args=(how,)).run()


def texts(app: AppTest) -> list[str]:
    """Return the texts of the page."""
    return [text.value for text in app.text]


def test_without_an_error_the_part_is_as_it_is() -> None:
    app = drawn()
    assert texts(app) == ["before", "result after"] and not app.warning


def test_an_error_is_one_sentence_and_the_page_goes_on() -> None:
    app = drawn(error="a*b is missing. `sentviz runs` lists all.")
    assert [warning.value for warning in app.warning] == [f"{md('a*b is missing. ')}`sentviz runs`{md(' lists all.')}"]
    assert texts(app) == ["before", "None after"] and not app.exception


@pytest.mark.parametrize("page", [False, True])
def test_a_quiet_error_is_small_and_an_error_of_the_page_ends_it(page: bool) -> None:
    app = drawn(error="It is gone.", boundary={"quiet": True, "page": page})
    assert [caption.value for caption in app.caption] == [md("It is gone.")] and not app.warning
    assert texts(app) == ["before"] + ["None after"] * (not page)


def test_time_that_is_over_can_be_extended() -> None:
    app = drawn(error="spent")
    assert len(app.warning) == 1 and app.button(key="go-on-own").label == "Go on for 20 seconds"


def test_other_errors_are_no_sentences_of_the_library() -> None:
    assert drawn(error="other").exception
