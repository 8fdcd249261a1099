"""Settings of single pages: in and out of the URL, what deletes them, and values without meaning."""

from __future__ import annotations

from itertools import cycle, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fields import TEXT_IN_URL, two_places, whole_number
from app.focus import FIELDS
from app.visit import Settings
from tests.kit import opened, switched, words
from tests.shipped import often


def view(value: str) -> str | None:
    """Return a known view, None for any other text."""
    return value if value in ("matrix", "curves") else None


def read(settings: Settings, page: str = "confusion") -> str:
    """Read the setting `view` of a page, as the page does when it draws its widget."""
    return settings.read(page, "view", "matrix", view, ("run",))


def test_a_link_sets_the_settings_of_its_page() -> None:
    """The URL keeps the name before the page has read it and afterwards; the default stands in no URL."""
    settings = Settings()
    settings.follow("confusion", {"view": "curves", "run": "sst2/diff"})
    assert settings.query("confusion") == {"view": "curves"}
    assert read(settings) == "curves"
    assert settings.query("confusion") == {"view": "curves"}
    settings.follow("confusion", {"run": "sst2/diff"})
    assert read(settings) == "matrix" and settings.query("confusion") == {}


def test_a_setting_stays_with_its_page() -> None:
    """Another page has no part of it in its URL, and a link to that page leaves it as it is."""
    settings = Settings()
    settings.follow("confusion", {"view": "curves"})
    read(settings)
    settings.drop_link()
    assert settings.query("words") == {}
    settings.follow("words", {"stops": "keep"})
    settings.drop_link()
    assert read(settings) == "curves" and settings.query("confusion") == {"view": "curves"}


def test_names_that_no_page_reads_end_with_the_visit_to_their_page() -> None:
    settings = Settings()
    settings.follow("confusion", {"utm_source": "x", "view": "curves"})
    read(settings)
    settings.drop_link()
    assert settings.values == {"view": "curves"}


def test_a_value_without_meaning_is_deleted() -> None:
    settings = Settings()
    settings.follow("confusion", {"view": "nonsense"})
    assert read(settings) == "matrix" and settings.query("confusion") == {} == settings.values


def test_a_change_of_a_named_field_deletes_the_value() -> None:
    settings = Settings()
    settings.follow("confusion", {"view": "curves"})
    read(settings)
    settings.forget({"layer", "text"})
    assert read(settings) == "curves"
    settings.forget({"run"})
    assert read(settings) == "matrix"


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["view", "top", "plane", "run"]) | st.text(), st.text()))
def test_any_link_gives_settings_that_can_be_written_again(query: dict[str, str]) -> None:
    """Shared fields are not taken over, no value is longer than a link may be, and half characters are replaced."""
    settings = Settings()
    settings.follow("confusion", query)
    read(settings), settings.read("confusion", "top", 0, whole_number, ()), settings.read("confusion", "plane", (0, 0), two_places, ())
    written = settings.query("confusion")
    assert written.keys().isdisjoint(FIELDS)
    assert all(len(value) <= TEXT_IN_URL and value == value.encode().decode() for value in written.values())
    settings.follow("confusion", written)
    assert settings.query("confusion") == written


@pytest.mark.exhaustive
def test_a_page_reads_its_settings_from_the_link_and_keeps_them() -> None:
    """Settings return with their page after a visit to another page, whose URL has none of them."""
    app = opened("curves", axis="step", seeds="bands")
    assert (app.button_group(key="focus-axis").value, app.button_group(key="focus-seeds").value) == ("step", "bands")
    switched(app, "glossary")
    assert "axis" not in app.query_params and "seeds" not in app.query_params
    switched(app, "curves")
    assert app.query_params["axis"] == "step" and app.button_group(key="focus-axis").value == "step"
    app.button_group(key="focus-axis").set_value("epoch").run()
    assert "axis" not in app.query_params and app.query_params["seeds"] == "bands"


PAGES = {
    "confusion": ("view", "find", "least", "most", "order"),
    "words": ("stops",),
    "embeddings": ("method", "dims", "colour", "sample"),
    "hardmax": ("lab", "heat", "plane", "play"),
    "attention": ("specials", "top", "reach"),
    "curves": ("axis", "seeds"),
    "through": ("travel",),
    "runs": ("data", "shelf"),
    "claims": ("paper", "verdict", "claim"),
}


ODD = ("²", "\x00<script>", "9" * 5_000, "nan")


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", often(product(PAGES, ODD), *zip(PAGES, cycle(ODD), strict=False)))
def test_a_wrong_value_shows_the_default_without_a_note(case: tuple[str, str]) -> None:
    page, value = case
    page_words = words(opened(page, **dict.fromkeys(PAGES[page], value)))
    assert "The link asks for" not in page_words
