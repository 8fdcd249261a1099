"""Figures of the SentiFormer paper: of its study, from every run at hand; of what is measured or learned without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


def _sets() -> Sequence[str]:
    from sentviz.papers.sentiformer.study import DATASETS

    return list(DATASETS)


def _readings() -> Sequence[str]:
    from sentviz.papers.sentiformer.study import READINGS

    return list(READINGS)


@figure("sentiformer-accuracy", "SentiFormer and its baselines beside the print", Study, "beside:measured_beside_printed", sets=_sets)
def _accuracy(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.sentiformer.export import accuracy_figure

    return accuracy_figure(of.runs, of.name, theme)


@figure("sentiformer-parts", "SentiFormer without each of its parts", Study, "gains:gain_dots", sets=_readings)
def _parts(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.sentiformer.export import ablation_figure

    return ablation_figure(of.runs, of.name, theme)


@figure("separation", "Proposition 2: who still sees the first word", Study, "separation:accuracy_by_length")
def _separation(
    of: Study, *, positions: str = "aware", longest: int = 24, seed: int = 0, rows: int = 6_000, epochs: int = 3, theme: Theme = "light"
) -> Figure:
    from sentviz.figures.separation import accuracy_by_length
    from sentviz.papers.sentiformer.solvers import Setting, separate

    made = separate(Setting(positions, longest, seed, rows, epochs))  # type: ignore[arg-type]
    return learned_by(accuracy_by_length(made.accuracy, trained=longest, theme=theme), made.setting)


def learned_by(figure: Figure, setting: Any) -> Figure:
    """The figure with what was learned for it, a `solvers.Setting`."""
    said = f"learned when asked: {setting.rows:,} sequences, {setting.epochs} epochs, {setting.positions} positions, seed {setting.seed}"
    return replace(figure, source=said)


@figure("time-by-length", "Time of one text by its length, full and sparse", Study, "crossing:crossing_curves")
def _time_by_length(of: Study, *, threads: int = 1, theme: Theme = "light") -> Figure:
    from sentviz.papers.sentiformer.export import growth_figure

    return growth_figure(threads, theme)
