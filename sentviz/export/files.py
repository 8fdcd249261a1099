"""Write figures as files: PNG, SVG and PDF for papers, HTML to share, CSV and TEX for the numbers."""

from __future__ import annotations

import html
import os
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sentviz.charts.figure import Figure, sentence
from sentviz.charts.fonts import embed_fonts
from sentviz.charts.look import PLAIN, Look, Style
from sentviz.charts.text import as_text, text_columns
from sentviz.errors import InputError, SentvizError
from sentviz.export.chromium import Browser
from sentviz.export.embedded_record import embed_record
from sentviz.export.record import Record
from sentviz.io.files import write_file
from sentviz.io.lazy import go, pd
from sentviz.io.spreadsheet import as_csv, from_one

FORMATS = ("png", "svg", "pdf", "html", "csv", "tex")
MAX_VECTOR_CELLS = 10_000  # cells of a heatmap that SVG and PDF draw as vectors; a larger heatmap stays an image
BROWSER = Browser()
MAX_TABLE_ROWS = 40  # rows of a TEX table, which fit on a page
_TIME_COLUMNS = ("step", "epoch")
_CAPTION_SIZE, _CAPTION_LINE = 12, 17


def render(
    figure: Figure,
    format: str,
    *,
    scale: float = 2,
    width: int | None = None,
    height: int | None = None,
    size: str | None = None,
    points: float | None = None,
    style: Style = PLAIN,
) -> bytes:
    """Return the figure as the bytes of a file. PNG, SVG, PDF and HTML hold the figure's `Record`, which `sentviz verify` reads.

    PNG, SVG, PDF and HTML show the caption below the picture. SVG and PDF are vector graphics; only heatmaps of more than 10,000 cells stay
    an embedded image. HTML needs no network. CSV is the tidy frame in UTF-8 with a byte order mark; layers, heads, components and tokens
    are counted from 1, as in the picture, and text cells that a spreadsheet would run as formulas begin with an apostrophe. TEX is the
    table for a paper, with booktabs and at most 40 rows. SVG embeds its fonts if their files are installed; PDF always embeds them.

    Args:
        figure: what to export.
        format: one of `FORMATS`.
        scale: PNG pixels per pixel of the layout.
        width, height: size of the picture without caption, in pixels; by default the figure's size.
        size: name of a width in `SIZES`; replaces the style's.
        points: font size; replaces the style's.
        style: style of the picture.
    Raises:
        SentvizError: no browser is installed for PNG, SVG or PDF.
    """
    if format not in FORMATS:
        raise InputError(f"Figures can be exported as {', '.join(FORMATS)}, not as {format!r}.")
    if format == "csv":
        return as_csv(from_one(figure.frame, figure.from_zero))
    if format == "tex":
        return as_tex(figure)
    style = replace(style, size=size or style.size, points=style.points if points is None else points)
    if not 0.1 <= scale <= 10 or any(side is not None and not 50 <= side <= 10_000 for side in (width, height)):
        raise InputError("The scale must lie between 0.1 and 10, width and height between 50 and 10,000 pixels.")
    restyled = replace(figure, look=Look(figure.look.theme, 0, style))
    words = sentence([*([figure.caption, figure.source] if style.captioned else []), style.note])
    if format == "html":
        return embed_record(as_page(restyled, words, width, height or style.tall), format, Record.of(figure, style.text))
    plot, wide, high, factor = _fit_to_style(restyled, words, style, width, height, vectors=format != "png")
    if format == "png":
        factor *= style.dpi / 96 if style.pixels else scale
        picture = BROWSER.render(plot.to_dict(), {"format": format, "width": wide, "height": high, "scale": factor})
    else:
        picture = embed_fonts(BROWSER.render(plot.to_dict(), {"format": "svg", "width": wide, "height": high, "scale": factor}))
    if format == "pdf":
        picture = BROWSER.paint(picture, format, wide * factor, high * factor)
    return embed_record(picture, format, Record.of(figure, style.text))


