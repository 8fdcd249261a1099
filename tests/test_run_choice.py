"""Runs on pages: a fitting run replaces one that a page cannot show, and a run has the same colour in every figure."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app import cache
from app.blocks.run_choice import most_alike, most_similar
from sentviz.charts.colours import palette
from sentviz.charts.curves import curves
from sentviz.charts.figure import Figure
from sentviz.charts.heads import layer_lines
from sentviz.errors import InputError
from sentviz.runs.catalog import best_run
from sentviz.runs.store import Run, find, runs
from tests.kit import opened, page_text, switched
from tests.test_figures import history

CLS, INJECTED, WITHOUT_CLS = "sst2/cls", "sst2/cls-last-scaled", "english/ndt-unit-2"
WITHOUT_WEIGHTS, SAME_WITH_WEIGHTS = "sst2/ndt-free-3-s1", "sst2/ndt-free-3"


def heads(*measures: str) -> pd.DataFrame:
    rows = [(layer, -1, measure, 0.1 * layer, 0.0, 0.2, 9) for measure in measures for layer in (0, 1)]
    return pd.DataFrame(rows, columns=["layer", "head", "measure", "value", "low", "high", "n"])


def looks(figure: Figure, name: str) -> set[tuple[str, str]]:
    """Return colours and symbols of all lines of a run."""
    lines = [trace for trace in figure.plot.data if trace.name == name and trace.mode == "lines+markers"]
    return {(line.line.color, line.marker.symbol) for line in lines}


@pytest.mark.exhaustive
def test_a_run_keeps_its_colour_if_another_run_lacks_a_measure() -> None:
    """The second of three runs has no [CLS]; the third has the third colour and symbol with and without it."""
    frames = {"a": heads("from_cls", "entropy"), "b": heads("entropy"), "c": heads("from_cls", "entropy")}
    third = {(palette("light").line(2), "diamond")}
    for measure in ("from_cls", "entropy"):
        figure = layer_lines(frames, [measure])
        assert looks(figure, "c") == third
    named = layer_lines({"c": frames["c"]}, ["entropy"], series=[2], title="NSMC").plot.layout
    assert named.title.text == "NSMC" and named.margin.t > figure.plot.layout.margin.t
    assert looks(layer_lines({"c": frames["c"]}, ["entropy"], series=[2]), "c") == third


def test_a_pretrained_run_is_replaced_by_a_pretrained_run() -> None:
    """Of the runs with measured epochs, one on a base is most similar to the default run; a run from scratch keeps one of its data set."""
    known = runs()
    able = [run for run in known.values() if run.measured]
    assert most_similar(known["english/mpnet"], able).name == "sst2/minilm-epochs"
    assert most_similar(known["sst2/ndt-free-3"], able).name == "sst2/ndt-unit-2-epochs"


def test_titles_of_panels_have_short_lines() -> None:
    """Two panels side by side fit a phone: no line of a title is wider than half of it."""
    notes = layer_lines({"a": heads("from_cls", "entropy")}, ["from_cls", "entropy"]).plot.layout.annotations
    assert [note.text for note in notes if note.font.size == 13] == [
        "CLS attention std,<br>from [CLS] to others",
        "Entropy, share of its<br>maximum",
    ]


def test_curves_take_the_numbers_of_runs_and_of_groups() -> None:
    """A group of seeds has the number of its first run; a wrong number of numbers is refused."""
    runs = {"a-s1": history(), "b": history(), "a": history()}
    colours = palette("light")
    figure = curves(runs, names=("train_loss",), series=[4, 2, 4], groups={"a-s1": "set/a", "b": "set/b", "a": "set/a"})
    lines = {trace.name: trace.line.color for trace in figure.plot.data if trace.showlegend and trace.mode != "markers"}
    assert lines == {"b": colours.line(2), "set/a, 2 seeds": colours.line(4)}
    with pytest.raises(InputError, match="`series` needs one number for each of 3 runs, not 1"):
        curves(runs, series=[1])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("page", "picker"), [("explore", "focus-run"), ("attention", "focus-run"), ("compare", "focus-run")])
def test_a_page_that_runs_the_model_shows_a_run_with_weights(page: str, picker: str) -> None:
    """The same configuration is shown with one note; the link's run stays in the URL and comes back on a page that can show it."""
    assert not find(WITHOUT_WEIGHTS).has_weights
    app = opened(page, run=WITHOUT_WEIGHTS)
    assert not app.info and not app.warning and not app.error
    assert app.selectbox(key=picker).value == SAME_WITH_WEIGHTS
    assert weight_notes(app) == [f"{SAME_WITH_WEIGHTS} is shown instead of {WITHOUT_WEIGHTS}, which has no weights."]
    assert app.query_params["run"] == WITHOUT_WEIGHTS
    curves_page = switched(app, "curves")
    assert curves_page.selectbox(key="focus-run").value == WITHOUT_WEIGHTS and not weight_notes(curves_page)
    again = switched(curves_page, page)
    again.selectbox(key=picker).set_value("sst2/diff").run()
    assert not weight_notes(again) and again.query_params["run"] == "sst2/diff"


@pytest.mark.exhaustive
def test_a_run_without_a_fitting_configuration_is_replaced_by_the_best_of_its_language() -> None:
    """The layers of the other run can be chosen; a row of another data set is left out on the page."""
    light, best = "sst2/ndt-free-4", "english/mpnet"
    app = opened("attention", run=light, row="no-such-row")
    assert weight_notes(app) == [f"{best} is shown instead of {light}, which has no weights."] and not app.warning
    app.selectbox(key="focus-layer").set_value(str(find(best).capabilities.layers)).run()
    assert not app.exception and not app.info
    assert app.selectbox(key="focus-layer").value == str(find(best).capabilities.layers)


