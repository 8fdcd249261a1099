"""The theory of SentiFormer on its page with Streamlit's AppTest: the smoother of a gated run, Proposition 2, the failure modes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import sentviz
from app.server.queue import jobs
from app.views.papers import paper_parts
from sentviz.analysis.maps.arithmetic import cell
from sentviz.charts.colours import palette
from sentviz.papers.sentiformer import solvers
from sentviz.training import train
from tests import kit
from tests.kit import opened, words

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TEXT = "what a warm, clever song we saw!"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with toy/sentiformer, gated and with a window, and toy/bilstm, which has no attention."""
    root = tmp_path_factory.mktemp("theory")
    with pytest.MonkeyPatch.context() as patch:
        kit.use_toy_data(patch)
        shape: dict[str, Any] = {"width": 16, "layers": 2, "heads": 2, "ffn_width": 24, "window": 4, "global_drawn": 1}
        train(kit.toy_recipe("sentiformer", shape=shape, cls=True, epochs=1, example=TEXT), root, progress=False)
        train(kit.toy_recipe("bilstm", shape={"hidden": 8, "layers": 1}, epochs=1, example=TEXT), root, progress=False)
    return root


@pytest.fixture(scope="module")
def page(runs: Path) -> Iterator[Any]:
    """A function that opens the theory on a toy run, with trainings of seconds; what the app keeps for all visitors, it keeps."""
    full = solvers.separate
    few = {"rows": 300, "epochs": 1, "tested": 20}

    def theory(run: str = "toy/sentiformer", part: str = "theory", **query: str) -> AppTest:
        app = opened("sentiformer", part=part, run=run, **query)
        assert not app.exception, app.exception
        return app

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_RUNS", str(runs))
        patch.setattr(solvers, "separate", lambda setting, tick: full(replace(setting, **few), tick))
        st.cache_resource.clear()
        yield theory
    st.cache_resource.clear()


@pytest.mark.exhaustive
def test_the_smoother_of_a_gated_run_with_a_window(page: Any, runs: Path) -> None:
    """The average is that of the head, as the page says; the kernel has the gate as a factor and is 0 beyond the window."""
    app = page(layer="2", head="2")
    page_text = words(app).replace("\\", "")
    assert "the gate of the other token" in page_text and "outside a window of 4 tokens" in page_text
    apart = re.search(r"same vector but for ([\d.e-]+) of its length", page_text)
    assert apart is not None and float(apart[1]) < 1e-4
    model = sentviz.load("toy/sentiformer", folders=runs)
    theory_cell = cell(model, TEXT, 1, 1, 0, 0)
    frame = theory_cell.smoother()
    assert theory_cell.parts[0].biases.keys() == {"gate"} and not frame["seen"].all()
    assert (frame.loc[~frame["seen"], "kernel_a1"] == 0).all()
    kernel = frame["kernel_a1"].to_numpy()
    assert np.allclose(kernel / kernel.sum(), frame["weight"], atol=1e-6)
    assert np.allclose(kernel @ theory_cell.values / kernel.sum(), theory_cell.output, atol=1e-6)


@pytest.mark.exhaustive
def test_a_run_without_attention_is_offered_another(page: Any) -> None:
    app = page("toy/bilstm")
    assert "has no softmax, so it is not a kernel smoother" in words(app)
    app.selectbox(key="smooth-model").set_value("toy/sentiformer").run()
    assert "The average is the head" in words(app)


@pytest.mark.exhaustive
def test_a_run_of_several_kernels_offers_one_of_one(page: Any) -> None:
    """A run with several kernels per head offers a SentiFormer with one click; the SentiFormer's page offers no other run."""
    app = page("english/ndt-unit-2")
    assert "This run has 2 kernels per head" in words(app)
    app.button(key="smooth-plain").click().run()
    assert app.query_params["run"].endswith("/sentiformer") and "kernels per head" not in words(app)
    assert all(each.key != "smooth-plain" for each in app.button)


@pytest.mark.exhaustive
def test_the_theory_opens_on_a_sentiformer(page: Any) -> None:
    """The page shows a SentiFormer if neither a visitor nor a link chose a run; a chosen run stays."""
    app = page("")
    assert "the gate of the other token" in words(app).replace("\\", "") and app.selectbox(key="focus-run").value.endswith("/sentiformer")
    assert not app.query_params.get("run")
    app.selectbox(key="focus-run").set_value("english/ndt-unit-2").run()
    assert not app.exception and "This run has 2 kernels per head" in words(app)


