"""Proposition 2: suffixes against counting loops, the proof's transformer written by hand, and what training finds."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.errors import InputError, Stopped
from sentviz.models.encoder import Encoder
from sentviz.models.model import Model
from sentviz.papers.sentiformer.separation import FIRST, LAST, LONGEST, WORDS, Suffixes, drawn, f_star, places_of
from sentviz.papers.sentiformer.solvers import GRU, TRANSFORMER, Setting, separate, smallest
from sentviz.runs.configs import EncoderConfig
from tests import slow
from tests.kit import refused

TINY = Setting("aware", longest=6, rows=3_000, epochs=4, tested=60)


def sequences(seed: int, count: int, longest: int) -> tuple[list[Any], list[bool]]:
    rng = np.random.default_rng(seed)
    tokens = drawn(rng, rng.integers(2, longest + 1, count))
    return tokens, [f_star(each) for each in tokens]


def test_drawn_sequences_hide_the_rule_and_what_is_typed_is_checked() -> None:
    for text in ("not good", "not bad good", "good not", "the not good", "not good bad"):
        assert f_star(places_of(text)) == (text.split()[0] == "not" and text.split()[-1] == "good")
    tokens, positive = sequences(0, 4_000, 12)
    texts = [[WORDS[place] for place in each] for each in tokens]
    assert {len(each) for each in texts} == set(range(2, 13))
    shares = [np.mean([each[0] == FIRST for each in texts]), np.mean([each[-1] == LAST for each in texts]), 2 * np.mean(positive)]
    assert shares == pytest.approx([0.5] * 3, abs=0.03)
    middle = [word for each in texts for word in each[1:-1]]
    assert [middle.count(word) / len(middle) for word in WORDS] == pytest.approx([1 / len(WORDS)] * len(WORDS), abs=0.01)
    cases = [("not a good", "“a” is none of the 8 words: not, good, bad"), ("not", "2 to 128 words, this one 1")]
    cases += [("not " * (LONGEST + 1), "this one 129"), ("  ", "empty"), ("not " + "x" * 200, "…” is none")]
    for text, message in cases:
        refused(InputError, message, places_of, text)
    rows_of_cases = [({"positions": "none"}, "Positions are"), ({"longest": 1}, "not 1"), ({"longest": 500}, "not 500")]
    rows_of_cases += [({"epochs": 0}, "one epoch"), ({"rows": 10**12}, "200,000")]
    for changed, message in rows_of_cases:
        refused(InputError, message, replace, TINY, **changed)


def test_suffixes_are_counted_and_the_proofs_transformer_computes_the_rule() -> None:
    known, positive = sequences(1, 120, 5)
    queried, _ = sequences(2, 40, 7)
    model = Suffixes(known, positive, 6, weight=0.7)
    for sequence in queried:
        for order in range(7):
            expected = slow.positive_share([each.tolist() for each in known], positive, sequence.tolist(), order, 0.7)
            assert model.probability(sequence, order) == pytest.approx(expected, abs=1e-12)
    known, positive = sequences(3, 2_000, 8)
    model = Suffixes(known, positive, 6)
    for n in range(2, 9):
        sequence = np.array([WORDS.index(FIRST)] + [WORDS.index("film")] * (n - 2) + [WORDS.index(LAST)])
        two = sequence.copy()
        two[0] = WORDS.index("the")
        assert f_star(sequence) and not f_star(two)
        for k in range(1, 7):
            same = model.probability(sequence, k) == model.probability(two, k)
            assert same or k >= n
            assert not same or n > 2 or k == 1
    model = by_hand(LONGEST)
    every = [np.array(each) for n in range(2, 4) for each in product(range(len(WORDS)), repeat=n)]
    rng = np.random.default_rng(4)
    every += drawn(rng, rng.integers(4, LONGEST + 1, 100))
    texts = [" ".join(WORDS[place] for place in each) for each in every]
    assert (model.predict(texts)["label"] == [("neutral", "positive")[f_star(each)] for each in every]).all()
    trace = model.trace("not the film was good")
    assert [trace.rows(0, 0, 1, head, "effective")[0].argmax() for head in range(2)] == [1, 5]


def by_hand(longest: int) -> Model:
    """Return the proof's transformer: one head of [CLS] finds the first word, one the last, and the ReLU is their "and"."""
    model = smallest("learned")
    size, sharp = model.tokenizer.vocab_size, 40.0
    place, is_first, marks = size, size + 1, (size + 2, size + 3)
    config = EncoderConfig(size, 2, longest + 2, 24, 1, 2, positions="learned", norm="none", norm_first=False, ffn="relu", ffn_width=1,
                           pooling="cls", dropout=0.0, embedding_scale=1.0)  # fmt: skip
    network: Any = Encoder(config)
    cls, sep = (model.encode("not good").ids[i] for i in (0, -1))
    word = {name: int(model.encode(f"{name} {name}").ids[1]) for name in WORDS}
    block = network.blocks[0]
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.embedding.weight[:, :size] = torch.eye(size)
        network.position[:, place] = torch.arange(longest + 2)
        network.position[1, is_first] = 1
        q, k, v = block.attention.project.weight.split([24, 24, 24])
        q[0, cls] = q[12, cls] = sharp
        k[0, is_first] = 1  # head 1 finds token 1
        k[12, place], k[12, sep] = 1, -longest  # head 2 the furthest token that is not [SEP]
        v[0, word[FIRST]] = v[12, word[LAST]] = 1
        block.attention.output.weight[marks[0], 0] = block.attention.output.weight[marks[1], 12] = 1
        block.ffn.up.weight[0, list(marks)] = 1
        block.ffn.up.bias[0] = -1.5
        block.ffn.down.weight[is_first, 0] = 2
        network.classifier.weight[1, is_first], network.classifier.bias[0] = 20, 10
    return Model("proof", network, model.tokenizer, model.labels, cls=True)


