"""Replace states inside a model and measure what happens to its prediction; take its logits apart."""

from sentviz.analysis.causal.direct import DirectAttribution, direct_attribution
from sentviz.analysis.causal.patching import Joint, Pair, PatchMap, patch

__all__ = ["DirectAttribution", "Joint", "Pair", "PatchMap", "direct_attribution", "patch"]
