"""Explanations against exact values, loops, other packages and the slow encoder: sampled, smoothed, and through the layers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from experiments.general import published
from sentviz.analysis import explain
from sentviz.analysis.explain.exact import exact, shapley_values, subsets
from sentviz.analysis.explain.exact_comparison import word_scores
from sentviz.analysis.explain.gradients import gradient_shap, gradient_x_input, integrated_gradients, noisy, smoothgrad
from sentviz.analysis.explain.permutation import interval_of_draws, permutation_shap, sampled_values
from sentviz.analysis.explain.rollout import (
    MAX_FLOW_TOKENS,
    attention_flow,
    effective,
    rollout,
    value_weighted,
    value_weighted_maps,
    value_zeroing,
    value_zeroing_maps,
)
from sentviz.analysis.explain.shap_lime import kernel_shap, lime
from sentviz.analysis.explain.value_function import ABSENT, part_removal
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests import slow
from tests.kit import fake_trace, planted_model, refused, small_model
from tests.shipped import often

CLASS_SCORES = [name for name, method in explain.SCORES.items() if method.unit == "log-odds" and not method.package]


@pytest.fixture(scope="module")
def model() -> Model:
    return small_model(components=2, mixing="free", labels=["sad", "plain", "glad"])


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    return model.trace("what a warm clever song we saw but dull")


def test_permutation_values_are_complete_and_near_the_exact_ones(model: Model, trace: Trace) -> None:
    wanted, sampled = exact(model, trace), permutation_shap(model, trace, samples=400)
    assert sampled.draws == (400 - 2) // 16 and sampled.scores.sum() == pytest.approx(wanted.rise, abs=1e-4)
    assert (np.abs(sampled.values - wanted.values) < 2.5 * sampled.sampling_errors + 1e-6).sum() >= 7
    assert sampled.sampling_errors.max() > 0 and sampled.errors[0] == pytest.approx(sampled.sampling_errors[0])
    assert permutation_shap(model, trace, samples=512).draws == 0
    np.testing.assert_allclose(permutation_shap(model, trace, samples=512).values, wanted.values, atol=1e-9)
    model = small_model(max_length=512)
    single = permutation_shap(model, model.trace("song"))
    assert single.values == pytest.approx([single.rise], abs=1e-6) and single.draws == 0
    long = permutation_shap(model, model.trace("what a warm song we saw . " * 57), samples=60)
    assert 2 <= len(long.players) <= 61 and len(set(long.places.tolist())) == len(long.players)
    with pytest.raises(InputError, match="at least two samples, not 1"):
        permutation_shap(model, model.trace("a song"), samples=1)


def sparse(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Return a game of single players, pairs and a few triples."""
    table = rows @ rng.normal(size=rows.shape[1])
    for size, number in ((2, 16), (3, 12)):
        for _ in range(number):
            table += rng.normal() * rows[:, rng.choice(rows.shape[1], size, replace=False)].prod(axis=1)
    return np.asarray(table)


def network(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.tanh(rows @ rng.normal(size=(rows.shape[1], 12)) + rng.normal(size=12)) @ rng.normal(size=12))


@pytest.mark.parametrize("game", [sparse, network])
def test_intervals_cover_the_exact_values(game: Callable[..., np.ndarray]) -> None:
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


