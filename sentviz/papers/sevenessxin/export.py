"""What each table and figure of 7ess-Xin is made of."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.errors import InputError
from sentviz.figures.colours import Theme
from sentviz.figures.figure import Figure
from sentviz.gallery import sourced
from sentviz.papers.sevenessxin import prints, tables
from sentviz.papers.sevenessxin.presets import VERSIONS, both
from sentviz.papers.sevenessxin.study import beside, configurations, curve, gains, sized
from sentviz.papers.studies.collected import points
from sentviz.papers.studies.made import Made, Maker
from sentviz.runs.store import Run


def train(study: str = "sevenessxin") -> str:
    """The command that trains what is missing."""
    return f"sentviz study {study} --dataset {prints.DATASET}"


def beside_figure(runs: Sequence[Run], metric: str = "accuracy", theme: Theme = "light") -> Figure:
    """A metric of every version and phase as dots beside the printed diamonds.

    Raises:
        InputError: no such metric, or no run.
    """
    from sentviz.figures.beside import measured_beside_printed

    titles = prints.METRICS | {"validation_f1": "validation F1"}
    if metric not in titles:
        raise InputError(f"7ess-Xin prints {', '.join(titles)}, not {metric!r}.")
    here = configurations(runs)
    if not here:
        raise InputError(f"There is no version of 7ess-Xin here: `{train()}` trains them.")
    single = points(here, metric)
    single["model"] = single["model"].map(prints.title)
    title = f"{titles[metric][0].upper()}{titles[metric][1:]} on Sentiment140"
    made = measured_beside_printed(beside(runs, metric), single, title=title, percent=True, theme=theme)
    return sourced(made, *(run for seeds in here.values() for run in seeds))


def gains_figure(runs: Sequence[Run], theme: Theme = "light") -> Figure:
    """What the second phase is worth, version by version.

    Raises:
        InputError: no version is here in both phases.
    """
    from sentviz.figures.gains import gain_dots

    frame = gains(runs)
    if frame.empty:
        raise InputError(f"No version is here in both phases: `{train()}` trains them.")
    printed = frame[["row", "printed"]].rename(columns={"printed": "value"}).dropna().assign(encoder="7ess-Xin")
    made = gain_dots(
        frame, printed, order=list(frame["row"]), title="Accuracy with RoPE and QK-norm", base="sinusoids", each="", theme=theme
    )
    here = configurations(runs)
    return sourced(made, *(run for version in frame["version"] for name in both([version]) for run in here[name]))


def curve_figure(runs: Sequence[Run], theme: Theme = "light") -> Figure:
    """Accuracy of V1 over the number of tweets.

    Raises:
        InputError: nothing of it is measured.
    """
    from sentviz.figures.learning import learning_curve

    frame = curve(runs)
    if frame["value"].isna().all():
        raise InputError(f"No run of the learning curve is here: `{train('sevenessxin-curve')}` trains them.")
    titles = {name: prints.title(name) for name in both(VERSIONS[:1])}
    note = "Every point has the same number of updates; printed are V5 (80,000 tweets learned from) and V1 (1,280,000), with more updates."
    made = learning_curve(frame, titles, title="Accuracy by tweets learned from", unit="tweets", note=note, theme=theme)
    return sourced(made, *(run for preset in titles for seeds in sized(runs, preset).values() for run in seeds))


def _results(runs: Sequence[Run]) -> list[Made]:
    return [tables.results(runs), *([beside_figure(runs)] if configurations(runs) else [])]


def _phases(runs: Sequence[Run]) -> list[Made]:
    return [tables.phases(runs), *([gains_figure(runs)] if len(gains(runs)) else [])]


def _curve(runs: Sequence[Run]) -> list[Made]:
    return [curve_figure(runs)] if curve(runs)["value"].notna().any() else []


def _updates(runs: Sequence[Run]) -> list[Made]:
    made = tables.more_updates(runs)
    return [made] if len(made.frame) else []


def _added(name: str) -> Maker:
    return lambda runs: [made] if (made := tables.added().get(name)) else []


MAKERS: dict[str, Maker] = {
    "versions": lambda runs: [tables.settings(runs)],
    "results": _results,
    "phases": _phases,
    "log": lambda runs: [tables.log(runs)],
    "learning-curve": _curve,
    "updates": _updates,
    **{name: _added(name) for name in ("padding", "neutral", "leak-costs", "leak-words")},
}
