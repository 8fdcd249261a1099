"""Texts as tokens: against an independent reference, on any Unicode and in every script, also from right to left."""

import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

import sentviz.data.tokenizers
from sentviz.charts.text import as_text, is_right_to_left, text_columns, visual_order
from sentviz.data.texts import CLUSTER, check_text, is_blank, word_spans
from sentviz.data.tokenizers import SPECIALS, Tokenizer
from sentviz.errors import InputError, RunError
from tests.kit import refused

CORPUS = [
    "The film is good, the end isn't.",
    "A good film: good actors, good music!",
    "İstanbul is a good film",
    "영화가 정말 재미있다!! 정말",
]
STRANGE = ["  Two   words \n\n here ", "👩‍👩‍👧 ok 🇰🇷!", "e\u0301te\u0301 and été", "İSTANBUL İ i̇", "שלום עולם, مرحبا", "中文電影很好。真的"]
STRANGE += ["a\u200bb\u200d\ufeffc", "한국 영화", "\x1cx \x00 y\u3000z", "x²½Ⅷⓐ __init__ 3.14", "[CLS] [SEP][PAD] [UNK]"]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.text("aB é,. \n\u0301👩\u200d한İ[]", max_size=60)
SIGNS = ["👍🏽", "❤️", "🇰🇷", "👩‍🚀", "👩🏾‍🤝‍👨🏻", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "é", "☺️"]


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.train_words(CORPUS, min_count=1)


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    return Tokenizer.train_bpe(CORPUS * 3, 300)


@pytest.fixture(scope="module", params=["words", "bpe"])
def either(request: pytest.FixtureRequest, words: Tokenizer, bpe: Tokenizer) -> Tokenizer:
    return words if request.param == "words" else bpe


def reference(text: str) -> list[str]:
    """Return Python's words of a text without combining marks."""
    return re.findall(r"\w+|[^\w\s]", text)


def seen(text: str) -> str:
    """Return the text without the white space of the tokenizers; U+001C to U+001F are white space to Python alone."""
    return "".join(c for c in text if not c.isspace() or "\x1c" <= c <= "\x1f")


def test_what_cannot_be_read_is_refused(words: Tokenizer, either: Tokenizer) -> None:
    for text in ["", " \n\t\u3000\xa0", "\u200b\u200d\ufeff", "\x00\x1f\x7f", "\u3164\ufe0f\u2800"]:
        assert is_blank(text)
        for refuse in (check_text, words.encode):
            refused(InputError, r"^The text is empty: .+\.$", refuse, text)
    for readable in ("a", " . ", "👩", "\u0301", "한", "a\u200b", "\x00a", "\ue000"):
        assert check_text(readable) is readable
    for value in (None, 3, b"good", ["good"]):
        refused(InputError, f"must be a string, not {type(value).__name__}", check_text, value)
    for call in (either.encode, lambda text: either.ids_batch(["fine", text])):
        refused(InputError, r"^Character 3 of the text is only half", call, "ab\ud83d c")
    refused(InputError, "second text", either.encode, "fine", "\udc00")


def test_a_vocabulary_is_ordered_and_impossible_ones_are_refused(bpe: Tokenizer, tmp_path: Path) -> None:
    tokenizer = Tokenizer.train_words(["b b c a, C! a", "d"], min_count=2)
    pieces = Tokenizer.train_bpe(CORPUS * 3, 300)
    assert tokenizer.dropped == () and [pieces.token_of(index) for index in pieces.dropped] == ["\u0120"]
    assert [tokenizer.token_of(i) for i in range(tokenizer.vocab_size)] == [*SPECIALS, "a", "b", "c"]
    assert tokenizer.kind == "words"
    assert "c" in tokenizer and "C" not in tokenizer and 5 not in tokenizer
    texts = [text.replace("İ", "I") for text in CORPUS]
    counts = Counter(word for text in texts for word in reference(text.lower()))
    tokenizer = Tokenizer.train_words(iter(texts), min_count=1)
    assert [tokenizer.token_of(i) for i in range(4, tokenizer.vocab_size)] == sorted(counts, key=lambda word: (-counts[word], word))
    refused(InputError, "occurs 5 times", Tokenizer.train_words, ["rare words only"])
    refused(InputError, "at least 260", Tokenizer.train_bpe, CORPUS, 259)
    bpe.save(tmp_path / "a.json")
    Tokenizer.train_bpe(CORPUS * 3, 300).save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes() and (bpe.kind, bpe.vocab_size) == ("bpe", 300)


