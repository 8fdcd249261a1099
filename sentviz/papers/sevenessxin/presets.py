"""The ten versions of 7ess-Xin by name (table I), and what can stand behind a name: its second phase, its published padding.

The flag --ff_expansion of table I is halved by integer division before the model is made, as the published code does: 2 and 3 mean 1, 4
means 2. Ours: no dropout on attention maps and inside the feed-forward layers; the temperature starts at the root of d_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sentviz.runs.registry import Preset

ROPE, UNMASKED = "rope", "unmasked"
SIZES = ("5k", "10k", "20k", "40k", "80k")  # variants: training rows
LONGER = ("6k-updates",)  # variants: four times the updates
EPOCHS = ("5k-epochs", "epochs")  # variants: the recipe's epochs on the fewest and on all rows
ADDITIONS: dict[str, dict[str, Any]] = {  # behind the name of any encoder
    ROPE: {"positions": "rotary", "qk_norm": True},
    UNMASKED: {"masked": False},
}


def _version(layers: int = 3, width: int = 128, heads: int = 4, flag: int = 2, **recipe: Any) -> Preset:
    shape = {
        "width": width,
        "layers": layers,
        "heads": heads,
        "ffn": "relu",
        "ffn_width": width * (flag // 2),
        "norm": "layer",
        "norm_first": False,
        "positions": "sinusoid",
        "embedding_scale": 1.0,
    }
    return Preset(shape, recipe=recipe)


TITLES = {
    "7ess-v1": "V1 (baseline)",
    "7ess-v2": "V2 (deeper)",
    "7ess-v3": "V3 (wider)",
    "7ess-v4": "V4 (tuned)",
    "7ess-v5": "V5 (subset)",
    "7ess-v6": "V6 (longer input)",
    "7ess-v7": "V7 (extra deep)",
    "7ess-v8": "V8 (balanced)",
    "7ess-v9": "V9 (more heads)",
    "7ess-v10": "V10 (long seq.)",
}
VERSIONS = tuple(TITLES)
AT_EPOCHS = ("7ess-v1", *(f"{version}-{ROPE}" for version in VERSIONS if version != "7ess-v2"))  # V2 is V6 here: no tweet is cut
DRAWN = ("7ess-v1", "7ess-v2", "7ess-v3", "7ess-v5", "7ess-v6")  # versions of the paper's figures 2 to 4


def both(versions: Sequence[str]) -> tuple[str, ...]:
    """Versions, each in its first and second phase."""
    return tuple(name for version in versions for name in (version, f"{version}-{ROPE}"))


PRESETS = {
    name: replace(preset, title=f"7ess-Xin {TITLES[name]}")
    for name, preset in zip(
        VERSIONS,
        (
            _version(),
            _version(6),
            _version(3, 256, 8, 4, batch_size=32),
            _version(batch_size=128, dropout=0.2, learning_rate=1e-4),
            _version(rows=100_000),
            _version(6, max_length=148),
            _version(8, max_length=148),
            _version(5, 192, 6, 3, max_length=148),
            _version(6, heads=16, max_length=148),
            _version(6, max_length=256, batch_size=48),
        ),
        strict=True,
    )
}
