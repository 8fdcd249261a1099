"""Clean texts before they are tokenized, and list the characters of a text that no token covers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import tokenizers

CLEANINGS = {
    "tweets": (  # 7ess-Xin, section III-A1, in its order
        (r"(https?://|www\.)\S+", ""),
        (r"@\w+", ""),
        (r"#", ""),
        (r"[^a-zß-öø-ɏ0-9\s]+", ""),
        (r"[0-9]+", ""),
        (r"\s+", " "),
    ),
    "english": (  # for reviews, tweets and treebanks alike: removes marks of the web and of tokenized corpora, loses no word
        (r"<br\s*/?>", " "),
        (r"[‘’`´]", "'"),
        (r"(https?://|www\.)\S+", "http"),
        (r"@\w+", "@user"),
        (r"-lrb-", "("),
        (r"-rrb-", ")"),
        (r"\s+", " "),
        (r" (?=n't\b|'(?:s|re|ve|ll|d|m)\b|[.,!?;:%)])", ""),
    ),
}
"""Pattern and replacement of each step, applied to a lower-cased text. Outer white space is stripped. Python and `tokenizers` agree."""
_COMPILED = {name: [(re.compile(pattern), instead) for pattern, instead in steps] for name, steps in CLEANINGS.items()}
DROPPED = {"tweets": "links, @names, digits, signs, emoji and letters that are not Latin"}


def cleaned(text: str, cleaning: str) -> str:
    """Return the cleaned text. Cleaning tweets keeps only Latin letters, because the data hold almost no text in other scripts."""
    text = text.lower()
    for pattern, instead in _COMPILED[cleaning]:
        text = pattern.sub(instead, text)
    return text.strip()


def normalizer(cleaning: str) -> tokenizers.normalizers.Normalizer:
    """Return the same cleaning as a normalizer of `tokenizers`, which keeps the offsets into the original text."""
    from tokenizers import Regex, normalizers

    steps = [normalizers.Replace(Regex(pattern), instead) for pattern, instead in CLEANINGS[cleaning]]
    return normalizers.Sequence([normalizers.Lowercase(), *steps, normalizers.Strip()])


def uncovered(text: str, offsets: npt.NDArray[np.integer[Any]]) -> list[tuple[int, str]]:
    """Return the characters of a text that no token covers, without white space: (place of the next token, counted from 0, characters).

    Args:
        offsets: (n, 2) characters [start, end) of each token, in order; (0, 0) for special tokens.
    """
    gaps: list[tuple[int, str]] = []
    covered = 0
    real = [(place, start, end) for place, (start, end) in enumerate(offsets.tolist()) if end > start]
    after = real[-1][0] + 1 if real else len(offsets)
    for place, start, end in [*real, (after, len(text), len(text))]:
        if start > covered and (between := text[covered:start].strip()):
            gaps.append((place, between))
        covered = max(covered, end)
    return gaps
