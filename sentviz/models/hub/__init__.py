"""Hugging Face encoders: load, predict, trace, inject a lexicon. `sentviz.training` fine-tunes them and stores them as runs.

    from sentviz.models import hub
    model = hub.load("user/model")  # or a folder
    model.trace("A quiet delight.").attention  # the maps that multiply V
    hub.load("user/model", lexicon=Lexicon.load("lexicon_en_vader"), injection="last-scaled")

The package transformers, 5 or newer, is needed and is loaded on first use; importing this package loads torch only.
"""

from __future__ import annotations

from sentviz.models.hub.heads import store_head
from sentviz.models.hub.loading import load
from sentviz.models.hub.model import HubModel

__all__ = ["HubModel", "load", "store_head"]
