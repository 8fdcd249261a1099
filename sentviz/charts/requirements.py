"""The requirements of figures on a run, which several modules share, and the seed of projections and word clouds."""

from __future__ import annotations

from sentviz.charts.registry import capability

REPLACES = capability("replaces", "states that can be replaced", "{run} has no states of tokens that can be replaced.")
MAPS = capability("maps", "attention maps")
SOFTMAX = capability("softmax", "softmax", "The attention of {run} is not a softmax of scores, so its weights cannot be decomposed.")
GATE = capability("gate", "gates", "{run} has no gates. Runs of the preset sentiformer have gates.")
AWARE = capability(
    "aware", "positions of several signals", "The positions of {run} have only one part. Runs of the preset sentiformer have three parts."
)
CLASSES = capability("predicts", "classes")
MOVING = capability(
    "moving",
    "tokens that move as points",
    "The tokens of {run} do not move as points. `sentviz train imdb --model hardmax-d2` trains a model whose tokens do.",
)
SEED = 0  # seed of projections and word clouds
