"""The hardmax paper's models of any width: `hardmax-d<d>`; `-straight` trains the argmax itself, `-raw` keeps every word of a text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from sentviz.runs.registry import Preset, read_paper


def family(name: str) -> Preset | None:
    """Return the preset with a name, for example `hardmax-d8-straight`; None if the name does not have this form."""
    match = re.fullmatch(r"hardmax-d([1-9]\d{0,2})(-straight)?(-raw)?", name)
    if match is None:
        return None
    width, straight, raw = match.groups()
    shape = {"width": int(width), "training": "hardmax" if straight else "softmax", "cleaning": not raw}
    endings = f"{', trained as hardmax' if straight else ''}{', every word kept' if raw else ''}"
    return replace(read_paper(Path(__file__).parent).presets["hardmax-d2"], shape=shape, title=f"Hardmax, d = {width}{endings}")
