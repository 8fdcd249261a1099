"""Which function draws a section of a paper of the house that is not figures of the gallery alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pkgutil import resolve_name

from sentviz.runs.registry import Paper, Section
from sentviz.runs.store import Run

OWN = {  # paper, section -> function, imported when the section is opened
    ("fused", "results"): "app.views.papers.fused.gains:show",
    ("fused", "statistics"): "app.views.papers.fused.parts:statistics",
    ("fused", "cls"): "app.views.papers.fused.parts:cls",
    ("fused", "tasks"): "app.views.papers.fused.gains:out_of_domain",
    ("fused", "coverage"): "app.views.papers.fused.parts:covered",
    ("hardmax", "pictures"): "app.views.papers.hardmax.pictures:show",
    ("ndt", "results"): "app.views.papers.ndt.results:show",
    ("ndt", "compare"): "app.views.papers.ndt.compare:show",
    ("ndt", "lambda"): "app.views.papers.ndt.lambdas:show",
    ("ndt", "cost"): "app.views.papers.ndt.cost:show",
    ("sentiformer", "results"): "app.views.papers.sentiformer.results:show",
    ("sentiformer", "parts"): "app.views.papers.sentiformer.parts:show",
    ("sentiformer", "gates"): "app.views.papers.sentiformer.gates:show",
    ("sentiformer", "speed"): "app.views.papers.sentiformer.speed:show",
    ("sentiformer", "theory"): "app.views.papers.sentiformer.theory:show",
    ("sentiformer", "failures"): "app.views.papers.sentiformer.failures:show",
    ("sevenessxin", "results"): "app.views.papers.sevenessxin.results:show",
    ("sevenessxin", "phases"): "app.views.papers.sevenessxin.results:phases",
    ("sevenessxin", "curve"): "app.views.papers.sevenessxin.results:curve",
    ("sevenessxin", "matrix"): "app.views.papers.sevenessxin.rows:matrix",
    ("sevenessxin", "importance"): "app.views.papers.sevenessxin.sentences:show",
    ("sevenessxin", "clouds"): "app.views.papers.sevenessxin.rows:clouds",
    ("sevenessxin", "padding"): "app.views.papers.sevenessxin.padding:show",
    ("sevenessxin", "log"): "app.views.papers.sevenessxin.results:log",
    ("sevenessxin", "leak"): "app.views.papers.sevenessxin.leak:show",
}


def drawing_of(paper: Paper, section: Section) -> Callable[[Sequence[Run]], None] | None:
    """Return the function that draws a section from the runs that studies read; None if it shows figures of the gallery."""
    place = section.show or OWN.get((paper.name, section.name), "")
    drawing: Callable[[Sequence[Run]], None] | None = resolve_name(place) if place else None
    return drawing
