"""Gradients against finite differences of the slow encoder, and integrated gradients against captum."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sentviz.analysis.explain import explained, gradients, incomplete, log_odds, score
from sentviz.analysis.explain.gradients import FIRST_STEPS, MAX_STEPS, Integrated, gradient_x_input, integrate
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests import slow
from tests.makers import LABELS, small_encoder, small_model

TEXT = "what a warm, clever song"
FORMS: dict[str, dict[str, Any]] = {
    "post-norm": {"norm": "layer", "norm_first": False, "ffn": "gelu", "positions": "sinusoid"},
    "ndt": {"components": 2, "mixing": "free"},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.3},
    "cls": {"pooling": "cls"},
    "three classes": {"classes": 3},
}
CHANGE: dict[str, dict[str, Any]] = {"ndt": {"lambdas": [[1, -2], [1, 0.5]]}, "diff": {"heads_off": [(1, 0)]}}


def exact(name: str, seed: int = 2) -> Model:
    """Return a random model in double precision; "cls" reads [CLS] and [SEP]."""
    tokenizer, form = small_model().tokenizer, {"classes": 2} | FORMS[name]
    labels = (*LABELS, "neutral")[: form["classes"]]
    return Model(name, small_encoder(seed, vocab_size=tokenizer.vocab_size, **form), tokenizer, labels, cls=name == "cls")


def by_hand(model: Model, trace: Trace, scale: np.ndarray, **change: Any) -> float:
    """Return the slow encoder's log-odds with the embedding of token i multiplied by scale[i]."""
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    ids = model.encode(trace.text).ids
    state["embedding.weight"] = state["embedding.weight"][ids] * scale[:, None]
    seen = slow.encode(state, model.config, list(range(len(ids))), **change)
    return float(log_odds(seen.logits, int(trace.probabilities.argmax())))


@pytest.mark.parametrize("name", FORMS)
def test_gradient_times_input_is_the_slope_along_the_embedding(name: str) -> None:
    """The score equals central differences of the log-odds as one embedding is scaled; specials score 0."""
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(TEXT, **change)
    got = gradient_x_input(model, trace)
    ones, step = np.ones(len(trace.tokens)), 1e-5
    for i in range(len(ones)):
        move = step * (np.arange(len(ones)) == i)
        slope = (by_hand(model, trace, ones + move, **change) - by_hand(model, trace, ones - move, **change)) / (2 * step)
        assert got[i] == pytest.approx(0 if trace.specials[i] else slope, rel=1e-4, abs=1e-6)
    assert np.abs(got).max() > 0.01


