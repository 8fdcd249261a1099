"""Folders: the user's cache for downloads and stored results, and the folders next to the package."""

from __future__ import annotations

import os
from pathlib import Path

CARRIED = Path(__file__).parents[1] / "_wheel"  # exists in a wheel only: the app and some runs, which a checkout has next to the package
APP_MODEL, APP_CLASSES = "SENTVIZ_APP_MODEL", "SENTVIZ_APP_CLASSES"  # variables by which `sentviz app --model` tells the app


def home() -> Path:
    """Return ``$SENTVIZ_HOME`` or, if it is not set, the system's folder for caches (on Linux ``~/.cache/sentviz``)."""
    from platformdirs import user_cache_path

    named = os.environ.get("SENTVIZ_HOME")
    return Path(named) if named else user_cache_path("sentviz", appauthor=False)


def place(name: str) -> Path:
    """Return the path of ``app`` or ``checkpoints``, in a checkout and in a wheel."""
    return (CARRIED if CARRIED.is_dir() else CARRIED.parents[1]) / name


def is_path(name: str) -> bool:
    """Return whether a name can only be a path: no run and no model of the Hugging Face hub has such a name."""
    return name.startswith((".", "~")) or Path(name).is_absolute() or name.replace(os.sep, "/").count("/") > 1
