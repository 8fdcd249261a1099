"""Long maps: tokens put together against loops, 8 bits against the weights, tiles against the whole map, memory against n x n."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.maps import coarse_map
from sentviz.analysis.maps.coarse_map import HOWS, KINDS, Units, units
from sentviz.charts import heatmap
from sentviz.errors import InputError
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
    """Words and sentences of a signed map equal loops, for every pair of ways to combine."""
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
    """Labels are parts of the text, [CLS] and [SEP] stay alone, and a second text begins a new unit."""
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
    """On random maps with a long tail no weight is further off than stated, small ones far less, and signs stay."""
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
    """Tiles read in bands of a few rows equal the complete trace, for every head and component, words and parts; heads stay silenced."""
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


def test_a_map_of_words_is_a_figure_too() -> None:
    """`merged` is a trace that `heatmap` draws with the words' weights."""
    trace = small_model(components=2, mixing="free", max_length=40).trace(REVIEW)
    unit = units(trace, "sentences")
    for component in ("effective", 1):
        frame = heatmap(coarse_map.merged(trace, unit, 1, 1, component), 1, 1, component).frame
        tile = coarse_map.tile(coarse_map.map_of_trace(trace, 1, 1, component), unit)
        np.testing.assert_allclose(frame["attention"], tile.ravel(), rtol=1e-6)
        assert frame["key_token"].iloc[0] == "the garden was bright."


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