@pytest.mark.exhaustive
def test_attention_and_a_gru_learn_what_markov_models_cannot() -> None:
    learned = separate(TINY)
    table = learned.accuracy.pivot(index="model", columns="length", values="accuracy")
    assert table.loc[[TRANSFORMER, GRU], [2, 3, 4, 5, 6]].min().min() > 0.95
    blind = learned.accuracy[(learned.accuracy["order"] > 0) & (learned.accuracy["length"] > learned.accuracy["order"])]
    assert (blind["right"].sum() / blind["n"].sum()) == pytest.approx(0.5, abs=0.03)
    first, two = learned.solvers.answers("not was good"), learned.solvers.answers("film was good")
    assert first["answer"].iloc[:2].tolist() == ["positive"] * 2 and two["answer"].iloc[:2].tolist() == ["neutral"] * 2
    assert first["positive"].iloc[2:4].tolist() == two["positive"].iloc[2:4].tolist()
    assert (first["right"] == (first["answer"] == "positive")).all() and first["order"].tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_the_same_seed_learns_the_same_and_it_stops_when_nobody_waits() -> None:
    few = replace(TINY, rows=40, epochs=1, tested=5)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, two = separate(few), separate(few)
    assert torch.equal(torch.rand(3), expected) and first.accuracy.equals(two.accuracy)
    assert (first.accuracy["low"] <= first.accuracy["accuracy"]).all() and (first.accuracy["n"] == few.tested).all()
    weights = [dict(each.solvers.gru.named_parameters()) for each in (first, two)]
    assert all(torch.equal(weights[0][name], weights[1][name]) and not weights[0][name].requires_grad for name in weights[0])
    heard: list[float] = []

    def tick(share: float, doing: str) -> None:
        heard.append(share)
        if len(heard) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        separate(replace(TINY, rows=300), tick)
    assert len(heard) == 3 and heard == sorted(heard)
