"""The models of Sentiment-Fused Attention by name: a small BERT, and how a lexicon enters the scores of any model."""

from __future__ import annotations

from typing import Any

from sentviz.runs.registry import Preset

PRESETS = {
    # four post-norm layers that answer from [CLS]
    "cls": Preset(
        {"layers": 4, "norm": "layer", "norm_first": False, "ffn": "gelu", "ffn_width": 512, "pooling": "cls"}, title="small BERT"
    ),
}
INJECTIONS: dict[str, dict[str, Any]] = {
    "xia": {"lexicon": "multiply"},  # Xia et al. 2021: Q K^T times sigma, element by element
    "all": {"lexicon": "add"},
    "all-scaled": {"lexicon": "add", "lexicon_scaled": True},
    "last": {"lexicon": "add", "lexicon_heads": "last"},
    "last-scaled": {"lexicon": "add", "lexicon_heads": "last", "lexicon_scaled": True},
}
ADDITIONS: dict[str, dict[str, Any]] = {"from-cls": {"pooling": "cls"}}  # for a base whose classifier reads the mean of all tokens
MODELS = ("cls", *(f"cls-{injection}" for injection in INJECTIONS))
