"""The parts of an encoder from top to bottom, with the sizes of one configuration."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.errors import InputError
from sentviz.figures.colours import Theme, palette
from sentviz.figures.figure import Figure, annotate, file_safe, new_plot
from sentviz.figures.panels import FRAMELESS
from sentviz.figures.text import as_text
from sentviz.io.lazy import pd

_STEP, _HALF = 1.0, 0.36  # distance of two parts and half the height of a box, in rows
_WIDTH, _ROW, _MARGIN = 560, 50, (28, 44, 84, 12)  # pixels


def encoder_schema(
    parts: Sequence[tuple[str, str]], block: range, *, layers: int, title: str, about: str, theme: Theme = "light"
) -> Figure:
    """Draw one box for each part, joined by lines, and a frame around the parts of a block with the number of its repetitions.

    Args:
        parts: name and sizes of each, the input first.
        block: positions of the parts that every layer repeats.
        layers: number of blocks.
        about: end of the caption.
    Frame:
        part, sizes, times (how often the part occurs, one after the other).
    """
    if not parts or not set(block) <= set(range(len(parts))):
        raise InputError("A schema needs parts, and a block of some of them.")
    colours = palette(theme)
    size = (_WIDTH, _ROW * len(parts) + _MARGIN[1] + _MARGIN[3])
    plot = new_plot(theme, as_text(title, 60), size, _MARGIN, showlegend=False)
    shapes, notes = [], []
    for row, (name, sizes) in enumerate(parts):
        inside = {"fillcolor": colours.neutral, "line": {"color": colours.lines[0] if row in block else colours.muted, "width": 1.5}}
        shapes.append({"type": "rect", "x0": 0.03, "x1": 0.97, "y0": row - _HALF, "y1": row + _HALF} | inside)
        if row:
            joint = {"color": colours.muted, "width": 1.5}
            shapes.append({"type": "line", "x0": 0.5, "x1": 0.5, "y0": row - _STEP + _HALF, "y1": row - _HALF, "line": joint})
        text = f"<b>{as_text(name, 40)}</b><br>{as_text(sizes, 76)}"
        notes.append({"x": 0.5, "y": row, "text": text, "font": {"size": 12, "color": colours.ink}})
    if block:
        edge = {"color": colours.lines[0], "width": 1.5, "dash": "dot"}
        shapes.append({"type": "rect", "x0": 0, "x1": 1, "y0": block[0] - 0.44, "y1": block[-1] + 0.44, "line": edge})
        words, middle = f"{layers} layer{'s' * (layers > 1)}", (block[0] + block[-1]) / 2
        side = {"xanchor": "left", "xshift": 8, "font": {"size": 13, "color": colours.lines[0]}}
        notes.append({"x": 1, "y": middle, "text": words} | side)
    plot.update_xaxes(FRAMELESS | {"showline": False, "mirror": False, "range": [0, 1]})
    plot.update_yaxes(FRAMELESS | {"showline": False, "mirror": False, "range": [len(parts) - 0.5, -0.5]})
    plot.update_layout(shapes=shapes)
    annotate(plot, notes)
    frame = pd.DataFrame(
        [(name, sizes, layers if row in block else 1) for row, (name, sizes) in enumerate(parts)], columns=["part", "sizes", "times"]
    )
    return Figure(file_safe("schema", title), plot, frame, f"The parts of the model, the input at the top. {about}")
