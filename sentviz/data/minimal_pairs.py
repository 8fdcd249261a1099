"""Minimal pairs from templates of our own: two sentences that differ in one word, with names exchanged as the control.

The adjective, a negation, a word of degree or a name is exchanged (`minimal_pairs.toml` and `korean_minimal_pairs.toml`, in the form of the
behaviour card). English pairs have the same number of words, so their tokens align.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sentviz.data.behaviour import LANGUAGES, Templates, cases, read_templates
from sentviz.errors import InputError

PAIRS = ("adjective", "negation", "intensifier", "name")
MOST = 200  # pairs of a kind, at most
_FILES = {"en": "minimal_pairs.toml", "ko": "korean_minimal_pairs.toml"}


def minimal_pairs(kind: str, language: str = "en", *, count: int = 40, seed: int = 0) -> list[tuple[str, str]]:
    """Return (first, second) sentences of one kind of change; equal arguments give equal pairs, fewer if the templates give fewer."""
    if kind not in PAIRS:
        raise InputError(f"Minimal pairs exchange {', '.join(PAIRS)}, not {kind!r}.")
    if language not in _FILES:
        raise InputError(f"There are minimal pairs in {' and '.join(LANGUAGES.values())}, not in the language {language!r}.")
    if not 2 <= count <= MOST:
        raise InputError(f"Take 2 to {MOST} pairs, not {count:,}.")
    frame = cases(language, seed=seed, each=count, templates=_templates(language))
    some = frame[frame["capability"] == kind]
    return list(zip(some["before"], some["text"], strict=True))


@cache
def _templates(language: str) -> Templates:
    return read_templates(Path(__file__).with_name(_FILES[language]), language)
