"""Names of the ten versions of 7ess-Xin, and the endings of these names: second phase, padding, variants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sentviz.runs.registry import read_paper

_PAPER = read_paper(Path(__file__).parent)
VERSIONS = tuple(_PAPER.presets)
ROPE, UNMASKED = _PAPER.additions
SIZES = _PAPER.studies["sevenessxin-curve"].variants  # training rows
LONGER = _PAPER.studies["sevenessxin-updates"].variants  # four times the updates
EPOCHS = _PAPER.studies["sevenessxin-epochs"].variants  # the recipe's epochs on the fewest and on all rows
AT_EPOCHS = _PAPER.studies["sevenessxin-versions-epochs"].models
DRAWN = ("7ess-v1", "7ess-v2", "7ess-v3", "7ess-v5", "7ess-v6")  # versions of the paper's figures 2 to 4


def both(versions: Sequence[str]) -> tuple[str, ...]:
    """Versions, each in its first and second phase."""
    return tuple(name for version in versions for name in (version, f"{version}-{ROPE}"))