def _slope(model: Model, trace: Trace, vectors: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the log-odds of the predicted class at some embeddings, one text at a time."""
    vectors = vectors.clone().requires_grad_()
    logits = model.network(replace(model.inputs(model.encode(trace.text)), vectors=vectors[None])).logits[0]
    k = int(trace.probabilities.argmax())
    rest = torch.cat([logits[:k], logits[k + 1 :]])
    return torch.autograd.grad(logits[k] - rest.logsumexp(0), vectors)[0]


def _vectors(model: Model, trace: Trace) -> torch.Tensor:
    return model.network.rows(model.inputs(model.encode(trace.text)).ids[0]).detach()


def test_smoothgrad_and_gradient_shap_are_means_of_loops(model: Model, trace: Trace) -> None:
    x = _vectors(model, trace)
    spread = 0.2 * float(x.max() - x.min())
    loop = torch.zeros(len(x))
    for part in noisy(12, tuple(x.shape), spread, 3):
        for added in part:
            loop += (x * _slope(model, trace, x + torch.from_numpy(added))).sum(dim=1) / 12
    np.testing.assert_allclose(smoothgrad(model, trace, samples=12, noise=0.2, seed=3), loop.numpy(), atol=1e-4)
    np.testing.assert_allclose(smoothgrad(model, trace, samples=2, noise=0), gradient_x_input(model, trace), atol=1e-5)
    refused(InputError, r"at least one sample and noise of 0 or more, not 0 and 0\.1", smoothgrad, model, trace, samples=0)
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
    refused(InputError, "a spread of 0 or more, not 64 and -1", gradient_shap, model, trace, samples=64, spread=-1)


@pytest.mark.parametrize("name", often(CLASS_SCORES, *list(CLASS_SCORES)[:3]))
def test_every_method_explains_one_class_against_another(name: str) -> None:
    model = small_model(labels=["sad", "plain", "glad"])
    trace = model.trace("what a warm clever song")
    left, right = (
        explain.explained(model, trace.for_target(target), [name])
        for target in (explain.Target("sad", "glad"), explain.Target("glad", "sad"))
    )
    np.testing.assert_allclose(explain.score(left, name), -explain.score(right, name), atol=2e-3)
    assert np.abs(explain.score(left, name)).max() > 1e-4 or name in ("clauses", "sentences")
    assert explain.ends(left, name) == ("opposes “sad” against “glad”", "supports “sad” against “glad”")
    assert explain.ends(explain.explained(model, trace, [name]), name)[1] == "supports the prediction"


def test_scores_of_another_class_are_dropped_and_parts_left_out_together(
    model: Model, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = explain.explained(model, trace, ["removal", "exact", "permutation"])
    assert full.for_target(explain.Target(trace.label)) is full
    glad = next(label for label in trace.labels if label != trace.label)
    assert not full.for_target(explain.Target(glad)).token_scores and not full.for_target(explain.Target(glad)).errors
    assert "as they should (gap 0.0000)" in explain.completeness(full, "exact") and explain.uncertainty(full, "exact") == ""
    assert explain.uncertainty(full, "permutation").startswith("From 12 draws: with 95 % confidence, a word's value is off by at most 0.")
    errors = full.errors["permutation"]
    pooled = 2.201 * np.sqrt((errors**2 + np.mean(errors[~full.specials] ** 2)) / 2)
    assert explain.margins(full, "permutation") == pytest.approx(np.where(full.specials, 0, pooled), rel=1e-3)
    assert explain.margins(full, "exact").max() == 0
    short = explain.usual(model, model.trace("a warm song"))
    assert not {"clauses", "sentences"} & set(short) and "clauses" in explain.usual(model, model.trace("a warm song , a dull film"))
    assert {"exact", "permutation"} <= set(explain.usual(model, trace)) and not {"lime", "kernel-shap"} & set(explain.usual(model, trace))
    trace = model.trace("what a song . we saw a dull song .")
    removal = part_removal(model, trace, "sentences")
    assert [part.text for part in removal.parts] == ["what a song .", "we saw a dull song ."]
    k = int(trace.probabilities.argmax())
    p = [model.trace(text).probabilities.astype(np.float64)[k] for text in (trace.text, "we saw a dull song .")]
    want = np.subtract(*(np.log(share / (1 - share)) for share in p))
    assert removal.scores[0] == removal.scores[3] == pytest.approx(want, abs=2e-5) and removal.places.tolist() == [0] * 4 + [1] * 6
    assert not part_removal(model, model.trace("what a song"), "sentences").scores.any()
    assert partial(part_removal, by="clauses")(model, trace).parts == removal.parts
    for module in (explain.shap_lime, explain.scores):
        monkeypatch.setattr(module, "is_installed", lambda package: False)
    assert not {"kernel-shap", "lime"} & set(explain.available(trace, asking=True))
    refused(InputError, r"package shap: python -m pip install 'sentviz\[judges\]'", kernel_shap, model, trace)
    refused(InputError, r"LIME needs the package lime", explain.explained, model, trace, ["lime"])


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("shap") is None or find_spec("lime") is None, reason="needs the extra judges")
def test_kernel_shap_with_all_subsets_is_exact_and_lime_finds_additive_weights() -> None:
    model = small_model(components=2, mixing="free")
    trace = model.trace("what a warm clever song")
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.testing.assert_allclose(kernel_shap(model, trace).scores, exact(model, trace).scores, atol=1e-3)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    planted = planted_model(lambda there: 2 * there("warm") - 1.5 * there("dull") + 0.5 * there("song"))
    text = planted.trace("a dull but warm song").for_target(explain.Target("positive"))
    fitted = lime(planted, text)
    assert fitted.scores == pytest.approx([0, -3, 0, 4, 1], abs=0.5) and (lime(planted, text).scores == fitted.scores).all()
    assert kernel_shap(planted, planted.trace("song").for_target(explain.Target("positive"))).scores == pytest.approx([1], abs=1e-5)


def test_falls_equal_a_loop_over_texts_in_every_way_of_being_absent() -> None:
    model = planted_model(lambda there: 2 * (there("warm") + there("song")).clamp(max=1) - 1.5 * there("dull"))
    texts = ["a song is warm", "a dull song warm"]
    tables = [measure(model, texts, sample=2, seed=1) for measure in (published.measure, published.measure_reached)]
    got = {}
    for table in tables:
        got |= table[(table["absent"] == "deleted") & (table["method"] == "removal")].set_index("metric")["value"].to_dict()
    falls, rests, places = [], [], []
    for text in texts:
        trace, words = explain.explained(model, model.calibrated(1.0).trace(text), ["removal"]), text.split()
        scores, k = word_scores(trace, "removal", spaced_words(trace)), int(trace.probabilities.argmax())

        @cache
        def chance(left: str, k: int = k) -> float:
            return float(model.calibrated(1.0).trace(left).probabilities[k]) if left else 0.5  # the planted value is then 0

        def mean_fall(order: Sequence[int], words: list[str] = words) -> float:
            chances = [chance(" ".join(word for i, word in enumerate(words) if i not in order[:gone])) for gone in range(len(words) + 1)]
            return chances[0] - sum(chances[1:]) / len(words)

        best = int(np.argmax(scores))
        falls.append(chance(text) - chance(" ".join([*words[:best], *words[best + 1 :]])))
        rests.append(chance(text) - chance(words[best]))
        every, own = [mean_fall(order) for order in permutations(range(4))], mean_fall(np.argsort(-scores, kind="stable").tolist())
        places.append((own - min(every)) / (max(every) - min(every)))
    wanted = {"comprehensiveness": np.mean(falls), "sufficiency": np.mean(rests), "reached": np.mean(places)}
    assert got == pytest.approx(wanted, abs=1e-5) and 0 < got["reached"] < 1
    table, stored = published.measure(small_model(), ["what a warm and clever song it was"], sample=1), published.stored()
    assert set(table["absent"]) == set(ABSENT) and set(table["method"]) == {*published.METHODS, "random"}
    assert len(table) == len(ABSENT) * (len(published.METHODS) + 1) * 2
    assert table[table["metric"] == "comprehensiveness"].groupby("absent")["value"].mean().nunique() == 3
    assert set(stored["absent"]) == set(ABSENT) and (stored["n"] >= 100).all() and stored["value"].max() <= 1
    assert set(stored["metric"]) == {"comprehensiveness", "sufficiency", "reached"}
    assert (stored["low"] <= stored["value"]).all() and (stored["value"] <= stored["high"]).all()


TEXT = "what a warm, clever song"
FORMS: dict[str, dict[str, Any]] = {
    "post-norm": {"norm": "layer", "norm_first": False, "ffn": "relu", "positions": "sinusoid"},
    "ndt": {"components": 3, "mixing": "free", "layers": 3},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.3},
    "cls": {"pooling": "cls", "cls": True, "layers": 1},
    "window": {"window": 2, "components": 2, "mixing": "unit"},
}


def state_of(model: Model) -> dict[str, slow.Array]:
    return {name: tensor.numpy().astype(np.float64) for name, tensor in model.network.state_dict().items()}


def shares(values: Any) -> np.ndarray:
    return np.asarray(values) / np.sum(values) * len(values)


def half(trace: Any, layer: int) -> list[list[float]]:
    """Return I/2 + A/2 of a layer, entry by entry."""
    n, heads = len(trace.tokens), len(trace.head_ids)
    size = [[sum(abs(float(trace.attention[layer, h, i, j])) for h in range(heads)) / heads for j in range(n)] for i in range(n)]
    return [[0.5 * (i == j) + 0.5 * size[i][j] / sum(size[i]) for j in range(n)] for i in range(n)]


def test_rollout_is_the_published_recursion_and_flow_the_maximum_flow() -> None:
    for signed, pooling in [(False, "cls"), (True, "mean")]:
        trace = fake_trace(n=6, layers=3, heads=2, components=3 if signed else 1, signed=signed).replace(pooling=pooling)
        n = len(trace.tokens)
        assert trace.attention is not None and (trace.attention.min() < 0) == signed
        rolled = [[float(i == j) for j in range(n)] for i in range(n)]
        for layer in range(3):
            a = half(trace, layer)
            rolled = [[sum(a[i][k] * rolled[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
        want = rolled[0] if pooling == "cls" else [sum(row[j] for row in rolled) / n for j in range(n)]
        assert sum(want) == pytest.approx(1)
        np.testing.assert_allclose(rollout(trace), np.array(want) * n, rtol=1e-5)
        if not signed:  # softmax rows of one component enter as the mean over heads
            np.testing.assert_allclose(effective(trace), trace.attention.mean(axis=1), atol=1e-6)
    for layers, pooling in [(1, "cls"), (2, "mean"), (3, "cls"), (3, "mean")]:
        trace = fake_trace(n=5, layers=layers, signed=True).replace(pooling=pooling)
        n = 5
        capacity = {((at + 1) * n + i, at * n + j): half(trace, at)[i][j] for at in range(layers) for i in range(n) for j in range(n)}
        tops = [0] if pooling == "cls" else range(n)
        want = [np.mean([widest(capacity, layers * n + i, j) for i in tops]) for j in range(n)]
        np.testing.assert_allclose(attention_flow(trace), shares(want), atol=1e-5)
    whole = fake_trace()
    for part in (whole.replace(attention=None), whole.replace(layer_ids=(1, 0)), whole.replace(query_ids=(0, 1))):
        refused(InputError, "complete attention maps of all layers", rollout, part)
    nothing = np.array(whole.attention)
    nothing[1, :, 3] = 0
    with pytest.raises(InputError, match="In layer 2, all attention weights"):
        rollout(whole.replace(attention=nothing))
    long = fake_trace(n=MAX_FLOW_TOKENS + 1)
    assert attention_flow(long).sum() == pytest.approx(MAX_FLOW_TOKENS + 1, rel=1e-4)
    with pytest.raises(InputError, match=f"at most {MAX_FLOW_TOKENS} tokens"):
        attention_flow(fake_trace(n=MAX_FLOW_TOKENS + 1, layers=3))
    model = small_model(components=2, mixing="free")
    with pytest.raises(InputError, match="In layer 1"):
        rollout(model.trace(TEXT, lambdas=[[0, 0], [1, 0]]))


def widest(capacity: dict[tuple[int, int], float], source: int, sink: int) -> float:
    """Return the maximum flow from a linear program over the edges."""
    edges = list(capacity)
    inner = sorted({node for edge in edges for node in edge} - {source, sink})
    balance = np.array([[(b == node) - (a == node) for a, b in edges] for node in inner]).reshape(len(inner), len(edges))
    gain = np.array([(b == sink) - (a == sink) for a, b in edges], dtype=float)
    options = {"A_eq": balance, "b_eq": np.zeros(len(inner))} if inner else {}
    return -float(linprog(-gain, bounds=[(0, capacity[edge]) for edge in edges], **options).fun)


@pytest.mark.parametrize("name", FORMS)
def test_value_weighted_attention_is_the_length_of_what_is_added(name: str) -> None:
    model, change = small_model(5, **FORMS[name]), {"heads_off": [(0, 1)]} if name in ("ndt", "diff") else {}
    trace, state, config = model.trace(TEXT, **change), state_of(model), model.config
    encoded = model.encode(TEXT)
    seen = slow.encode(state, config, encoded.ids.tolist(), heads_off=change.get("heads_off", ()))
    got, n, width = value_weighted_maps(model, trace), len(encoded.ids), config.width // config.heads
    for layer in range(config.layers):
        prefix = f"blocks.{layer}.attention."
        x = list(seen.hidden[layer])
        if config.norm_first:
            x = [slow.norm(config.norm, row, state, f"blocks.{layer}.attention_norm.") for row in x]
        off = {h for at, h in change.get("heads_off", ()) if at == layer}
        first, added = 2 * config.components * config.key_width, np.zeros((n, n, config.width))
        for h in range(config.heads):
            rows = slice(first + h * width, first + (h + 1) * width)
            v = [state[prefix + "project.weight"][rows] @ row + state[prefix + "project.bias"][rows] for row in x]
            for i in range(n):
                parts = [seen.effective[layer][h, i, j] * v[j] for j in range(n)]
                if config.head_norm:
                    rms = np.sqrt((sum(parts) ** 2).mean() + 1e-5)
                    weight = state[prefix + "head_norm.weight"] * (1 - config.lambda_start[layer][0])
                    parts = [part / rms * weight for part in parts]
                for j in range(n):
                    if h not in off:
                        added[i, j] += state[prefix + "output.weight"][:, h * width : (h + 1) * width] @ parts[j]
        whole = slow.attend_layer(state, config, layer, x, seen.lambdas[layer], off, None, slow.Seen(x[0], x[0]))
        np.testing.assert_allclose(added.sum(axis=1) + state[prefix + "output.bias"], whole, atol=1e-9)
        np.testing.assert_allclose(got[layer], np.linalg.norm(added, axis=-1), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(value_weighted(model, trace), shares(got.sum(axis=1).mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize("name", FORMS)
def test_value_zeroing_is_running_again_without_a_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, change = small_model(6, **FORMS[name]), {"heads_off": [(0, 1)]} if name in ("ndt", "diff") else {}
    trace, state, config = model.trace(TEXT, **change), state_of(model), model.config
    ids, plain = model.encode(TEXT).ids.tolist(), slow.attention
    n, off = len(ids), change.get("heads_off", ())
    usual = slow.encode(state, config, ids, heads_off=off).hidden
    want = np.zeros((config.layers, n, n))
    for layer in range(config.layers):
        for j in range(n):
            calls: list[int] = []

            def zeroed(q: Any, k: Any, v: Any, *rest: Any, at: int = layer, j: int = j, calls: list[int] = calls) -> Any:
                if len(calls) == at:
                    v[:, j] = 0
                calls.append(1)
                return plain(q, k, v, *rest)

            monkeypatch.setattr(slow, "attention", zeroed)
            changed = slow.encode(state, config, ids, heads_off=off).hidden[layer + 1]
            for i in range(n):
                a, b = changed[i], usual[layer + 1][i]
                want[layer, i, j] = 1 - a @ b / np.sqrt((a @ a) * (b @ b))
    np.testing.assert_allclose(value_zeroing_maps(model, trace), want, rtol=2e-3, atol=1e-6)
    rolled = np.eye(n)
    for rows in want:
        rolled = rows / rows.sum(axis=1, keepdims=True) @ rolled
    want_scores = shares(rolled[0] if config.pooling == "cls" else rolled.mean(axis=0))
    np.testing.assert_allclose(value_zeroing(model, trace), want_scores, rtol=5e-3, atol=1e-4)
