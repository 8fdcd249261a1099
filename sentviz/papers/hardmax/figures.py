"""Figures of the hardmax paper, from every run at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


@figure("hardmax-accuracy", "Test accuracy by dimension", Study, "beside:measured_beside_printed")
def _hardmax_accuracy(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.hardmax.export import accuracy_figure

    return accuracy_figure(of.runs, theme)


@figure("hardmax-nearness", "Words at a leader, by what counts as near", Study, "nearness:nearness_curve")
def _hardmax_nearness(of: Study, *, d: int = 2, theme: Theme = "light") -> Figure:
    from sentviz.papers.hardmax.export import nearness_figure

    return nearness_figure(of.runs, d, theme)
