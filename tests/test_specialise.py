"""Specialisation against loops over maps, planted components, and the refusal of runs with one component."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cosine as cosine_distance
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from sentviz.analysis.maps import specialise
from sentviz.analysis.maps.specialise import over_split, untrained, verdict
from sentviz.analysis.maps.wordclasses import CLASSES, WordClasses, own_lists, word_classes
from sentviz.data import datasets
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import DataMissingError, InputError
from sentviz.models.model import Model
from tests.kit import small_model, toy_splits

TEXTS = toy_splits()["test"].frame["text"].tolist()
HAND = WordClasses(
    {
        "positive words": frozenset({"warm", "clever"}),
        "negative words": frozenset({"dull", "cold"}),
        "negators": frozenset({"not"}),
        "intensifiers": frozenset({"very"}),
        "function words": frozenset({"a", "the", "we"}),
    },
    "by hand",
)


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a random word-level model of three components."""
    return small_model(components=3, mixing="free")


@pytest.fixture(scope="module")
def frame(model: Model) -> pd.DataFrame:
    """Return the model's table over a dozen sentences."""
    return over_split(model, TEXTS, HAND, sample=4, seed=3, inits=2)


def cell(frame: pd.DataFrame, measure: str, layer: int, component: int, second: int = -1, word_class: str = "") -> pd.Series[Any]:
    rows = frame.query("measure == @measure and layer == @layer and component == @component and other == @second")
    (row,) = rows[rows["word_class"] == word_class].to_dict("records")
    return pd.Series(row)


def by_loops(model: Model, texts: list[str], first: int, second: int, layer: int) -> tuple[float, float]:
    """Return cosine and divergence of two components head by head, or of the different heads of one, row by row."""
    cosines, divergences = [], []
    for text in texts:
        maps = model.trace(text).components
        assert maps is not None
        pairs = [(h, h) for h in range(2)] if first != second else [(0, 1)]
        rows = [(maps[layer, first, g, i], maps[layer, second, h, i]) for g, h in pairs for i in range(maps.shape[-1])]
        cosines.append(np.mean([1 - cosine_distance(a, b) for a, b in rows]))
        divergences.append(np.mean([jensenshannon(a, b, base=2) ** 2 for a, b in rows]))
    return float(np.mean(cosines)), float(np.mean(divergences))


def sampled(model: Model, size: int, seed: int) -> list[str]:
    """Return the measured sentences: long enough, in a seeded order."""
    order = np.random.default_rng(seed).permutation(len(TEXTS))
    return [TEXTS[i] for i in order if len(model.encode(TEXTS[i])) >= specialise.LEAST_TOKENS][:size]


def test_likeness_is_that_of_scipy_row_by_row(model: Model, frame: pd.DataFrame) -> None:
    """Likeness of every pair equals scipy's, in both layers, to 2e-5."""
    texts = sampled(model, 4, 3)
    for layer in range(2):
        for first, second in [(0, 1), (1, 2), (2, 2)]:
            want = by_loops(model, texts, first, second, layer)
            for measure, value in zip(("cosine", "jensen_shannon"), want, strict=True):
                row = cell(frame, measure, layer, first, second)
                assert row["value"] == pytest.approx(value, abs=2e-5)
                assert row["low"] <= row["value"] <= row["high"] and row["n"] == 4


