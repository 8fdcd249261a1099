"""Text from users as Plotly labels: always text, never markup, and every character visible."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from sentviz.data.texts import CLUSTER

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})  # $...$ would be MathJax
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_JOINERS = "\u200c\u200d"
_HIDDEN = "⬚"
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_LETTER = 0.56  # width of a column, as a share of the letters' size


def as_text(text: str, limit: int | None = 24) -> str:
    """Return a Plotly label that shows ``text`` literally, whatever characters it has.

    Pseudo-HTML, entities and MathJax are escaped; control and zero-width characters become visible (``↵``, ``⬚``);
    outer blanks become ``·``; right-to-left text is isolated from its surroundings; text wider than ``limit`` columns ends in ``…``
    (``None``: text of any width stays complete).
    """
    literal = visible(text)
    if limit is not None:
        literal = shortened(literal, limit)
    escaped = literal.translate(_MARKUP)
    if any(unicodedata.bidirectional(char) in {"R", "AL", "AN"} for char in literal):
        return f"\u2068{escaped}\u2069"
    return escaped


def as_run(name: str, limit: int = 32) -> str:
    """Return a run's name as a Plotly label; a long name loses its middle, because model and seed are at the end."""
    if text_columns(name) > limit and len(name) <= 8 * limit:
        tail = 2 * limit // 3
        name = f"{name[: limit - 1 - tail]}…{name[-tail:]}"
    return as_text(name, limit)


def token_label(token: str, place: int, limit: int = 120) -> str:
    """Return a token in quotes with its place, counted from 0 and written from 1, as a Plotly label."""
    return f"“{as_text(token, limit)}” ({place + 1})"


def subscript(number: int) -> str:
    """Return a number in subscript digits."""
    return str(number).translate(_SUBSCRIPTS)


def visible(text: str) -> str:
    """Replace each control, zero-width and outer blank character of ``text`` by a visible one; the result is not escaped."""
    if not text:
        return "∅"
    if text.isprintable() and not text[0].isspace() and not text[-1].isspace():
        return text  # nothing below changes it
    chars = [_stand_in(text, i) for i in range(len(text))]
    for side in (range(len(chars)), range(len(chars) - 1, -1, -1)):
        for i in side:
            if not chars[i].isspace():
                break
            chars[i] = "·"
    return "".join(chars)


def is_right_to_left(text: str) -> bool:
    """Return whether most letters of a text are written from right to left, as in Arabic and Hebrew."""
    kinds = [unicodedata.bidirectional(char) for char in text]
    right = sum(kind in {"R", "AL"} for kind in kinds)
    return right > kinds.count("L")


def visual_order(tokens: Sequence[str], right_to_left: bool) -> list[int]:
    """Return the order from left to right in which the tokens of one line are drawn.

    In a line from right to left, neighbouring tokens in Latin letters and numbers keep their order from left to right, and vice versa
    (rule L2 of the Unicode bidirectional algorithm, by tokens). Marks between two tokens of one direction have this direction.

    Args:
        tokens: in the order of the text; "" for a token without direction, such as a special one.
        right_to_left: direction of the whole text.
    """
    sides = [_direction(token) for token in tokens]
    for i, side in enumerate(sides):
        if side is None:
            before = next((each for each in reversed(sides[:i]) if each is not None), right_to_left)
            after = next((each for each in sides[i + 1 :] if each is not None), right_to_left)
            sides[i] = before if before == after else right_to_left
    order: list[int] = []
    for is_right, run in groupby(range(len(tokens)), key=lambda i: sides[i]):
        order += list(run)[:: -1 if is_right != right_to_left else 1]
    return order[::-1] if right_to_left else order


def _direction(token: str) -> bool | None:
    """Return True for a token from right to left, False for one from left to right, None for marks."""
    kinds = {unicodedata.bidirectional(char) for char in token}
    return True if kinds & {"R", "AL"} else False if kinds & {"L", "EN", "AN"} else None


def text_columns(text: str) -> int:
    """Return the width of ``text`` in monospace columns: wide characters and emoji count two, combining marks none."""
    return sum(map(_char_columns, text))


def label_width(label: str, size: float) -> float:
    """Return the approximate width of a Plotly label in pixels, for letters of `size` pixels: the width of its longest line."""
    return _LETTER * size * max(text_columns(html.unescape(re.sub("<[^>]*>", "", line))) for line in label.split("<br>"))


def broken(label: str, room: float, size: float) -> str:
    """Break a Plotly label between words into lines of at most `room` pixels; a line with markup stays as it is."""
    most = max(int(room / (_LETTER * size)), 1)
    return "<br>".join(
        line
        if "<" in line or label_width(line, size) <= room
        else "<br>".join(textwrap.wrap(line, most, break_long_words=False, break_on_hyphens=False))
        for line in label.split("<br>")
    )


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"} or char in SKIN_TONES:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _stand_in(text: str, i: int) -> str:
    char = text[i]
    category = unicodedata.category(char)
    if category in {"Zl", "Zp"}:
        return "↵"
    if category == "Cs":
        return "\ufffd"
    if ord(char) & 0xFFFE == 0xFFFE:  # not a character, and not allowed in XML
        return _HIDDEN
    if category == "Cc":
        if char in "\n\t":
            return "↵" if char == "\n" else "⇥"
        code = ord(char)
        return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else _HIDDEN
    if category == "Cf":
        joins = char in _JOINERS and 0 < i < len(text) - 1 and not text[i - 1].isascii() and not text[i + 1].isascii()
        return char if joins else _HIDDEN  # emoji families and Persian need their joiners
    return char


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` columns, not escaped; a longer one ends in an ellipsis."""
    text, cut = text[: 8 * limit], len(text) > 8 * limit  # also bounds towers of combining marks
    if not cut and text_columns(text) <= limit:
        return text
    chars, width = [], 0
    for char in text:
        width += _char_columns(char)
        if width > limit - 1:
            break
        chars.append(char)
    cut_sign = next((sign for sign in CLUSTER.finditer(text) if sign.start() < len(chars) < sign.end()), None)
    return text[: cut_sign.start() if cut_sign else len(chars)] + "…"
