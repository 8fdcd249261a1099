"""Heads: their habits over many texts, layer verdicts, silenced heads and gates, against loops over one text at a time."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from sentviz.analysis.explain import log_odds
from sentviz.analysis.maps.gates import CONTRASTS, FILE, NAMES, Groups, gates_of, table, verdict
from sentviz.analysis.maps.gates import over_split as gates_over_split
from sentviz.analysis.maps.heads import CLS_MEASURES, MEASURES, of_trace, over_rows, over_split
from sentviz.analysis.maps.layers import MOST, PATTERNS, SHARE, HeadEffects, head_patterns, silenced, verdict_by_layer
from sentviz.analysis.maps.wordclasses import WordClasses, own_lists
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.batches import by_length, collate
from sentviz.models.model import Model
from sentviz.models.protocol import Capture
from sentviz.runs.target import Target
from tests.kit import BAD, GOOD, LABELS, fake_trace, gated_model, random_model, refused, small_encoder, small_model, toy_splits
from tests.slow import gate_mean

TEXTS = toy_splits()["test"].frame["text"].tolist()[:9]
FORMS = {"diff": {"components": 2, "mixing": "differential", "head_norm": True}, "cls": {"pooling": "cls"}}


def by_loops(maps: np.ndarray, specials: np.ndarray, cls: bool) -> dict[str, float]:
    """Return every measure of an (n, n) map from its definition."""
    n = len(maps)
    sums = dict.fromkeys(MEASURES, 0.0)
    for i in range(n):
        row = np.abs(maps[i]) / np.abs(maps[i]).sum()
        sums["entropy"] += -sum(p * np.log(p) for p in row if p > 0) / np.log(n) / n
        sums["previous"] += (row[i - 1] if i > 0 else 0) / n
        sums["next"] += (row[i + 1] if i + 1 < n else 0) / n
        sums["same"] += row[i] / n
        sums["specials"] += row[specials].sum() / n
        sums["first"] += row[0] / n
    if cls:
        sums["from_cls"], sums["to_cls"] = float(np.std(maps[0, 1:])), float(np.std(maps[1:, 0]))
    return sums


@pytest.mark.parametrize("form", FORMS)
def test_the_mean_over_texts_is_that_of_the_texts_one_by_one(form: str) -> None:
    model = small_model(cls=form == "cls", **FORMS[form])
    got = over_split(model, pd.DataFrame({"text": TEXTS}))
    rows = []
    for text in TEXTS:
        trace = model.trace(text)
        for layer in range(2):
            each = [by_loops(trace.attention[layer, head].astype(float), trace.specials, form == "cls") for head in trace.head_ids]
            mean = {name: float(np.mean([values[name] for values in each])) for name in each[0]}
            for head, values in [*enumerate(each), (-1, mean)]:
                rows += [(layer, head, name, value) for name, value in values.items()]
    want = pd.DataFrame(rows, columns=["layer", "head", "measure", "value"]).groupby(["layer", "head", "measure"])["value"]
    for row in got.itertuples():
        values = want.get_group((row.layer, row.head, row.measure))
        assert row.value == pytest.approx(values.mean(), abs=1e-5)
        assert row.sd == pytest.approx(values.std(ddof=0), abs=1e-5)
        assert row.high - row.value == pytest.approx(1.96 * values.std(ddof=0) / 3, abs=1e-5)
        assert row.n == 9
    assert set(got["measure"]) == {*MEASURES, *(CLS_MEASURES if form == "cls" else ())}


def test_one_sentence_and_its_layers(model: Model) -> None:
    model = small_model(components=2, mixing="free")
    trace = model.trace(TEXTS[0])
    own, streamed = of_trace(trace), over_split(model, pd.DataFrame({"text": TEXTS[:1]}))
    pd.testing.assert_frame_equal(own, streamed[["layer", "head", "measure", "value"]], atol=1e-5, check_dtype=False)
    wide = own[own["head"] >= 0].pivot(index=["layer", "head"], columns="measure", values="value").reset_index()
    shared = ["layer", "head", "entropy", "previous", "next", "same", "first"]
    pd.testing.assert_frame_equal(wide[shared], head_patterns(trace)[shared], check_names=False, atol=1e-6)
    model = small_model()
    for part in ({"layers": [1]}, {"heads": [1]}, {"queries": [1, 2]}):
        refused(InputError, "Head measures need a complete trace", of_trace, model.trace(TEXTS[0], **part))
    refused(InputError, "no text", over_rows, model, [])
    refused(InputError, "without attention maps", of_trace, model.trace(TEXTS[0], maps=False))
    trace = model.trace("what a warm clever song")
    shares = verdict_by_layer(model, trace)
    np.testing.assert_allclose(shares[-1], trace.probabilities, atol=1e-6)
    state = {name: tensor.double().numpy() for name, tensor in model.network.state_dict().items()}
    for layer, hidden in enumerate(trace.hidden.astype(np.float64)):
        rows = [row / math.sqrt(float((row**2).mean()) + 1e-6) * state["final_norm.weight"] for row in hidden]
        logits = state["classifier.weight"] @ (sum(rows) / len(rows)) + state["classifier.bias"]
        e = np.exp(logits - logits.max())
        np.testing.assert_allclose(shares[layer], e / e.sum(), atol=1e-5)


def test_habits_of_some_queries_are_means_over_these_alone() -> None:
    trace = fake_trace(tokens=["a", ",", "b", "c"])
    some = trace.replace(attention=trace.attention[..., [3, 1], :], components=None, query_ids=(3, 1))
    for row in head_patterns(some).to_dict("records"):
        a = {i: weights / weights.sum() for i in (3, 1) for weights in [trace.attention[row["layer"], row["head"], i].astype(float)]}
        assert {name: row[name] for name in ("previous", "next", "same", "first", "distance")} == pytest.approx(
            {
                "previous": sum(a[i][i - 1] for i in a) / 2,
                "next": sum(a[i][i + 1] for i in a) / 2,
                "same": sum(a[i][i] for i in a) / 2,
                "first": sum(a[i][0] for i in a) / 2,
                "distance": sum(a[i][j] * abs(i - j) for i in a for j in range(len(trace.tokens))) / 2,
            },
            abs=1e-6,
        )


@pytest.mark.parametrize("signed", [False, True])
def test_habits_by_hand(signed: bool) -> None:
    trace = fake_trace(layers=2, heads=3, components=2, signed=signed, tokens=["a", ",", "b", "!?", "c"])
    n = len(trace.tokens)
    places = [(i, j) for i in range(n) for j in range(n)]
    for row in head_patterns(trace).to_dict("records"):
        a = np.abs(trace.attention[row["layer"], row["head"]].astype(float))
        a = a / a.sum(axis=1, keepdims=True)
        assert {name: row[name] for name in PATTERNS} == pytest.approx(
            {
                "entropy": sum(-a[at] * math.log(a[at]) for at in places if a[at] > 0) / n / math.log(n),
                "distance": sum(a[i, j] * abs(i - j) for i, j in places) / n,
                "previous": sum(a[i, i - 1] for i in range(1, n)) / n,
                "next": sum(a[i, i + 1] for i in range(n - 1)) / n,
                "same": sum(a[i, i] for i in range(n)) / n,
                "first": sum(a[i, 0] for i in range(n)) / n,
                "punctuation": sum(a[i, j] for i, j in places if trace.tokens[j] in {",", "!?"}) / n,
            },
            abs=1e-6,
        )
    refused(InputError, r"components 0.*, not 7", head_patterns, trace, 7)


TEXT = "a warm garden and a dull song , but a clever town"
NDT = {"components": 2, "mixing": "unit", "layers": 3}


def one_by_one(model: Model, text: str, **change: Any) -> list[list[float]]:
    """Return the drop of the log-odds for each head, with one pass of the model per head."""
    off = set(change.pop("heads_off", ()))
    whole = model.trace(text, heads_off=off, **change)
    k, has = int(whole.probabilities.argmax()), model.capabilities

    def odds(layer: int, head: int) -> float:
        return float(log_odds(model.trace(text, heads_off=off | {(layer, head)}, **change).logits, k))

    base = float(log_odds(whole.logits, k))
    return [[base - odds(layer, head) for head in range(has.heads)] for layer in range(has.layers)]


def test_heads_that_matter_are_silenced_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is sorted by absolute change. It stops with the head that completes SHARE of their sum, or with MOST heads."""
    for seed in range(20):
        falls = (np.random.default_rng(seed).standard_normal((3, 5)) ** 5).astype(np.float32)
        heads = HeadEffects(falls, np.zeros((3, 5), np.bool_)).leading
        sizes = [float(abs(falls[at])) for at in heads]
        assert sizes == sorted((abs(float(fall)) for fall in falls.ravel()), reverse=True)[: len(heads)]
        total = float(np.abs(falls).sum(dtype=np.float64))
        assert sum(sizes[:-1]) < SHARE * total
        assert len(heads) == MOST or sum(sizes) >= SHARE * total - 1e-6
    assert HeadEffects(np.zeros((2, 2), np.float32), np.zeros((2, 2), np.bool_)).leading == []
    model = small_model(7, labels=("bad", "middling", "good"), **NDT)
    trace = model.trace(TEXT, maps=False).for_target(Target("good", "bad"))
    effects = silenced(model, trace)
    for layer in range(3):
        for head in range(model.capabilities.heads):
            z = model.trace(TEXT, maps=False, heads_off=[(layer, head)]).logits
            assert effects.flips[layer, head] == (z.argmax() != trace.logits.argmax())
            assert effects.falls[layer, head] == pytest.approx((trace.logits[2] - trace.logits[0]) - (z[2] - z[0]), abs=2e-5)
    for model, change in (
        (small_model(1, **NDT), {}),
        (small_model(2, **NDT), {"lambdas": [[1, -0.5], [1, 0.9], [1, 0]], "heads_off": [(1, 0)]}),
        (small_model(3, masked=False, layers=1), {}),
        (gated_model(4), {"gates_shut": [2], "strength": {"gate": 2.0}}),
        (random_model(5), {"heads_off": [(2, 0)]}),
    ):
        wanted = one_by_one(model, TEXT, **change)
        trace = model.trace(TEXT, maps=False, **change)
        drops = silenced(model, trace).falls
        np.testing.assert_allclose(drops, wanted, atol=2e-5)
        assert np.abs(drops).max() > 1e-3
        for layer, head in change.get("heads_off", ()):
            assert drops[layer, head] == pytest.approx(0, abs=2e-6)
        monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 2 * len(trace.tokens))
        np.testing.assert_allclose(silenced(model, trace).falls, wanted, atol=2e-5)


