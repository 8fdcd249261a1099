"""The view of a visitor, settings in and out of the URL, the places, and the finder that leads to each thing."""

import re
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from app import header, visit
from app.fields import TEXT_IN_URL, two_places, whole_number
from app.finder import targets
from app.focus import FIELDS, Focus
from app.places import ANSWERS, HEADED, MIXED, SCALED, SENTENCE, places, view_at
from app.views.model.pages import PAGES as PAGES_AS_DATA
from app.visit import Settings
from sentviz.charts import palette
from sentviz.runs.items import PAGES
from sentviz.runs.store import find
from tests.kit import RUN, SHIPPED, opened, switched

VIEWS = Path(__file__).parents[1] / "app" / "views"
OLD = (  # addresses of earlier versions
    *("attention", "causes", "compare", "hardmax", "confusion", "comparison", "labels", "behaviour", "words", "embeddings"),
    *("explanations", "directions", "heads", "components", "lambdas", "curves", "through", "yours", "claims", "findings"),
    *("runs", "data", "glossary", "colours", "ndt", "hardmax-paper", "fused", "sentiformer", "sevenessxin"),
)
WANTED = {  # Names that people look for, with the links that they want.
    "lambda": "lambdas",
    "CLS attention std": "heads",
    "t-SNE": "embeddings?method=tsne",
    "UMAP": "embeddings?method=umap",
    "silhouette": "embeddings",
    "word cloud": "words",
    "confusion": "confusion?view=matrix",
    "hardmax animation": "hardmax?lab=review",
    "attention heatmap": "attention",
    "Figure 3": "ndt?part=tsne",
    "F1": "confusion?view=matrix",
    "my own model": "yours",
    "calibration": "confusion?view=calibration",
    "BertViz": "attention?look=bertviz",
}


def view(value: str) -> str | None:
    """Return a known view, None for any other text."""
    return value if value in ("matrix", "curves") else None


def read(settings: Settings, page: str = "confusion") -> str:
    """Read the setting `view` of a page, as the page does when it draws its widget."""
    return settings.read(page, "view", "matrix", view, ("run",))


def test_a_setting_stays_with_its_page_until_its_meaning_or_a_named_field_changes() -> None:
    settings = Settings()
    settings.follow("confusion", {"view": "curves", "run": "sst2/diff"})
    assert settings.query("confusion") == {"view": "curves"} and read(settings) == "curves"
    assert settings.query("confusion") == {"view": "curves"}
    settings.follow("confusion", {"run": "sst2/diff"})
    assert read(settings) == "matrix" and settings.query("confusion") == {}
    settings.follow("confusion", {"utm_source": "x", "view": "curves"})
    read(settings)
    settings.drop_link()
    assert settings.query("words") == {} and settings.values == {"view": "curves"}
    settings.follow("words", {"stops": "keep"})
    settings.drop_link()
    assert read(settings) == "curves" and settings.query("confusion") == {"view": "curves"}
    settings.forget({"layer", "text"})
    assert read(settings) == "curves"
    settings.forget({"run"})
    assert read(settings) == "matrix"
    settings.follow("confusion", {"view": "nonsense"})
    assert read(settings) == "matrix" and settings.query("confusion") == {} == settings.values


