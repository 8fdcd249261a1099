"""Direct attribution: the contribution of each part of a model to the log-odds, beside the logit lens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from sentviz.charts.chart import Axis, Chart, Panels, Rule, bars, line
from sentviz.charts.figure import Figure
from sentviz.charts.options import choice
from sentviz.charts.patching import signed_map
from sentviz.charts.registry import figure
from sentviz.charts.requirements import REPLACES
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import subscript
from sentviz.io.lazy import pd

if TYPE_CHECKING:
    from sentviz.analysis.causal.direct import DirectAttribution

SUMS = {"part": "by layer, beside the logit lens", "token": "by token", "head": "by head"}
SMALL = 0.005  # log-odds that are written as 0.00
SUMMED = 1e-4  # difference of the logits and their sum below which nothing is missing


def _bars(sums: DirectAttribution, rows: Sequence[str], values: Sequence[float], lens: Sequence[float]) -> Figure:
    """Draw a bar for each part of a model, in the order in which a text passes them, and the logit lens after each layer.

    Args:
        rows: names of the parts. values: what each adds to the log-odds.
        lens: log-odds if the classifier reads the states after this part; NaN where no layer ends.
    Frame:
        part, value, lens.
    """
    frame = pd.DataFrame({"part": rows, "value": values, "lens": lens}).astype({"value": float, "lens": float})
    folded = _folded(frame)
    drawn = folded.assign(tint=np.where(folded["value"] > 0, "plus", "minus"), panel="added", place=range(len(folded)))
    ends = drawn.dropna(subset="lens").assign(panel="lens")
    marks = [
        bars(drawn, "value", "place", tint="tint", text="{value:+.2f}", hover="{part}: {value:+.3f}"),
        line(ends, "lens", "place", role=1, hover="classifier on these states: {lens:+.3f}"),
    ]
    panels = Panels("panel", {"added": "added to the log-odds", "lens": "logit lens"}, 2)
    named = Axis(rows=dict(enumerate(folded["part"])))
    remark = f" Neighbouring parts that add less than {SMALL} each share a row." if len(folded) < len(frame) else ""
    chart = Chart(f"What adds to {sums.label} over {sums.against}", marks, Axis(), named, panels=panels, rules=[Rule(x=0, solid=True)])
    caption = (
        f"Log-odds of {sums.label} over {sums.against} as a sum of what each part of the model adds to the states, with the factors of all"
        f" norms frozen. Right: the log-odds if the classifier reads the states after this part.{remark} {sums.complete}"
    )
    return Figure("attribution-direct", chart, frame, caption.strip())


def _folded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, of which neighbours that add less than `SMALL` share one, with their sum and the lens after the last of them."""
    small = frame["value"].abs() < SMALL
    runs = (~small | (small != small.shift())).cumsum()
    parts = [frame[runs == run] for run in runs.unique()]
    names = [part["part"].iloc[0] if len(part) == 1 else f"{part['part'].iloc[0]} and {len(part) - 1} more" for part in parts]
    ends = [next(iter(part["lens"].dropna()[::-1]), np.nan) for part in parts]
    return pd.DataFrame({"part": names, "value": [part["value"].sum() for part in parts], "lens": ends})


@figure("attribution-direct", "The log-odds as a sum over the parts of the model", Sentence, REPLACES)
def _attribution_direct(of: Sentence, *, by: Annotated[str, choice(SUMS)] = "part", selected: Any = ()) -> Figure:
    """Draw the parts as bars beside the logit lens, or the contributions by token or by head."""
    sums = direct_of(of)
    layers, components, heads, _ = sums.read.shape
    if by == "part":
        rows, values, lens = ["embedding"], [sums.embedding.sum()], [sums.lens[0]]
        for layer in range(layers):
            rows += [f"layer {layer + 1} heads", f"layer {layer + 1} feed-forward"]
            values += [sums.read[layer].sum(), sums.feedforward[layer].sum()]
            lens += [np.nan, sums.lens[layer + 1]]
        rest = [("biases of norms", sums.norms), ("other biases", sums.biases)] + [("not known", sums.rest)] * (abs(sums.rest) > SUMMED)
        rows += [name for name, _ in rest]
        values += [value for _, value in rest]
        return _bars(sums, rows, values, [*lens, *[np.nan] * len(rest)])
    about = (
        f"Log-odds of {sums.label} over {sums.against}: what each part adds directly, with the factors of all norms frozen. {sums.complete}"
    )
    if by == "head":
        rows = [f"layer {layer + 1}" for layer in range(layers)]
        columns = [f"head {h + 1}" + f" A{subscript(c + 1)}" * (components > 1) for h in range(heads) for c in range(components)]
        cells = sums.read.sum(axis=3).transpose(0, 2, 1).reshape(layers, -1)
    else:
        rows, cells = ["embedding"], np.concatenate([sums.embedding[None], np.zeros((2 * layers, len(sums.tokens)))])
        cells[1::2], cells[2::2] = sums.read.sum(axis=(1, 2)), sums.feedforward
        for layer in range(layers):
            rows += [f"L{layer + 1} heads", f"L{layer + 1} feed-fwd."]
        columns = list(sums.tokens)
        about += " A head counts at the tokens that it reads, a feed-forward network at the token whose state it changes."
    return signed_map(
        cells,
        rows,
        columns,
        name=f"attribution-direct-{by}s",
        title=f"What adds to {sums.label} over {sums.against}, by {by}",
        about=about,
        unit="log-odds",
        first_row=int(by == "head"),
        kind=by,
        chosen=selected or (),
    )


def direct_of(of: Sentence) -> DirectAttribution:
    """Return the direct attribution of a sentence, computed once."""

    def compute() -> DirectAttribution:
        from sentviz.analysis.causal.direct import direct_attribution

        return direct_attribution(of.model, of.trace)

    result: DirectAttribution = of.once("direct", compute)
    return result