@pytest.mark.exhaustive
def test_a_blank_text_leaves_the_box_to_type_another(page: Any) -> None:
    app = page()
    app.text_input(key="smooth-sentence").set_value("   ").run()
    assert "The text is empty" in words(app)
    app.text_input(key="smooth-sentence").set_value(TEXT).run()
    assert "The text is empty" not in words(app) and "The average is the head" in words(app)


def learned(app: AppTest) -> AppTest:
    """The page once the job is done."""
    app.button(key="prop2-train").click().run()
    for _ in range(240):
        if any(each.key == "prop2-text" for each in app.text_input):
            assert not app.exception, app.exception
            return app
        time.sleep(0.5)
        app.run()
    raise AssertionError("the training did not end")


@pytest.mark.exhaustive
def test_proposition_2_is_learned_when_asked(page: Any) -> None:
    """After the click, and not before, the page learns Proposition 2 and shows predictions and heads; it rejects unknown words."""
    jobs.clear()
    app = page()
    assert "trained on this machine when you click" in words(app) and not app.text_input(key="smooth-sentence").disabled
    app = learned(app)
    page_text = words(app).replace("\\", "")
    assert "up to 24 words, as in training" in page_text and "Head 2: [CLS]" in page_text
    assert "6,000" not in page_text and "Trained on 300 sequences" in page_text
    table = app.dataframe[-1].value if "answer_twin" in app.dataframe[-1].value else app.dataframe[-2].value
    assert len(table) == 8
    markov = table[table["model"].str.startswith("last")]
    assert (markov["answer"] == markov["answer_twin"]).all()
    app.text_input(key="prop2-text").set_value("not a clue").run()
    assert "is none of the 8 words" in words(app).replace("\\", "") and not app.exception
    assert "sequence" not in app.query_params and app.text_input(key="prop2-text").value == "not a clue"
    app.text_input(key="prop2-text").set_value("not  LONG good").run()
    assert app.query_params["sequence"] == "not long good"


@pytest.mark.exhaustive
def test_other_settings_say_what_is_shown(page: Any) -> None:
    app = learned(page())
    app.button_group(key="focus-longest").set_value("8").run()
    assert "The results below are for SentiFormer's positions, up to 24 words, seed 0" in words(app).replace("\\", "")


def test_visitors_share_what_was_learned() -> None:
    """One job for a setting, none for who did not ask."""
    jobs.clear()
    assert jobs("proposition") is jobs("proposition")
    assert jobs("proposition").get(str(solvers.Setting())) is None


@pytest.mark.exhaustive
def test_the_failure_modes_are_counted_by_side(page: Any) -> None:
    """The three groups and the plain one, with every sentence of the chosen one."""
    app = page(part="failures")
    page_text = words(app).replace("\\", "")
    assert "by phenomenon" in page_text
    drawn = next(chart.proto.spec for chart in app.get("plotly_chart") if "Accuracy by phenomenon" in chart.proto.spec)
    assert set(re.findall(r"([\w-]+) \(\d+\)", drawn)) == set(paper_parts.SHOWN_FAILURES)
    table = next(each.value for each in app.dataframe if "label" in each.value and "text" in each.value)
    assert len(table) == 30 and set(table["label"]) == {"negative", "positive"}
    for label, predicted in zip(table["label"], table["toy/sentiformer"], strict=True):
        mark, word = predicted.split(" ", 1)
        assert mark == ("✓" if word == label else "✗")


@pytest.mark.exhaustive
def test_a_run_of_the_failure_modes_has_its_colour_of_other_pages(page: Any) -> None:
    """The second run in focus has the second colour, also if it is drawn first."""
    app = page("toy/bilstm", part="failures", versus="toy/sentiformer")
    drawn = next(json.loads(chart.proto.spec) for chart in app.get("plotly_chart") if "Accuracy by phenomenon" in chart.proto.spec)
    colours = {trace["name"]: trace["marker"]["color"] for trace in drawn["data"]}
    assert colours["toy/sentiformer"] == palette("light").line(1)
