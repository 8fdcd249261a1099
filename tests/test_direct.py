"""Direct attribution against streams that are followed through the model in loops, and its figure."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.analysis.causal.direct import direct_attribution
from sentviz.analysis.causal.patching import patch
from sentviz.analysis.explain import explained, score, usual
from sentviz.charts.gallery import draw
from sentviz.errors import InputError
from sentviz.models.model import Model
from tests.kit import random_model, small_model
from tests.shipped import often
from tests.slow import direct_streams
from tests.test_patch import MODELS, A, B, hook

MORE = {
    "pooler": small_model(5, norm_first=False, norm="layer", ffn="gelu", pooling="cls", cls=True, head="tanh", layers=3),
    "three classes": small_model(6, labels=("bad", "mixed", "good"), norm_first=True, norm="layer", ffn="relu", head="gelu"),
}


@pytest.mark.parametrize("name", [*MODELS, *MORE])
def test_contributions_are_those_of_streams_followed_in_loops(name: str) -> None:
    """Each part, followed alone through all frozen norms, adds what direct attribution says, to 1e-4; the sum is the logits' difference."""
    model = (MODELS | MORE)[name]
    trace, feedforward = model.trace(A, projections=True), []
    for block in model.network.blocks:  # type: ignore[union-attr]
        with hook(block.ffn, lambda x: (feedforward.append(x[0].numpy().astype(np.float64)), x)[1]):
            model.trace(A)
    sums = direct_attribution(model, trace)
    k = int(trace.logits.argmax())
    j = int(np.argsort(-trace.logits)[1])
    assert (sums.label, sums.against) == (trace.labels[k], trace.labels[j])
    wanted = direct_streams(model.network, trace, feedforward, k, j)
    np.testing.assert_allclose(sums.embedding, wanted["embedding"], atol=1e-4)
    np.testing.assert_allclose(sums.read, wanted["heads"], atol=1e-4)
    np.testing.assert_allclose(sums.feedforward, wanted["feedforward"], atol=1e-4)
    assert sums.norms == pytest.approx(wanted["norms"], abs=1e-4) and sums.biases == pytest.approx(wanted["biases"], abs=1e-4)
    assert sums.total == pytest.approx(trace.logits[k] - trace.logits[j], abs=1e-4) and abs(sums.rest) < 1e-4
    np.testing.assert_allclose(sums.written.sum(axis=3), sums.read.sum(axis=3), atol=1e-4)
    assert sums.frame["value"].sum() == pytest.approx(sums.total, abs=1e-4)
    assert sums.lens[-1] == pytest.approx(sums.total, abs=1e-4) and len(sums.lens) == model.capabilities.layers + 1
    assert np.abs(sums.read).max() > 0.01 and (model.cls or np.abs(sums.written[..., 1:]).max() > 0)


def test_silenced_heads_add_nothing_and_targets_change_the_sign() -> None:
    """A change of the model stays in effect; the other class gives the same parts with the other sign."""
    model = MODELS["ndt"]
    trace = model.trace(A, change="head:1.2=0")
    sums = direct_attribution(model, trace)
    assert not sums.heads[0, 1] and sums.heads[0, 0] and abs(sums.rest) < 1e-4
    from dataclasses import replace

    from sentviz.runs.target import Target

    negated = direct_attribution(model, replace(trace, target=Target(sums.against)))
    np.testing.assert_allclose(negated.read, -sums.read, atol=1e-6)
    before = model.trace(B).logits
    direct_attribution(model, model.trace(B))
    np.testing.assert_array_equal(model.trace(B).logits, before)


def test_models_without_states_are_refused() -> None:
    from sentviz.models.baselines import Convolutional
    from sentviz.runs.configs import ConvolutionalConfig

    words = MODELS["ndt"]
    cnn = Model(
        "toy/cnn", Convolutional(ConvolutionalConfig(words.tokenizer.vocab_size, 2, filters=4)).eval(), words.tokenizer, words.labels
    )
    for model in (random_model(5), cnn):
        with pytest.raises(InputError, match="needs a transformer"):
            direct_attribution(model, model.trace(A))


def test_the_figure_shows_every_part_and_its_sum(tiny_run: Path) -> None:
    """Bars, tokens and heads have the numbers of the attribution; the caption compares the sum with the logits."""
    options: dict[str, Any] = {"text": "a warm garden"}
    bars = draw(str(tiny_run), "attribution-direct", **options)
    by_head = draw(str(tiny_run), "attribution-direct", **options, by="head")
    by_token = draw(str(tiny_run), "attribution-direct", **options, by="token")
    assert "The parts sum to" in bars.caption and bars.frame["part"].iloc[0] == "embedding"
    heads = bars.frame.loc[bars.frame["part"].str.endswith("heads"), "value"].sum()
    assert by_head.frame["log_odds"].sum() == pytest.approx(heads, abs=1e-5)
    states = bars.frame.loc[~bars.frame["part"].str.contains("bias"), "value"].sum()
    assert by_token.frame["log_odds"].sum() == pytest.approx(states, abs=1e-5)
    with pytest.raises(InputError, match="by must be part or token or head"):
        draw(str(tiny_run), "attribution-direct", **options, by="layer")


@pytest.mark.parametrize("name", often(["post-norm", "differential", "gated"], "differential"))
@pytest.mark.parametrize("mode", often([torch.no_grad, torch.inference_mode], torch.no_grad))
def test_what_needs_gradients_makes_them_itself(mode: Callable[[], AbstractContextManager[Any]], name: str) -> None:
    """Every score, direct attribution and patching by gradients give the same numbers inside a caller's no_grad and inference_mode."""
    model = MODELS[name]
    names = usual(model, model.trace(A))

    def numbers() -> dict[str, Any]:
        trace = explained(model, model.trace(A, projections=True), names)
        shares = patch(model, model.trace(A), model.trace(B)).map("state", exact=False).estimate
        scores = {name: score(trace, name) for name in names}
        return scores | {"direct": direct_attribution(model, trace).read, "patch": shares}

    outside = numbers()
    with mode():
        inside = numbers()
    for what, values in outside.items():
        np.testing.assert_allclose(inside[what], values, atol=1e-6, err_msg=what)
