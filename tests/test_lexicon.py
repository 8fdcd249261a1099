"""Lambda and sigma of lexicon entries against loops over the definition, and cleaned texts."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.explain import explained
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.explain.word_swaps import neighbours
from sentviz.data.cleaning import cleaned, normalizer, uncovered
from sentviz.data.lexicon import Lexicon, coverage, entries, sigma
from sentviz.data.texts import word_spans
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import DataMissingError, InputError
from sentviz.models.loading import load
from sentviz.runs.store import find
from tests.kit import SHIPPED, refused

ENTRIES = pd.DataFrame({"term": ["good", "very good", "bad", "Plain", "zzz qqq"], "polarity": [2.0, 4.0, -3.0, 0.0, 1.0]})
TEXTS = ["a good film", "a very good film", "a bad film", "plain film"] * 5


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.train_words(TEXTS, min_count=1)


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return Tokenizer.train_bpe(TEXTS, 280)


def test_lambda_and_sigma_by_hand(words: Tokenizer) -> None:
    """ "good" is in "good" (1 + 2/4) and "very good" (1 + 4/4): 3.5 positive, smoothed by one each to 4.5, 1, 1 of 6.5."""
    table = Lexicon.of("mine", ENTRIES).polarity(words)
    sums = {"good": [4.5, 1, 1], "very": [3, 1, 1], "bad": [1, 1, 2.75], "plain": [1, 2, 1], "film": [1, 1, 1]}
    for word, each in sums.items():
        np.testing.assert_allclose(table[words.id_of(word)], np.divide(each, sum(each)), atol=1e-6)
    np.testing.assert_allclose(table[:4], 1 / 3, atol=1e-7)
    rows = entries(Lexicon.of("mine", ENTRIES), words, words.id_of("good"))[["term", "positive"]]
    assert rows.to_numpy().tolist() == [["good", 1.5], ["very good", 2.0]]
    frame = pd.DataFrame({"term": ["가/X", "나/X", "다/X"], "form": ["가", "나", "다"], "n_pos": [3, 0, 2], "n_neut": [1, 0, 0]})
    frame = frame.assign(n_neg=[0, 2, 0], intensity=["Medium", "Low", "High"], polarity=9.0)
    lexicon = Lexicon.of("counts", frame)
    np.testing.assert_allclose(lexicon.weights, [np.array([0.75, 0.25, 0]) * (1 + 2 / 3), [0, 0, 1 + 1 / 3], [2, 0, 0]])
    assert lexicon.terms == ("가", "나", "다")
    twice = Lexicon.of("twice", pd.DataFrame({"term": ["odd", "ODD "], "polarity": [1.0, -1.0]}))
    assert twice.terms == ("odd",) and twice.weights.tolist() == [[1, 0, 1]]
    rng = np.random.default_rng(0)
    polarity = np.vstack([np.full(3, 1 / 3), rng.dirichlet([1, 1, 1], size=5)])
    got = sigma(polarity)
    for i in range(6):
        for j in range(6):
            assert got[i, j] == pytest.approx(sum(polarity[i, t] * polarity[j, t] for t in range(3)), abs=1e-6)
    np.testing.assert_allclose(got[0], 1 / 3, atol=1e-6)
    table = Lexicon.of("mine", ENTRIES).polarity(words)
    share, total = coverage(words.ids_batch(TEXTS, cls=True), table)
    tokens = [token for text in TEXTS for token in text.split()]
    assert total == len(tokens)
    assert share == pytest.approx(sum(token in ("a", "film") for token in tokens) / len(tokens))


def test_lambda_is_the_definition_token_by_token(pieces: Tokenizer) -> None:
    smoothing = 0.5
    table = Lexicon.of("mine", ENTRIES).polarity(pieces, smoothing)
    read = [(set(pieces.encode(term.casefold()).ids.tolist()), polarity) for term, polarity in ENTRIES.itertuples(index=False)]
    for token in range(4, pieces.vocab_size):
        sums, is_listed = [0.0, 0.0, 0.0], False
        for ids, polarity in read:
            if token in ids:
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


def test_damaged_unknown_and_missing_lexicons_are_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: object, words: Tokenizer) -> None:
    for frame, message in (
        (pd.DataFrame({"word": ["a"]}), "has no column 'term'; it needs term, polarity"),
        (pd.DataFrame({"term": ["a"]}), "has no column 'polarity'"),
        (pd.DataFrame({"term": ["a", ""], "polarity": [np.nan, 1.0]}), "no row with a term and a number"),
        (pd.DataFrame({"term": ["a"], "polarity": ["high"]}), "no row with a term and a number"),
    ):
        refused(InputError, message, Lexicon.of, "broken", frame)
    refused(InputError, r"There is no lexicon 'nonsense'. The lexicons are lexicon_en_vader", Lexicon.load, "nonsense")
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    refused(DataMissingError, "lexicon_ko_knu", Lexicon.load, "lexicon_ko_knu")
    refused(InputError, "0 or more", Lexicon.of("mine", ENTRIES).polarity, words, -1)
    english = Lexicon.of("mine", ENTRIES).polarity(Tokenizer.train_words(["좋은 영화"] * 5, min_count=1))
    np.testing.assert_allclose(english, 1 / 3, atol=1e-6)


TWEETS = {
    "Happy HAPPY happy": "happy happy happy",
    "see http://a.b/c?d=1 and https://x.y or www.site.org now": "see and or now",
    "@Bob_1 thanks @you!": "thanks",
    "#excited about #2day": "excited about day",
    "don't stop... it's 100% (really)": "dont stop its really",
    "tabs\tand\n\nlines   and  spaces": "tabs and lines and spaces",
    "Café à la crème": "café à la crème",
    "good\U0001f600morning \u043f\u0440\u0438\u0432\u0435\u0442": "goodmorning",
    "@a @b :-) 24/7": "",
    "user@home.org": "userorg",
    "snake_case & ampersands": "snakecase ampersands",
}
ENGLISH = {
    "It Is n't good , is it ?": "it isn't good, is it?",
    "Great.<br /><br />Really!": "great. really!",
    "we\u2019ll see @Bob at http://a.b/c": "we'll see @user at http",
    "-LRB- so they say -RRB- 's fine": "( so they say)'s fine",
    "I do n't know that they 've gone .": "i don't know that they've gone.",
}
CORPUS = ["i love this so much", "i am so sad today", "this is not what i want", "happy happy joy", "dont stop its fine"] * 3


@pytest.fixture(scope="module")
def tweets() -> Tokenizer:
    return Tokenizer.train_tweets(CORPUS, 300)


def test_a_tweet_and_a_review_are_cleaned_as_the_paper_says() -> None:
    for kind, cases in (("tweets", TWEETS), ("english", ENGLISH)):
        for text, left in cases.items():
            assert cleaned(text, kind) == left == normalizer(kind).normalize_str(text)
    tokenizer = Tokenizer.train("english", [*ENGLISH, *CORPUS] * 3, min_count=1, vocab_size=400)
    treebank, usual = (tokenizer.encode(text, max_length=64) for text in ("Is n't it GOOD ?", "isn't it good?"))
    assert treebank.ids.tolist() == usual.ids.tolist() and tokenizer.kind == "bpe"
    text = "The Tower is n't far ."
    read = tokenizer.encode(text, max_length=64)
    assert "".join(text[start:end] for start, end in read.offsets).replace(" ", "") == text.replace(" ", "")


def test_tokens_of_tweets_are_the_papers_and_lead_back(tweets: Tokenizer, tmp_path: Path) -> None:
    assert [tweets.token_of(i) for i in range(4)] == ["<pad>", "<s>", "</s>", "<unk>"]
    tweets.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (tweets.kind, again.kind, again.vocab_size) == ("tweets", "tweets", 300)
    text = "@me LOVE this!"
    np.testing.assert_array_equal(again.encode(text).ids, tweets.encode(text).ids)
    encoded = tweets.encode("so sad", cls=True)
    assert (encoded.ids[0], encoded.ids[-1]) == (1, 2) and (encoded.tokens[0], encoded.tokens[-1]) == ("<s>", "</s>")
    np.testing.assert_array_equal(tweets.ids_batch(["so sad"], cls=True)[0], encoded.ids)
    assert min(tweets.encode("<s> <pad> </s> <unk> love").ids) > 3  # no text can spell a special
    np.testing.assert_array_equal(tweets.encode("@bob I LOVE http://a.b/c #this!!!").ids, tweets.encode("i love this").ids)
    text = "@Bob I LOVE this, http://a.b/c don't stop :)"
    encoded = tweets.encode(text)
    assert [word.text for word in word_spans(text, encoded)] == ["I", "LOVE", "this", "don't", "stop"]
    assert all(text[start:end] == token for token, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True))
    uncovered_text = uncovered(text, encoded.offsets)
    assert [removed for _, removed in uncovered_text] == ["@Bob", ", http://a.b/c", ":)"]
    before = [next(i for i, (start, _) in enumerate(encoded.offsets) if start == text.index(word)) for word in ("I", "don't")]
    assert [place for place, _ in uncovered_text] == [*before, len(encoded)]
    whole = "  a b, unknown c  "
    assert uncovered(whole, Tokenizer.train_words(["a b , c"], 1).encode(whole, cls=True).offsets) == []
    for ask in (tweets.encode, lambda tweet: tweets.ids_batch(["fine", tweet])):
        refused(InputError, r"^Nothing is left after cleaning: this model does not read links, @names, .+\.$", ask, "@you :-) http://a.b/c")


RUN, SYLLABLE = "nsmc/cls-last-scaled", "뷁"  # a syllable of no text of the training
SENTENCE = "뷁같은 음악은 따뜻하고, 결말은 지루하고 길었다"


@SHIPPED
def test_a_word_is_written_and_removed_as_a_whole() -> None:
    model = load(find(RUN))
    trace = explained(model, model.trace(SENTENCE))
    words, scores = word_spans(SENTENCE, trace), trace.token_scores["removal"]
    assert [word.text for word in words] == ["[CLS]", "뷁같은", "음악은", "따뜻하고", ",", "결말은", "지루하고", "길었다", "[SEP]"]
    assert trace.tokens[1:4] == (SYLLABLE,) * 3
    assert all(len(set(scores[list(word.indices)].tolist())) == 1 for word in words)
    assert len(set(scores.tolist())) == len(words) - 1 and not scores[trace.specials].any()
    messages = [remark for _, remark in notices(trace, find(RUN))]
    assert sum(f"“{SYLLABLE}”" in remark and "bytes" in remark for remark in messages) == 1
    assert not any("bytes" in remark for _, remark in notices(model.trace("음악은 따뜻하고 길었다"), find(RUN)))
    nearest = neighbours(model, int(model.encode("음악").ids[1]), 8)
    assert nearest and all(re.fullmatch("[가-힣]+", word) for word, _ in nearest)
