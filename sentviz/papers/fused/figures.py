"""Figures of the Sentiment-Fused study, from every run at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


def _sets() -> Sequence[str]:
    from sentviz.papers.fused.study import DATASETS

    return list(DATASETS)


@figure("gains", "Gain of every setting over the baseline", Study, "gains:gain_dots", sets=_sets)
def _gains(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.fused.export import gains_figure

    return gains_figure(of.runs, of.name, theme)


@figure("gains-out-of-domain", "Gain on the out-of-domain tasks", Study, "gains:gain_dots")
def _tasks(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.fused.export import tasks_figure

    return tasks_figure(of.runs, theme)


@figure("cls-lines", "Attention from and to [CLS] by layer", Study, "heads:layer_lines", sets=_sets)
def _cls(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.fused.export import cls_figure

    return cls_figure(of.runs, of.name, theme)


@figure("coverage", "The share of tokens that stay neutral", Study, "lexicon:coverage_bars")
def _coverage(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.papers.fused.export import covered_figure

    return covered_figure(theme)