ALL_TEXTS = toy_splits()["test"].frame["text"].tolist()
FRAME = pd.DataFrame({"text": ALL_TEXTS})
CLASSES = WordClasses({"positive words": frozenset(GOOD), "negative words": frozenset(BAD), **own_lists()}, "our own")


@pytest.fixture(scope="module")
def gated() -> Model:
    tokenizer = Tokenizer.train_words(toy_splits()["train"].frame["text"], 4)  # some words of the test split are unknown
    gated = {"pooling": "cls", "gate": True, "positions": "aware", "window": 2, "layers": 3}
    encoder = small_encoder(vocab_size=tokenizer.vocab_size, classes=2, max_length=16, **gated).float()
    return Model("toy/gated", encoder, tokenizer, LABELS, cls=True, tagger=Tagger.load())


@pytest.fixture(scope="module")
def measured(gated: Model) -> pd.DataFrame:
    return gates_over_split(gated, FRAME, CLASSES)


def tokens(gated: Model) -> Iterator[tuple[int, str, str, str, list[float]]]:
    """Yield text, word ("" = unknown), class, tag and gate by layer of every token except specials, from single traces."""
    of_word = {word: name for name, words in CLASSES.words.items() for word in words}
    for i, text in enumerate(ALL_TEXTS):
        trace = gated.trace(text, projections=True, maps=False)
        for j, token in enumerate(trace.tokens):
            if not trace.specials[j]:
                gates = [math.exp(float(terms.structure.biases[0].dense()[0, 0, 0, 0, j])) for terms in trace.terms]
                word = "" if trace.unknown[j] else token.lower()
                name = of_word.get(word, "other words" if word.isalnum() else "")
                yield i, word, name, trace.tags[j], [*gates, sum(gates) / len(gates)]


