"""The places: every view has its address, the finder leads to each thing by the name that people use, and models fit views."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from app import header
from app.finder import targets
from app.places import ANSWERS, HEADED, MIXED, SCALED, SENTENCE, places, view_at
from app.views.model.pages import PAGES as PAGES_AS_DATA
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
    "calibration": "confusion?view=calibration",
    "BertViz": "attention?look=bertviz",
    "my own model": "yours",
}


def test_every_view_has_a_script_and_one_address() -> None:
    every = [view for place in places() for view in place.views]
    assert [url for url, count in Counter(url for view in every for url in (view.url, *view.formerly)).items() if count > 1] == []
    assert all((VIEWS / f"{view.script}.py").is_file() != (view.script in PAGES_AS_DATA) for view in every if view.script)
    assert [place.title for place in places() if not place.small] == ["Sentence", "Rows", "Model", "Papers"]


def test_old_addresses_lead_to_a_view() -> None:
    for url in OLD:
        assert url in (view_at(url).url, *view_at(url).formerly)
    assert view_at("") is view_at("no such page") is SENTENCE.views[0]
    assert set(PAGES) <= set(OLD) and {url: view_at(url).title for url in PAGES} == PAGES  # the lists of items say the same titles


def test_the_finder_knows_what_people_look_for() -> None:
    """Each wanted thing stands at the beginning of a title, or as whole words in it, and leads to its view."""
    links_by_title = targets()
    for words, link in WANTED.items():
        assert link in {target for title, target in links_by_title.items() if words.casefold() in title.casefold()}, words
    assert all(view_at(target.partition("?")[0]).url == target.partition("?")[0] for target in links_by_title.values())


def test_every_view_and_term_and_live_item_is_found() -> None:
    links = set(targets().values())
    assert {view.url for place in places() for view in place.views} <= {link.partition("?")[0] for link in links}
    assert "glossary?find=lambda" in links and "fused?part=results" in {link.partition("&")[0] for link in links}


@SHIPPED
def test_a_fit_tells_the_runs_that_a_view_shows() -> None:
    of = [(SCALED, RUN, "sst2/vanilla"), (MIXED, RUN, "sst2/vanilla"), (ANSWERS, RUN, "sst2/ndt-free-3-s1")]
    of += [(HEADED, "sst2/cls", "imdb/cnn-fast")]
    assert [(fit.shows(find(fitting)), fit.shows(find(unfit))) for fit, fitting, unfit in of] == [(True, False)] * 4


@SHIPPED
@pytest.mark.slow
def test_a_view_that_does_not_apply_to_a_chosen_model_is_named_with_the_reason() -> None:
    """The menu says why, and the view itself opens on a fitting model, which a click chooses."""
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
def test_the_links_of_the_bars_have_the_state_that_their_views_will_have() -> None:
    """Without it, a click would look like the way Back to a page without a chosen model, and so would one step back after it."""
    app = opened("confusion", run="sst2/diff", text="a warm song", view="curves")
    state = {"run": "sst2/diff", "text": "a warm song"}
    of_bars: dict[str, dict[str, str]] = {}
    for link in app.get("page_link"):
        of_bars.setdefault(link.proto.label, dict(parse_qsl(link.proto.query_string)))
    assert of_bars["Confusion"] == of_bars["Rows"] == state | {"view": "curves"}
    assert of_bars["Word clouds"] == of_bars["Sentence"] == of_bars["Model"] == state


@SHIPPED
@pytest.mark.parametrize(("late", "run"), [(1e9, "sst2/vanilla"), (0.0, "sst2/diff")])
def test_a_fast_click_on_a_link_from_before_a_change_keeps_the_change(late: float, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right after a change, a link with the state before is one that the browser still had; later it is a step back."""
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
