"""Texts longer than those of the training: the run that reads them, what a window shows of them, and the kernel of a window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sentviz import load
from sentviz.analysis.maps import coarse_map
from sentviz.analysis.maps.arithmetic import cell
from sentviz.errors import RunError
from sentviz.runs.store import Run, find
from tests.kit import gated_model, small_model


def test_a_longer_model_answers_short_texts_alike_and_some_cannot_be_longer(gated_runs: Path, tiny_run: Path) -> None:
    """Within the trained length a longer model gives equal bits; beyond it the complete text is read. Learned positions are refused."""
    short, longer = load("toy/sentiformer", folders=gated_runs), load("toy/sentiformer", folders=gated_runs, max_length=400)
    np.testing.assert_array_equal(short.trace("a warm garden").logits, longer.trace("a warm garden").logits)
    cut, whole = (model.trace("what a warm, clever song we saw! a dull soup. " * 12) for model in (short, longer))
    assert len(cut.tokens) == 64 and whole.dropped == 0 and len(whole.tokens) == 64 + cut.dropped > 100
    run = find("toy/sentiformer", gated_runs)
    assert run.digest != run.longer(400).digest
    with pytest.raises(RunError, match="cannot read more than 16 tokens"):
        load(tiny_run, max_length=100)
    with pytest.raises(RunError, match=r"reads 64 tokens\. It can be set to read more, but not 63"):
        Run.open(gated_runs / "toy" / "sentiformer").longer(63)


def test_the_smoother_of_a_gated_model_with_a_window() -> None:
    """The kernel has the gate as a factor and is 0 beyond the window; its average of the values is the head's output."""
    of = cell(gated_model(window=4), "what a warm, clever song we saw", 1, 1, 0, 0)
    frame = of.smoother()
    kernel = frame["kernel_a1"].to_numpy()
    assert "gate" in of.parts[0].biases and not frame["seen"].all() and (frame.loc[~frame["seen"], "kernel_a1"] == 0).all()
    np.testing.assert_allclose(kernel / kernel.sum(), frame["weight"], atol=1e-6)
    np.testing.assert_allclose(kernel @ of.values / kernel.sum(), of.output, atol=1e-6)


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
