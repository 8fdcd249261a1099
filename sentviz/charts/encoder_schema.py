"""The parts of an encoder from top to bottom, with the sizes of one configuration."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure, annotate, file_safe, new_plot
from sentviz.charts.look import Look
from sentviz.charts.text import as_text, broken
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd

_HALF = 0.36  # half the height of a box, in rows
_WIDTH, _ROW, _MARGIN = 560, 50, (28, 44, 84, 12)  # pixels


def encoder_schema(parts: Sequence[tuple[str, str]], block: range, *, layers: int, title: str, about: str) -> Figure:
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
    rows = [(name, sizes, layers if row in block else 1) for row, (name, sizes) in enumerate(parts)]
    data = {"parts": list(parts), "block": block, "layers": layers, "title": title}
    caption = f"The parts of the model, the input at the top. {about}"
    return Figure(file_safe("schema", title), Drawing(_draw, data), pd.DataFrame(rows, columns=["part", "sizes", "times"]), caption)


def _draw(look: Look, parts: Sequence[tuple[str, str]], block: range, layers: int, title: str) -> go.Figure:
    """Draw the boxes, as high as the longest sizes need; the arguments are those of `encoder_schema`."""
    width, colours = look.room or _WIDTH, look.colours
    sizes = [broken(as_text(text, 76), 1.05 * (width - _MARGIN[0] - _MARGIN[2]) * 0.94, 12) for _, text in parts]
    row_height = _ROW + 20 * max(text.count("<br>") for text in sizes)
    size = (width, row_height * len(parts) + _MARGIN[1] + _MARGIN[3])
    plot = new_plot(look, as_text(title, 60), size, _MARGIN, showlegend=False)
    shapes, notes = [], []
    for row, (name, _) in enumerate(parts):
        inside = {"fillcolor": colours.neutral, "line": {"color": colours.lines[0] if row in block else colours.muted, "width": 1.5}}
        shapes.append({"type": "rect", "x0": 0.03, "x1": 0.97, "y0": row - _HALF, "y1": row + _HALF} | inside)
        if row:
            joint = {"color": colours.muted, "width": 1.5}
            shapes.append({"type": "line", "x0": 0.5, "x1": 0.5, "y0": row - 1 + _HALF, "y1": row - _HALF, "line": joint})
        notes.append({"x": 0.5, "y": row, "text": f"<b>{as_text(name, 40)}</b><br>{sizes[row]}", "font": {"size": 12}})
    if block:
        edge = {"color": colours.lines[0], "width": 1.5, "dash": "dot"}
        shapes.append({"type": "rect", "x0": 0, "x1": 1, "y0": block[0] - 0.44, "y1": block[-1] + 0.44, "line": edge})
        words, middle = f"{layers} layer{'s' * (layers > 1)}", (block[0] + block[-1]) / 2
        side = {"xanchor": "left", "xshift": 8, "font": {"size": 13, "color": colours.lines[0]}}
        notes.append({"x": 1, "y": middle, "text": words} | side)
    plot.update_xaxes(visible=False, range=[0, 1])
    plot.update_yaxes(visible=False, range=[len(parts) - 0.5, -0.5])
    plot.update_layout(shapes=shapes)
    annotate(plot, notes)
    return plot