@pytest.mark.parametrize("name", FORMS)
def test_integrated_gradients_are_complete(name: str) -> None:
    """Integrated gradients sum to the rise from all words [PAD] to the text, by the slow encoder, to 2e-3; the gap is the remaining
    difference.
    """
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(TEXT, **change)
    ones = np.ones(len(trace.tokens))
    rise = by_hand(model, trace, ones, **change) - by_hand(model, trace, ones * trace.specials, **change)
    fine, coarse = (integrate(model, trace, steps=steps) for steps in (400, 4))
    assert fine.rise == pytest.approx(rise, abs=1e-6)
    assert fine.scores.sum() == pytest.approx(rise, abs=2e-3)
    assert fine.gap == pytest.approx(fine.scores.sum() - rise, abs=1e-4)
    assert abs(fine.gap) < max(abs(coarse.gap), 1e-4)
    assert not fine.scores[trace.specials].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_integrated_gradients_are_those_of_captum(name: str) -> None:
    """Scores equal captum's on the same path with the same nodes; specials have score 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attr = pytest.importorskip("captum.attr", reason="captum is not installed")
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(TEXT, **change)
    encoded, intervention, k = model.encode(TEXT), model.applied(model.intervention(**change)), int(trace.probabilities.argmax())
    batch = model.inputs(encoded)

    def odds(tokens: Tensor) -> Tensor:
        logits = model.network(replace(batch.expand(len(tokens)), vectors=tokens), change=intervention).logits
        p = torch.softmax(logits, dim=1)[:, k]
        return torch.log(p / (1 - p))

    tokens = model.network.table[batch.ids]
    baseline = tokens * torch.from_numpy(encoded.specials)[None, :, None]
    theirs = attr.IntegratedGradients(odds).attribute(tokens, baseline, n_steps=32, method="gausslegendre")
    want = theirs.sum(dim=-1)[0].numpy()
    np.testing.assert_allclose(integrate(model, trace, steps=32).scores, want, rtol=1e-4, atol=1e-5)


def test_as_many_steps_as_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are doubled until the gap is small enough or the limit is reached; the result is that of asking for that number."""
    model = exact(next(iter(FORMS)))
    trace = model.trace(TEXT)
    monkeypatch.setattr(gradients, "FIRST_STEPS", 1)
    monkeypatch.setattr(gradients, "GAP_SHARE", 1e-4)
    monkeypatch.setattr(gradients, "MIN_GAP", 1e-6)
    integrated = integrate(model, trace)
    assert 1 < integrated.steps <= MAX_STEPS and integrated.complete
    tried = [integrate(model, trace, steps=2**k) for k in range(int(np.log2(integrated.steps)) + 1)]
    assert [attempt.complete for attempt in tried] == [False] * (len(tried) - 1) + [True]
    np.testing.assert_array_equal(integrated.scores, tried[-1].scores)
    monkeypatch.setattr(gradients, "MAX_STEPS", 2)
    assert integrate(model, trace).steps == 2 and FIRST_STEPS == 32


def test_a_gap_is_said_where_it_is_wide() -> None:
    model = small_model(components=2, mixing="free")
    trace = explained(model, model.trace(TEXT), ["integrated-gradients", "gradient"])
    total = float(score(trace, "integrated-gradients").sum())
    assert trace.rises["integrated-gradients"] == integrate(model, trace).rise and set(trace.rises) == {"integrated-gradients"}
    assert incomplete(trace, "integrated-gradients") == incomplete(trace, "gradient") == ""
    wide = trace.replace(rises={"integrated-gradients": total - 2})
    message = f"The scores sum to {total:+.2f} and should sum to {total - 2:+.2f}: they are off by 2.00 in all.".replace("-", "−")
    assert incomplete(wide, "integrated-gradients") == message
    assert Integrated(np.array([1.0], np.float32), 1.009, 1).complete and not Integrated(np.array([1.0], np.float32), 1.012, 1).complete
    assert Integrated(np.array([10.0], np.float32), 10.09, 1).complete and not Integrated(np.array([10.0], np.float32), 10.2, 1).complete


def test_steps_in_several_batches_are_the_steps_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a long text in several batches equal those in one."""
    model = small_model(components=2, mixing="free")
    trace = model.trace(TEXT)
    whole = integrate(model, trace)
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 20)
    parts = integrate(model, trace)
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-4, atol=1e-5)
    assert parts.rise == pytest.approx(whole.rise, abs=1e-5)


def test_a_pair_and_a_caller_without_gradients() -> None:
    """Segments are read, and scores are the same inside inference mode."""
    model = small_model(segments=2, cls=True)
    trace = model.trace("a warm song", "cold soup")
    plain = explained(model, trace, ["gradient", "integrated-gradients"])
    with torch.inference_mode():
        inside = explained(model, trace, ["gradient", "integrated-gradients"])
    for name in ("gradient", "integrated-gradients"):
        np.testing.assert_array_equal(score(plain, name), score(inside, name))
        assert not score(plain, name)[trace.specials].any() and score(plain, name)[~trace.specials].all()
    assert not torch.is_inference_mode_enabled() and all(p.grad is None for p in model.network.parameters())


@pytest.mark.parametrize("steps", [0, -3])
def test_no_steps_are_refused(steps: int) -> None:
    model = small_model()
    with pytest.raises(InputError, match="at least one step"):
        integrate(model, model.trace(TEXT), steps=steps)