@limits(max_examples=25)
@given(st.dictionaries(st.sampled_from(["view", "top", "plane", "run"]) | st.text(), st.text()))
def test_any_link_gives_settings_that_can_be_written_again(query: dict[str, str]) -> None:
    settings = Settings()
    settings.follow("confusion", query)
    read(settings), settings.read("confusion", "top", 0, whole_number, ()), settings.read("confusion", "plane", (0, 0), two_places, ())
    written = settings.query("confusion")
    assert written.keys().isdisjoint(FIELDS)
    assert all(len(value) <= TEXT_IN_URL and value == value.encode().decode() for value in written.values())
    settings.follow("confusion", written)
    assert settings.query("confusion") == written


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the state of a visit to the page "confusion"."""
    own: dict[str, Any] = {"focus": Focus(run="a/b", text="words"), "page": "confusion"}
    monkeypatch.setattr(visit.st, "session_state", own)
    return own


def test_a_second_click_takes_a_value_back_and_results_are_computed_once(state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("slice", "cell=1,0"), ("claim", "ndt-1")):
        seen = []
        for clicked in (value, value, "word=song", value):
            visit.toggle(name, clicked)
            seen.append(visit.focus().slice if name == "slice" else visit.settings().values[name])
        assert seen == [value, "", "word=song", value]
    computed: list[int] = []

    def result(key: int, **most: int) -> int:
        return visit.keep_result("squares", key, lambda: computed.append(key) or key * key, **most)

    assert [result(key) for key in (2, 2, 3, 2)] == [4, 4, 9, 4] and computed == [2, 3, 2] and state["squares"] == {2: 4}
    assert [result(key, most=2) for key in (3, 4, 3, 2)] == [9, 16, 9, 4]
    assert computed == [2, 3, 2, 3, 4, 2] and state["squares"] == {4: 16, 2: 4}
    assert visit.keep_result("other", 2, lambda: "another kind") == "another kind"
    runs: list[int] = []
    monkeypatch.setattr(visit.st, "rerun", lambda: runs.append(1))
    state.pop("touched", None)
    visit.settle()
    state |= {"touched": True, "shown_notes": ["a note"]}
    visit.settle()
    visit.draw_again()
    assert len(runs) == 2 and state["notes"] == ["a note"]


def test_a_change_is_of_the_focus_or_of_a_setting_and_a_page_may_show_another_run(state: dict[str, Any]) -> None:
    visit.show_instead(run="c/d")
    visit.show_instead(text="")
    assert (visit.focus(), visit.chosen_focus()) == (Focus(run="c/d"), Focus(run="a/b", text="words"))
    assert visit.replaced_fields() == {"run": "a/b", "text": "words"} and visit.query("")["run"] == "a/b"
    visit.show_instead()
    assert visit.focus() == visit.chosen_focus() and visit.replaced_fields() == {}
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


def test_a_widget_shows_a_value_and_writes_what_is_chosen(state: dict[str, Any]) -> None:
    drawn: list[tuple[Any, ...]] = []

    def widget(label: str, options: list[str], **how: Any) -> None:
        drawn.append((label, options, how.pop("on_change"), how))

    assert visit.choose(widget, "Rows", "over", ("test", "demo"), width=9) == "test"
    assert visit.choose(widget, "Head", "head", {"max": "Largest", "1": "First"}, label_visibility="visible") == "max"
    assert visit.setting(widget, "View", "view", ("matrix", "curves"), default="curves", resets=("run",)) == "curves"
    (_, _, over, first), (_, options, head, second), (_, _, view, third) = drawn
    assert first == {"key": "focus-over", "label_visibility": "collapsed", "width": 9} and state["focus-over"] == "test"
    assert options == ["max", "1"] and second.pop("format_func")("1") == "First"
    assert second == {"key": "focus-head", "label_visibility": "visible"}
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


def test_every_view_has_an_address_and_is_found_by_the_names_that_people_use() -> None:
    every = [view for place in places() for view in place.views]
    assert [url for url, count in Counter(url for view in every for url in (view.url, *view.formerly)).items() if count > 1] == []
    assert all((VIEWS / f"{view.script}.py").is_file() != (view.script in PAGES_AS_DATA) for view in every if view.script)
    assert [place.title for place in places() if not place.small] == ["Sentence", "Rows", "Model", "Papers"]
    for url in OLD:
        assert url in (view_at(url).url, *view_at(url).formerly)
    assert view_at("") is view_at("no such page") is SENTENCE.views[0]
    assert set(PAGES) <= set(OLD) and {url: view_at(url).title for url in PAGES} == PAGES  # the lists of items say the same titles
    links_by_title = targets()
    for words, link in WANTED.items():
        assert link in {target for title, target in links_by_title.items() if words.casefold() in title.casefold()}, words
    assert all(view_at(target.partition("?")[0]).url == target.partition("?")[0] for target in links_by_title.values())
    links = set(targets().values())
    assert {view.url for place in places() for view in place.views} <= {link.partition("?")[0] for link in links}
    assert "glossary?find=lambda" in links and "fused?part=results" in {link.partition("&")[0] for link in links}


def test_the_bars_name_their_places_for_the_style_sheet(state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    keys, links = list[str](), list[tuple[str, str]]()
    state |= {"last": {"Model": view_at("curves")}, "pages": {view.url: view.url for place in places() for view in place.views}}
    monkeypatch.setattr(header.st, "container", lambda **how: keys.append(how["key"]) or nullcontext())
    monkeypatch.setattr(header.st, "page_link", lambda page, **how: links.append((page, how["label"])))
    for place in places():
        header._link_to(place, places()[1], "a/b")
    names = ("elsewhere-sentence", "here-rows", "elsewhere-model", "elsewhere-papers")
    assert keys == [f"place-{name}" for name in (*names, *(f"elsewhere-small-{each}" for each in ("bring-yours", "library", "help")))]
    views = ("explore", "confusion", "curves", "findings", "yours", "runs", "glossary")
    assert links == list(zip(views, (place.title for place in places()), strict=True))
    header._views(places()[1], view_at("words"), None, "a/b")
    assert keys[7:] == [f"view-{'here' if view.url == 'words' else 'elsewhere'}-{view.url}" for view in places()[1].views]
    named = set(re.findall(r"st-key-((?:place|view)-[a-z-]*)", header.STYLE))
    assert named and all(any(name in f"st-key-{key}" for key in keys) for name in named), named
    light, dark = palette("light"), palette("dark")
    pairs = " ".join(f"--{name}: light-dark({getattr(light, name)}, {getattr(dark, name)});" for name in ("paper", "grid", "accent"))
    floating = f"--paper: {dark.paper}; --grid: {dark.grid}; --accent: {dark.accent};"
    assert header._colours("dark") == f":root {{ {pairs} }} [data-st-overlay-root] {{ {floating} }}"


@SHIPPED
def test_the_links_of_the_bars_have_the_state_that_their_views_will_have() -> None:
    of = [(SCALED, RUN, "sst2/vanilla"), (MIXED, RUN, "sst2/vanilla"), (ANSWERS, RUN, "sst2/ndt-free-3-s1")]
    of += [(HEADED, "sst2/cls", "imdb/cnn-fast")]
    assert [(fit.shows(find(fitting)), fit.shows(find(unfit))) for fit, fitting, unfit in of] == [(True, False)] * 4
    app = opened("confusion", run="sst2/diff", text="a warm song", view="curves")
    state = {"run": "sst2/diff", "text": "a warm song"}
    of_bars: dict[str, dict[str, str]] = {}
    for link in app.get("page_link"):
        of_bars.setdefault(link.proto.label, dict(parse_qsl(link.proto.query_string)))
    assert of_bars["Confusion"] == of_bars["Rows"] == state | {"view": "curves"}
    assert of_bars["Word clouds"] == of_bars["Sentence"] == of_bars["Model"] == state


@SHIPPED
def test_a_view_that_does_not_apply_to_a_chosen_model_is_named_with_the_reason() -> None:
    app = opened("curves", run="sst2/vanilla")
    bar = [element.proto.label for element in app.get("page_link")]
    assert bar.index("Training") < bar.index("Lambda")  # the views that do not apply come last, in the menu
    app = opened("scalars", run="sst2/vanilla")
    assert app.session_state["focus"].run == app.query_params["run"] == "sst2/vanilla"
    (note,) = [each.value.replace("\\", "") for each in app.caption if "is shown instead of" in each.value]
    assert SCALED.lacks in note and "sst2/vanilla" in note
    app.button(key="stay").click().run()
    assert app.session_state["focus"].run != "sst2/vanilla" and not app.exception


@SHIPPED
@pytest.mark.parametrize(("late", "run"), [(1e9, "sst2/vanilla"), (0.0, "sst2/diff")])
def test_a_fast_click_on_a_link_from_before_a_change_keeps_the_change(late: float, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header, "LATE", late)
    app = opened("curves", run="sst2/diff")
    app.selectbox(key="focus-run").set_value("sst2/vanilla").run()
    assert app.query_params["run"] == "sst2/vanilla"
    app.query_params["run"] = "sst2/diff"
    switched(app, "cls")
    assert app.session_state["focus"].run == run == app.query_params["run"]


@SHIPPED
def test_the_finder_opens_the_view_and_keeps_the_chosen_model() -> None:
    app = opened("glossary")
    title = next(title for title, link in targets().items() if link == "confusion?view=calibration")
    app.selectbox(key="finder").set_value(title).run()
    assert not app.exception and app.session_state["page"] == "confusion"
    assert app.query_params["view"] == "calibration" and app.session_state["focus"].run == RUN
    assert app.selectbox(key="finder").value is None  # ready for the next search
    app.selectbox(key="finder").set_value("sst2/diff").run()
    assert app.session_state["focus"].run == "sst2/diff"
