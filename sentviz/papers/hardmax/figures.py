"""Figures of the hardmax paper, from every run at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure, Theme

__all__: list[str] = []


@figure("hardmax-accuracy", "Test accuracy by dimension", Study, "beside:measured_beside_printed")
def _hardmax_accuracy(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.figures.beside import measured_beside_printed
    from sentviz.gallery.subjects import sourced
    from sentviz.papers.hardmax.claims import beside

    table = beside(of.runs)
    frame = table.assign(model=[f"d = {d}" for d in table["d"]], printed=table["public"], seeds=1)
    made = measured_beside_printed(frame, title="Test accuracy by dimension", percent=True, other="the public code's best", theme=theme)
    return sourced(made, *(run for run in of.runs if run.name in set(table["run"])))
