"""Texts cleaned before they are tokenized, and what of a text its tokens leave out."""

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
    "english": (  # reviews, tweets and treebanks as one: marks of the web and of tokenized corpora away, nothing lost
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
"""What is replaced, and by what, in a text that was lower-cased; outer white space falls away. Python and `tokenizers` read it alike."""
_COMPILED = {name: [(re.compile(pattern), instead) for pattern, instead in steps] for name, steps in CLEANINGS.items()}
DROPPED = {"tweets": "links, @names, digits, signs, emoji and letters that are not Latin"}


def cleaned(text: str, cleaning: str) -> str:
    """What a cleaning leaves of a text. Of tweets letters stay that are Latin: of other scripts the data hold next to nothing to learn."""
    text = text.lower()
    for pattern, instead in _COMPILED[cleaning]:
        text = pattern.sub(instead, text)
    return text.strip()


def normalizer(cleaning: str) -> tokenizers.normalizers.Normalizer:
    """The same as a part of a tokenizer, which keeps track of the characters of the text as it was."""
    from tokenizers import Regex, normalizers

    steps = [normalizers.Replace(Regex(pattern), instead) for pattern, instead in CLEANINGS[cleaning]]
    return normalizers.Sequence([normalizers.Lowercase(), *steps, normalizers.Strip()])


def uncovered(text: str, offsets: npt.NDArray[np.integer[Any]]) -> list[tuple[int, str]]:
    """What of a text stands in none of its tokens, white space aside: the token it stands before, counted from 0, and its characters.

    Args:
        offsets: (n, 2) characters [start, end) of each token, in order; (0, 0) of specials.
    """
    found: list[tuple[int, str]] = []
    at = 0
    real = [(place, start, end) for place, (start, end) in enumerate(offsets.tolist()) if end > start]
    behind = real[-1][0] + 1 if real else len(offsets)
    for place, start, end in [*real, (behind, len(text), len(text))]:
        if start > at and (between := text[at:start].strip()):
            found.append((place, between))
        at = max(at, end)
    return found