def test_entropy_and_attention_are_those_by_hand(model: Model, frame: pd.DataFrame) -> None:
    """Entropy equals scipy's; attention to the words of a class is summed cell by cell over sentences that have one."""
    texts = sampled(model, 4, 3)
    for layer in range(2):
        for component in range(3):
            shares: dict[str, list[float]] = {name: [] for name in CLASSES}
            entropy_of = []
            for text in texts:
                trace = model.trace(text)
                assert trace.components is not None
                maps, n = trace.components[layer, component].astype(float), len(trace.tokens)
                entropy_of.append(np.mean([entropy(maps[h, i]) / np.log(n) for h in range(2) for i in range(n)]))
                for name, members in HAND.words.items():
                    places = [j for j, token in enumerate(trace.tokens) if token.lower() in members]
                    if places:
                        received = sum(maps[h, i, j] for h in range(2) for i in range(n) for j in places) / (2 * n)
                        shares[name].append(received / (len(places) / n))
            assert cell(frame, "entropy", layer, component)["value"] == pytest.approx(np.mean(entropy_of), abs=2e-5)
            for name in ("positive words", "negative words", "function words"):
                row = cell(frame, "attention", layer, component, word_class=name)
                assert row["value"] == pytest.approx(np.mean(shares[name]), abs=2e-5) and row["n"] == len(shares[name])
    assert not frame["word_class"].isin(["negators", "intensifiers"]).any()  # no sentence has one


def test_special_tokens_are_left_out() -> None:
    """[CLS] and [SEP] are left out as queries and keys, and the remaining rows sum to 1."""
    model = small_model(components=2, mixing="free", cls=True)
    table = over_split(model, TEXTS, HAND, sample=1, seed=0, inits=0)
    (text,) = [t for t in (TEXTS[i] for i in np.random.default_rng(0).permutation(len(TEXTS))) if len(model.encode(t)) >= 7][:1]
    maps = model.trace(text).components
    assert maps is not None
    inner = maps[1, 0, :, 1:-1, 1:-1].astype(float)
    inner /= inner.sum(axis=-1, keepdims=True)
    want = np.mean([entropy(row) for head in inner for row in head]) / np.log(inner.shape[-1])
    assert cell(table, "entropy", 1, 0)["value"] == pytest.approx(want, abs=2e-5)


def test_the_untrained_are_seeded_and_leave_the_random_state_alone(model: Model, frame: pd.DataFrame) -> None:
    """Mean, minimum and maximum are those of two models made in the test; the random state is unchanged."""
    import torch

    torch.manual_seed(9)
    before = torch.get_rng_state()
    alone = [over_split(untrained(model, 3 + k), TEXTS, HAND, sample=4, seed=3, inits=0) for k in range(2)]
    assert torch.equal(before, torch.get_rng_state())
    values = np.array([table["value"] for table in alone])
    for column, want in (("untrained", values.mean(0)), ("untrained_low", values.min(0)), ("untrained_high", values.max(0))):
        assert frame[column].to_numpy() == pytest.approx(want, abs=2e-5)
    row, at = cell(frame, "entropy", 0, -1), frame.index[(frame["measure"] == "entropy") & (frame["component"] == -1)][0]
    assert row["p_untrained"] == pytest.approx((1 + (values[:, at] >= row["value"]).sum()) / 3)
    first = frame.index[frame["measure"] == "cosine"][0]
    assert frame["p_untrained"][first] == pytest.approx((1 + (values[:, first] <= frame["value"][first]).sum()) / 3)


def planted(gap: float, per_head: bool = False, components: int = 2, heads: int = 4, n: int = 60) -> Any:
    """Return measurements of n sentences in which the entropy of the first component, or of its first head, is higher by `gap`."""
    rng = np.random.default_rng(1)
    habits = 0.5 + 0.02 * rng.standard_normal((n, 6, 1, components, heads))
    if per_head:
        habits[:, 0, :, 0, 0] += gap * heads
    else:
        habits[:, 0, :, 0] += gap
    return specialise._Measured(np.full((n, 2, 1, components, components), 0.5), habits)


def test_planted_components_are_found_and_others_are_not() -> None:
    """The planted habit is significant under both shuffles; the noise of the five others is not."""
    table = specialise._table(planted(0.1), [], 0)
    cells = table[table["component"] == -1].set_index("word_class")
    assert cells.loc["", "value"] == pytest.approx(0.1, abs=0.02)
    assert cells.loc["", "p_holm"] == pytest.approx(6 / 2001) and cells.loc["", "p_dealt"] < 0.05
    assert cells.loc["", "shuffled_high"] < 0.03 < cells.loc["", "low"]
    assert (cells.loc[list(CLASSES), "p_holm"] > 0.05).all()
    assert (cells["p_holm"] >= cells["p"]).all()
    assert "in 1 of 6 habits (layer 1: entropy)" in verdict(table.assign(inits=0, seed=0))[0]


