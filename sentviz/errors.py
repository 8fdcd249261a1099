"""What can go wrong, said in one sentence of the user's world."""

from __future__ import annotations

__all__ = ["DataMissingError", "InputError", "RunError", "SentvizError", "Stopped"]


class SentvizError(ValueError):
    """Base of every error that sentviz raises on purpose; its message is one sentence for the user."""


class InputError(SentvizError):
    """A text or an argument cannot be used as given."""


class DataMissingError(SentvizError):
    """A data set is not on this machine; the message says how to get it."""


class RunError(SentvizError):
    """A run folder is missing, foreign or damaged; the message names the file and the reason."""


class Stopped(Exception):
    """Work was given up before its end, because nobody waits for the result."""
