"""Groups of rows by what is known of them: own columns, length, script, source in a mixture, and phenomena that a rule finds.

The phenomena (negation, contrast, intensity, questions, emoji) are regular expressions in RE2's syntax for English and Korean, without
regard to case. `tests/test_groups.py` measures them on the demo set.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import LETTERS, plain
from sentviz.data.columns import PREFIX
from sentviz.errors import InputError, nearest
from sentviz.io.lazy import pa, pc, pd

Bools = npt.NDArray[np.bool_]


def _words(english: str, korean: str) -> str:
    """Return a pattern for English words, and for Korean stems and endings, which stand inside words."""
    edge = f"[^{LETTERS}']"
    return f"(?:^|{edge})(?:{'|'.join(english.split())})(?:{edge}|$)|{'|'.join(korean.split())}".replace("_", r"\s+")


RULES: Mapping[str, str] = {
    "negation": r"n't\b|"
    + _words(
        "not no never none nobody nothing nowhere neither nor cannot without hardly barely scarcely",
        r"않 못하 못해 못한 못했 없 아니 아닌 아닐 지_?마 지_?말 (?:^|\s)안\s (?:^|\s)못\s",
    ),
    "contrast": _words(
        "but although though while however yet despite nevertheless nonetheless whereas even_so in_spite_of on_the_other_hand",
        "지만 그러나 그런데 그래도 반면 불구하고 그렇지만",
    ),
    "intensity": r"!!|"
    + _words(
        "very really extremely absolutely totally completely incredibly utterly highly deeply truly remarkably exceptionally terribly"
        " awfully insanely hugely immensely so too such quite rather fairly pretty somewhat slightly a_bit a_little",
        "너무 정말 진짜 매우 아주 완전 굉장 무척 엄청 몹시 상당히 대단히",
    ),
    "question": "[?？]",
    "emoji": r"[\x{1F300}-\x{1FAFF}\x{2600}-\x{27BF}\x{1F1E6}-\x{1F1FF}]|(?:^|\s)[:;=]['o-]?[()DPp|/\\](?:\s|$)|\^\^|[ㅠㅜ]{2}|ㅋㅋ|ㅎㅎ",
}
"""Pattern of each phenomenon by its name."""

SCRIPTS: Mapping[str, str] = {"Latin": r"\p{Latin}", "Hangul": r"\p{Hangul}"}
"""Letters of each script; a text is in the script of more than half of its letters, otherwise in no script of these."""
OTHER = "other"
BEGINNING = 400  # characters that decide the script of a text


def quoted(text: str) -> str:
    """Return a name or value so that it holds no character with a meaning in a slice."""
    return "".join(f"%{ord(character):02X}" if character in "%~:" else character for character in text)


def in_group(rows: Rows, name: str, value: str) -> Bools:
    """Return which rows have a value in an own column, (n,); "" = no value."""
    column = _column(rows, name)
    if column.dtype == np.float64:
        return np.asarray(column.isna()) if not value else np.asarray(column.map("{:.12g}".format) == value)
    return np.asarray(column.astype(object) == value)


def in_range(rows: Rows, name: str, low: float, high: float) -> Bools:
    """Return which rows have a number in an own column that is at least `low` and below `high`, (n,)."""
    numbers = pd.to_numeric(_column(rows, name).astype(object), errors="coerce").to_numpy(dtype=float)
    if len(numbers) and np.isnan(numbers).all():
        raise InputError(f"The column “{name}” has no numbers, so it has no range.")
    return np.asarray((numbers >= low) & (numbers < high))


def lengths(rows: Rows) -> npt.NDArray[np.int64]:
    """Return the number of words of each text, (n,); words are separated by white space."""
    return _counted(_texts(rows), r"\S+")


def by_script(rows: Rows) -> dict[str, Bools]:
    """Return which texts have more than half of their letters in each script of `SCRIPTS`, and for `OTHER` in none of them, (n,).

    Letters are those of the first `BEGINNING` characters.
    """
    beginnings = pc.utf8_slice_codeunits(_texts(rows), 0, BEGINNING)
    half = _counted(beginnings, r"\pL") / 2
    inside = {name: np.asarray(_counted(beginnings, letter) > half) for name, letter in SCRIPTS.items()}
    return inside | {OTHER: np.asarray(~np.any([*inside.values()], axis=0))}


def by_phenomenon(rows: Rows, *names: str) -> dict[str, Bools]:
    """Return which texts have each phenomenon of `RULES`, by default all, (n,)."""
    texts = plain(_texts(rows))
    matching = {name: pc.match_substring_regex(texts, RULES[name], ignore_case=True) for name in names or RULES}
    return {name: np.asarray(matches.to_numpy(zero_copy_only=False), dtype=bool) for name, matches in matching.items()}


def from_source(rows: Rows, name: str) -> Bools:
    """Return which rows of a mixture come from a data set, (n,)."""
    of = sources(rows)
    if name not in of:
        known = ", ".join(filter(None, dict.fromkeys(of.tolist())))
        raise InputError(f"No row comes from {name!r}; the data sets are {known}." if known else "These rows come from one data set.")
    return np.asarray(of == name)


def sources(rows: Rows) -> npt.NDArray[np.object_]:
    """Return the data set that each row of a mixture comes from, (n,); "" unless the rows come from several data sets."""
    if rows.over == "mine":
        return np.full(len(rows), "", dtype=object)
    return np.array([key.partition("/")[0] if "/" in key else "" for key in rows.frame["id"].astype(str)], dtype=object)


def _column(rows: Rows, name: str) -> pd.Series:
    if f"{PREFIX}{name}" not in rows.frame:
        known = nearest(name, rows.own) + (f"columns that do: {', '.join(rows.own)}" if rows.own else "there is no such column")
        raise InputError(f"These rows have no column “{name}” that forms groups; {known}.")
    return rows.frame[f"{PREFIX}{name}"]


def _texts(rows: Rows) -> pa.Array:
    if not rows.has_text:
        raise InputError("The texts of these rows are not installed, so nothing is known of their words.")
    return pa.array(rows.texts, type=pa.large_string())


def _counted(texts: pa.Array, pattern: str) -> npt.NDArray[np.int64]:
    """Return how often a regular expression matches in each text, (n,)."""
    return np.asarray(pc.count_substring_regex(texts, pattern).to_numpy(zero_copy_only=False), dtype=np.int64)
