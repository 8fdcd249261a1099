"""The tagger, read left to right by an own loop over its features; the demo set and sentences by rule."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sentviz.data.tags
import sentviz.data.tokenizers
from sentviz.analysis.explain import notices as remarks
from sentviz.data import demo, templates
from sentviz.data.labels import sides
from sentviz.data.parts_of_speech import TAGS
from sentviz.data.tags import AROUND, ENGLISH, Tagger, count_known, pieces, tags_instead, tags_of
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import RunError

TEXTS = ("The plot doesn’t drag, it's a quiet delight. Great, the Wi-Fi is broken again!",)
TEXTS += ("Not bad at all, but I would not see it twice; 3.5 stars...", "WHAT a mess", "영화는 good 이다", "!?")


TAGGER = Tagger.load()
ENGLISH_TEXTS = (
    "Nobody understands why the train is late again.",
    "Sings out of tune, but sings with heart.",
    "A chugging, gloriously unhinged ride for a rainy night.",
    "@someone #mondays #nope http://example.com ugh",
    "Marlowe Quint, Ida Brask and Tove Lindqvist in Malmö",
)
OTHERS = {
    "J'ai adoré chaque minute de ce spectacle.": False,
    "Le téléphone tombe en panne toutes les semaines.": True,
    "Niemand versteht, warum der Zug schon wieder zu spät kommt.": True,
    "La habitación estaba limpia y el desayuno delicioso.": True,
}
FRAME = templates.frame()
COMMON = {"about", "been", "better", "comes", "gave", "have", "less", "like", "made", "more", "never", "nine", "once", "other", "second"}
COMMON |= {"than", "that", "they", "three", "well", "whole", "without"}
LANGUAGES = {"en": templates.ENGLISH, "ko": templates.KOREAN}
DEMO = demo.load()


def slow(stored: dict[str, Any], sentence: list[str]) -> list[str]:
    """Tag one word after the other: sum the weights of its features by label; ties go to the last label."""
    lower = ["<s>", "<s>", *(word.lower().replace("’", "'") for word in sentence), "</s>", "</s>"]
    labels, last, prior, best = stored["labels"], "<s>", "<s>", []
    for i, word in enumerate(sentence):
        low = lower[i + 2]
        shape = ("X" if word[0].isupper() else "x") + ("d" if any(c.isdigit() for c in word) else "")
        names = ["bias", f"suf1 {low[-1:]}", f"suf2 {low[-2:]}", f"suf3 {low[-3:]}", f"pre1 {low[0]}", f"shape {shape}", f"w {low}"]
        names += [f"t-1 {last}", f"t-2 {prior}", f"t-1t-2 {last} {prior}", f"t-1 w {last} {low}"]
        names += [f"w-1 {lower[i + 1]}", f"w-2 {lower[i]}", f"w+1 {lower[i + 3]}", f"w+2 {lower[i + 4]}"]
        totals = dict.fromkeys(range(len(labels)), 0.0)
        for name in names:
            entry = stored["weights"].get(name, [])
            for label, weight in zip(entry[::2], entry[1::2], strict=True):
                totals[label] += weight
        label = stored["certain"].get(low, max(totals, key=lambda label: (round(totals[label], 3), label)))
        prior, last = last, labels[label]
        best.append(last.split("|")[0])
    return best


def test_sentences_and_words_put_in_have_the_tags_of_a_loop() -> None:
    sentences = [words for text in TEXTS[:2] for words, _ in pieces(text)]
    got = [[TAGS[tag] for tag in tags] for tags in TAGGER.tag(sentences)]
    stored = json.loads(gzip.decompress(ENGLISH.read_bytes()))
    assert got == [slow(stored, words) for words in sentences]
    assert [list(tags) for tags in TAGGER.tag(sentences)] == [list(TAGGER.tag([words])[0]) for words in sentences]
    assert next(words for words in sentences if "n’t" in words)[:5] == ["The", "plot", "does", "n’t", "drag"]
    words, _ = pieces("The plot is not a quiet delight")[0]
    assert [TAGS[tag] for tag in TAGGER.tag([words])[0]] == ["DET", "NOUN", "AUX", "PART", "DET", "ADJ", "NOUN"]
    assert [TAGS[tag] for tag in TAGGER.tag([["영화는", "good"]])[0]] == ["X", "ADJ"]
    assert TAGGER.tag([]) == [] and [len(tags) for tags in TAGGER.tag([[], ["so"], []])] == [0, 1, 0]
    for text in TEXTS[:2]:
        for k, (words, starts) in enumerate(pieces(text)):
            for i, (old, start) in enumerate(zip(words, starts, strict=True)):
                for new in (old, "warmly", "Mess"):
                    changed = [*words[:i], new, *words[i + 1 :]]
                    if [some for some, _ in pieces(text[:start] + new + text[start + len(old) :])][k] != changed:
                        continue  # such as "it" before "'s", which becomes another word
                    wanted = int(TAGGER.tag([changed])[0][i]), int(TAGGER.tag([[new]])[0][0])
                    assert tags_instead(TAGGER, [(text, start, start + len(old), new)]) == [wanted]
    near, far = ((before + "the plot is dull here", len(before) + 4, len(before) + 8, "song") for before in ("", "warm " * AROUND))
    assert tags_instead(TAGGER, [far])[0] == tags_instead(TAGGER, [near])[0] == (TAGS.index("NOUN"), TAGS.index("NOUN"))
    assert tags_instead(TAGGER, [("!? ...", 0, 1, "?")]) == [None] and tags_instead(TAGGER, []) == []


@pytest.mark.parametrize("kind", ["words", "bpe"])
def test_a_token_has_the_tag_of_the_word_that_holds_its_first_character(kind: str) -> None:
    texts = [*TEXTS, "a" * 300]
    tokenizer = Tokenizer.train_words(texts, 1) if kind == "words" else Tokenizer.train_bpe(texts, 290)
    encoded, pairs = tokenizer.encode_batch(texts, texts[::-1], cls=True), list(zip(texts, texts[::-1], strict=True))
    computed = tags_of(TAGGER, encoded, pairs)
    for each, tags, both in zip(encoded, computed, pairs, strict=True):
        assert len(tags) == len(each.ids)
        for tag, special, segment, (start, _) in zip(tags, each.specials, each.segments, each.offsets, strict=True):
            wanted = "" if special else "PUNCT"
            for words, starts in pieces(both[segment]):
                for word, tag_of, first in zip(words, TAGGER.tag([words])[0], starts, strict=True):
                    if not special and first <= start < first + len(word):
                        wanted = TAGS[tag_of]
            assert TAGS[tag] == wanted
    np.testing.assert_array_equal(tags_of(TAGGER, encoded[:1], pairs[:1])[0], computed[0])


def test_what_follows_the_longest_text_is_not_tagged_and_words_of_another_language_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    text, tokenizer, texts = "a warm song of a clever crew", Tokenizer.train_words(TEXTS, 1), list[str]()
    for module in (sentviz.data.tags, sentviz.data.tokenizers):
        monkeypatch.setattr(module, "LONGEST", 11)
    monkeypatch.setattr(sentviz.data.tags, "pieces", lambda text: texts.append(text) or pieces(text))
    tags = tags_of(TAGGER, [tokenizer.encode(text)], [(text,)])
    assert texts == [text[:11]] and [TAGS[tag] for tag in tags[0]] == ["DET", "ADJ", "NOUN"]
    counts = {text: count_known(TAGGER, text) for text in (*ENGLISH_TEXTS, *OTHERS)}
    foreign = {text: words >= remarks.MIN_WORDS and some < remarks.MIN_KNOWN * words for text, (some, words) in counts.items()}
    assert foreign == dict.fromkeys(ENGLISH_TEXTS, False) | OTHERS
    assert counts[ENGLISH_TEXTS[3]][1] == 1 and count_known(TAGGER, "") == (0, 0)


def test_the_table_is_kept_as_it_was_read_and_damage_is_one_sentence(tmp_path: Path) -> None:
    TAGGER.save(tmp_path / "again.json.gz")
    assert (tmp_path / "again.json.gz").read_bytes() == ENGLISH.read_bytes() and Tagger.load(tmp_path / "again.json.gz") is TAGGER
    with pytest.raises(ValueError, match="read-only"):
        TAGGER.weights[0, 0] = 1
    with pytest.raises(RunError, match="'english-1' was not read from a file"):
        replace(TAGGER, stored=b"").save(tmp_path / "other.json.gz")
    path, stored = tmp_path / "tagger.json.gz", {"version": "x", "labels": ["NOUN"], "certain": {}, "weights": {"bias": [0, 1.0]}}
    changes = [
        *({"weights": {"bias": entry}} for entry in ([0, 1e999], [0, 1.0, 0], [1, 1.0])),
        {"labels": ["NUON"]},
        {"certain": {"a": 7}},
    ]
    packed = [gzip.compress(json.dumps(table).encode()) for table in ([], *(stored | change for change in changes))]
    for text in (None, b"tags", *packed):
        if text is not None:
            path.write_bytes(text)
        with pytest.raises(RunError, match=r"^tagger.json.gz is not a table of tags \("):
            Tagger.load(path)


def words(text: str) -> set[str]:
    """Return the words of four letters or more that are not common."""
    return set(re.findall(r"[\w']{4,}", text.casefold())) - COMMON


def test_the_halves_share_neither_templates_nor_words_and_words_alone_tell_nothing() -> None:
    assert not FRAME["text"].str.contains(r"[{}]|\ba [aeiou]|\s\s|^\s|\s$", case=False).any() and FRAME["id"].is_unique
    patterns = [*templates.patterns()]
    assert all({label for each, label in patterns if each == kind} >= set(templates.LABELS) for kind, _ in patterns)
    assert abs((FRAME["label"] == 0).mean() - (FRAME["label"] == 1).mean()) < 0.03
    for word in ("excellent", "wonderful", "boring", "tedious", "mediocre"):
        share = FRAME.loc[FRAME["text"].str.contains(rf"\b{word}\b", case=False) & (FRAME["label"] < 2), "label"].mean()
        assert 0.3 < share < 0.7, word
    for language in LANGUAGES:
        (ours, own), (second_patterns, theirs) = (templates.half(part, LANGUAGES[language]) for part in templates.HALVES)
        if language == "en":
            for key, compiled in templates.patterns().items():
                assert sorted(ours[key] + second_patterns[key]) == sorted(compiled)
        bare = [
            {re.sub(r"\{[^}]*\}", "*", pattern).casefold() for each in half.values() for pattern in each}
            for half in (ours, second_patterns)
        ]
        assert not bare[0] & bare[1] and min(map(len, bare)) > 50
        for name, entries in own.items():
            assert entries and theirs[name]
        last = [{entry.split()[-1].strip(",").casefold() for each in half.values() for entry in each if entry} for half in (own, theirs)]
        assert not last[0] & last[1]


def test_the_demo_set_is_balanced_and_labels_become_classes_by_name() -> None:
    assert set(DEMO["phenomenon"]) == set(demo.PHENOMENA)
    counts = DEMO.groupby(["phenomenon", "label"]).size()
    assert len(counts) == len(demo.PHENOMENA) * len(demo.LABELS) and (counts == 15).all()
    sentences = demo.plain()
    assert sentences["label"].value_counts().to_dict() == {"negative": 50, "positive": 50}
    assert list(sentences["id"]) == [f"plain-{i:03d}" for i in range(1, 101)]
    texts = sentences["text"].map(plain)
    assert texts.is_unique and not set(texts) & {*DEMO["text"].map(plain), *demo.development()["text"].map(plain)}
    for classes, negative, positive, on_side in [
        (("Positive", "Negative"), 1, 0, [1, -1]),
        (("bearish", "bullish", "neutral"), 0, 1, [-1, 1, 0]),
        (("1 star", "2 stars", "3 stars", "4 stars", "5 stars"), 0, 4, [-1, -1, 0, 1, 1]),
        (("5 stars", "1 star", "10 stars"), 1, 2, [-1, -1, 1]),
        (("very negative", "negative", "neutral", "positive", "Very positive"), 1, 3, [-1, -1, 0, 1, 1]),
        (("none", "offensive", "hate"), -1, -1, [0, 0, 0]),
        (("1 star",), -1, -1, [0]),
        ((), -1, -1, []),
    ]:
        assert demo.labels_for(classes) == {"negative": negative, "positive": positive} and sides(classes) == on_side


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
