"""The hardmax paper's models by name: `hardmax-d<d>`; `-straight` trains the argmax itself, `-raw` keeps every word of a text."""

from __future__ import annotations

import re

from sentviz.runs.registry import Preset

RECIPE = {  # the paper prints neither epochs nor rates: these are ours, the same for all d, tried on validation
    "example": "The story is boring and the acting is terrible, but the music is wonderful and I loved the ending.",
    "max_length": 128,
    "min_count": 10,
    "vocab_size": 12_000,
    "epochs": 5,
    "batch_size": 64,
    "learning_rate": 1e-2,
    "weight_decay": 0.0,
    "warmup": 0.0,
    "clip": 5.0,
    "dropout": 0.0,
    "start": 0.1,
    "evaluations": 1,
    "patience": 0,
    "log_every": 50,
}
WITHOUT = {
    "device": "",
    "injection": "",
    "example_pair": "",
    "tokenizer": "words",
    "cls": False,
    "lexicon": "",
    "dropout": 0.0,
    "intercept": False,
}


def family(name: str) -> Preset | None:
    """Return the preset with a name, for example `hardmax-d8-straight`; None if the name does not have this form."""
    match = re.fullmatch(r"hardmax-d([1-9]\d{0,2})(-straight)?(-raw)?", name)
    if match is None:
        return None
    width, straight, raw = match.groups()
    shape = {"width": int(width), "training": "hardmax" if straight else "softmax", "cleaning": not raw}
    endings = f"{', trained as hardmax' if straight else ''}{', every word kept' if raw else ''}"
    return Preset(shape, "hardmax", RECIPE, WITHOUT, f"Hardmax, d = {width}{endings}")


PRESETS = {name: preset for d in (2, 4, 8, 16) for name in (f"hardmax-d{d}", f"hardmax-d{d}-straight") if (preset := family(name))}
