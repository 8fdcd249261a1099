"""Hugging Face encoders: load, predict, trace, inject a lexicon, fine-tune, keep as runs.

    from sentviz import hub
    model = hub.load("user/model")  # or a folder
    model.trace("A quiet delight.").attention  # the maps that multiply V
    hub.load("user/model", lexicon=Lexicon.load("lexicon_en_vader"), injection="last-scaled")

Needs the package transformers, 5 or newer, and loads it on first use; importing this needs torch only.
"""

from __future__ import annotations

from sentviz.hub.loading import load
from sentviz.hub.model import HubModel
from sentviz.hub.runs import adopt
from sentviz.hub.tuning import finetune

__all__ = ["HubModel", "adopt", "finetune", "load"]
