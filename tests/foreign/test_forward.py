"""Hugging Face encoders against transformers' own forward, loops and numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from sentviz.analysis.causal.direct import direct_attribution
from sentviz.analysis.causal.patching import patch
from sentviz.analysis.explain import score
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.layers import verdict_by_layer
from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError
from sentviz.models.protocol import Capture
from sentviz.runs.presets import injections
from sentviz.runs.target import log_odds
from tests.foreign.models import DECODERS, KINDS, SHORT, TEXT, answers, expected_output, loaded, theirs
from tests.shipped import often

UNCALLED = ("deberta", "deberta-v2", "mpnet")  # transformers computes their attention without its attention interface


@pytest.mark.parametrize("kind", often(KINDS, "modernbert", "deberta-v2", "llama"))
def test_logits_maps_and_states_are_those_of_transformers(kind: str, folders: dict[str, Path]) -> None:
    """Logits, maps and states are equal, alone and padded, with eager and fused attention; texts read together have the traces of each."""
    model = loaded(folders[kind])
    out = expected_output(folders[kind], TEXT, output_attentions=True, output_hidden_states=True)
    trace = model.trace(TEXT, scores=True, projections=True)
    assert model.encode(TEXT).ids.tolist() == transformers.AutoTokenizer.from_pretrained(folders[kind])(TEXT)["input_ids"]
    np.testing.assert_allclose(trace.logits, out.logits[0], atol=1e-5)
    np.testing.assert_allclose(trace.attention, torch.cat(out.attentions), atol=1e-6)
    for ours, wanted in zip(trace.hidden[:-1], out.hidden_states[:-1], strict=True):
        np.testing.assert_allclose(ours, wanted[0], atol=1e-5)
    np.testing.assert_allclose(verdict_by_layer(model, trace)[-1], trace.probabilities, atol=1e-6)
    for text, one_of_two in zip((TEXT, SHORT), model.traces([TEXT, SHORT]), strict=True):
        alone = model.trace(text)
        np.testing.assert_allclose(one_of_two.logits, alone.logits, atol=1e-5)
        np.testing.assert_allclose(one_of_two.stack(), alone.stack(), atol=1e-5)
    together = expected_output(folders[kind], TEXT, SHORT, how="eager" if kind in UNCALLED else "sdpa").logits
    np.testing.assert_allclose(answers(model, TEXT, SHORT), together, atol=1e-5)
    np.testing.assert_allclose(answers(model, SHORT)[0], together[1], atol=1e-5)
    assert model.predict([TEXT, SHORT])["label"].tolist() == [("NEGATIVE", "NEUTRAL", "POSITIVE")[i] for i in together.argmax(dim=1)]


# ---- injected -------------------------------------------------------------------------------------------------------


def by_loops(polarity: np.ndarray[Any, Any], injection: str, strength: float) -> Any:
    """Return an attention function for transformers' own forward pass that follows the papers' formula entry by entry, in double
    precision.
    """

    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **_: Any) -> Any:
        shared = query.shape[1] // key.shape[1]  # query heads that share a key head
        q, k, v = (t.double().numpy() for t in (query, key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)))
        out = np.zeros((*q.shape[:3], v.shape[-1]))
        batch, heads, n, size = q.shape
        for b in range(batch):
            for h in range(heads):
                for i in range(n):
                    row = np.zeros(n)
                    for j in range(n):
                        sigma = sum(polarity[b, i, side] * polarity[b, j, side] for side in range(3))
                        s = q[b, h, i] @ k[b, h, j] / math.sqrt(size)
                        if injection == "xia":
                            s *= strength * sigma + 1 - strength
                        elif not injection.startswith("last") or h == heads - 1:
                            s += strength * sigma / (math.sqrt(size) if injection.endswith("scaled") else 1)
                        row[j] = s if attention_mask is None else s + float(attention_mask[b, 0, i, j])
                    weights = np.exp(row - row.max())
                    out[b, h, i] = weights / weights.sum() @ v[b, h]
        return torch.from_numpy(out).to(query).transpose(1, 2).contiguous(), None

    return attend


@pytest.mark.parametrize("kind", often([kind for kind in KINDS if kind not in UNCALLED], "bert"))
@pytest.mark.parametrize("injection", injections())
def test_injection_is_the_formula_in_transformers_own_forward(
    kind: str, injection: str, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The injection equals the formula inside transformers' forward pass, for two texts, one padded, and strengths of both signs."""
    model = loaded(folders[kind], lexicon=lexicon, injection=injection)
    strength = -0.7 if injection == "all" else 1.6
    texts = ("a warm, dull song", SHORT)
    rows = [model.encode(text).ids for text in texts]
    table = lexicon.polarity(model.tokenizer)
    table[list(model.tokenizer.special_ids)] = 1 / 3
    polarity = np.full((2, max(map(len, rows)), 3), 1 / 3)
    for i, row in enumerate(rows):
        polarity[i, : len(row)] = table[row]
    assert abs(polarity - 1 / 3).max() > 0.1

    package = __import__(f"transformers.models.{kind.replace('-', '_')}.modeling_{kind.replace('-', '_')}", fromlist=["modeling"])
    monkeypatch.setattr(package, "eager_attention_forward", by_loops(polarity, injection, strength))
    wanted = expected_output(folders[kind], *texts).logits
    np.testing.assert_allclose(answers(model, *texts, strength=strength), wanted, atol=2e-5)
    np.testing.assert_allclose(model.trace(texts[0], strength=strength).logits, wanted[0], atol=2e-5)


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_a_silenced_head_is_a_projection_without_its_columns(kind: str, folders: dict[str, Path]) -> None:
    model, reference = loaded(folders[kind]), theirs(folders[kind])
    layer = reference.base_model.encoder.layer[1].attention.output.dense if kind == "bert" else reference.base_model.layers[1].attn.Wo
    with torch.no_grad():
        layer.weight[:, 8:12] = 0
        wanted = reference(torch.from_numpy(model.encode(TEXT).ids)[None]).logits
    np.testing.assert_allclose(answers(model, TEXT, heads_off=[(1, 2)]), wanted, atol=1e-5)
    trace = model.trace(TEXT, heads_off=[(1, 2)])
    np.testing.assert_allclose(trace.logits, wanted[0], atol=1e-5)
    assert not trace.attention[1, 2].any() and trace.attention[1, 1].any()
    with pytest.raises(InputError, match="no head 5 in layer 1"):
        model.trace(TEXT, heads_off=[(0, 4)])


