"""The theory of SentiFormer on its page with Streamlit's AppTest: the smoother of a gated run, Proposition 2, the failure modes."""

from __future__ import annotations

import re
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
from sentviz.analysis.maps.arithmetic import cell
from sentviz.papers.sentiformer import solvers
from sentviz.training import train
from tests import kit
from tests.kit import opened, words

pytestmark = pytest.mark.slow

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


def test_visitors_share_what_was_learned() -> None:
    """One job for a setting, none for who did not ask."""
    jobs.clear()
    assert jobs("proposition") is jobs("proposition")
    assert jobs("proposition").get(str(solvers.Setting())) is None
