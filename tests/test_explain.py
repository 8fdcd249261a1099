"""Scores of tokens against naive loops; gradients against finite differences of the slow encoder and captum; work that is stopped."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor

from sentviz.analysis.explain import SCORES, agreement, completeness, explained, gradients, log_odds, received, removal, score, supported
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.analysis.explain.gradients import FIRST_STEPS, MAX_STEPS, Integrated, gradient_x_input, integrated_gradients
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, Stopped
from sentviz.io.numbers import signed
from sentviz.models import model as models
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests import slow
from tests.kit import LABELS, fake_trace, refused, small_encoder, small_model, toy_splits
from tests.shipped import often

TEXT = "what a warm, clever song we saw"
WORDS = ["what", "a", "warm", ",", "clever", "song", "we", "saw"]


def odds(model: Model, text: str, k: int, **change: object) -> float:
    """Return log p / (1 - p) of the plain prediction."""
    p = model.trace(text, **change).probabilities.astype(np.float64)[k]  # type: ignore[arg-type]
    return float(np.log(p / (1 - p)))


CHANGES = {"none": {}, "lambdas": {"lambdas": [[1, -2], [1, 0.5]]}, "heads": {"heads_off": [(1, 0)]}}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_removal_is_deleting_each_word_and_asking_again(model: Model, change: dict[str, object]) -> None:
    trace = model.trace(TEXT, **change)  # type: ignore[arg-type]
    got, k = removal(model, trace), int(trace.probabilities.argmax())
    assert trace.tokens == tuple(WORDS)
    for i in range(len(WORDS)):
        rest = " ".join(WORDS[:i] + WORDS[i + 1 :])
        want = odds(model, TEXT, k, **change) - odds(model, rest, k, **change)
        assert got[i] == pytest.approx(want, abs=2e-5)
    assert np.abs(got).max() > 0.01


def test_removal_takes_the_pieces_of_a_word_together(model: Model) -> None:
    pieces = small_model(tokenizer=Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275), max_length=64)
    text = "what clumsily bright lighthouses"
    words, trace = text.split(), pieces.trace(text)
    got, k = removal(pieces, trace), int(trace.probabilities.argmax())
    owner = [text[: int(end) - 1].count(" ") for _, end in trace.offsets]
    without = [odds(pieces, text, k) - odds(pieces, " ".join(words[:i] + words[i + 1 :]), k) for i in range(4)]
    assert len(owner) > 4 and got.tolist() == pytest.approx([without[i] for i in owner], abs=2e-5)
    of_pairs = small_model(segments=2, cls=True, pooling="cls")
    trace = of_pairs.trace("a warm song", "cold soup")
    got, k = removal(of_pairs, trace), int(trace.probabilities.argmax())
    for i, pair in {1: ("warm song", "cold soup"), 3: ("a warm", "cold soup"), 6: ("a warm song", "cold")}.items():
        assert got[i] == pytest.approx(log_odds(trace.logits, k) - log_odds(of_pairs.trace(*pair).logits, k), abs=2e-5)
    assert not got[trace.specials].any() and got[~trace.specials].all() and not removal(of_pairs, of_pairs.trace("warm")).any()
    words = ["warm", "song", "cold"] * 20
    trace, read = model.trace(" ".join(words)), words[:24]
    got, k = removal(model, trace), int(trace.probabilities.argmax())
    assert len(got) == 24
    for i in (0, 11, 23):
        rest = " ".join(read[:i] + read[i + 1 :])
        assert got[i] == pytest.approx(odds(model, " ".join(read), k) - odds(model, rest, k), abs=2e-5)


def test_log_odds_agreement_and_attention_scores_by_hand() -> None:
    for classes in (2, 3, 5):
        z = np.random.default_rng(0).normal(size=(6, classes)) * 3
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        for k in range(classes):
            np.testing.assert_allclose(log_odds(z, k), np.log(p[:, k] / (1 - p[:, k])), atol=1e-9)
        assert log_odds(z[0], 0).shape == ()
    assert [log_odds(np.array([900.0, -100.0]), k) for k in (0, 1)] == [1000, -1000]
    assert log_odds(np.array([500.0, 20.0, 20.0]), 0) == pytest.approx(480 - np.log(2))
    rng = np.random.default_rng(0)
    trace = scored(rng.normal(size=12).round(1).tolist())
    own, second = trace.token_scores["removal"], rng.normal(size=12).round(1).astype(np.float32)
    assert agreement(trace, second) == pytest.approx(spearmanr(second[1:], np.abs(own[1:])).statistic, abs=1e-9)
    assert agreement(trace, second, signed=True) == pytest.approx(spearmanr(second[1:], own[1:]).statistic, abs=1e-9)
    assert agreement(trace, np.abs(own)) == pytest.approx(1) == agreement(trace, own, signed=True)
    for scores, second_scores in (([0, 1, 2], [0, 1, 2]), ([0, 1, 1, 1], [0, 1, 2, 3]), ([0, 1, 2, 3], [5, 0, 0, 0])):
        assert agreement(scored(scores), np.array(second_scores, np.float32)) is None
    trace = fake_trace(n=5, layers=2, heads=3, components=3, signed=True)
    attention, maps = trace.attention, trace.components
    for j in range(5):
        all_layers = sum(attention[layer, h, i, j] for layer in range(2) for h in range(3) for i in range(5)) / 6
        first = sum(attention[0, h, i, j] for h in range(3) for i in range(5)) / 3
        a1 = sum(maps[layer, 0, h, i, j] for layer in range(2) for h in range(3) for i in range(5)) / 6
        rest = sum(maps[layer, c, h, i, j] for layer in range(2) for c in (1, 2) for h in range(3) for i in range(5)) / 12
        assert score(trace, "received")[j] == pytest.approx(all_layers, abs=1e-5)
        assert score(trace, "first-layer")[j] == pytest.approx(first, abs=1e-5)
        assert score(trace, "difference")[j] == pytest.approx(a1 - rest, abs=1e-5)
    assert received(trace, 0).sum() == pytest.approx(5, abs=1e-4)
    refused(InputError, r"no score 'magic'.*removal", score, fake_trace(), "magic")
    refused(InputError, "two components", score, fake_trace(components=1), "difference")
    assert all(how.title and how.low and how.high for how in SCORES.values())


def scored(scores: list[float]) -> Trace:
    """Return a trace of [CLS] and words with removal scores."""
    return fake_trace(n=len(scores)).replace(token_scores={"removal": np.array(scores, np.float32)})


SHORT = "what a warm, clever song"
FORMS: dict[str, dict[str, Any]] = {
    "post-norm": {"norm": "layer", "norm_first": False, "ffn": "gelu", "positions": "sinusoid"},
    "ndt": {"components": 2, "mixing": "free"},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.3},
    "cls": {"pooling": "cls"},
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
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(SHORT, **change)
    got = gradient_x_input(model, trace)
    ones, step = np.ones(len(trace.tokens)), 1e-5
    for i in range(len(ones)):
        move = step * (np.arange(len(ones)) == i)
        slope = (by_hand(model, trace, ones + move, **change) - by_hand(model, trace, ones - move, **change)) / (2 * step)
        assert got[i] == pytest.approx(0 if trace.specials[i] else slope, rel=1e-4, abs=1e-6)
    assert np.abs(got).max() > 0.01


@pytest.mark.parametrize("name", ["ndt", "cls"])
def test_integrated_gradients_are_complete(name: str) -> None:
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(SHORT, **change)
    ones = np.ones(len(trace.tokens))
    rise = by_hand(model, trace, ones, **change) - by_hand(model, trace, ones * trace.specials, **change)
    fine, coarse = (integrated_gradients(model, trace, steps=steps) for steps in (400, 4))
    assert fine.rise == pytest.approx(rise, abs=1e-6) and fine.scores.sum() == pytest.approx(rise, abs=2e-3)
    assert fine.gap == pytest.approx(fine.scores.sum() - rise, abs=1e-4) and abs(fine.gap) < max(abs(coarse.gap), 1e-4)
    assert not fine.scores[trace.specials].any()


@pytest.mark.parametrize("name", ["diff", "cls"])
def test_integrated_gradients_are_those_of_captum(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attr = pytest.importorskip("captum.attr", reason="captum is not installed")
    model, change = exact(name), CHANGE.get(name, {})
    trace = model.trace(SHORT, **change)
    encoded, intervention, k = model.encode(SHORT), model.applied(model.intervention(**change)), int(trace.probabilities.argmax())
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


def test_the_gap_of_a_sum_is_stated_and_never_enlarged() -> None:
    model = small_model(components=2, mixing="free")
    trace = explained(model, model.trace(SHORT), ["integrated-gradients", "gradient"])
    total, rise = float(score(trace, "integrated-gradients").sum()), integrated_gradients(model, trace).rise
    assert trace.rises == {"integrated-gradients": rise} and completeness(trace, "gradient") == ""
    narrow = f"The scores sum to {signed(total)}, as they should (gap {abs(total - rise):.4f})."
    wide = f"The scores sum to {signed(total)} and should sum to {signed(total - 2)}: they are off by 2.00 in all."
    assert completeness(trace, "integrated-gradients") == narrow
    assert completeness(trace.replace(rises={"integrated-gradients": total - 2}), "integrated-gradients") == wide
    for value, rise, complete in ((1, 1.009, True), (1, 1.012, False), (10, 10.09, True), (10, 10.2, False)):
        assert Integrated(np.array([value], np.float32), rise, 1).complete == complete

    def part(gap: float, *halves: gradients._Part) -> gradients._Part:
        return gradients._Part((0.0, 1.0), np.zeros(2), gap, list(halves))

    first, second = part(0.05), part(-0.02)
    left, right = part(0.5, first, second), part(-0.1)
    whole = part(0.3, left, right)
    assert whole.finest() == [first, second, right] and whole.best() == [first, second, right]
    second.gap = 0.4
    assert left.best() == [first, second] and whole.best() == [whole]


def test_a_pair_and_steps_in_several_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(segments=2, cls=True)
    trace = model.trace("a warm song", "cold soup")
    plain = explained(model, trace, ["gradient", "integrated-gradients"])
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 20)
    parts = explained(model, trace, ["gradient", "integrated-gradients"])
    for name in ("gradient", "integrated-gradients"):
        np.testing.assert_allclose(score(plain, name), score(parts, name), rtol=1e-4, atol=1e-5)
        assert not score(plain, name)[trace.specials].any() and score(plain, name)[~trace.specials].all()
    assert all(p.grad is None for p in model.network.parameters())
    refused(InputError, "at least one step", integrated_gradients, model, trace, steps=0)


ASKING = [name for name, how in SCORES.items() if how.ask is not None and not how.package and name != "sentences"]
WORK: dict[str, Callable[[Model], object]] = {
    "predict": lambda model: model.predict([TEXT] * 3),
    "evidence": lambda model: supported(model, model.trace(TEXT), {}),
    "flip": lambda model: smallest_flip(model, model.trace(TEXT), drawn=3),
} | {name: lambda model, name=name: explained(model, model.trace(TEXT), [name]) for name in ASKING}


@pytest.mark.parametrize("name", often(WORK, "predict", "removal", "value-zeroing"))
def test_a_check_comes_before_every_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 1)
    monkeypatch.setattr(models.by_length, "__defaults__", (1,))
    model = small_model(components=2, mixing="free")
    log: list[str] = []
    model.network.get_submodule("blocks.0").register_forward_pre_hook(lambda *_: log.append("batch"))
    WORK[name](model.stoppable(lambda: log.append("check")))
    assert log.count("batch") >= 2
    assert all(before == "check" for before, now in pairwise(log) if now == "batch") and log[0] == "check"
    last = log.count("check")
    log.clear()

    def stop() -> None:
        log.append("check")
        if len(log) - log.count("batch") == last:
            raise Stopped

    with pytest.raises(Stopped):
        WORK[name](model.stoppable(stop))
    assert log[-1] == "check" and model.predict([TEXT])["label"].notna().all()
