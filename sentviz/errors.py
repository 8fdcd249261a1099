"""What can go wrong, said in one sentence of the user's world."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class SentvizError(ValueError):
    """Base of every error that sentviz raises on purpose; its message is one sentence for the user, on one line."""

    def __str__(self) -> str:
        """The message. What it quotes of other libraries may have had several lines."""
        return " ".join(line.strip() for line in super().__str__().splitlines())


class InputError(SentvizError):
    """A text or an argument cannot be used as given."""


class DataMissingError(SentvizError):
    """A data set is not on this machine; the message says how to get it."""


class RunError(SentvizError):
    """A run folder is missing, foreign or damaged; the message names the file and the reason."""


class Stopped(Exception):
    """Work was given up before its end, because nobody waits for the result."""


def nearest(name: str, known: Sequence[str]) -> str:
    """The names most like a mistyped one, three at most, for the middle of a message: "nearest are a, b; ", empty if none is near."""
    same = [one for one in known if one.rpartition("/")[2] == name]
    near = same[:3] or get_close_matches(name, known, 3, 0.5)
    return f"nearest are {', '.join(near)}; " if near else ""
