"""Long maps, maps made on demand and texts longer than those of the training: against loops, the whole map and traces that hold maps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentviz import load
from sentviz.analysis.explain import explained, score
from sentviz.analysis.explain.rollout import value_weighted_maps
from sentviz.analysis.maps import coarse_map
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.coarse_map import HOWS, KINDS, Units, units
from sentviz.analysis.maps.compare import difference
from sentviz.analysis.maps.heads import of_trace
from sentviz.analysis.maps.injection import row as injected_row
from sentviz.analysis.maps.layers import head_patterns
from sentviz.errors import InputError, MissingMapError, RunError
from sentviz.models.attention import KeyTerm
from sentviz.models.encoder import Attention
from sentviz.models.model import Model
from sentviz.models.terms import AttentionTerms, HeadNorm
from sentviz.runs.store import find
from sentviz.runs.trace import Trace
from tests import injected
from tests.kit import fake_trace, gated_model, refused, small_model

REVIEW = "the garden was bright. was it? what a song!\n\na warm, clever soup we saw ... I say"
FORMS: dict[str, dict[str, Any]] = {
    "ndt": {"components": 3, "mixing": "free"},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.1},
    "rope, qk-norm": {"positions": "rotary", "qk_norm": True},
    "gate and window": {"gate": True, "window": 4, "global_tokens": (0, -1, 2, -300)},
}


def by_hand(values: np.ndarray, unit: Units, queries: str, keys: str) -> np.ndarray:
    """Combine the keys of each unit, then its queries, one entry at a time."""

    def combined(entries: list[float], how: str) -> float:
        return {"sum": sum, "mean": lambda x: sum(x) / len(x), "max": lambda x: max(x, key=abs)}[how](entries)

    spans = [range(a, b) for a, b in zip(unit.starts, unit.ends, strict=True)]
    return np.array([[combined([combined([values[i, j] for j in to], keys) for i in of], queries) for to in spans] for of in spans])


@pytest.mark.parametrize("keys", HOWS)
@pytest.mark.parametrize("queries", HOWS)
def test_units_are_what_loops_make_of_tokens(queries: Any, keys: Any) -> None:
    trace = fake_trace(tokens=["a", "bright", ",", "warm", "song", ".", "it", "rains", "!", "yes"], signed=True)
    source = coarse_map.map_of_trace(trace, 1, 2)
    for kind in KINDS:
        tile = coarse_map.tile(source, units(trace, kind), queries=queries, keys=keys)
        np.testing.assert_allclose(tile, by_hand(trace.map(1, 2), units(trace, kind), queries, keys), atol=1e-6)


@pytest.mark.parametrize(("queries", "keys", "band_bytes"), [("mean", "sum", 1), ("max", "mean", 2_000), ("sum", "max", 1 << 20)])
def test_keys_out_of_reach_count_as_nothing(queries: Any, keys: Any, band_bytes: int) -> None:
    model = small_model(max_length=40, cls=True, **FORMS["gate and window"])
    trace = model.trace(REVIEW, maps=False, projections=True)
    whole, tokens = trace.map(1, 0), units(trace)
    source = coarse_map.map_of_trace(trace, 1, 0, band_bytes=band_bytes)
    assert len(source.read(5, 6)[1]) <= 4 + 1 + 3 < len(tokens)
    np.testing.assert_allclose(coarse_map.tile(source, tokens, (3, 8), (2, 5)), whole[3:8, 2:5], atol=1e-6)
    for kind in KINDS:
        unit = units(trace, kind)
        expected = by_hand(whole, unit, queries, keys)
        np.testing.assert_allclose(coarse_map.tile(source, unit, queries=queries, keys=keys), expected, atol=1e-6)
        for cells in (1, 5, 100):
            overview, block = coarse_map.overview(source, unit, queries=queries, keys=keys, cells=cells)
            steps = [range(i, min(i + block, len(unit))) for i in range(0, len(unit), block)]
            assert len(steps) <= cells
            np.testing.assert_allclose(overview, [[expected[np.ix_(a, b)].mean() for b in steps] for a in steps], atol=1e-6)


def test_units_and_bytes_say_where_everything_is() -> None:
    model = small_model(cls=True, max_length=40)
    trace = model.trace(REVIEW)
    sentences = units(trace, "sentences")
    inner = ["the garden was bright.", "was it?", "what a song!", "a warm, clever soup we saw ...", "I say"]
    assert sentences.labels == ("[CLS]", *inner, "[SEP]")
    assert [REVIEW[a:b] for a, b in sentences.offsets[1:-1].tolist()] == inner
    assert units(trace, "words").labels[:3] == ("[CLS]", "the", "garden")
    assert units(model.trace("a song", "a soup"), "sentences").labels == ("[CLS]", "a song", "[SEP]", "a soup", "[SEP]")
    for sentences in (
        ["One.", " Two!", " Three?"],
        ["It cost 3.50 today.", " Fine"],
        ["«Nein!»", " sagte er…", " Gut."],
        ['He said "go."', " Then"],
        ["很好。", "真的！", "是吗？"],
        ["شكرا؟", " نعم"],
        ["क्या।हाँ।", " ठीक"],
        ["line one\n", "line two\r\n\r\n", "line three"],
        ["..."],
        [""],
    ):
        text = "".join(sentences)
        assert [text[a:b] for a, b in coarse_map.sentence_spans(text)] == sentences
    trace = fake_trace(tokens=["</script>", "\ud800", "שלום", *["word"] * 508])
    packed = coarse_map.pack(trace.map(0, 1))
    part = coarse_map.pack(trace.map(1, 1)[:3, 5:9] * -1)
    data = coarse_map.payload({"labels": units(trace).labels}, [(packed, 0, 0, 1), (part, 0, 5, 1)])
    assert len(data) < 300_000
    length = int.from_bytes(data[:4], "little")
    head, codes = json.loads(data[4 : 4 + length]), data[4 + length :]
    assert tuple(head["labels"]) == trace.tokens
    for layer, original in zip(head["layers"], (packed, part), strict=True):
        kind = np.int8 if layer["signed"] else np.uint8
        shape = layer["rows"], layer["columns"]
        read = np.frombuffer(codes, kind, shape[0] * shape[1], layer["offset"]).reshape(shape).astype(float)
        np.testing.assert_allclose(layer["scale"] * read * np.abs(read), original.values(), rtol=1e-5)
    trace = fake_trace(5)
    source = coarse_map.map_of_trace(trace, 0)
    of_two = trace.replace(query_ids=trace.query_ids[:2])
    refused(InputError, "all queries", coarse_map.map_of_trace, of_two, 0)
    refused(InputError, "6 tokens do not fit a map of 5", coarse_map.tile, source, units(fake_trace(6)))
    refused(InputError, "outside the map", coarse_map.tile, source, units(trace), (3, 9))
    refused(InputError, "not 'pages'", units, trace, "pages")


@pytest.mark.parametrize("signed", [False, True])
def test_eight_bits_are_as_near_as_they_say(signed: bool) -> None:
    for size in (1e-9, 1.0, 3e4):
        values = (np.random.default_rng(0).exponential(size=(60, 70)) ** 3 * size).astype(np.float32)
        if signed:
            values[::2] *= -1
        packed = coarse_map.pack(values)
        off = np.abs(packed.values() - values)
        assert packed.signed == signed and packed.codes.itemsize == 1 and off.max() <= packed.error * (1 + 1e-5)
        assert packed.error <= np.abs(values).max() / (127 if signed else 255)
        assert (off <= np.sqrt(np.abs(values) * packed.scale) + packed.scale / 4 + packed.error * 1e-5).all()
        assert (packed.values() * values >= 0).all()
    zeros = coarse_map.pack(np.zeros((2, 2), dtype=np.float32))
    assert not zeros.values().any() and zeros.error == 0


TEXT = "the song was warm and dull, what a clever garden we saw! a cold soup, I say; the puppet show was tender"
SCORE_FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True},
    "gate and window": {"components": 2, "mixing": "unit", "gate": True, "window": 4, "global_tokens": (0, -1, 5)},
    "lexicon": {"lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True},
    "distance": {"relative": 8, "relative_reach": 6, "components": 2, "mixing": "free"},
    "distance and window": {"relative": 8, "relative_reach": 6, "window": 4},
}


def model_of(form: dict[str, Any]) -> Model:
    """Return a random model, with random polarities if it has a lexicon."""
    return injected.random_model(3, **form) if "lexicon" in form else small_model(3, max_length=40, **form)


@pytest.mark.parametrize("form", SCORE_FORMS.values(), ids=SCORE_FORMS)
def test_maps_made_on_demand_are_those_that_are_held(form: dict[str, Any]) -> None:
    model = model_of(form)
    with_maps, lean = (model.trace(TEXT, heads_off=[(0, 1)], **how) for how in ({}, {"maps": False, "projections": True}))
    assert lean.attention is None and lean.components is None
    n = len(with_maps.tokens)
    for component in ("effective", *with_maps.component_ids):
        np.testing.assert_allclose(lean.stack(component), with_maps.stack(component), atol=1e-6)
        for layer in with_maps.layer_ids:
            for head in ("mean", "max", *with_maps.head_ids):
                whole = with_maps.map(layer, head, component)
                np.testing.assert_allclose(lean.map(layer, head, component), whole, atol=1e-6)
                np.testing.assert_allclose(lean.rows(layer, 3, 7, head, component), whole[3:7], atol=1e-6)
                values, keys = lean.band(layer, 6, 8, head, component)
                np.testing.assert_allclose(values, whole[6:8][:, keys], atol=1e-6)
                assert not whole[6:8][:, np.setdiff1d(np.arange(n), keys)].any()
    if (window := form.get("window", 0)) and form.get("lexicon") != "multiply":
        assert len(lean.band(0, 6, 8)[1]) <= window + 2 + 3 < n
    bands = list(lean.bands(size=4 * n * len(with_maps.head_ids) * with_maps.lambdas.shape[1] * 5))
    assert len(bands) == len(with_maps.layer_ids) * -(-n // 5)
    for place, start, maps, keys in bands:
        np.testing.assert_allclose(maps, with_maps.stack()[place][:, start : start + 5][..., keys], atol=1e-6)


@pytest.mark.parametrize("form", [*SCORE_FORMS.values(), {"padded": True}], ids=[*SCORE_FORMS, "padding is read"])
def test_traces_of_a_batch_are_those_of_each_text(form: dict[str, Any]) -> None:
    model = small_model(3) if "padded" in form else model_of(form)
    texts, change = [TEXT, "a cold soup", "the song was warm and dull"], "head:1.1=0" + "~term:mask=0" * ("padded" in form)
    for text, trace in zip(texts, model.traces(texts, change=change), strict=True):
        alone = model.trace(text, maps=False, projections=True, change=change)
        assert trace.tokens == alone.tokens and trace.change == alone.change and trace.text == text
        for name in ("logits", "probabilities", "hidden", "pooled", "queries", "keys", "values", "polarity"):
            in_batch, by_itself = getattr(trace, name), getattr(alone, name)
            assert (in_batch is None) is (by_itself is None)
            if in_batch is not None:
                np.testing.assert_allclose(in_batch, by_itself, atol=2e-5)
        for component in ("effective", *alone.component_ids):
            np.testing.assert_allclose(trace.stack(component), alone.stack(component), atol=2e-5)


def test_parts_and_stored_traces_have_their_own_maps(tmp_path: Path) -> None:
    model = small_model(components=2, mixing="unit")
    whole = model.trace(TEXT)
    part = model.trace(TEXT, layers=[1], heads=[1, 0], maps=False, projections=True)
    for head in (0, 1):
        np.testing.assert_allclose(part.map(1, head, 1), whole.map(1, head, 1), atol=1e-6)
        np.testing.assert_allclose(part.map(1, head), whole.map(1, head), atol=1e-6)
    refused(MissingMapError, "layers 1, not 0", part.map, 0)
    component = model.trace(TEXT, components=[1], maps=False, projections=True)
    np.testing.assert_allclose(component.map(0, 1, 1), whole.map(0, 1, 1), atol=1e-6)
    refused(MissingMapError, "only some of the components", component.map, 0)
    refused(MissingMapError, "some of the query rows", model.trace(TEXT, queries=[2], maps=False, projections=True).map, 0)
    refused(MissingMapError, "without attention maps", model.trace(TEXT, maps=False).map, 0)
    model = small_model(components=2, mixing="free")
    (with_maps, changed), (lean, lean_changed) = (
        [model.trace(text, **how) for text in (TEXT, TEXT.replace("warm", "cold"))] for how in ({}, {"maps": False, "projections": True})
    )
    for name in ("received", "difference", "rollout"):
        got, wanted = (score(explained(model, trace, [name]), name) for trace in (lean, with_maps))
        np.testing.assert_allclose(got, wanted, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(of_trace(lean)["value"], of_trace(with_maps)["value"], atol=1e-6)
    np.testing.assert_allclose(head_patterns(lean)["entropy"], head_patterns(with_maps)["entropy"], atol=1e-6)
    np.testing.assert_allclose(difference(lean, lean_changed).stack(), difference(with_maps, changed).stack(), atol=1e-6)
    model = injected.random_model(3)
    trace = model.trace(TEXT, strength=0.5)
    trace.save(tmp_path / "trace.safetensors")
    again = Trace.load(tmp_path / "trace.safetensors")
    assert again.change.strength == {"lexicon": 0.5} and again.terms == ()
    np.testing.assert_allclose(again.map(0, 1), trace.map(0, 1), atol=1e-3)


class Tilted(Attention):
    """Attention with one more term, a bias on every third key, a scale of its own and a norm behind the heads."""

    def terms(self, x: torch.Tensor, *rest: Any) -> AttentionTerms:
        """Return the layer's terms with a tilt added."""
        terms = super().terms(x, *rest)
        tilt = torch.zeros(1, 1, 1, x.shape[1])
        tilt[..., ::3] = 1.5
        structure = replace(terms.structure, biases=(*terms.structure.biases, KeyTerm("tilt", tilt)))
        size = self.config.width // self.config.heads
        norm = HeadNorm(torch.linspace(0.5, 1.5, size), 1e-5, 0.7)
        return replace(terms, structure=structure, scale=2 * float(terms.scale), head_norm=norm)