@pytest.mark.exhaustive
def test_the_second_run_of_compare_may_have_no_weights() -> None:
    app = opened("compare", run="sst2/diff", versus="sst2/vanilla-s1")
    assert app.selectbox(key="beside").value == "sst2/vanilla" and not app.info
    assert weight_notes(app) == ["sst2/vanilla is shown instead of sst2/vanilla-s1, which has no weights."]
    assert app.query_params["versus"] == "sst2/vanilla-s1"


@pytest.mark.parametrize(
    ("light", "replaced_by"),
    [
        (WITHOUT_WEIGHTS, SAME_WITH_WEIGHTS),
        ("imdb/ndt-free-3", SAME_WITH_WEIGHTS),  # no run on its data set has its configuration and weights
        ("klue_nli/cls-s1", "question_pair/cls"),  # reads pairs
        ("korean_hate_speech/cls-s1", "nsmc/cls"),
    ],
)
def test_the_run_with_weights_is_alike(light: str, replaced_by: str) -> None:
    assert not find(light).has_weights and most_alike(find(light), list(cache.models().values())).name == replaced_by


def test_a_korean_run_without_a_fitting_configuration_is_replaced_by_the_best_korean_run() -> None:
    with_their_weights = [run for run in runs().values() if isinstance(run, Run) and run.has_weights]
    assert most_alike(find("nsmc/cls-all"), with_their_weights).name == best_run(with_their_weights, "ko")


def weight_notes(app: AppTest) -> list[str]:
    """Return the notes about runs without weights."""
    texts = [each.value.replace("\\", "") for each in app.caption]
    return [text for text in texts if "has no weights" in text]


def chosen(app: AppTest, key: str) -> list[str]:
    return list(next(widget for widget in app.multiselect if widget.key == key).value)


@pytest.mark.exhaustive
def test_heads_open_on_a_run_with_cls_and_show_every_chosen_run() -> None:
    """Without a chosen run, one run with [CLS] is shown. A link's run is shown as it is, and six chosen runs have six grids."""
    first = opened("cls", run="")
    assert find(first.selectbox(key="focus-run").value).config["tokenizer"]["cls"] and not chosen(first, "beside")
    assert opened("cls", run=WITHOUT_CLS).selectbox(key="focus-run").value == WITHOUT_CLS
    six = [CLS, INJECTED, "nsmc/cls", WITHOUT_CLS, "sst2/vanilla", "sst2/ndt-unit-2"]
    app = opened("cls", run=six[0], versus="~".join(six[1:]))
    assert [app.selectbox(key="focus-run").value, *chosen(app, "beside")] == six and not app.exception
    text = page_text(app)
    assert f"Without [CLS], so not in this figure: {', '.join(six[3:])}." in text
    next(widget for widget in app.selectbox if widget.key == "cls-measure").set_value("entropy").run()
    assert all(f"**{name}**" in page_text(app) for name in six)


@pytest.mark.exhaustive
def test_runs_of_different_length_are_drawn_by_share_of_training() -> None:
    """Runs of 2,000 and 14,000 steps have the axis share of training, runs of one length the axis step; the link keeps a choice."""
    long = {name: int(find(name).history()["step"].max()) for name in (WITHOUT_CLS, "sst2/ndt-unit-2", "sst2/ndt-unit-3")}
    assert long[WITHOUT_CLS] > 2 * long["sst2/ndt-unit-2"] == 2 * long["sst2/ndt-unit-3"]

    def axis(app: AppTest) -> str:
        assert not app.exception
        notes = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["annotations"]
        return next(note["text"] for note in notes if note["text"] in ("step", "share of training"))

    unequal = opened("scalars", run=WITHOUT_CLS, versus="sst2/ndt-unit-2")
    assert axis(unequal) == "share of training" and "axis" not in unequal.query_params
    assert axis(opened("scalars", run="sst2/ndt-unit-3", versus="sst2/ndt-unit-2")) == "step"
    assert axis(opened("scalars", run=WITHOUT_CLS, versus="sst2/ndt-unit-2", axis="step")) == "step"


@pytest.mark.exhaustive
def test_models_beside_the_one_in_focus_are_chosen_in_the_same_way_on_every_page() -> None:
    """The control has the same label on every page, and runs that are chosen on one page stand beside the model on the others."""
    pages = "compare", "comparison", "confusion", "curves"
    for page in pages:
        app = opened(page, run="sst2/ndt-unit-2", versus="sst2/diff~sst2/vanilla")
        box = next(widget for widget in (*app.selectbox, *app.multiselect) if widget.key == "beside")
        names = box.value if isinstance(box.value, list) else [box.value]
        assert box.label == "Beside it" and names == ["sst2/diff", "sst2/vanilla"][: len(names)]
    app = opened("comparison", run="sst2/ndt-unit-2")
    assert chosen(app, "beside") == ["sst2/vanilla-matched"] == [opened("compare", run="sst2/ndt-unit-2").selectbox(key="beside").value]
    app.multiselect(key="beside").set_value([]).run()
    assert not chosen(app, "beside") and not app.exception and "Choose at least one more model" in page_text(app)


@pytest.mark.exhaustive
def test_two_models_without_lambda_say_so_once() -> None:
    text = page_text(opened("compare", run="english/mpnet", versus="english/minilm"))
    assert text.count("lambda") == 1 and "neither has a lambda" in text
    assert page_text(opened("compare", run="sst2/ndt-unit-2", versus="sst2/vanilla")).count("has no lambda") == 1
