"""The scene of a trace: which words are one, what each is worth, what colours them."""

from __future__ import annotations

import numpy as np

from sentviz.analysis.explain import SCORES, deviation
from sentviz.analysis.explain.leave_out import words
from sentviz.browser.canvas import Floats, Pick, Scale, Scene, tour
from sentviz.figures.strip import anchored
from sentviz.runs.configs import Capabilities
from sentviz.runs.trace import Trace

TITLE = 120  # letters


def scene_of(
    trace: Trace,
    has: Capabilities,
    score: str = "removal",
    *,
    heads: Floats | None = None,
    before: Trace | None = None,
    chosen: Pick | None = None,
    pinned: int | None = None,
) -> Scene:
    """What is shown of a sentence.

    Args:
        has: what its model can show.
        score: what the words are coloured by, a name of `SCORES` that the trace has; beside it "removal" is needed.
        heads: (L, H) fall of the answer's log-odds when a head is silenced, as `sentviz.analysis.maps.silenced` measures it.
        before: the same text asked of the model as it was trained, where something was changed by hand.
        chosen: the map to show large. pinned: the token that is lit.
    """
    how, coloured = SCORES[score], deviation(trace, score)
    units, removal = [word.indices for word in words(trace)], trace.token_scores["removal"]
    if (places := trace.units.get(score)) is not None:  # the score is of units of several words
        found = (np.flatnonzero(places == unit) for unit in np.unique(places))
        units, removal = [tuple(unit.tolist()) for unit in found if not trace.specials[unit].any()], coloured
    return Scene(
        trace,
        has,
        scores=coloured,
        tones=np.asarray(anchored(np.nan_to_num(coloured), how.full, how.knee), dtype=np.float32),
        scale=Scale(how.title, how.low, how.high),
        units=units,
        falls=removal[[unit[0] for unit in units]],
        heads=heads,
        before=None if before is None else before.probabilities,
        chosen=chosen,
        pinned=pinned,
        title=f"“{trace.text if len(trace.text) <= TITLE else trace.text[: TITLE - 1] + '…'}”",
        steps=tour(has),
    )
