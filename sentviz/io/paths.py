"""Folders: the user's own, for downloads and what is computed once and kept, and what lies beside the package."""

from __future__ import annotations

import os
from pathlib import Path

CARRIED = Path(__file__).parents[1] / "_wheel"  # in a wheel: the app and some runs, as a checkout has them beside the package


def home() -> Path:
    """``$SENTVIZ_HOME``, else the place that the system has for caches (on Linux ``~/.cache/sentviz``)."""
    from platformdirs import user_cache_path

    given = os.environ.get("SENTVIZ_HOME")
    return Path(given) if given else user_cache_path("sentviz", appauthor=False)


def place(name: str) -> Path:
    """Where ``app`` or ``checkpoints`` is, in a checkout and in a wheel."""
    return (CARRIED if CARRIED.is_dir() else CARRIED.parents[1]) / name


def is_path(name: str) -> bool:
    """Whether a name can only be a path: no run, and no model of the Hugging Face hub, is called like this."""
    return name.startswith((".", "~")) or Path(name).is_absolute() or name.replace(os.sep, "/").count("/") > 1
