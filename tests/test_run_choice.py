"""Runs on pages: a fitting run replaces one that a page cannot show, and a run has the same colour in every figure."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app import cache
from app.blocks.run_choice import most_alike, most_similar
from sentviz.charts.colours import palette
from sentviz.charts.curves import curves
from sentviz.errors import InputError
from sentviz.runs.catalog import best_run
from sentviz.runs.store import Run, find, runs
from tests.kit import opened, switched
from tests.test_figures import history

WITHOUT_WEIGHTS, SAME_WITH_WEIGHTS = "sst2/ndt-free-3-s1", "sst2/ndt-free-3"


def heads(*measures: str) -> pd.DataFrame:
    rows = [(layer, -1, measure, 0.1 * layer, 0.0, 0.2, 9) for measure in measures for layer in (0, 1)]
    return pd.DataFrame(rows, columns=["layer", "head", "measure", "value", "low", "high", "n"])


def test_a_pretrained_run_is_replaced_by_a_pretrained_run() -> None:
    """Of the runs with measured epochs, one on a base is most similar to the default run; a run from scratch keeps one of its data set."""
    known = runs()
    able = [run for run in known.values() if run.measured]
    assert most_similar(known["english/mpnet"], able).name == "sst2/minilm-epochs"
    assert most_similar(known["sst2/ndt-free-3"], able).name == "sst2/ndt-unit-2-epochs"


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