def test_vocabulary_look_up_and_files(either: Tokenizer, tmp_path: Path) -> None:
    assert tuple(map(either.token_of, range(4))) == SPECIALS
    assert [either.id_of(either.token_of(i)) for i in range(either.vocab_size)] == list(range(either.vocab_size))
    refused(InputError, "no entry 'nowhere'", either.id_of, "nowhere")
    for index in (-1, either.vocab_size):
        refused(InputError, f"not {index}", either.token_of, index)
    path = tmp_path / "tokenizer.json"
    either.save(path)
    again = Tokenizer.load(path)
    assert (again.kind, again.vocab_size) == (either.kind, either.vocab_size)
    for text in STRANGE:
        assert again.encode(text).ids.tolist() == either.encode(text).ids.tolist()
    again.save(tmp_path / "again.json")
    assert path.read_bytes() == (tmp_path / "again.json").read_bytes()


def test_words_and_pairs_of_known_sentences(words: Tokenizer, bpe: Tokenizer) -> None:
    text = "Good,  UGLY film!"
    got = words.encode(text, cls=True)
    assert got.tokens == ("[CLS]", "Good", ",", "UGLY", "film", "!", "[SEP]")
    assert got.ids.tolist() == [2, words.id_of("good"), words.id_of(","), 1, words.id_of("film"), words.id_of("!"), 3]
    assert got.offsets.tolist() == [[0, 0], [0, 4], [4, 5], [7, 11], [12, 16], [16, 17], [0, 0]]
    assert got.unknown.tolist() == [False, False, False, True, False, False, False]
    assert got.specials.tolist() == [True, False, False, False, False, False, True]
    assert not got.segments.any() and got.dropped == 0 and len(got) == 7
    assert (got.ids.dtype, got.offsets.dtype, got.segments.dtype) == (np.int64, np.int64, np.int64)
    for text in (*CORPUS, *(text for text in STRANGE if not re.search("[\u0300-\u036f\x1c]", text))):
        expected = reference(text) if "ⓐ" not in text else ["x²½Ⅷⓐ", "__init__", "3", ".", "14"]  # ⓐ: a letter here only
        assert list(words.encode(text).tokens) == expected
    assert words.encode("İSTANBUL, İİ film").ids.tolist() == [words.id_of("i̇stanbul"), words.id_of(","), 1, words.id_of("film")]
    specials = words.encode("[CLS] good [SEP]", cls=True)  # a text that spells specials stays text
    assert specials.ids[1:-1].min() == 1 and specials.specials.sum() == 2 and not specials.unknown[[0, -1]].any()
    got = words.encode("good film", "the end", cls=True)
    assert got.tokens == ("[CLS]", "good", "film", "[SEP]", "the", "end", "[SEP]")
    assert got.segments.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert got.offsets.tolist() == [[0, 0], [0, 4], [5, 9], [0, 0], [0, 3], [4, 7], [0, 0]]
    plain = words.encode("good film", "the end")
    assert plain.tokens == ("good", "film", "[SEP]", "the", "end") and plain.segments.tolist() == [0, 0, 0, 1, 1]
    assert [word.text for word in word_spans("good film", got, "the end")] == list(got.tokens)
    refused(InputError, "2 texts but 1 second", words.encode_batch, ["a", "b"], ["c"])
    text = "영화가 très-unusual e\u0301t 👩 end."
    got = bpe.encode(text, cls=True)
    grouped = word_spans(text, got)
    assert [word.text for word in grouped] == [*("[CLS]", "영화가", "très", "-", "unusual", "e\u0301t", "👩", "end", ".", "[SEP]")]
    assert [i for word in grouped for i in word.indices] == list(range(len(got)))