def captioned(figure: Figure) -> go.Figure:
    """Return a copy of the plot with caption and source below it."""
    plot = go.Figure(figure.plot)
    _add_caption(plot, sentence([figure.caption, figure.source]), *_size(plot, None, None))
    return plot


def bare_svg(figure: Figure, style: Style) -> tuple[bytes, float, float]:
    """Return a styled figure as an SVG without fonts, record and caption, and its width and height in CSS pixels (96 per inch).

    Raises:
        SentvizError: no browser is installed, or it cannot draw the figure.
    """
    plot, wide, high, factor = _fit_to_style(figure, "", style, None, None, vectors=True)
    svg = BROWSER.render(plot.to_dict(), {"format": "svg", "width": wide, "height": high, "scale": factor})
    return svg, wide * factor, high * factor


def _fit_to_style(
    restyled: Figure, words: str, style: Style, width: int | None, height: int | None, *, vectors: bool
) -> tuple[go.Figure, int, int, float]:
    """Return the plot fitted to its style with `words` below, its width and height in pixels, and the factor by which it is enlarged."""
    plot = go.Figure(restyled.plot)
    _number_cells(plot)
    wide, high = _size(plot, width, height or style.tall)
    high = _add_caption(plot, words, wide, high)
    plot = _to_vectors(plot) if vectors else plot
    return plot, wide, high, style.millimetres / 25.4 * 96 / wide if style.pixels else 1.0


def save(
    figure: Figure,
    path: str | os.PathLike[str],
    *,
    scale: float = 2,
    width: int | None = None,
    height: int | None = None,
    size: str | None = None,
    points: float | None = None,
    style: Style = PLAIN,
) -> Path:
    """Write the figure in the format of the suffix. If writing fails, an existing file stays as it was.

    Raises:
        SentvizError: the file cannot be written; also as for `render`.
    """
    path = Path(path)
    format = path.suffix.lower().lstrip(".")
    return write_file(path, render(figure, format, scale=scale, width=width, height=height, size=size, points=points, style=style))


def _size(plot: go.Figure, width: int | None, height: int | None) -> tuple[int, int]:
    return int(width or plot.layout.width or 800), int(height or plot.layout.height or 480)


def _add_caption(plot: go.Figure, caption: str, width: int, height: int) -> int:
    """Put the caption below the plot, as plain text, and return the new height."""
    lines = _wrapped(caption, int((width - 24) / (0.52 * _CAPTION_SIZE)))
    if not lines:
        return height
    left, below = (80 if side is None else side for side in (plot.layout.margin.l, plot.layout.margin.b))
    extra = _CAPTION_LINE * len(lines) + 16
    plot.update_layout(margin_b=below + extra, width=width, height=height + extra)
    if plot.layout.legend.yref == "container":
        plot.layout.legend.y = ((plot.layout.legend.y or 0) * height + extra) / (height + extra)
    plot.add_annotation(
        text="<br>".join(as_text(line, None) for line in lines),
        xref="paper",
        yref="paper",
        x=0,
        y=0,
        xanchor="left",
        yanchor="top",
        xshift=12 - left,
        yshift=-below - 4,
        align="left",
        showarrow=False,
        font={"size": _CAPTION_SIZE},
    )
    return height + extra


