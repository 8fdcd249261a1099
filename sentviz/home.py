"""The user's own folder: downloads, and what is computed once and kept."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["home"]


def home() -> Path:
    """``$SENTVIZ_HOME``, else the place that the system has for caches (on Linux ``~/.cache/sentviz``)."""
    from platformdirs import user_cache_path

    given = os.environ.get("SENTVIZ_HOME")
    return Path(given) if given else user_cache_path("sentviz", appauthor=False)
