"""Long maps and maps made on demand: against loops, the whole map and the traces that hold them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.analysis.explain import explained, score
from sentviz.analysis.explain.rollout import value_weighted_maps
from sentviz.analysis.maps import coarse_map
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.coarse_map import HOWS, KINDS, Units, units
from sentviz.analysis.maps.compare import difference
from sentviz.analysis.maps.heads import of_trace
from sentviz.analysis.maps.injection import row as injected_row
from sentviz.analysis.maps.layers import head_patterns
from sentviz.errors import InputError, MissingMapError
from sentviz.models.attention import KeyTerm
from sentviz.models.encoder import Attention
from sentviz.models.model import Model
from sentviz.models.terms import AttentionTerms, HeadNorm
from sentviz.runs.trace import Trace
from tests import injected
from tests.kit import fake_trace, small_model

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
    """Units of a windowed map equal loops over the complete map, and the overview equals means of blocks."""
    model = small_model(max_length=40, cls=True, **FORMS["gate and window"])
    trace = model.trace(REVIEW, maps=False, projections=True)
    whole, tokens = trace.map(1, 0), units(trace)
    source = coarse_map.map_of_trace(trace, 1, 0, band_bytes=band_bytes)
    assert len(source.read(5, 6)[1]) <= 4 + 1 + 3 < len(tokens)
    for kind in KINDS:
        unit = units(trace, kind)
        expected = by_hand(whole, unit, queries, keys)
        np.testing.assert_allclose(coarse_map.tile(source, unit, queries=queries, keys=keys), expected, atol=1e-6)
        for cells in (1, 5, 100):
            overview, block = coarse_map.overview(source, unit, queries=queries, keys=keys, cells=cells)
            steps = [range(i, min(i + block, len(unit))) for i in range(0, len(unit), block)]
            assert len(steps) <= cells
            np.testing.assert_allclose(overview, [[expected[np.ix_(a, b)].mean() for b in steps] for a in steps], atol=1e-6)


def test_words_and_sentences_of_a_trace() -> None:
    model = small_model(cls=True, max_length=40)
    trace = model.trace(REVIEW)
    sentences = units(trace, "sentences")
    inner = ["the garden was bright.", "was it?", "what a song!", "a warm, clever soup we saw ...", "I say"]
    assert sentences.labels == ("[CLS]", *inner, "[SEP]")
    assert [REVIEW[a:b] for a, b in sentences.offsets[1:-1].tolist()] == inner
    assert units(trace, "words").labels[:3] == ("[CLS]", "the", "garden")
    assert units(model.trace("a song", "a soup"), "sentences").labels == ("[CLS]", "a song", "[SEP]", "a soup", "[SEP]")


def test_sentences_end_where_they_should() -> None:
    """The spans of sentences cover the text without a gap."""
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


def test_the_bytes_say_where_everything_is() -> None:
    """The payload is read by its own description; hostile labels stay data, and 512 tokens take less than 1 MB."""
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


@pytest.mark.parametrize("name", FORMS)
def test_tiles_are_the_whole_map(name: str) -> None:
    model = small_model(max_length=40, cls=True, **FORMS[name])
    trace, lean = (model.trace(REVIEW, heads_off=[(1, 1)], **how) for how in ({}, {"maps": False, "projections": True}))
    unit = units(trace, "sentences")
    for head in (0, 1, "mean", "max"):
        for component in ("effective", *trace.component_ids):
            source = coarse_map.map_of_trace(lean, 1, head, component, band_bytes=3000)
            assert source.band < 10
            whole = coarse_map.map_of_trace(trace, 1, head, component)
            np.testing.assert_allclose(coarse_map.tile(source, unit), coarse_map.tile(whole, unit), atol=1e-6)
            exact = coarse_map.tile(source, units(trace), (3, 8), (2, 5))
            np.testing.assert_allclose(exact, trace.rows(1, 3, 8, head, component)[:, 2:5], atol=1e-6)


def test_what_cannot_be_is_said() -> None:
    trace = fake_trace(5)
    source = coarse_map.map_of_trace(trace, 0)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: coarse_map.map_of_trace(trace.replace(query_ids=trace.query_ids[:2]), 0), "all queries"),
        (lambda: coarse_map.tile(source, units(fake_trace(6))), "6 tokens do not fit a map of 5"),
        (lambda: coarse_map.tile(source, units(trace), (3, 9)), "outside the map"),
        (lambda: units(trace, "pages"), "not 'pages'"),  # type: ignore[arg-type]
    ]
    for call, words in cases:
        with pytest.raises(InputError, match=words):
            call()


TEXT = "the song was warm and dull, what a clever garden we saw! a cold soup, I say; the puppet show was tender"
SCORE_FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "three": {"components": 3, "mixing": "free"},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True},
    "rope": {"positions": "rotary", "qk_norm": True},
    "gate and window": {"components": 2, "mixing": "unit", "gate": True, "window": 4, "global_tokens": (0, -1, 5)},
    "lexicon": {"lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True},
    "factor": {"lexicon": "multiply", "window": 2},
    "distance": {"relative": 8, "relative_reach": 6, "components": 2, "mixing": "free"},
    "distance and window": {"relative": 8, "relative_reach": 6, "window": 4},
}


def model_of(form: dict[str, Any]) -> Model:
    """Return a random model, with random polarities if it has a lexicon."""
    return injected.random_model(3, **form) if "lexicon" in form else small_model(3, max_length=40, **form)


@pytest.mark.parametrize("form", SCORE_FORMS.values(), ids=SCORE_FORMS)
def test_maps_made_on_demand_are_those_that_are_held(form: dict[str, Any]) -> None:
    """Every layer, head and component, complete, by rows and by band, equals the stacks of a trace with maps; one head is silenced."""
    model = model_of(form)
    with_maps, lean = (model.trace(TEXT, heads_off=[(0, 1)], **how) for how in ({}, {"maps": False, "projections": True}))
    assert with_maps.attention is not None and lean.attention is None and lean.components is None
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


def test_a_part_of_a_trace_makes_its_own_maps_only() -> None:
    """A trace of selected heads and layers, in any order, makes those maps; others raise MissingMapError."""
    model = small_model(components=2, mixing="unit")
    whole = model.trace(TEXT)
    part = model.trace(TEXT, layers=[1], heads=[1, 0], maps=False, projections=True)
    for head in (0, 1):
        np.testing.assert_allclose(part.map(1, head, 1), whole.map(1, head, 1), atol=1e-6)
        np.testing.assert_allclose(part.map(1, head), whole.map(1, head), atol=1e-6)
    with pytest.raises(MissingMapError, match="layers 1, not 0"):
        part.map(0)
    component = model.trace(TEXT, components=[1], maps=False, projections=True)
    np.testing.assert_allclose(component.map(0, 1, 1), whole.map(0, 1, 1), atol=1e-6)
    with pytest.raises(MissingMapError, match="only some of the components"):
        component.map(0)
    with pytest.raises(MissingMapError, match="some of the query rows"):
        model.trace(TEXT, queries=[2], maps=False, projections=True).map(0)
    with pytest.raises(MissingMapError, match="without attention maps"):
        model.trace(TEXT, maps=False).map(0)


def test_explanations_are_the_same_with_and_without_maps() -> None:
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


# ---- a term changes, and every reader follows


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
    assert trace.queries is not None and trace.keys is not None
    q, k = (array[layer, 0, head].astype(float) for array in (trace.queries, trace.keys))
    s = 2 * q @ k.T / np.sqrt(q.shape[1])
    s[:, ::3] += 1.5
    if trace.polarity is not None and head == 1:
        s += trace.polarity.astype(float) @ trace.polarity.astype(float).T / np.sqrt(q.shape[1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_every_reader_follows_a_changed_term(tilted: Model) -> None:
    """Maps, long maps, the arithmetic of a cell, the lexicon's row and value-weighted attention follow a changed term."""
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


def test_a_stored_trace_keeps_its_maps_and_needs_no_model(tmp_path: Path) -> None:
    model = injected.random_model(3)
    trace = model.trace(TEXT, strength=0.5)
    trace.save(tmp_path / "trace.safetensors")
    again = Trace.load(tmp_path / "trace.safetensors")
    assert again.change.strength == {"lexicon": 0.5} and again.terms == ()
    np.testing.assert_allclose(again.map(0, 1), trace.map(0, 1), atol=1e-3)