# ---- what the library asks ------------------------------------------------------------------------------------------


def test_value_zeroing_of_a_layer_with_its_own_module(folders: dict[str, Path]) -> None:
    """Value zeroing equals BERT's first layer with the value vectors of one token set to zero in the test."""
    from sentviz.analysis.explain.rollout import value_zeroing_maps

    model, reference = loaded(folders["bert"]), theirs(folders["bert"])
    trace = model.trace(SHORT)
    maps = value_zeroing_maps(model, trace)
    layer = reference.base_model.encoder.layer[0]
    x = torch.from_numpy(trace.hidden[0].copy())[None]
    token = 2

    def without(module: Any, inputs: Any, output: Any) -> Any:
        output = output.clone()
        output[:, token] = 0
        return output

    with torch.no_grad():
        whole = layer(x)
        layer.attention.self.value.register_forward_hook(without)
        less = layer(x)
    cosine = torch.nn.functional.cosine_similarity(whole.double(), less.double(), dim=-1)[0]
    np.testing.assert_allclose(maps[0][:, token], 1 - cosine, atol=1e-6)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_sees_no_later_token_and_is_read_at_its_last_one(kind: str, folders: dict[str, Path]) -> None:
    """Later tokens get no attention, bands of rows equal the map, a silenced head changes the answer, and rollout begins at the end."""
    model = loaded(folders[kind])
    assert model.capabilities.last and not model.capabilities.cls
    trace = model.trace(TEXT)
    assert not np.triu(trace.attention, 1).any() and trace.pooling == "last"
    late = model.trace(TEXT, maps=False, projections=True)
    for layer in range(3):
        np.testing.assert_allclose(late.rows(layer, 4, 9, 2), trace.attention[layer, 2, 4:9], atol=1e-6)
    assert abs(answers(model, TEXT, heads_off=[(1, 2)]) - answers(model, TEXT)).max() > 1e-4
    with_itself = 0.5 * trace.attention.mean(axis=1).astype(np.float64) + 0.5 * np.eye(len(trace.tokens))
    rolled = (with_itself[2] @ with_itself[1] @ with_itself[0])[-1]
    np.testing.assert_allclose(score(trace, "rollout"), rolled * len(rolled) / rolled.sum(), atol=1e-5)
    steps = " ".join(cell(model, trace, 0, 1, 2, 9).steps())
    assert "a later token, which this model does not see" in steps


@pytest.mark.parametrize(("kind", "factor"), [("deberta", 3), ("deberta-v2", 3), ("mpnet", 1)])
def test_distances_are_a_term_that_can_be_removed(kind: str, factor: int, folders: dict[str, Path]) -> None:
    """The scores are q k / sqrt(3 d_k), or sqrt(d_k) in MPNet, plus the term of distances; without it, the products alone are left."""
    model = loaded(folders[kind])
    trace = model.trace(SHORT, scores=True, projections=True)
    products = (trace.queries[0] @ trace.keys[0].swapaxes(-1, -2)) / math.sqrt(factor * 4)
    np.testing.assert_allclose(trace.scores[0] - trace.biases["distance"][0], products, atol=1e-5)
    less = model.trace(SHORT, strength={"distance": 0})
    wanted = np.exp(products[0] - products[0].max(axis=-1, keepdims=True))
    np.testing.assert_allclose(less.attention[0], wanted / wanted.sum(axis=-1, keepdims=True), atol=1e-5)
    assert {3: "/ √12", 1: "/ √4"}[factor] in " ".join(cell(model, trace, 0, 1, 2, 1).steps())


