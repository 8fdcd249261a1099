"""Every script: signs of several characters stay one word, and texts from right to left are drawn from right to left."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

from sentviz.charts.text import as_text, is_right_to_left, text_columns, visual_order
from sentviz.data.texts import CLUSTER, word_spans

SIGNS = ["👍🏽", "❤️", "🇰🇷", "👩‍🚀", "👩🏾‍🤝‍👨🏻", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "é", "☺️"]


@pytest.mark.parametrize("sign", SIGNS)
def test_clusters_are_those_of_a_library_of_unicode(sign: str) -> None:
    text = f"so {sign}{sign} and {sign}, x{sign}"
    split = pre_tokenizers.Split(Regex(r"\X"), behavior="isolated")
    wanted = {end for _, (_, end) in split.pre_tokenize_str(text)} | {0}
    inner = {place for match in CLUSTER.finditer(text) for place in range(match.start() + 1, match.end())}
    assert {*range(len(text) + 1)} - inner == wanted


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("width", [1, 2])
def test_tokens_of_one_sign_are_one_word(sign: str, width: int) -> None:
    text = f"so {sign} {sign}!"
    pieces = [(at, min(at + width, part.end())) for part in re.finditer(r"\S+", text) for at in range(part.start(), part.end(), width)]
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


@pytest.mark.parametrize("sign", [sign for sign in SIGNS if "\U000e0067" not in sign])  # hidden letters are shown
def test_a_label_is_cut_between_signs(sign: str) -> None:
    for limit in range(2, 12):
        rest = as_text(sign * 9, limit).removesuffix("…").strip("\u2068\u2069")
        assert rest == sign * (len(rest) // len(sign)) and text_columns(rest) < limit + 2


def test_a_text_of_mostly_hebrew_or_arabic_is_written_from_right_to_left() -> None:
    texts = ("הלחם עלה 15 שקל", "הלחם של good bread טרי מאוד", "a calm lake", "say א now")
    assert [*map(is_right_to_left, texts)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("tokens", "right", "drawn"),
    [
        ("a b c", False, "a b c"),
        ("א ב ג", True, "ג ב א"),
        ("א ב good day ג", True, "ג good day ב א"),
        ("say א ב now", False, "say ב א now"),
        ("א , ב !", True, "! ב , א"),
        ("א good , day ב", True, "ב good , day א"),
        ("א 15 ב", True, "ב 15 א"),
    ],
)
def test_the_order_of_a_line_is_that_of_the_bidirectional_algorithm(tokens: str, right: bool, drawn: str) -> None:
    parts = tokens.split()
    assert [parts[i] for i in visual_order(parts, right)] == drawn.split()
