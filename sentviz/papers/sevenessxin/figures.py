"""Figures of 7ess-Xin: of its study, from all runs that studies read, and the importance of tokens in a layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.errors import InputError
from sentviz.gallery.registry import figure
from sentviz.gallery.sentence import MAPS
from sentviz.gallery.subjects import Sentence, Study, sourced

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


def _sets() -> Sequence[str]:
    from sentviz.papers.sevenessxin.prints import DATASET

    return [DATASET]


@figure("versions-beside-print", "The ten versions of 7ess-Xin, measured and reported", Study, "beside:measured_beside_printed", sets=_sets)
def _versions(of: Study, *, metric: str = "accuracy", theme: Theme = "light") -> Figure:
    """Draw a metric of every version and phase: dots next to the printed diamonds.

    Raises:
        InputError: the paper does not print this metric, or there is no run.
    """
    from sentviz.figures.beside import measured_beside_printed
    from sentviz.papers.sevenessxin import prints
    from sentviz.papers.sevenessxin.study import beside, configurations
    from sentviz.papers.studies.collected import points

    titles = prints.METRICS | {"validation_f1": "validation F1"}
    if metric not in titles:
        raise InputError(f"7ess-Xin reports {', '.join(titles)}, not {metric!r}.")
    by_version = configurations(of.runs)
    if not by_version:
        raise InputError(f"No version of 7ess-Xin is installed: `{prints.train()}` trains them.")
    single = points(by_version, metric)
    single["model"] = single["model"].map(prints.title)
    title = f"{titles[metric][0].upper()}{titles[metric][1:]} on Sentiment140"
    drawn = measured_beside_printed(beside(of.runs, metric), single, title=title, percent=True, theme=theme)
    return sourced(drawn, *(run for seeds in by_version.values() for run in seeds))


@figure("rope-gains", "RoPE and QK-norm against sinusoids, version by version", Study, "gains:gain_dots", sets=_sets)
def _gains(of: Study, *, theme: Theme = "light") -> Figure:
    """Draw the gains of the second phase, version by version.

    Raises:
        InputError: no version is trained in both phases.
    """
    from sentviz.figures.gains import gain_dots
    from sentviz.papers.sevenessxin import prints
    from sentviz.papers.sevenessxin.presets import both
    from sentviz.papers.sevenessxin.study import configurations, gains

    frame = gains(of.runs)
    if frame.empty:
        raise InputError(f"No version is installed in both phases: `{prints.train()}` trains them.")
    printed = frame[["row", "printed"]].rename(columns={"printed": "value"}).dropna().assign(encoder="7ess-Xin")
    title, order = "Accuracy with RoPE and QK-norm", list(frame["row"])
    drawn = gain_dots(frame, printed, order=order, title=title, base="sinusoids", each="", theme=theme)
    by_version = configurations(of.runs)
    return sourced(drawn, *(run for version in frame["version"] for name in both([version]) for run in by_version[name]))


@figure("learning-curve", "Accuracy by number of training tweets", Study, "learning:learning_curve", sets=_sets)
def _curve(of: Study, *, theme: Theme = "light") -> Figure:
    """Draw the accuracy of V1 by the number of tweets.

    Raises:
        InputError: nothing is measured.
    """
    from sentviz.figures.learning import learning_curve
    from sentviz.papers.sevenessxin import prints
    from sentviz.papers.sevenessxin.presets import VERSIONS, both
    from sentviz.papers.sevenessxin.study import curve, sized

    frame = curve(of.runs)
    if frame["value"].isna().all():
        raise InputError(f"No run of the learning curve is installed: `{prints.train('sevenessxin-curve')}` trains them.")
    titles = {name: prints.title(name) for name in both(VERSIONS[:1])}
    note = "All our points have the same number of updates. The reported V5 (80,000 tweets) and V1 (1,280,000) have more updates."
    drawn = learning_curve(frame, titles, title="Accuracy by number of training tweets", unit="tweets", note=note, theme=theme)
    return sourced(drawn, *(run for preset in titles for seeds in sized(of.runs, preset).values() for run in seeds))


@figure("token-importance", "Attention that each token gets in a layer", Sentence, "attention:token_importance", MAPS)
def _importance(of: Sentence, *, layer: int = 0, theme: Theme = "light") -> Figure:
    """Draw attention averaged over the heads, then over the queries (7ess-Xin, section IV-D3); the importances sum to 1."""
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
