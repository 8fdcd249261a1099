"""Figures of the SentiFormer study, from every run at hand; in the place of a run they take one of its data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure, Theme

__all__: list[str] = []


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


@figure("time-by-length", "Time of one text by its length, full and sparse", Study, "crossing:crossing_curves")
def _time_by_length(of: Study, *, threads: int = 1, theme: Theme = "light") -> Figure:
    from sentviz.papers.sentiformer.export import growth_figure

    return growth_figure(threads, theme)
