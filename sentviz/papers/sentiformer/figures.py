"""Figures of the SentiFormer paper: of its study, from all runs that studies read, and of measurements that need no run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError
from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study, sourced

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


def _sets() -> Sequence[str]:
    from sentviz.papers.sentiformer.study import DATASETS

    return list(DATASETS)


def _readings() -> Sequence[str]:
    from sentviz.papers.sentiformer.study import READINGS

    return list(READINGS)


@figure("sentiformer-accuracy", "SentiFormer and its baselines, measured and reported", Study, "beside:measured_beside_printed", sets=_sets)
def _accuracy(of: Study, *, theme: Theme = "light") -> Figure:
    """Draw table I on a data set: dots next to the printed diamonds.

    Raises:
        InputError: nothing is measured.
    """
    from sentviz.figures.beside import measured_beside_printed
    from sentviz.papers.sentiformer import prints, tables
    from sentviz.papers.sentiformer.study import DATASETS, MODELS, beside, configurations
    from sentviz.papers.studies.collected import points

    by_model = {name: seeds for name, seeds in configurations(of.runs, of.name).items() if MODELS[name] not in prints.TITLES.values()}
    if not by_model:
        raise InputError(f"No run on {DATASETS[of.name]} is installed: `sentviz study sentiformer --dataset {of.name}` trains them.")
    single = points(by_model, "accuracy")
    single["model"] = single["model"].map(MODELS)
    title = f"Accuracy on {DATASETS[of.name]}"
    drawn = measured_beside_printed(tables.main(beside(of.runs, of.name)), single, title=title, percent=True, theme=theme)
    return sourced(drawn, *(run for seeds in by_model.values() for run in seeds))


@figure("sentiformer-parts", "SentiFormer without each of its parts", Study, "gains:gain_dots", sets=_readings)
def _parts(of: Study, *, theme: Theme = "light") -> Figure:
    """Draw table II: differences from the complete model.

    Raises:
        InputError: there is no ablation of a complete model.
    """
    from sentviz.figures.gains import gain_dots
    from sentviz.papers.sentiformer.study import DATASETS, ablations, configurations

    frame = ablations(of.runs, of.name)
    if frame.empty:
        command = f"sentviz study sentiformer-ablations --dataset {of.name}"
        raise InputError(f"No ablation is installed on {DATASETS[of.name]}: `{command}` trains them.")
    frame = frame.assign(row=frame["title"], kind=frame["test"].map({"over seeds": "over seeds", "McNemar": "one seed"}))
    drawn = gain_dots(
        frame,
        frame.rename(columns={"printed": "value"})[["row", "value"]].dropna().assign(encoder="SentiFormer"),
        order=list(frame["row"]),
        title=f"Accuracy without each part on {DATASETS[of.name]}",
        base="the whole",
        each="",
        theme=theme,
    )
    by_model = configurations(of.runs, of.name)
    return sourced(drawn, *(run for name in ["sentiformer", *frame["model"]] for run in by_model[name]))


@figure("separation", "Proposition 2: which models can use the first word", Study, "separation:accuracy_by_length")
def _separation(
    of: Study, *, positions: str = "aware", longest: int = 24, seed: int = 0, rows: int = 6_000, epochs: int = 3, theme: Theme = "light"
) -> Figure:
    from sentviz.figures.separation import accuracy_by_length
    from sentviz.papers.sentiformer.solvers import Setting, separate

    separation = separate(Setting(positions, longest, seed, rows, epochs))  # type: ignore[arg-type]
    return learned_by(accuracy_by_length(separation.accuracy, trained=longest, theme=theme), separation.setting)


def learned_by(figure: Figure, setting: Any) -> Figure:
    """Return the figure with the setting of the models that were trained for it, a `solvers.Setting`."""
    source = f"trained on request: {setting.rows:,} sequences, {setting.epochs} epochs, {setting.positions} positions, seed {setting.seed}"
    return replace(figure, source=source)


@figure("time-by-length", "Time of one text by its length, full and sparse", Study, "crossing:crossing_curves")
def _time_by_length(of: Study, *, threads: int = 1, theme: Theme = "light") -> Figure:
    """Draw the stored time of one text by its length, with full and with sparse attention.

    Raises:
        InputError: nothing is measured, or not with this number of threads.
    """
    from sentviz.figures.crossing import crossing_curves
    from sentviz.papers.sentiformer import throughput

    about, frame = throughput.growth_table().caption, throughput.curves(threads)
    crossings = {
        str(part): throughput.crossing(rows["tokens"].to_numpy(), rows["times"].to_numpy()) for part, rows in frame.groupby("of", sort=True)
    }
    return crossing_curves(frame, crossings, about=about, theme=theme)