@settings(max_examples=40)
@given(st.text(st.characters(max_codepoint=0x24F), max_size=80))
def test_words_agree_with_the_reference_on_latin(text: str) -> None:
    text = re.sub("[\x1c-\x1f]", " ", text)
    assume(not is_blank(text))
    assert list(Tokenizer.train_words([text], min_count=1).encode(text).tokens) == reference(text)


@settings(max_examples=50)
@given(ANY_TEXT)
def test_offsets_hold_for_any_text(words: Tokenizer, bpe: Tokenizer, text: str) -> None:
    assume(not is_blank(text))
    for tokenizer in (words, bpe):
        got = tokenizer.encode(text)
        starts, ends = got.offsets.T
        assert (starts >= 0).all() and (starts < ends).all() and (ends <= len(text)).all()
        assert (np.diff(starts) >= 0).all() and (np.diff(ends) >= 0).all()
        assert got.tokens == tuple(text[start:end] for start, end in got.offsets)
        covered = np.zeros(len(text), dtype=bool)
        for start, end in got.offsets:
            covered[start:end] = True
        assert all(covered[i] or seen(text[i]) == "" for i in range(len(text)))
        assert next(iter(tokenizer.encode_batch([text, "a"]))).ids.tolist() == got.ids.tolist()
        (ids,) = tokenizer.ids_batch([text])
        assert ids.tolist() == got.ids.tolist() and ids.dtype == np.int32
        grouped = word_spans(text, got)
        assert [i for word in grouped for i in word.indices] == list(range(len(got)))
    assert "".join(words.encode(text).tokens) == seen(text)
    inner = {place for match in CLUSTER.finditer(text) for place in range(match.start() + 1, match.end())}
    got = words.encode(text)
    begins = [int(start) for start, _ in got.offsets if int(start) not in inner]
    assert [int(got.offsets[word.indices[0], 0]) for word in word_spans(text, got)] == begins or int(got.offsets[0, 0]) in inner