def _wrapped(text: str, limit: int) -> list[str]:
    """Return the text in lines of at most `limit` columns. Longer words, and texts without spaces, are broken anywhere."""
    lines: list[str] = []
    for word in (part for long in text.split() for part in textwrap.wrap(long, max(limit // 2, 1))):
        if lines and text_columns(lines[-1]) + 1 + text_columns(word) <= limit:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _to_vectors(plot: go.Figure) -> go.Figure:
    """Return the plot with vector marks instead of WebGL points and of heatmaps with up to `MAX_VECTOR_CELLS` cells."""
    traces = []
    for trace in plot.data:
        if trace.type == "scattergl":
            traces.append(go.Scatter({key: value for key, value in trace.to_plotly_json().items() if key != "type"}))
        elif trace.type == "heatmap" and np.size(trace.z) <= MAX_VECTOR_CELLS:
            traces.append(_cells(trace, plot.layout.plot_bgcolor or plot.layout.template.layout.plot_bgcolor))
        else:
            traces.append(trace)
    layout = go.Layout(plot.layout)
    celled = [old for old, new in zip(plot.data, traces, strict=True) if old.type == "heatmap" and new.type == "bar"]
    if celled:
        layout.barmode = "overlay"
        for axis in (*plot.select_xaxes(), *plot.select_yaxes()):
            if axis.range is None:
                _fit(axis, plot, layout)
    return go.Figure(traces, layout)


def _fit(axis: Any, plot: go.Figure, layout: go.Layout) -> None:
    """Keep the tight range of a heatmap's axis: bars would make it begin at 0 and pad its end."""
    letter, number = axis.plotly_name[0], axis.plotly_name[5:]
    sides = [
        _edges(trace, letter)
        for trace in plot.data
        if trace.type == "heatmap" and (getattr(trace, f"{letter}axis") or letter) == f"{letter}{number}"
    ]
    if sides:
        low, high = min(start for start, _ in sides), max(end for _, end in sides)
        layout[axis.plotly_name].update(range=[high, low] if axis.autorange == "reversed" else [low, high], autorange=None)


def _number_cells(plot: go.Figure) -> None:
    """Move named heatmap cells to the positions 0, 1, 2 ... of a numeric axis with the names as ticks, and annotations with them."""
    for trace in plot.data:
        for letter in "xy" if trace.type == "heatmap" else "":
            names = [] if trace[letter] is None else list(trace[letter])
            if not any(isinstance(name, str) for name in names):
                continue
            axis = trace[f"{letter}axis"] or letter
            trace[letter] = list(range(len(names)))
            ticks = {"type": "linear", "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
            plot.layout[f"{letter}axis{axis[1:]}"].update(ticks)
            for note in plot.layout.annotations:
                if (note[f"{letter}ref"] or letter) == axis and note[letter] in names:
                    note[letter] = names.index(note[letter])


def _edges(trace: go.Heatmap, letter: str) -> tuple[float, float]:
    at = _centres(trace, letter)
    step = _step(at)
    return float(at.min() - step / 2), float(at.max() + step / 2)


def _centres(trace: go.Heatmap, letter: str) -> np.ndarray[Any, Any]:
    positions = trace[letter]
    count = np.shape(trace.z)[1 if letter == "x" else 0]
    try:
        at = np.arange(count, dtype=float) if positions is None else np.asarray(positions, dtype=float)
    except ValueError:  # Categories have the positions 0, 1, 2 ...
        at = np.arange(count, dtype=float)
    if len(at) != count:
        raise SentvizError("A heatmap with irregular cells cannot be drawn as vectors.")
    return at


def _step(at: np.ndarray[Any, Any]) -> float:
    return float(at[1] - at[0]) if len(at) > 1 else 1.0


def _cells(trace: go.Heatmap, background: str) -> go.Bar:
    """Return a heatmap as one bar per finite cell, on the same colour scale."""
    z = np.asarray(trace.z, dtype=float)
    x, y = _centres(trace, "x"), _centres(trace, "y")
    rows, cols = np.nonzero(np.isfinite(z))
    values = z[rows, cols]
    gap = trace.xgap or 0
    scale = {"coloraxis": trace.coloraxis} if trace.coloraxis else _own_scale(trace, z)
    line = {"color": background, "width": gap} if gap else {"color": values, "width": 0.4, **_without_colour_bar(scale)}
    return go.Bar(
        x=x[cols],
        y=np.full(len(values), abs(_step(y))),
        base=y[rows] - abs(_step(y)) / 2,
        width=abs(_step(x)),
        offset=-abs(_step(x)) / 2,
        marker={"color": values, "line": line, **scale},
        xaxis=trace.xaxis,
        yaxis=trace.yaxis,
        hoverinfo="skip",
        showlegend=False,
    )


def _own_scale(trace: go.Heatmap, z: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {
        "cmin": trace.zmin if trace.zmin is not None else float(np.nanmin(z)),
        "cmax": trace.zmax if trace.zmax is not None else float(np.nanmax(z)),
        "colorscale": trace.colorscale or "Viridis",
        "reversescale": trace.reversescale,
        "showscale": trace.showscale is not False,
        "colorbar": trace.colorbar.to_plotly_json(),
    }


def _without_colour_bar(scale: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scale.items() if key not in ("showscale", "colorbar")}


def as_page(figure: Figure, words: str, width: int | None = None, height: int | None = None, *, script: str = "") -> bytes:
    """Return the figure as an HTML page with `words` below it. Its security policy forbids every request, except for the script.

    Args:
        width, height: of the plot, in pixels; by default the figure's size.
        script: name of Plotly's script in the folder of the page, which several pages can share; by default the page contains it.
    """
    plot = go.Figure(figure.plot)
    wide, high = _size(plot, width, height)
    plot.update_layout(width=None, height=high)
    drawing = plot.to_html(
        full_html=False,
        include_plotlyjs=script or True,
        include_mathjax=False,
        default_height=f"{high}px",
        config={"displaylogo": False, "responsive": True, "toImageButtonOptions": {"filename": figure.name}},
    )
    colours = plot.layout.template.layout
    paper, ink = colours.paper_bgcolor or "#ffffff", colours.font.color or "#222222"
    beside = "'self' file: " if script else ""
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {beside}'unsafe-inline' 'unsafe-eval'; \
style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(figure.name)}</title>
<style>
body {{ margin: 1rem auto; max-width: {wide}px; padding: 0 .5rem; background: {paper}; color: {ink};
  font: 14px/1.45 "Source Sans Pro", "Helvetica Neue", Arial, sans-serif; }}
p {{ margin: .5rem 12px; overflow-wrap: anywhere; }}
</style>
</head>
<body>
{drawing}
<p dir="auto">{html.escape(words)}</p>
</body>
</html>
"""
    return page.encode()


def as_tex(figure: Figure) -> bytes:
    """Return a figure's numbers as a LaTeX table with booktabs rules, in UTF-8, with positions counted from 1.

    The rows are those of `figure.printed`, if it is set; otherwise the frame; of long series over steps or epochs, only the last row.
    A table has at most `MAX_TABLE_ROWS` rows, the first ones; the caption says so. Special characters of LaTeX are escaped.
    """
    frame = figure.frame if figure.printed is None else figure.printed
    note = ""
    if figure.printed is None and len(frame) > MAX_TABLE_ROWS and (time := next((name for name in _TIME_COLUMNS if name in frame), "")):
        frame, note = _last_rows(frame, time), f"This table shows the last {time} of each line."
    if len(frame) > MAX_TABLE_ROWS:
        note = sentence([note, f"This table shows the first {MAX_TABLE_ROWS} of {len(frame):,} rows. The CSV file has all rows."])
    words = _TEX.sub(lambda match: _SAFE[match[0]], sentence([figure.caption, note, figure.source]))
    rows = from_one(frame.head(MAX_TABLE_ROWS), figure.from_zero)
    table = rows.to_latex(index=False, escape=True, float_format="%.4g", na_rep="", caption=words, label=f"tab:{figure.name}")
    return f"% \\usepackage{{booktabs}}\n{table.translate(_CONTROL)}".encode()


def _last_rows(frame: pd.DataFrame, time: str) -> pd.DataFrame:
    """Return the last row of each series. Rows of a series are equal in all columns except the time and the real numbers."""
    same = [name for name in frame if name not in _TIME_COLUMNS and frame[name].dtype.kind != "f"]
    if not same:
        return frame.loc[[frame[time].idxmax()]]
    return frame.sort_values(time, kind="stable").groupby(same, sort=False, dropna=False).tail(1).sort_index()


_SAFE = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
}
_CONTROL = {
    code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"
}  # symbols for control characters, which TeX does not read
_TEX = re.compile("[" + re.escape("".join(_SAFE)) + "]")
