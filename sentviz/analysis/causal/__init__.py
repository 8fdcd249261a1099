"""Replace states inside a model and measure what happens to its prediction."""

from sentviz.analysis.causal.patching import Joint, Pair, PatchMap, patch

__all__ = ["Joint", "Pair", "PatchMap", "patch"]
