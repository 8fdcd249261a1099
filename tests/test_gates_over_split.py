"""Gates over many texts: means, intervals, chance and differences against loops, and what holds of them over simulated splits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from sentviz.analysis.maps.gates import CONTRASTS, FILE, NAMES, Groups, gates_of, over_split, table, verdict
from sentviz.analysis.maps.wordclasses import WordClasses, own_lists
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.batches import by_length, collate
from sentviz.models.model import Model
from sentviz.models.protocol import Capture
from tests.kit import BAD, GOOD, LABELS, small_encoder, small_model, toy_splits
from tests.slow import gate_mean

TEXTS = toy_splits()["test"].frame["text"].tolist()
FRAME = pd.DataFrame({"text": TEXTS})
CLASSES = WordClasses({"positive words": frozenset(GOOD), "negative words": frozenset(BAD), **own_lists()}, "our own")


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a gated model that reads [CLS] and tags, with a window."""
    tokenizer = Tokenizer.train_words(toy_splits()["train"].frame["text"], 4)  # some words of the test split are unknown
    gated = {"pooling": "cls", "gate": True, "positions": "aware", "window": 2, "layers": 3}
    encoder = small_encoder(vocab_size=tokenizer.vocab_size, classes=2, max_length=16, **gated).float()
    return Model("toy/gated", encoder, tokenizer, LABELS, cls=True, tagger=Tagger.load())


@pytest.fixture(scope="module")
def measured(model: Model) -> pd.DataFrame:
    return over_split(model, FRAME, CLASSES)


def tokens(model: Model) -> Iterator[tuple[int, str, str, str, list[float]]]:
    """Yield text, word ("" = unknown), class, tag and gate by layer of every token except specials, from single traces."""
    of_word = {word: name for name, words in CLASSES.words.items() for word in words}
    for i, text in enumerate(TEXTS):
        trace = model.trace(text, projections=True, maps=False)
        for j, token in enumerate(trace.tokens):
            if not trace.specials[j]:
                gates = [math.exp(float(terms.structure.biases[0].dense()[0, 0, 0, 0, j])) for terms in trace.terms]
                word = "" if trace.unknown[j] else token.lower()
                name = of_word.get(word, "other words" if word.isalnum() else "")
                yield i, word, name, trace.tags[j], [*gates, sum(gates) / len(gates)]


@pytest.mark.exhaustive
def test_means_intervals_and_chance_are_those_of_loops(model: Model, measured: pd.DataFrame) -> None:
    """Every row of every kind equals loops over the tokens of single traces."""
    seen = list(tokens(model))
    assert {name for _, _, name, _, _ in seen} > {"", "function words", "positive words", "other words"}
    checked = set()
    for row in measured[measured["kind"] != "difference"].itertuples():
        place = {"all": None, "word": 1, "class": 2, "tag": 3}[row.kind]
        texts: dict[int, tuple[list[float], list[float]]] = {}
        for token in seen:
            inside, all_ = texts.setdefault(token[0], ([], []))
            gate = token[4][row.layer]
            all_.append(gate)
            if place is None or token[place] == row.name:
                inside.append(gate)
        value, half, low, high = gate_mean(list(texts.values()))
        assert row.value == pytest.approx(value, abs=1e-6)
        assert row.n == sum(bool(inside) for inside, _ in texts.values()) and row.tokens == sum(len(inside) for inside, _ in texts.values())
        assert (row.low, row.high) == pytest.approx((max(0, value - half), min(1, value + half)), abs=1e-6, nan_ok=True)
        assert (row.shuffled_low, row.shuffled_high) == pytest.approx((low, high), abs=1e-5)
        assert np.isnan(row.p) and row.against == ""
        checked.add((row.kind, row.name))
    kinds = {kind: {name for group_kind, name in checked if group_kind == kind} for kind in ("all", "class", "tag", "word")}
    assert kinds["tag"] <= set(TAGS) - {""} and kinds["class"] <= set(NAMES) and len(kinds["word"]) > 5
    assert set(measured["layer"]) == {-1, 0, 1, 2} and set(measured["tagger"]) == {"english-1"}


def test_words_are_frequent_known_and_of_the_model(measured: pd.DataFrame, model: Model) -> None:
    words = measured[(measured["kind"] == "word") & (measured["layer"] == 0)]
    assert (words["n"] >= 20).all() and words["tokens"].is_monotonic_decreasing
    stood = [word for text in TEXTS for word in set(model.tokenizer.encode(text).tokens)]
    assert {"the", "a"} <= set(words["name"]) <= {word.lower() for word in stood}


