"""Settings of single pages, in and out of the URL, and what deletes them; the view of a visitor, and the widgets that change it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from app import visit
from app.fields import TEXT_IN_URL, two_places, whole_number
from app.focus import FIELDS, Focus
from app.visit import Settings


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


@limits(max_examples=25)
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


# ---- the view of a visitor


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the state of a visit to the page "confusion"."""
    own: dict[str, Any] = {"focus": Focus(run="a/b", text="words"), "page": "confusion"}
    monkeypatch.setattr(visit.st, "session_state", own)
    return own


def test_a_change_is_of_the_focus_or_of_a_setting(state: dict[str, Any]) -> None:
    """A change of a field deletes the settings that depend on it; a change of the run means that the visitor chose it."""
    assert visit.chosen("view", ("matrix", "curves"), resets=("run",)) == "matrix" and visit.chosen("axis", ("x", "y"), default="y") == "y"
    visit.go(view="curves", axis="x", layer=2)
    assert (visit.focus(), visit.settings().values) == (Focus(run="a/b", text="words", layer=2), {"view": "curves", "axis": "x"})
    assert state["touched"] and not visit.has_chosen_run() and visit.query("a/b") == {"layer": "2", "view": "curves", "axis": "x"}
    assert visit.query("", with_text=True, page="words") == {"run": "a/b", "text": "words", "layer": "2"}
    visit.go(run="c/d", find="\ud800 9")
    assert visit.has_chosen_run() and visit.focus() == Focus(run="c/d", text="words")
    assert visit.settings().values == {"axis": "x", "find": "? 9"} and visit.chosen("view", ("matrix", "curves")) == "matrix"
    visit.set_run_chosen(False)
    assert not visit.has_chosen_run()


def test_a_second_click_takes_a_value_back(state: dict[str, Any]) -> None:
    for name, value in (("slice", "cell=1,0"), ("claim", "ndt-1")):
        seen = []
        for clicked in (value, value, "word=song", value):
            visit.toggle(name, clicked)
            seen.append(visit.focus().slice if name == "slice" else visit.settings().values[name])
        assert seen == [value, "", "word=song", value]


def test_a_page_may_show_another_run_than_the_chosen_one(state: dict[str, Any]) -> None:
    visit.show_instead(run="c/d")
    visit.show_instead(text="")
    assert (visit.focus(), visit.chosen_focus()) == (Focus(run="c/d"), Focus(run="a/b", text="words"))
    assert visit.replaced_fields() == {"run": "a/b", "text": "words"} and visit.query("")["run"] == "a/b"
    visit.show_instead()
    assert visit.focus() == visit.chosen_focus() and visit.replaced_fields() == {}


def test_results_of_a_visit_are_computed_once_and_the_oldest_go(state: dict[str, Any]) -> None:
    computed: list[int] = []

    def result(key: int, **most: int) -> int:
        return visit.keep_result("squares", key, lambda: computed.append(key) or key * key, **most)

    assert [result(key) for key in (2, 2, 3, 2)] == [4, 4, 9, 4] and computed == [2, 3, 2] and state["squares"] == {2: 4}
    assert (
        [result(key, most=2) for key in (3, 4, 3, 2)] == [9, 16, 9, 4]
        and computed == [2, 3, 2, 3, 4, 2]
        and state["squares"] == {4: 16, 2: 4}
    )
    assert visit.keep_result("other", 2, lambda: "another kind") == "another kind"


def test_a_widget_shows_a_value_and_writes_what_is_chosen(state: dict[str, Any]) -> None:
    drawn: list[tuple[Any, ...]] = []

    def widget(label: str, options: list[str], **how: Any) -> None:
        drawn.append((label, options, how.pop("on_change"), how))

    assert visit.choose(widget, "Rows", "over", ("test", "demo"), width=9) == "test"
    assert visit.choose(widget, "Head", "head", {"max": "Largest", "1": "First"}, label_visibility="visible") == "max"
    assert visit.setting(widget, "View", "view", ("matrix", "curves"), default="curves", resets=("run",)) == "curves"
    (_, _, over, first), (_, options, head, second), (_, _, view, third) = drawn
    assert first == {"key": "focus-over", "label_visibility": "collapsed", "width": 9} and state["focus-over"] == "test"
    assert (
        options == ["max", "1"]
        and second.pop("format_func")("1") == "First"
        and second == {"key": "focus-head", "label_visibility": "visible"}
    )
    assert third == {"key": "focus-view", "label_visibility": "collapsed"} and state["focus-view"] == "curves"
    state |= {"focus-over": "demo", "focus-head": None, "focus-view": "matrix"}
    for take in (over, head, view):
        take()
    assert visit.focus() == Focus(run="a/b", text="words", over="demo") and visit.settings().values == {"view": "matrix"}
    assert visit.setting(widget, "View", "view", ("matrix", "curves"), default="curves") == "matrix"
    written: list[dict[str, Any]] = []
    for name, chosen in (("layer", "3"), ("threshold", "0.5"), ("least", 7)):
        bound = visit.bound(name, 1, part="low", write=lambda **changes: written.append(changes))
        assert bound["key"] == f"focus-{name}-low"
        state[bound["key"]] = chosen
        bound["on_change"]()
    doubled = visit.bound("top", 2, put=lambda value: value * 2)
    doubled["on_change"]()
    assert written == [{"layer": 3}, {"threshold": 0.5}, {"least": "7"}] and visit.settings().values["top"] == "4"


def test_a_page_runs_again_after_a_change_and_keeps_its_notes(state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    monkeypatch.setattr(visit.st, "rerun", lambda: runs.append(1))
    visit.settle()
    state |= {"touched": True, "shown_notes": ["a note"]}
    visit.settle()
    visit.draw_again()
    assert len(runs) == 2 and state["notes"] == ["a note"]