def test_watching_a_part_is_the_part_of_the_whole(folders: dict[str, Path]) -> None:
    model = loaded(folders["modernbert"])
    whole, part = model.trace(TEXT), model.trace(TEXT, layers=(1,), heads=(3, 0), queries=(5, 2))
    np.testing.assert_allclose(part.attention[0], whole.attention[1][[3, 0]][:, [5, 2]], atol=1e-6)
    np.testing.assert_allclose(part.logits, whole.logits, atol=1e-6)
    far = np.abs(np.arange(len(whole.tokens))[:, None] - np.arange(len(whole.tokens))) > 3
    assert not whole.attention[1][:, far].any() and whole.attention[0][:, far].all()
    with torch.inference_mode():
        assert model.network(model.inputs(model.encode(SHORT)), Capture(maps=False)).attention is None
    with pytest.raises(InputError, match="mixing cannot be changed"):
        model.trace(SHORT, lambdas=[[1], [0.5], [1]])
    with pytest.raises(InputError, match="3 layers x 1 components"):
        model.trace(SHORT, lambdas=[1, 1])


def patched(model: Any, ids: list[int], module: torch.nn.Module, change: Callable[[torch.Tensor], torch.Tensor], *, before: bool) -> Any:
    """Return the logits of transformers if a module's states, or its output, are changed."""

    def first(_: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        if args:
            return (change(args[0].clone()), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": change(kwargs["hidden_states"].clone())}

    if before:
        handle = module.register_forward_pre_hook(first, with_kwargs=True)
    else:
        handle = module.register_forward_hook(lambda _, args, out: change(out.clone()))
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0].numpy()
    handle.remove()
    return logits


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ("bert", "distilbert", "mpnet", "modernbert", "deberta-v2", "gpt2", "qwen3"))
def test_patched_cells_are_those_of_hooks_on_transformers(kind: str, folders: dict[str, Path]) -> None:
    """States, heads and feed-forward outputs replaced in our batch equal hooks on transformers' model, to 1e-5 log-odds."""
    pair_of_texts = "a warm clever song and never a dull soup", "a cold clever garden and never a warm soup"
    model, foreign = loaded(folders[kind]), theirs(folders[kind])
    pair = patch(model, *pair_of_texts)
    ids = [model.encode(text).ids.tolist() for text in pair_of_texts]
    known, scale = model.network.known, pair.goal - pair.start
    aligned = [(i, j) for i, j in enumerate(pair.partners) if j is not None]
    maps = {what: pair.map(what, exact=True) for what in ("state", "feedforward", "head")}
    for layer in (1, 2):  # DeBERTa's convolution reads the input of the first layer, too
        module = foreign.base_model.get_submodule(known.layer.format(layer).removesuffix("."))
        out, size = module.get_submodule(known.attention[3]), 6 if kind == "qwen3" else 4
        places = [("head", out, True, (layer, h), slice(h * size, h * size + size), aligned) for h in (0, 3)]
        for i, j in aligned[2::4]:
            places.append(("state", module, True, (layer, i), slice(None), [(i, j)]))
            places.append(("feedforward", module.get_submodule(known.ffn[1]), False, (layer, i), slice(None), [(i, j)]))
        for what, target, before, at, part, tokens in places:
            inputs_seen: list[torch.Tensor] = []
            patched(foreign, ids[1], target, lambda x, inputs_seen=inputs_seen: (inputs_seen.append(x), x)[1], before=before)

            def change(x: torch.Tensor, source: torch.Tensor = inputs_seen[0], tokens: Any = tokens, part: slice = part) -> torch.Tensor:
                for i, j in tokens:
                    x[0, i, part] = source[0, j, part]
                return x

            logits = patched(foreign, ids[0], target, change, before=before)
            wanted = float(log_odds(logits, *pair.target)) - pair.start
            assert maps[what].share[at] * scale == pytest.approx(wanted, abs=1e-5), (what, at)
    assert np.nanmax(np.abs(pair.map("value", exact=True).share)) > 1e-4
    assert pair.joint([pair.edit("state", (1, i)) for i, _ in aligned]).share == pytest.approx(1, abs=1e-4) or len(ids[0]) != len(ids[1])


@pytest.mark.parametrize("kind", often(KINDS, "bert", "qwen3"))
def test_direct_contributions_sum_to_the_logits_of_transformers(kind: str, folders: dict[str, Path]) -> None:
    model = loaded(folders[kind])
    sums = direct_attribution(model, model.trace(TEXT))
    logits = expected_output(folders[kind], TEXT).logits[0]
    wanted = logits[model.labels.index(sums.label)] - logits[model.labels.index(sums.against)]
    assert sums.total == pytest.approx(float(wanted), abs=1e-4) and sums.rest == pytest.approx(0, abs=1e-4)
    assert np.abs(sums.heads).max() > 1e-4 and np.abs(sums.feedforward).max() > 1e-4
