"""Cleaned text, tokens and uncovered text of tweets, for cases computed in the test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sentviz.data.cleaning import cleaned, normalizer, uncovered
from sentviz.data.texts import word_spans
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from tests.kit import refused

CASES = {
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
CORPUS = ["i love this so much", "i am so sad today", "this is not what i want", "happy happy joy", "dont stop its fine"] * 3


@pytest.fixture(scope="module")
def tweets() -> Tokenizer:
    return Tokenizer.train_tweets(CORPUS, 300)


@pytest.mark.parametrize(("text", "left"), CASES.items())
def test_a_tweet_is_cleaned_as_the_paper_says(text: str, left: str) -> None:
    assert cleaned(text, "tweets") == left
    assert normalizer("tweets").normalize_str(text) == cleaned(text, "tweets")


def test_the_first_ids_are_the_papers(tweets: Tokenizer, tmp_path: Path) -> None:
    assert [tweets.token_of(i) for i in range(4)] == ["<pad>", "<s>", "</s>", "<unk>"]
    tweets.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (tweets.kind, again.kind, again.vocab_size) == ("tweets", "tweets", 300)
    text = "@me LOVE this!"
    np.testing.assert_array_equal(again.encode(text).ids, tweets.encode(text).ids)


def test_sentence_marks_where_they_are_asked_for(tweets: Tokenizer) -> None:
    encoded = tweets.encode("so sad", cls=True)
    assert (encoded.ids[0], encoded.ids[-1]) == (1, 2) and (encoded.tokens[0], encoded.tokens[-1]) == ("<s>", "</s>")
    np.testing.assert_array_equal(tweets.ids_batch(["so sad"], cls=True)[0], encoded.ids)
    assert min(tweets.encode("<s> <pad> </s> <unk> love").ids) > 3  # no text can spell a special
    np.testing.assert_array_equal(tweets.encode("@bob I LOVE http://a.b/c #this!!!").ids, tweets.encode("i love this").ids)


def test_tokens_lead_back_to_the_tweet_as_it_was(tweets: Tokenizer) -> None:
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


def test_a_tweet_that_cleaning_empties_is_refused_by_name(tweets: Tokenizer) -> None:
    for ask in (tweets.encode, lambda tweet: tweets.ids_batch(["fine", tweet])):
        refused(InputError, r"^Nothing is left after cleaning: this model does not read links, @names, .+\.$", ask, "@you :-) http://a.b/c")


ENGLISH = {
    "It Is n't good , is it ?": "it isn't good, is it?",
    "Great.<br /><br />Really!": "great. really!",
    "we\u2019ll see @Bob at http://a.b/c": "we'll see @user at http",
    "-LRB- so they say -RRB- 's fine": "( so they say)'s fine",
    "I do n't know that they 've gone .": "i don't know that they've gone.",
}


@pytest.mark.parametrize(("text", "left"), ENGLISH.items())
def test_reviews_tweets_and_treebanks_are_written_alike(text: str, left: str) -> None:
    assert cleaned(text, "english") == left == normalizer("english").normalize_str(text)


def test_a_tokenizer_of_english_reads_them_alike_and_covers_the_text() -> None:
    tokenizer = Tokenizer.train("english", [*ENGLISH, *CORPUS] * 3, min_count=1, vocab_size=400)
    treebank, usual = (tokenizer.encode(text, max_length=64) for text in ("Is n't it GOOD ?", "isn't it good?"))
    assert treebank.ids.tolist() == usual.ids.tolist() and tokenizer.kind == "bpe"
    text = "The Tower is n't far ."
    read = tokenizer.encode(text, max_length=64)
    assert "".join(text[start:end] for start, end in read.offsets).replace(" ", "") == text.replace(" ", "")
