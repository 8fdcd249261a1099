"""Texts longer than those of the training: the run that reads them, the window on the page, and nothing of n x n on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from sentviz import load
from sentviz.analysis.maps import coarse_map
from sentviz.errors import RunError
from sentviz.runs.store import Run
from sentviz.training import train
from tests.kit import small_model, toy_recipe, use_toy_data

SHAPE = {"width": 16, "heads": 2, "ffn_width": 24, "layers": 2, "window": 6}
LONG = "what a warm, clever song we saw! a dull soup. " * 12

PAGE = """
import streamlit as st
from app import visit
from app import answers
from app import cache
from app.focus import Focus
from app.views.sentence import map_part

if "focus" not in st.session_state:
    st.session_state["focus"] = Focus(run="toy/sentiformer", text=TEXT, look="long")
run = cache.run("toy/sentiformer")
map_part.show(answers.trace(visit.focus(), scored=False, exact=True), run)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with toy/sentiformer, whose positions follow a formula, trained on 16 tokens."""
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        train(toy_recipe("sentiformer", shape=SHAPE, cls=True, epochs=1), root, progress=False)
    return root


@pytest.mark.slow
def test_what_cannot_be_longer_says_so(runs: Path, tiny_run: Path) -> None:
    """Learned positions, and a length below the trained one, are refused."""
    with pytest.raises(RunError, match="cannot read more than 16 tokens"):
        load(tiny_run, max_length=100)
    with pytest.raises(RunError, match=r"reads 16 tokens\. It can be set to read more, but not 15"):
        Run.open(runs / "toy" / "sentiformer").longer(15)


@pytest.fixture
def page(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """Open the long map's part on a text of 182 tokens."""
    monkeypatch.setenv("SENTVIZ_RUNS", str(runs))
    st.cache_resource.clear()
    file = tmp_path / "page.py"
    file.write_text(PAGE.replace("TEXT", repr(LONG.strip())), encoding="utf-8")
    yield AppTest.from_file(str(file), default_timeout=60).run()
    st.cache_resource.clear()


def test_what_a_window_lets_units_see_is_what_the_pattern_allows() -> None:
    """First and last unit, units with a global token and the share of seen pairs equal the dense mask; None without a window."""
    model = small_model(max_length=60, cls=True, window=4, global_tokens=(0, -1, 7), global_drawn=2)
    trace = model.trace("a warm song. " * 9, maps=False, projections=True)
    n, place = len(trace.tokens), torch.arange(len(trace.tokens))
    for layer in (0, 1):
        pattern = trace.terms[layer].structure.pattern
        assert pattern is not None
        allowed = pattern.allowed(place, place)[0].numpy()
        near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 2
        for kind in coarse_map.KINDS:
            unit = coarse_map.units(trace, kind)
            visibility = coarse_map.window_visibility(trace, unit, layer)
            assert visibility is not None
            assert visibility.share == pytest.approx(allowed.mean())
            of = np.repeat(np.arange(len(unit)), unit.ends - unit.starts)
            seen = [np.flatnonzero(near[unit.starts[u] : unit.ends[u]].any(axis=0)) for u in range(len(unit))]
            assert visibility.low.tolist() == [of[places[0]] for places in seen]
            assert visibility.high.tolist() == [of[places[-1]] for places in seen]
            assert visibility.everywhere.tolist() == sorted({of[place] for place in visibility.globals})
    short = model.trace("a song", maps=False, projections=True)
    assert coarse_map.window_visibility(short, coarse_map.units(short), 0) is not None
    single_token = model.trace("a", maps=False, projections=True)
    assert coarse_map.window_visibility(single_token, coarse_map.units(single_token), 0) is None
