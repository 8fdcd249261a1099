"""What one model's attention map has more of than another's."""

from __future__ import annotations

from dataclasses import replace

from sentviz.figures.attention import heatmap
from sentviz.figures.colours import Theme
from sentviz.figures.figure import Figure, file_safe, sentence
from sentviz.figures.maps import component_name, component_slug, head_slug
from sentviz.figures.text import as_run
from sentviz.runs.trace import Trace


def difference_map(
    trace: Trace,
    first: str,
    layer: int,
    head: int | str = "mean",
    component: int | str = "effective",
    *,
    pieces: str = "tokens",
    side: int = 460,
    theme: Theme = "light",
) -> Figure:
    """A map of differences, green where the second model looks more, purple where the first does.

    Args:
        trace: of the second run; its map holds second minus first, as `sentviz.analysis.maps.compare.map_difference` gives it.
        first: name of the first run.
        layer, head, component: which map, counted from 0.
        pieces: what rows and columns are: tokens or words.
    Frame:
        as of `heatmap`; attention is the difference.
    """
    drawn = heatmap(trace, layer, head, component, side=side, theme=theme)
    who = f"{head} of heads" if isinstance(head, str) else f"head {head + 1}"
    drawn.plot.update_layout(title_text=f"{as_run(trace.run, 26)} − {as_run(first, 26)}")
    shown = drawn.frame["key"].nunique()
    what = "effective attention" if component == "effective" else component_name(component)
    caption = sentence(
        [
            f"{trace.run} minus {first}: {what} of layer {layer + 1}, {who}, over the {len(trace.tokens)} {pieces} that both read.",
            f"Green: {trace.run} looks there more; purple: {first} does. Each row is a query.",
            f"The {shown} keys with the largest differences are shown." if shown < len(trace.tokens) else "",
            "° marks what one of the vocabularies lacks." if trace.unknown.any() else "",
        ]
    )
    name = file_safe("difference", trace.run, first, f"layer{layer + 1}", head_slug(head), component_slug(component))
    return replace(drawn, name=name, caption=caption)
