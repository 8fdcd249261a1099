"""The figure of what colours mean; it is of nothing but itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

if TYPE_CHECKING:
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure


@figure("colours", "What each colour says", Study, "legend:colour_legend")
def _colours(of: Study, *, theme: Theme = "light") -> Figure:
    from sentviz.figures.legend import colour_legend

    return colour_legend(theme)