def test_truncation_counts_what_it_drops_and_no_tokenizer_gets_more_than_any_model_reads(
    either: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "good film, good end " * 10
    whole = either.encode(text, cls=True)
    for length in (3, 4, 17, len(whole), 1000):
        got = either.encode(text, max_length=length, cls=True)
        assert len(got) == min(length, len(whole)) and len(got) + got.dropped == len(whole)
        assert got.ids.tolist() == [*whole.ids[: len(got) - 1], 3]
    plain = either.encode(text, max_length=5)
    assert len(plain) == 5 and plain.ids.tolist() == whole.ids[1:6].tolist()
    refused(InputError, "leaves no room", either.encode, text, max_length=2, cls=True)
    monkeypatch.setattr(sentviz.data.tokenizers, "LONGEST", 40)
    got, want = either.encode(text, text, max_length=5, cls=True), either.encode(text[:40], text[:40], max_length=5, cls=True)
    assert got.ids.tolist() == want.ids.tolist() and got.dropped == want.dropped > 0
    assert either.ids_batch([text])[0].tolist() == either.encode(text[:40]).ids.tolist()


@given(st.integers(1, 12), st.integers(1, 12), st.integers(5, 30), st.booleans())
def test_pairs_lose_the_longer_text_first(words: Tokenizer, first: int, second: int, length: int, cls: bool) -> None:
    got = words.encode("good " * first, "film " * second, max_length=length, cls=cls)
    remaining = [first, second]
    while sum(remaining) > length - (3 if cls else 1):
        remaining[0 if remaining[0] > remaining[1] else 1] -= 1
    assert [got.tokens.count("good"), got.tokens.count("film")] == remaining and got.dropped == first + second - sum(remaining)
    (ids,) = words.ids_batch(["good " * first], ["film " * second], max_length=length, cls=cls)
    assert ids.tolist() == got.ids.tolist()


def test_foreign_and_damaged_files_are_refused(words: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    words.save(path)
    good = json.loads(path.read_text(encoding="utf-8"))
    vocab = good["model"]["vocab"]
    damaged = [
        path.read_bytes()[:500],
        b"",
        b"\xff\xfe",
        b"[1, 2]",
        b"{}",
        json.dumps(good | {"model": {"type": "WordPiece", "vocab": vocab}}).encode(),
        json.dumps(good | {"model": good["model"] | {"vocab": vocab | {"extra": 10_000}}}).encode(),
        json.dumps(good | {"pre_tokenizer": {"type": "Nothing"}}).encode(),
        json.dumps(good | {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 2000}}).encode(),
    ]
    for content in damaged:
        path.write_bytes(content)
        refused(RunError, r"tokenizer\.json is not a tokenizer of sentviz \(.+\)\.$", Tokenizer.load, path)
    refused(RunError, r"absent\.json", Tokenizer.load, tmp_path / "absent.json")


def test_signs_stay_one_word_and_lines_are_written_from_right_to_left() -> None:
    for sign in SIGNS:
        text = f"so {sign}{sign} and {sign}, x{sign}"
        split = pre_tokenizers.Split(Regex(r"\X"), behavior="isolated")
        wanted = {end for _, (_, end) in split.pre_tokenize_str(text)} | {0}
        inner = {place for match in CLUSTER.finditer(text) for place in range(match.start() + 1, match.end())}
        assert {*range(len(text) + 1)} - inner == wanted
    for sign in SIGNS:
        for width in [1, 2]:
            text = f"so {sign} {sign}!"
            pieces = [
                (at, min(at + width, part.end())) for part in re.finditer(r"\S+", text) for at in range(part.start(), part.end(), width)
            ]
            offsets = np.array([(0, 0), *pieces])
            tokens = ("[CLS]", *[text[a:b] for a, b in offsets[1:]])
            n = len(tokens)
            of = SimpleNamespace(tokens=tokens, offsets=offsets, segments=np.zeros(n, int), specials=np.arange(n) == 0)
            inner = {place for match in CLUSTER.finditer(text) for place in range(match.start() + 1, match.end())}
            words = word_spans(text, of)
            assert [i for word in words for i in word.indices] == [*range(n)]
            assert not {int(offsets[word.indices[0], 0]) for word in words[1:]} & inner
            assert [word.text for word in words[1:3]] == ["so", sign]
            assert words[-1].text == (f"{sign}!" if width == 2 and len(sign) % 2 else "!") or words[-2].text == sign
    for sign in [sign for sign in SIGNS if "\U000e0067" not in sign]:
        for limit in range(2, 12):
            rest = as_text(sign * 9, limit).removesuffix("…").strip("\u2068\u2069")
            assert rest == sign * (len(rest) // len(sign)) and text_columns(rest) < limit + 2
    texts = ("הלחם עלה 15 שקל", "הלחם של good bread טרי מאוד", "a calm lake", "say א now")
    assert [*map(is_right_to_left, texts)] == [True, True, False, False]
    cases = [("a b c", False, "a b c"), ("א ב ג", True, "ג ב א"), ("א ב good day ג", True, "ג good day ב א")]
    cases += [("say א ב now", False, "say ב א now"), ("א , ב !", True, "! ב , א"), ("א good , day ב", True, "ב good , day א")]
    cases += [("א 15 ב", True, "ב 15 א")]
    for tokens, right, drawn in cases:
        parts = tokens.split()
        assert [parts[i] for i in visual_order(parts, right)] == drawn.split()