def test_means_intervals_and_chance_are_those_of_loops(gated: Model, measured: pd.DataFrame) -> None:
    seen = list(tokens(gated))
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
    (first, second), sides = next(iter(CONTRASTS.items()))
    seen = list(tokens(gated))
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
    frame = pd.DataFrame({"text": ["a warm song"] * 2, "text_pair": ["the soup was cold"] * 2})
    tags = gates_over_split(gated, frame, CLASSES).query("kind == 'tag' and layer == 0").set_index("name")["tokens"]
    assert tags.sum() == 14 and tags["DET"] == 4
    refused(InputError, r"toy/random has no gates\.", gates_over_split, small_model(), FRAME, CLASSES)
    refused(InputError, "no texts to measure", gates_over_split, gated, FRAME.head(0), CLASSES)
    plain = small_model()
    seen = plain.network(collate([plain.encode(ALL_TEXTS[0]).reading]), Capture(maps=False, projections=True)).captured
    refused(InputError, "no gates", gates_of, seen[0].terms)
    assert FILE == "gates.parquet"


def test_batches_and_padding_do_not_change_the_result(gated: Model, measured: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.models.batches.by_length", lambda lengths: by_length(lengths, 1))
    seen: list[tuple[int, int]] = []
    alone = gates_over_split(gated, FRAME, CLASSES, lambda done, total: seen.append((done, total)))
    pd.testing.assert_frame_equal(alone, measured, atol=1e-6)
    assert seen == [(i + 1, len(ALL_TEXTS)) for i in range(len(ALL_TEXTS))]


def test_the_verdict_says_which_way_and_how_sure() -> None:
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
    measured = table(np.array([[0.2], [0.6]]), np.zeros(2, dtype=np.int64), [Groups("all", ["all tokens"], np.zeros(2, dtype=np.int64))])
    assert measured["value"].tolist() == pytest.approx([0.4, 0.4]) and measured[["low", "high"]].isna().all(axis=None)
