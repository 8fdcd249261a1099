"""Sampled and smoothed explanations: against exact values and loops over samples, their errors, other packages, and other classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from sentviz.analysis.explain import (
    SCORES,
    Target,
    available,
    completeness,
    ends,
    explained,
    margins,
    score,
    scores,
    shap_lime,
    uncertainty,
    usual,
)
from sentviz.analysis.explain.exact import exact, shapley_values, subsets
from sentviz.analysis.explain.gradients import gradient_shap, gradient_x_input, integrated_gradients, noisy, smoothgrad
from sentviz.analysis.explain.permutation import interval_of_draws, permutation_shap, sampled_values
from sentviz.analysis.explain.shap_lime import kernel_shap, lime
from sentviz.analysis.explain.value_function import part_removal
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests.kit import planted_model, small_model
from tests.shipped import often

TEXT = "what a warm clever song we saw but dull"


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a random word-level model of three classes."""
    return small_model(components=2, mixing="free", labels=["sad", "plain", "glad"])


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    """Return the trace of nine words."""
    return model.trace(TEXT)


def test_permutation_values_are_complete_and_near_the_exact_ones(model: Model, trace: Trace) -> None:
    wanted, sampled = exact(model, trace), permutation_shap(model, trace, samples=400)
    assert sampled.draws == (400 - 2) // 16 and sampled.scores.sum() == pytest.approx(wanted.rise, abs=1e-4)
    assert (np.abs(sampled.values - wanted.values) < 2.5 * sampled.sampling_errors + 1e-6).sum() >= 7
    assert sampled.sampling_errors.max() > 0 and sampled.errors[0] == pytest.approx(sampled.sampling_errors[0])
    assert permutation_shap(model, trace, samples=512).draws == 0
    np.testing.assert_allclose(permutation_shap(model, trace, samples=512).values, wanted.values, atol=1e-9)


