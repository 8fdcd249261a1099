"""Hugging Face encoders: load, predict, trace, inject a lexicon, fine-tune, keep as runs.

    from sentviz.models import hub
    model = hub.load("user/model")  # or a folder
    model.trace("A quiet delight.").attention  # the maps that multiply V
    hub.load("user/model", lexicon=Lexicon.load("lexicon_en_vader"), injection="last-scaled")

Needs the package transformers, 5 or newer, and loads it on first use; importing this needs torch only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sentviz.models.hub.loading import load
from sentviz.models.hub.model import HubModel

if TYPE_CHECKING:
    from sentviz.training.adoption import adopt
    from sentviz.training.foreign import finetune

__all__ = ["HubModel", "adopt", "finetune", "load"]


def __getattr__(name: str) -> Any:
    """What trains and keeps models stands above them, and is loaded on first use."""
    if name == "adopt":
        from sentviz.training.adoption import adopt

        return adopt
    if name == "finetune":
        from sentviz.training.foreign import finetune

        return finetune
    raise AttributeError(f"module 'sentviz.models.hub' has no attribute {name!r}")
