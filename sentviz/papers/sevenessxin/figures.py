"""Figures of 7ess-Xin: of its study, from every run at hand; the importance of tokens in its first layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.gallery.registry import figure
from sentviz.gallery.sentence import MAPS
from sentviz.gallery.subjects import Sentence, Study

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


def _sets() -> Sequence[str]:
    from sentviz.papers.sevenessxin.prints import DATASET

    return [DATASET]


@figure("versions-beside-print", "The ten versions of 7ess-Xin beside the print", Study, "beside:measured_beside_printed", sets=_sets)
def _versions(of: Study, *, metric: str = "accuracy", theme: Theme = "light") -> Figure:
    from sentviz.papers.sevenessxin.export import beside_figure

    return beside_figure(of.runs, metric, theme)


@figure("rope-gains", "RoPE and QK-norm against sinusoids, version by version", Study, "gains:gain_dots", sets=_sets)
def _gains(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.sevenessxin.export import gains_figure

    return gains_figure(of.runs, theme)


@figure("learning-curve", "Accuracy over the number of tweets learned from", Study, "learning:learning_curve", sets=_sets)
def _curve(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.sevenessxin.export import curve_figure

    return curve_figure(of.runs, theme)


@figure("token-importance", "How much each token is looked at in a layer", Sentence, "attention:token_importance", MAPS)
def _importance(of: Sentence, *, layer: int = 0, theme: Theme = "light") -> Figure:
    """7ess-Xin, section IV-D3: attention averaged over the heads, then over the queries; a map's row sums to 1, and so do these."""
    from sentviz.figures.attention import token_importance

    trace = of.trace
    values, real = trace.map(layer).mean(axis=0), len(trace.tokens) - trace.padding
    return token_importance(
        trace.tokens[:real],
        values[:real],
        title=f"Importance of each token in layer {layer + 1}",
        rest=float(values[real:].sum()),
        theme=theme,
    )