def test_one_odd_head_is_no_component() -> None:
    """A difference by one head alone is significant for shuffled labels, but not for shuffled heads."""
    table = specialise._table(planted(0.1, per_head=True), [], 0)
    odd = cell(table, "entropy", 0, -1)
    assert odd["value"] == pytest.approx(0.1, abs=0.02) and odd["p_holm"] < 0.05 < 0.5 < odd["p_dealt"]
    assert "in 0 of 6 habits." in verdict(table.assign(inits=0, seed=0))[0]
    with pytest.raises(InputError, match=r"incomplete. `sentviz specialise` measures it again"):
        verdict(table[table["component"] != -1])


def test_p_values_are_those_of_every_shuffle_and_every_deal() -> None:
    """With five sentences and two heads the p values equal those of all 2^5 shuffles and all 4! assignments."""
    measured = planted(0.004, n=5, heads=2)
    table = specialise._table(measured, [], 0)
    values = measured.habits[:, 0, 0]  # sentence, component, head
    labels = values.mean(axis=-1)
    observed = abs(labels[:, 0].mean() - labels[:, 1].mean())
    signs = np.array(np.meshgrid(*[[1, -1]] * 5)).reshape(5, -1)
    every = abs((labels[:, 0] - labels[:, 1]) @ signs) / 5
    heads = values.mean(axis=0).ravel()
    deals = [abs(heads[list(order[:2])].mean() - heads[list(order[2:])].mean()) for order in permutations(range(4))]
    row = cell(table, "entropy", 0, -1)
    assert row["p"] == pytest.approx(np.mean(every >= observed - 1e-12), abs=0.04)
    assert row["p_dealt"] == pytest.approx(np.mean(np.array(deals) >= observed - 1e-12), abs=0.04)


def test_the_words_of_a_class() -> None:
    """The lists share no word, polarity has the remaining words, and unknown words and special tokens do not count."""
    lists = own_lists()
    assert set(lists) == set(CLASSES[2:])
    assert sum(map(len, lists.values())) == len(frozenset().union(*lists.values()))
    assert {"not", "n", "t"} <= lists["negators"] and "very" in lists["intensifiers"] and "the" in lists["function words"]
    tokenizer = Tokenizer.train_words(["not a warm song"] * 5, 5)
    members = HAND.members("Not a WARM clever song", tokenizer.encode("Not a WARM clever song", cls=True))
    where = {name: np.flatnonzero(row).tolist() for name, row in zip(HAND.words, members, strict=True)}
    assert where == {"positive words": [3], "negative words": [], "negators": [1], "intensifiers": [], "function words": [2]}


def test_polarity_is_that_of_the_first_lexicon_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = pd.DataFrame({"term": ["Bright", "dim", "very", "so-so"], "polarity": [2.0, -1.5, 1.0, 0.0]})
    monkeypatch.setattr(datasets, "part_file", lambda name, part: Path("here") if name == "lexicon_en_opinion" else None)
    monkeypatch.setattr(datasets, "load_file", lambda name, part: terms)
    classes = word_classes()
    assert classes.lexicon == "lexicon_en_opinion"
    assert classes.words["positive words"] == {"bright"} and classes.words["negative words"] == {"dim"}
    monkeypatch.setattr(datasets, "part_file", lambda name, part: None)
    with pytest.raises(DataMissingError, match="neither lexicon_en_vader nor lexicon_en_opinion"):
        word_classes()


def test_what_cannot_be_measured_says_so() -> None:
    with pytest.raises(InputError, match="one attention map per head"):
        over_split(small_model(), TEXTS, HAND)
    with pytest.raises(InputError, match="None of the texts has 5 tokens"):
        over_split(small_model(components=2, mixing="free"), ["a song", "dull"], HAND)