@pytest.mark.exhaustive
def test_a_difference_is_that_of_two_means_and_its_interval_that_of_texts(model: Model, measured: pd.DataFrame) -> None:
    """The interval of a difference equals the one from each text's written-out effect on the difference."""
    (first, second), sides = next(iter(CONTRASTS.items()))
    seen = list(tokens(model))
    for row in measured[(measured["kind"] == "difference") & (measured["against"] == second)].itertuples():
        values = [[(token[0], token[4][row.layer]) for token in seen if token[2] in side] for side in sides]
        means = [sum(gate for _, gate in side) / len(side) for side in values]
        texts_with_both = sorted({i for side in values for i, _ in side})
        moved = []
        for i in texts_with_both:
            parts = [sum(gate - mean for k, gate in side if k == i) / len(side) for side, mean in zip(values, means, strict=True)]
            moved.append(parts[0] - parts[1])
        n = len(texts_with_both)
        error = math.sqrt(n / (n - 1) * sum(part**2 for part in moved))
        assert row.name == first and row.n == n
        assert row.value == pytest.approx(means[0] - means[1], abs=1e-6)
        assert row.high - row.low == pytest.approx(2 * t.ppf(0.975, n - 1) * error, abs=1e-6)
        assert row.p == pytest.approx(2 * t.sf(abs(row.value) / error, n - 1), rel=1e-3, abs=1e-12)


def test_chance_is_what_shuffling_gives() -> None:
    """The band equals that of 4,000 real shuffles of each text's gates: the middle to 4 standard errors, the width to 5 %."""
    rng = np.random.default_rng(0)
    text = np.repeat(np.arange(12), rng.integers(2, 9, 12))
    gates, of = rng.random((len(text), 1)), rng.integers(0, 3, len(text))
    row = table(gates, text, [Groups("class", ["x", "y", "z"], of)]).query("name == 'x' and layer == 0").iloc[0]
    drawn = []
    for _ in range(4_000):
        dealt = np.concatenate([rng.permutation(gates[text == i, 0]) for i in range(12)])
        drawn.append(dealt[of == 0].mean())
    assert (row["shuffled_low"] + row["shuffled_high"]) / 2 == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / math.sqrt(4_000))
    assert (row["shuffled_high"] - row["shuffled_low"]) / (2 * 1.96) == pytest.approx(np.std(drawn), rel=0.05)


def test_batches_and_padding_do_not_change_the_result(model: Model, measured: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.models.batches.by_length", lambda lengths: by_length(lengths, 1))
    seen: list[tuple[int, int]] = []
    alone = over_split(model, FRAME, CLASSES, lambda done, total: seen.append((done, total)))
    pd.testing.assert_frame_equal(alone, measured, atol=1e-6)
    assert seen == [(i + 1, len(TEXTS)) for i in range(len(TEXTS))]


def test_pairs_are_measured_in_both_texts(model: Model) -> None:
    frame = pd.DataFrame({"text": ["a warm song"] * 2, "text_pair": ["the soup was cold"] * 2})
    tags = over_split(model, frame, CLASSES).query("kind == 'tag' and layer == 0").set_index("name")["tokens"]
    assert tags.sum() == 14 and tags["DET"] == 4


def test_a_model_that_reads_no_tags_is_measured_by_them_too() -> None:
    frame = over_split(small_model(gate=True), FRAME.head(5), CLASSES)
    assert "ADJ" in set(frame["name"]) and set(frame["tagger"]) == {"english-1"}


def test_what_cannot_be_measured_is_one_sentence(model: Model) -> None:
    with pytest.raises(InputError, match=r"toy/random has no gates\."):
        over_split(small_model(), FRAME, CLASSES)
    with pytest.raises(InputError, match="no texts to measure"):
        over_split(model, FRAME.head(0), CLASSES)
    plain = small_model()
    seen = plain.network(collate([plain.encode(TEXTS[0]).reading]), Capture(maps=False, projections=True)).captured
    with pytest.raises(InputError, match="no gates"):
        gates_of(seen[0].terms)
    assert FILE == "gates.parquet"


def test_the_verdict_says_which_way_and_how_sure() -> None:
    """The verdict names function words that are shut in one of two layers, and adjectives that are open in both."""
    rng, text, classes = np.random.default_rng(3), np.repeat(np.arange(200), 4), ("function", "positive", "negative", "other")
    of = np.tile([NAMES.index(f"{name} words") for name in classes], 200)
    shut = of == NAMES.index("function words")
    gates = np.where(shut[:, None], [0.05, 0.5], [0.95, 0.5]) + rng.uniform(-0.04, 0.04, (800, 2))
    tags = np.where(shut, TAGS.index("DET"), TAGS.index("ADJ"))
    words = Groups("word", ["the", "good"], np.tile([0, 1, -1, -1], 200))
    lines = verdict(table(gates, text, [Groups("class", NAMES, of), Groups("tag", TAGS, tags), words]))
    assert len(lines) == 4 and "polar words" in lines[1]
    assert lines[0].startswith("The gates of function words are lower than those of content words in 1 of 2 layers and higher in 0")
    assert "function words is significantly below 0.1 in 1 of 2 layers" in lines[2]
    assert "adjectives significantly above 0.9 in 1." in lines[2]
    assert "Lowest gates: “the” 0.2" in lines[3] and "Highest gates: “good” 0.7" in lines[3]


def test_a_text_alone_has_no_interval() -> None:
    measured = table(np.array([[0.2], [0.6]]), np.zeros(2, dtype=np.int64), [Groups("all", ["all tokens"], np.zeros(2, dtype=np.int64))])
    assert measured["value"].tolist() == pytest.approx([0.4, 0.4]) and measured[["low", "high"]].isna().all(axis=None)
