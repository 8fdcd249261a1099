"""A map of attention for texts of any length, in words: what it shows, what a window sees, and which tokens a cell stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sentviz.analysis.maps import coarse_map
from sentviz.analysis.maps.arithmetic import plain
from sentviz.analysis.maps.coarse_map import How, Kind, TokenMap, Units, WindowVisibility
from sentviz.charts.attention import heatmap
from sentviz.charts.figure import Figure
from sentviz.charts.maps import component_name
from sentviz.charts.subjects import sourced
from sentviz.io.numbers import percent
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


@dataclass(frozen=True)
class MapView:
    """A map and the way in which its tokens are merged into units."""

    layer: int
    head: int | str
    component: int | str
    kind: Kind
    queries: How
    keys: How

    @property
    def words(self) -> str:
        """Name of the map, such as "Effective attention of layer 1, head 2"."""
        what = "Effective attention" if self.component == "effective" else component_name(self.component)
        who = f"{self.head} over heads" if isinstance(self.head, str) else f"head {self.head + 1}"
        return f"{what} of layer {self.layer + 1}, {who}"

    @property
    def together(self) -> str:
        """Sentence about the merging of tokens into units; "" for tokens."""
        if self.kind == "tokens":
            return ""
        unit = {"words": "word", "sentences": "sentence"}[self.kind]
        merging = {"sum": "the sum", "mean": "the mean", "max": "the value farthest from 0"}
        return f"The weight between two {unit}s is {merging[self.keys]} over the keys, then {merging[self.queries]} over the queries."

    def figure(self, trace: Trace, run: Run, units: Units) -> Figure:
        """Return the map as a figure; of a long one only the units that receive most, with the hidden attention in the caption."""
        merged = trace
        if self.kind != "tokens":
            merged = coarse_map.merged(trace, units, self.layer, self.head, self.component, queries=self.queries, keys=self.keys)
        drawn = heatmap(merged, self.layer, self.head, self.component)
        return sourced(replace(drawn, caption=" ".join(filter(None, [drawn.caption, self.together]))), run, trace=trace)


def sight_in_words(sight: WindowVisibility) -> str:
    """Return a sentence about the tokens that an attention window can see."""
    places = [f"{place + 1:,}" for place in sight.globals]
    listed = f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else "".join(places)
    share = percent(sight.share) if sight.share < 0.995 else "nearly all"
    return (
        f"Every token sees {sight.window // 2} tokens to each side"
        + (f" and the global token{'s' * (len(places) > 1)} {listed} (dashed)" if places else "")
        + f": {share} of the map. All other weights are 0."
    )


def token_cell(source: TokenMap, units: Units, tokens: Units, at: tuple[int, int]) -> tuple[int, int, str]:
    """Return query and key token of a cell, and a note; for larger units the strongest pair of tokens in the cell."""
    (top, bottom), (left, right) = ((int(units.starts[i]), int(units.ends[i])) for i in at)
    if bottom - top == right - left == 1:
        return top, left, ""
    inside = coarse_map.tile(source, tokens, (top, bottom), (left, right))
    row, column = np.unravel_index(int(np.abs(inside).argmax()), inside.shape)
    return top + int(row), left + int(column), f"This is the strongest of the {inside.size:,} pairs of tokens in the cell."


def head_of_cell(trace: Trace, view: MapView, query: int, key: int) -> tuple[int, str]:
    """Return the head whose arithmetic is drawn, for a mean or maximum the one with the largest weight, and a sentence about all heads."""
    if not isinstance(view.head, str):
        return view.head, ""
    weights = [float(trace.rows(view.layer, query, query + 1, head, view.component)[0, key]) for head in trace.head_ids]
    best = int(np.argmax(np.abs(weights) if view.head == "mean" else weights))
    summary = f"The mean of {len(weights)} heads" if view.head == "mean" else f"The largest of {len(weights)} heads"
    return (
        trace.head_ids[best],
        f"{summary}: {', '.join(map(plain, weights))}. The steps below are those of head {trace.head_ids[best] + 1}, whose weight is"
        " largest.",
    )
