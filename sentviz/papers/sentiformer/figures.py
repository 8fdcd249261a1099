"""Figures of the SentiFormer paper."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure, Theme

__all__ = ["learned_by"]


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
