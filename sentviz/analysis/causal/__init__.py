"""Replace states inside a model and measure what happens to its prediction; take its logits apart; find circuits."""

from sentviz.analysis.causal.average import PatchAverage, averages
from sentviz.analysis.causal.circuit import Circuit, circuit
from sentviz.analysis.causal.direct import DirectAttribution, direct_attribution
from sentviz.analysis.causal.patching import Joint, Pair, PatchMap, patch

__all__ = [
    "Circuit",
    "DirectAttribution",
    "Joint",
    "Pair",
    "PatchAverage",
    "PatchMap",
    "averages",
    "circuit",
    "direct_attribution",
    "patch",
]
