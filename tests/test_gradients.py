"""Gradients against finite differences of the slow encoder, and integrated gradients against captum."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sentviz.analysis.explain import completeness, explained, gradients, log_odds, score
from sentviz.analysis.explain.gradients import FIRST_STEPS, MAX_STEPS, Integrated, gradient_x_input, integrated_gradients
from sentviz.errors import InputError
from sentviz.io.numbers import signed
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests import slow
from tests.kit import LABELS, small_encoder, small_model

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


@pytest.mark.parametrize("name", ["ndt", "cls"])
def test_integrated_gradients_are_complete(name: str) -> None:
    """Integrated gradients sum to the rise from all words [PAD] to the text, by the slow encoder; the gap is the difference."""
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(TEXT, **change)
    ones = np.ones(len(trace.tokens))
    rise = by_hand(model, trace, ones, **change) - by_hand(model, trace, ones * trace.specials, **change)
    fine, coarse = (integrated_gradients(model, trace, steps=steps) for steps in (400, 4))
    assert fine.rise == pytest.approx(rise, abs=1e-6) and fine.scores.sum() == pytest.approx(rise, abs=2e-3)
    assert fine.gap == pytest.approx(fine.scores.sum() - rise, abs=1e-4) and abs(fine.gap) < max(abs(coarse.gap), 1e-4)
    assert not fine.scores[trace.specials].any()


@pytest.mark.parametrize("name", ["diff", "cls"])
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
    np.testing.assert_allclose(integrated_gradients(model, trace, steps=32).scores, want, rtol=1e-4, atol=1e-5)


class Jumping:
    """A path whose log-odds rise smoothly by 1 and jump by 2 within a thousandth of the path, for two tokens in equal shares."""

    places: int = 0

    def odds(self, at: np.ndarray) -> np.ndarray:
        return at**2 + 2 / (1 + np.exp(-(at - 0.1) * 6000))

    def along(self, model: Model, trace: Trace, places: np.ndarray) -> Any:
        """Yield what `gradients.along` does, in batches of 50."""
        self.places += len(places)
        step = 1e-6
        slopes = (self.odds(places + step) - self.odds(places - step)) / (2 * step)
        for at in range(0, len(places), 50):
            some = torch.from_numpy(slopes[at : at + 50])[:, None, None] / 2
            yield torch.from_numpy(self.odds(places[at : at + 50])), some.expand(-1, 2, 1), torch.ones(2, 1)


def test_a_jump_is_found_by_halving_parts_of_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores are complete although 256 equal steps are not; a smooth path keeps its first 32 steps, and no try exceeds the limit."""
    trace: Any = None
    jump = Jumping()
    monkeypatch.setattr(gradients, "along", jump.along)
    integrated = integrated_gradients(small_model(), trace)
    assert integrated.complete and FIRST_STEPS < integrated.steps <= MAX_STEPS
    assert jump.places < integrated.steps * 1.5
    np.testing.assert_allclose(integrated.scores, [1.5, 1.5], atol=0.02)
    assert not integrated_gradients(small_model(), trace, steps=MAX_STEPS).complete
    monkeypatch.setattr(gradients, "MAX_STEPS", 70)
    few = integrated_gradients(small_model(), trace)
    assert not few.complete and 60 <= few.steps <= 70 and few.rise == pytest.approx(3, abs=1e-6)
    assert few.gap == pytest.approx(few.scores.sum() - 3, abs=1e-4)
    monkeypatch.setattr(jump, "odds", lambda at: at**2)
    smooth = integrated_gradients(small_model(), trace)
    assert smooth.steps == FIRST_STEPS == 32 and smooth.scores == pytest.approx([0.5, 0.5], abs=1e-5)


def test_halves_that_enlarge_the_gap_of_a_part_are_not_used() -> None:
    """The parts with the smallest gaps cover the path, at any depth; all smallest parts can be halved further."""

    def part(gap: float, *halves: gradients._Part) -> gradients._Part:
        return gradients._Part((0.0, 1.0), np.zeros(2), gap, list(halves))

    first, second = part(0.05), part(-0.02)
    left, right = part(0.5, first, second), part(-0.1)
    whole = part(0.3, left, right)
    assert whole.finest() == [first, second, right] and whole.best() == [first, second, right]
    second.gap = 0.4
    assert left.best() == [first, second] and whole.best() == [whole]


def test_the_gap_of_a_sum_is_stated() -> None:
    """Integrated gradients state their sum and gap, and say so if the gap is wide; gradient x input has no expected sum."""
    model = small_model(components=2, mixing="free")
    trace = explained(model, model.trace(TEXT), ["integrated-gradients", "gradient"])
    total, rise = float(score(trace, "integrated-gradients").sum()), integrated_gradients(model, trace).rise
    assert trace.rises == {"integrated-gradients": rise} and completeness(trace, "gradient") == ""
    narrow = f"The scores sum to {signed(total)}, as they should (gap {abs(total - rise):.4f})."
    wide = f"The scores sum to {signed(total)} and should sum to {signed(total - 2)}: they are off by 2.00 in all."
    assert completeness(trace, "integrated-gradients") == narrow
    assert completeness(trace.replace(rises={"integrated-gradients": total - 2}), "integrated-gradients") == wide
    for value, rise, complete in ((1, 1.009, True), (1, 1.012, False), (10, 10.09, True), (10, 10.2, False)):
        assert Integrated(np.array([value], np.float32), rise, 1).complete == complete


def test_a_pair_and_steps_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are read; specials have no score; the steps of a long text in several batches equal those in one."""
    model = small_model(segments=2, cls=True)
    trace = model.trace("a warm song", "cold soup")
    plain = explained(model, trace, ["gradient", "integrated-gradients"])
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 20)
    parts = explained(model, trace, ["gradient", "integrated-gradients"])
    for name in ("gradient", "integrated-gradients"):
        np.testing.assert_allclose(score(plain, name), score(parts, name), rtol=1e-4, atol=1e-5)
        assert not score(plain, name)[trace.specials].any() and score(plain, name)[~trace.specials].all()
    assert all(p.grad is None for p in model.network.parameters())
    with pytest.raises(InputError, match="at least one step"):
        integrated_gradients(model, trace, steps=0)