def sparse(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Return a game of single players, pairs and a few triples."""
    table = rows @ rng.normal(size=rows.shape[1])
    for size, number in ((2, 16), (3, 12)):
        for _ in range(number):
            table += rng.normal() * rows[:, rng.choice(rows.shape[1], size, replace=False)].prod(axis=1)
    return np.asarray(table)


def network(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Return a game that is a network of twelve hidden units."""
    return np.asarray(np.tanh(rows @ rng.normal(size=(rows.shape[1], 12)) + rng.normal(size=12)) @ rng.normal(size=12))


@pytest.mark.parametrize("game", [sparse, network])
def test_intervals_cover_the_exact_values(game: Callable[..., np.ndarray]) -> None:
    """The intervals of four draws hold the exact value in 93 % or more of 60 random games; normal ones do so less often."""
    hits, normal = [], []
    rng, rows, bits = np.random.default_rng(4), subsets(8).astype(float), 1 << np.arange(8)
    for seed in range(60):
        table = game(rng, rows)
        values, errors, drawn, _ = sampled_values(lambda present, table=table: table[present @ bits], 8, 58, seed)  # type: ignore[misc]
        off = np.abs(values - shapley_values(table))
        hits.append(off <= interval_of_draws(errors, 4) + 1e-9)
        normal.append(off <= 1.96 * errors + 1e-9)
        assert drawn == 4
    assert np.mean(hits) >= 0.93 > 0.92 > np.mean(normal)


def test_permutation_of_one_word_and_of_a_long_text() -> None:
    model = small_model(max_length=512)
    single = permutation_shap(model, model.trace("song"))
    assert single.values == pytest.approx([single.rise], abs=1e-6) and single.draws == 0
    long = permutation_shap(model, model.trace("what a warm song we saw . " * 57), samples=60)
    assert 2 <= len(long.players) <= 61 and len(set(long.places.tolist())) == len(long.players)
    with pytest.raises(InputError, match="at least two samples, not 1"):
        permutation_shap(model, model.trace("a song"), samples=1)


# ---- gradients


def _slope(model: Model, trace: Trace, vectors: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the log-odds of the predicted class at some embeddings, one text at a time."""
    vectors = vectors.clone().requires_grad_()
    logits = model.network(replace(model.inputs(model.encode(trace.text)), vectors=vectors[None])).logits[0]
    k = int(trace.probabilities.argmax())
    rest = torch.cat([logits[:k], logits[k + 1 :]])
    return torch.autograd.grad(logits[k] - rest.logsumexp(0), vectors)[0]


def _vectors(model: Model, trace: Trace) -> torch.Tensor:
    return model.network.rows(model.inputs(model.encode(trace.text)).ids[0]).detach()


def test_smoothgrad_is_the_mean_over_noisy_copies(model: Model, trace: Trace) -> None:
    x = _vectors(model, trace)
    spread = 0.2 * float(x.max() - x.min())
    loop = torch.zeros(len(x))
    for part in noisy(12, tuple(x.shape), spread, 3):
        for added in part:
            loop += (x * _slope(model, trace, x + torch.from_numpy(added))).sum(dim=1) / 12
    np.testing.assert_allclose(smoothgrad(model, trace, samples=12, noise=0.2, seed=3), loop.numpy(), atol=1e-4)
    np.testing.assert_allclose(smoothgrad(model, trace, samples=2, noise=0), gradient_x_input(model, trace), atol=1e-5)
    with pytest.raises(InputError, match=r"at least one sample and noise of 0 or more, not 0 and 0\.1"):
        smoothgrad(model, trace, samples=0)


def test_gradient_shap_is_the_mean_over_random_baselines(model: Model, trace: Trace) -> None:
    x, samples, seed = _vectors(model, trace), 10, 5
    rng = np.random.default_rng(seed)
    places = rng.permutation((np.arange(samples) + rng.random(samples)) / samples)
    baselines = np.concatenate(noisy(samples, tuple(x.shape), float(x.std()), seed + 1))
    loop = torch.zeros(len(x))
    for place, baseline in zip(places.tolist(), torch.from_numpy(baselines), strict=True):
        loop += ((x - baseline) * _slope(model, trace, baseline + place * (x - baseline))).sum(dim=1) / samples
    np.testing.assert_allclose(gradient_shap(model, trace, samples=samples, seed=seed), loop.numpy(), atol=1e-4)
    near = gradient_shap(model, trace, samples=256, spread=0)
    np.testing.assert_allclose(near, integrated_gradients(model, trace).scores, atol=0.02 * max(1, np.abs(near).max()))
    with pytest.raises(InputError, match="a spread of 0 or more, not 64 and -1"):
        gradient_shap(model, trace, samples=64, spread=-1)


# ---- other packages


def test_a_package_that_is_missing_is_named(model: Model, trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shap_lime, scores):
        monkeypatch.setattr(module, "is_installed", lambda package: False)
    assert not {"kernel-shap", "lime"} & set(available(trace, asking=True))
    with pytest.raises(InputError, match=r"package shap: python -m pip install 'sentviz\[judges\]'"):
        kernel_shap(model, trace)
    with pytest.raises(InputError, match=r"LIME needs the package lime"):
        explained(model, trace, ["lime"])


# ---- any class, and what a trace stores


CLASS_SCORES = [name for name, method in SCORES.items() if method.unit == "log-odds" and not method.package]


@pytest.mark.parametrize("name", often(CLASS_SCORES, *list(CLASS_SCORES)[:3]))
def test_every_method_explains_one_class_against_another(name: str) -> None:
    model = small_model(labels=["sad", "plain", "glad"])
    trace = model.trace("what a warm clever song")
    left, right = (explained(model, trace.for_target(target), [name]) for target in (Target("sad", "glad"), Target("glad", "sad")))
    np.testing.assert_allclose(score(left, name), -score(right, name), atol=2e-3)
    assert np.abs(score(left, name)).max() > 1e-4 or name in ("clauses", "sentences")
    assert ends(left, name) == ("opposes “sad” against “glad”", "supports “sad” against “glad”")
    assert ends(explained(model, trace, [name]), name)[1] == "supports the prediction"


def test_scores_of_another_class_are_dropped(model: Model, trace: Trace) -> None:
    """A trace for another class has no scores of the first; the predicted class by name is the same trace."""
    full = explained(model, trace, ["removal", "exact", "permutation"])
    assert full.for_target(Target(trace.label)) is full
    glad = next(label for label in trace.labels if label != trace.label)
    assert not full.for_target(Target(glad)).token_scores and not full.for_target(Target(glad)).errors
    assert "as they should (gap 0.0000)" in completeness(full, "exact") and uncertainty(full, "exact") == ""
    assert uncertainty(full, "permutation").startswith("From 12 draws: with 95 % confidence, a word's value is off by at most 0.")
    errors = full.errors["permutation"]
    pooled = 2.201 * np.sqrt((errors**2 + np.mean(errors[~full.specials] ** 2)) / 2)
    assert margins(full, "permutation") == pytest.approx(np.where(full.specials, 0, pooled), rel=1e-3)
    assert margins(full, "exact").max() == 0
    short = usual(model, model.trace("a warm song"))
    assert not {"clauses", "sentences"} & set(short) and "clauses" in usual(model, model.trace("a warm song , a dull film"))
    assert {"exact", "permutation"} <= set(usual(model, trace)) and not {"lime", "kernel-shap"} & set(usual(model, trace))


def test_parts_are_left_out_together(model: Model) -> None:
    trace = model.trace("what a song . we saw a dull song .")
    removal = part_removal(model, trace, "sentences")
    assert [part.text for part in removal.parts] == ["what a song .", "we saw a dull song ."]
    k = int(trace.probabilities.argmax())
    p = [model.trace(text).probabilities.astype(np.float64)[k] for text in (trace.text, "we saw a dull song .")]
    want = np.subtract(*(np.log(share / (1 - share)) for share in p))
    assert removal.scores[0] == removal.scores[3] == pytest.approx(want, abs=2e-5) and removal.places.tolist() == [0] * 4 + [1] * 6
    assert not part_removal(model, model.trace("what a song"), "sentences").scores.any()
    assert partial(part_removal, by="clauses")(model, trace).parts == removal.parts


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("shap") is None or find_spec("lime") is None, reason="needs the extra judges")
def test_kernel_shap_with_all_subsets_is_exact_and_lime_finds_additive_weights() -> None:
    """KernelSHAP on every subset equals the exact values to 1e-3; LIME finds the planted weights, and both repeat with a seed."""
    model = small_model(components=2, mixing="free")
    trace = model.trace("what a warm clever song")
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.testing.assert_allclose(kernel_shap(model, trace).scores, exact(model, trace).scores, atol=1e-3)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    planted = planted_model(lambda there: 2 * there("warm") - 1.5 * there("dull") + 0.5 * there("song"))
    text = planted.trace("a dull but warm song").for_target(Target("positive"))
    fitted = lime(planted, text)
    assert fitted.scores == pytest.approx([0, -3, 0, 4, 1], abs=0.5) and (lime(planted, text).scores == fitted.scores).all()
    assert kernel_shap(planted, planted.trace("song").for_target(Target("positive"))).scores == pytest.approx([1], abs=1e-5)
