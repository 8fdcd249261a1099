"""The errors that are shown to users, each with a one-sentence message."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class SentvizError(ValueError):
    """Base class of all errors that sentviz raises on purpose. The message is one sentence for the user, on one line."""

    def __str__(self) -> str:
        """Return the message on one line; a message that quotes another library may have several lines."""
        return " ".join(line.strip() for line in super().__str__().splitlines())


class InputError(SentvizError):
    """A text or an argument cannot be used."""


class DataMissingError(SentvizError):
    """A data set is not installed; the message says how to get it."""


class RunError(SentvizError):
    """A run folder is missing or damaged, or was not written by sentviz; the message names the file and the reason."""


class MissingMapError(InputError):
    """A trace does not hold the requested layer, head, component or query row; the message says what it holds."""


class Stopped(Exception):
    """Work was stopped early because nobody waits for its result."""


def nearest(name: str, known: Sequence[str]) -> str:
    """Return the known names nearest to a mistyped name, at most three, for a message: "similar names: a, b; "; "" if none is near."""
    same = [full for full in known if full.rpartition("/")[2] == name]
    near = same[:3] or get_close_matches(name, known, 3, 0.5)
    return f"similar names: {', '.join(near)}; " if near else ""
