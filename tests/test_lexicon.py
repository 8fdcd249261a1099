"""Lambda and sigma of lexicon entries, against loops over the definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sentviz.data.lexicon import Lexicon, coverage, entries, sigma
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import DataMissingError, InputError
from tests.kit import refused

ENTRIES = pd.DataFrame({"term": ["good", "very good", "bad", "Plain", "zzz qqq"], "polarity": [2.0, 4.0, -3.0, 0.0, 1.0]})
TEXTS = ["a good film", "a very good film", "a bad film", "plain film"] * 5


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.train_words(TEXTS, min_count=1)


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return Tokenizer.train_bpe(TEXTS, 280)


def test_lambda_by_hand(words: Tokenizer) -> None:
    """ "good" is in "good" (1 + 2/4) and "very good" (1 + 4/4): 3.5 positive, smoothed by one each to 4.5, 1, 1 of 6.5."""
    table = Lexicon.of("mine", ENTRIES).polarity(words)
    sums = {"good": [4.5, 1, 1], "very": [3, 1, 1], "bad": [1, 1, 2.75], "plain": [1, 2, 1], "film": [1, 1, 1]}
    for word, each in sums.items():
        np.testing.assert_allclose(table[words.id_of(word)], np.divide(each, sum(each)), atol=1e-6)
    np.testing.assert_allclose(table[:4], 1 / 3, atol=1e-7)
    assert entries(Lexicon.of("mine", ENTRIES), words, words.id_of("good"))[["term", "positive"]].to_numpy().tolist() == [
        ["good", 1.5],
        ["very good", 2.0],
    ]


def test_lambda_is_the_definition_token_by_token(pieces: Tokenizer) -> None:
    smoothing = 0.5
    table = Lexicon.of("mine", ENTRIES).polarity(pieces, smoothing)
    for token in range(4, pieces.vocab_size):
        sums, is_listed = [0.0, 0.0, 0.0], False
        for term, polarity in ENTRIES.itertuples(index=False):
            if token in pieces.encode(term.casefold()).ids[:]:
                is_listed = True
                side = 0 if polarity > 0 else 1 if polarity == 0 else 2
                sums[side] += 1 + abs(polarity) / 4
        want = [(s + smoothing) / (sum(sums) + 3 * smoothing) for s in sums] if is_listed else [1 / 3] * 3
        np.testing.assert_allclose(table[token], want, atol=1e-6)


def test_whole_words_leave_out_emoticons_and_parts_of_terms(words: Tokenizer, pieces: Tokenizer) -> None:
    """ "very" is only a part of an entry and the signs are of emoticons, so they stay neutral; "good" has its own entry's 1 + 2/4."""
    more = pd.concat([ENTRIES, pd.DataFrame({"term": [":-)", "good:", "don't"], "polarity": [1.0, 3.0, -1.0]})])
    whole = Lexicon.of("mine", more).of_whole_words()
    assert (whole.name, whole.terms) == ("mine:whole-words", ("good", "very good", "bad", "plain", "zzz qqq", "don't"))
    table = whole.polarity(words)
    np.testing.assert_allclose(table[words.id_of("good")], [2.5 / 4.5, 1 / 4.5, 1 / 4.5], atol=1e-6)
    np.testing.assert_allclose(table[words.id_of("very")], 1 / 3, atol=1e-7)
    assert entries(whole, words, words.id_of("good"))["term"].tolist() == ["good"]
    own = [token for term in whole.terms if len(token := pieces.ids_batch([term])[0]) == 1]
    polar = np.flatnonzero(~np.isclose(whole.polarity(pieces), 1 / 3).all(axis=1) & (np.arange(pieces.vocab_size) >= 4))
    assert set(polar) == {int(ids[0]) for ids in own if ids[0] >= 4}


def test_counts_give_shares_and_intensity() -> None:
    """KOSAC's counts become shares, times 2/3 for medium intensity; an entry without counts adds nothing; a term twice has the mean."""
    frame = pd.DataFrame({"term": ["가/X", "나/X", "다/X"], "form": ["가", "나", "다"], "n_pos": [3, 0, 0], "n_neut": [1, 0, 0]})
    frame = frame.assign(n_neg=[0, 2, 0], intensity=["Medium", "None", "High"], polarity=9.0)
    lexicon = Lexicon.of("counts", frame)
    np.testing.assert_allclose(lexicon.weights, [np.array([0.75, 0.25, 0]) * (1 + 2 / 3), [0, 0, 1], [0, 0, 0]])
    assert lexicon.terms == ("가", "나", "다")
    twice = Lexicon.of("twice", pd.DataFrame({"term": ["odd", "ODD "], "polarity": [1.0, -1.0]}))
    assert twice.terms == ("odd",) and twice.weights.tolist() == [[1, 0, 1]]


def test_sigma_is_every_pair_s_product_and_neutral_is_a_third() -> None:
    rng = np.random.default_rng(0)
    polarity = np.vstack([np.full(3, 1 / 3), rng.dirichlet([1, 1, 1], size=5)])
    got = sigma(polarity)
    for i in range(6):
        for j in range(6):
            assert got[i, j] == pytest.approx(sum(polarity[i, t] * polarity[j, t] for t in range(3)), abs=1e-6)
    np.testing.assert_allclose(got[0], 1 / 3, atol=1e-6)


def test_coverage_counts_tokens_that_stay_neutral(words: Tokenizer) -> None:
    table = Lexicon.of("mine", ENTRIES).polarity(words)
    share, total = coverage(words.ids_batch(TEXTS, cls=True), table)
    tokens = [token for text in TEXTS for token in text.split()]
    assert total == len(tokens)
    assert share == pytest.approx(sum(token in ("a", "film") for token in tokens) / len(tokens))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"word": ["a"]}), "has no column 'term'; it needs term, polarity"),
        (pd.DataFrame({"term": ["a"]}), "has no column 'polarity'"),
        (pd.DataFrame({"term": ["a", ""], "polarity": [np.nan, 1.0]}), "no row with a term and a number"),
        (pd.DataFrame({"term": ["a"], "polarity": ["high"]}), "no row with a term and a number"),
    ],
)
def test_a_damaged_lexicon_is_one_sentence(frame: pd.DataFrame, message: str) -> None:
    refused(InputError, message, Lexicon.of, "broken", frame)


def test_unknown_and_missing_lexicons(monkeypatch: pytest.MonkeyPatch, tmp_path: object, words: Tokenizer) -> None:
    refused(InputError, r"There is no lexicon 'nonsense'. The lexicons are lexicon_en_vader", Lexicon.load, "nonsense")
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    refused(DataMissingError, "lexicon_ko_knu", Lexicon.load, "lexicon_ko_knu")
    refused(InputError, "0 or more", Lexicon.of("mine", ENTRIES).polarity, words, -1)
    english = Lexicon.of("mine", ENTRIES).polarity(Tokenizer.train_words(["좋은 영화"] * 5, min_count=1))
    np.testing.assert_allclose(english, 1 / 3, atol=1e-6)