@pytest.fixture(params=["plain", "lexicon"])
def tilted(request: pytest.FixtureRequest) -> Model:
    model = model_of(SCORE_FORMS[request.param])
    for block in model.network.blocks:
        block.attention.__class__ = Tilted
    return model


def tilted_by_hand(model: Model, layer: int, head: int) -> np.ndarray[Any, Any]:
    """Return the softmax (n, n) of twice the scaled products, the tilt and the lexicon's term, from Q and K alone."""
    trace = model.trace(TEXT, projections=True)
    q, k = (array[layer, 0, head].astype(float) for array in (trace.queries, trace.keys))
    s = 2 * q @ k.T / np.sqrt(q.shape[1])
    s[:, ::3] += 1.5
    if trace.polarity is not None and head == 1:
        s += trace.polarity.astype(float) @ trace.polarity.astype(float).T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_every_reader_follows_a_changed_term(tilted: Model) -> None:
    with_maps, lean = tilted.trace(TEXT), tilted.trace(TEXT, maps=False, projections=True)
    for layer in (0, 1):
        for head in (0, 1):
            wanted = tilted_by_hand(tilted, layer, head)
            np.testing.assert_allclose(with_maps.map(layer, head), wanted, atol=1e-5)
            np.testing.assert_allclose(lean.map(layer, head), wanted, atol=1e-5)
            np.testing.assert_allclose(coarse_map.map_of_trace(lean, layer, head, band_bytes=1).read(2, 6)[0], wanted[2:6], atol=1e-5)
            for source in (with_maps, lean, TEXT):
                arithmetic = cell(tilted, source, layer, head, 4, 6)
                assert arithmetic.attention == pytest.approx(wanted[4, 6], abs=1e-5)
                assert arithmetic.parts[0].biases["tilt"] == 1.5 and arithmetic.head_norm == 0.7
                assert arithmetic.scale == pytest.approx(2 / np.sqrt(arithmetic.key_size))
                whole = arithmetic.parts[0].scaled + sum(arithmetic.parts[0].biases.values())
                assert whole == pytest.approx(arithmetic.parts[0].score, abs=1e-5)
            if with_maps.polarity is not None:
                np.testing.assert_allclose(injected_row(tilted, with_maps, layer, head, 4).after, wanted[4], atol=1e-5)
    assert with_maps.values is None and lean.values is not None
    v, attention = lean.values[0].astype(float), np.stack([tilted_by_hand(tilted, 0, head) for head in (0, 1)])
    out = attention @ v
    weights = np.linspace(0.5, 1.5, v.shape[-1]) * 0.7 / np.sqrt((out**2).mean(axis=-1, keepdims=True) + 1e-5)  # (H, n, d_v)
    w = tilted.network.blocks[0].attention.output.weight.detach().numpy().astype(float).reshape(-1, 2, v.shape[-1])
    moved = np.einsum("hnm,hme,hne,dhe->nmd", attention, v, weights, w)
    np.testing.assert_allclose(value_weighted_maps(tilted, with_maps)[0], np.linalg.norm(moved, axis=-1), rtol=1e-4, atol=1e-5)


