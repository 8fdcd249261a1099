"""One registered function per figure: a subject in, a `Figure` out (a tidy frame, a Plotly figure, a caption).

What several figures draw takes arrays and needs numpy, pandas and plotly only. A module is imported when one of its names is used. Frames
count layers, heads, components and tokens from 0, like every array of the package; pictures and captions, which people read, count from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.io.lazy import package_names

if TYPE_CHECKING:
    from sentviz.charts.attention import heatmap
    from sentviz.charts.colours import Palette, Theme, palette
    from sentviz.charts.figure import Figure, base_layout, file_safe
    from sentviz.charts.maps import component_name
    from sentviz.charts.multiples import small_multiples
    from sentviz.charts.scalars import scalar_evolution
    from sentviz.charts.strip import token_strip
    from sentviz.charts.text import as_text
    from sentviz.charts.verdict import probability_bars

__all__ = [
    "Figure",
    "Palette",
    "Theme",
    "as_text",
    "base_layout",
    "component_name",
    "file_safe",
    "heatmap",
    "palette",
    "probability_bars",
    "scalar_evolution",
    "small_multiples",
    "token_strip",
]

_MODULES = {
    "Figure": "figure",
    "Palette": "colours",
    "Theme": "colours",
    "as_text": "text",
    "base_layout": "figure",
    "component_name": "maps",
    "file_safe": "figure",
    "heatmap": "attention",
    "palette": "colours",
    "probability_bars": "verdict",
    "scalar_evolution": "scalars",
    "small_multiples": "multiples",
    "token_strip": "strip",
}

__getattr__ = package_names(__name__, _MODULES)