def test_a_longer_model_answers_short_texts_alike_and_some_cannot_be_longer(gated_runs: Path, tiny_run: Path) -> None:
    short, longer = load("toy/sentiformer", folders=gated_runs), load("toy/sentiformer", folders=gated_runs, max_length=400)
    np.testing.assert_array_equal(short.trace("a warm garden").logits, longer.trace("a warm garden").logits)
    cut, whole = (model.trace("what a warm, clever song we saw! a dull soup. " * 12) for model in (short, longer))
    assert len(cut.tokens) == 64 and whole.dropped == 0 and len(whole.tokens) == 64 + cut.dropped > 100
    run = find("toy/sentiformer", gated_runs)
    assert run.digest != run.longer(400).digest
    refused(RunError, "cannot read more than 16 tokens", load, tiny_run, max_length=100)
    refused(RunError, r"reads 64 tokens\. It can be set to read more, but not 63", find("toy/sentiformer", gated_runs).longer, 63)
    of = cell(gated_model(window=4), "what a warm, clever song we saw", 1, 1, 0, 0)
    frame = of.smoother()
    kernel = frame["kernel_a1"].to_numpy()
    assert "gate" in of.parts[0].biases and not frame["seen"].all() and (frame.loc[~frame["seen"], "kernel_a1"] == 0).all()
    np.testing.assert_allclose(kernel / kernel.sum(), frame["weight"], atol=1e-6)
    np.testing.assert_allclose(kernel @ of.values / kernel.sum(), of.output, atol=1e-6)
    model = small_model(max_length=60, cls=True, window=4, global_tokens=(0, -1, 7), global_drawn=2)
    trace = model.trace("a warm song. " * 9, maps=False, projections=True)
    n, place = len(trace.tokens), torch.arange(len(trace.tokens))
    for layer in (0, 1):
        pattern = trace.terms[layer].structure.pattern
        allowed = pattern.allowed(place, place)[0].numpy()
        near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= 2
        for kind in coarse_map.KINDS:
            unit = coarse_map.units(trace, kind)
            visibility = coarse_map.window_visibility(trace, unit, layer)
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
