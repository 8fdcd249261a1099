"""Draw a chart with Plotly: its geometry is that of `chart_layout`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, floor
from typing import Any

import numpy as np

from sentviz.charts.chart import Axis, Chart, Mark, Rule
from sentviz.charts.chart_layout import EDGE, ENTRY, LABEL, LETTERS, LINE, MARKER, SCALE, SMALL, Geometry, count_lines, lines_of, row_texts
from sentviz.charts.colours import blend, colour_scale, ink_on
from sentviz.charts.drawing import with_signs
from sentviz.charts.figure import base_layout
from sentviz.charts.look import PATTERNS, Look
from sentviz.charts.maps import TITLE_PAD, colour_bar
from sentviz.charts.panels import pushed_apart
from sentviz.charts.text import as_text, label_width
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import MINUS, percent

BARE: dict[str, Any] = {"showgrid": False, "showticklabels": False, "showline": True, "mirror": True}
"""An axis without numbers: a frame."""


def draw(chart: Chart, look: Look) -> go.Figure:
    """Return a chart as a Plotly figure."""
    return _Plot(chart, look).plot()


class _Plot(Geometry):
    """The traces, axes, shapes and notes of one chart in one look."""

    def plot(self) -> go.Figure:
        """Return the plot."""
        place, wide, lines = self.legend
        down = ceil(len(self.panels) / self.across)
        heading = LINE * max(map(count_lines, self.headings)) + 6 if self.chart.panels else 0
        notes = 16 if any(rule.note and rule.x is not None and rule.rows is None for rule in self.chart.rules) else 0
        over = self.ticks if self.is_table else 0
        scale = SCALE if any(mark.ticks for mark in self.chart.marks) else 0
        above = count_lines(self.title) if self.title else 0
        top = EDGE + 20 * above + 10 * min(above, 2) + heading + notes + over + scale
        between = heading + self.ticks + 14
        inner = down * self.area + (down - 1) * between
        bottom = (8 if self.is_table else self.ticks + 6) + (ENTRY * lines + 8 if place == "below" else 0)
        right = self.right
        if place == "above":
            top += ENTRY * lines + 4
        if place == "right":
            right += wide
        height = self.look.style.tall or top + inner + bottom
        inner = max(height - top - bottom, 60)
        across = self.width - self.left - right
        layout = base_layout(self.look, title=self.title, width=self.width, height=height, margin=(self.left, top, right, bottom))
        layout["margin"]["autoexpand"] = False
        if scale:
            layout["title"]["pad"]["t"] += TITLE_PAD - EDGE
        layout["showlegend"] = place != "none"
        layout["legend"] = self._legend(place, wide, inner)
        layout["barmode"] = "overlay"
        if any(mark.kind == "cells" and mark.click for mark in self.chart.marks):
            layout |= {"hovermode": "closest", "hoverdistance": -1, "dragmode": False}
        traces: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        shapes: list[dict[str, Any]] = []
        area = (inner - (down - 1) * between) / down
        panel = (across - (self.across - 1) * self.gap) / self.across
        for number, (key, heading_text) in enumerate(zip(self.panels, self.headings, strict=True)):
            ends = "" if number == 0 else str(number + 1)
            x0, y1 = (number % self.across) * (panel + self.gap), inner - (number // self.across) * (area + between)
            domain = [x0 / across, min(1.0, (x0 + panel) / across)], [max(0.0, (y1 - area) / inner), y1 / inner]
            layout[f"xaxis{ends}"] = self._across(panel, self._reach(key)) | {"domain": domain[0], "anchor": f"y{ends}"}
            layout[f"yaxis{ends}"] = self._down(number) | {"domain": domain[1], "anchor": f"x{ends}"}
            axes = {"xaxis": f"x{ends}", "yaxis": f"y{ends}"}
            for mark in self.chart.marks:
                own = self.own(mark, key)
                traces += [trace | axes for trace in self._traces(replace(mark, frame=own))]
                if mark.kind == "cells":
                    annotations += [note | {"xref": axes["xaxis"], "yref": axes["yaxis"]} for note in self._cell_texts(mark, own, panel)]
                    shapes += [outline | {"xref": axes["xaxis"], "yref": axes["yaxis"]} for outline in self._outlines(mark)]
            if heading_text:
                middle = {"x": sum(domain[0]) / 2, "y": domain[1][1], "xref": "paper", "yref": "paper", "yshift": over + 4}
                anchors = {"xanchor": "center", "yanchor": "bottom"}
                annotations.append({"text": heading_text, "font": {"size": 13, "color": self.colours.muted}, **middle, **anchors})
            if self.y.title and number % self.across == 0:
                upright = {"text": lines_of(self.y.title, area + 10, LETTERS, None), "textangle": -90, "xshift": EDGE - 4 - self.left}
                edge = {"x": 0, "xref": f"x{ends} domain", "xanchor": "left", "y": 0.5, "yref": f"y{ends} domain", "yanchor": "middle"}
                annotations.append({"font": {"size": LETTERS, "color": self.colours.muted}, **upright, **edge})
            if self.axis_title:
                apart = self.ticks - LINE * count_lines(self.axis_title) - 2
                below = {"y": 0, "yref": f"y{ends} domain", "yanchor": "top", "yshift": -apart}
                if self.is_table:
                    below |= {"y": 1, "yanchor": "bottom", "yshift": apart}
                middle = {"x": 0.5, "xref": f"x{ends} domain", "xanchor": "center"}
                annotations.append({"text": self.axis_title, "font": {"size": LETTERS, "color": self.colours.muted}, **middle, **below})
            for rule in (rule for rule in self.chart.rules if rule.panel in (None, key)):
                self._rule(rule, ends, domain, shapes, annotations)
            self._rows(ends, number, shapes, annotations)
            annotations += self._end_names(key, ends, area)
            annotations += self._corner(key, ends)
        if not any(len(mark.frame) for mark in self.chart.marks):
            middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "middle"}
            annotations.append({"text": "There is no row to draw.", "font": {"size": LETTERS, "color": self.colours.muted}, **middle})
        for count, trace in enumerate([trace for trace in traces if trace.get("showscale")]):
            trace["showscale"], trace["colorbar"]["y"] = count == 0, 1 + (heading + notes + over + 4) / inner
        layout["annotations"], layout["shapes"] = annotations, shapes
        plot = go.Figure({"data": [*traces, *self._legend_traces(place)], "layout": layout}, _validate=False)  # checked in the tests
        return with_signs(plot, self.look) if self.look.is_grey else plot

    def _reach(self, key: Any) -> tuple[float, float] | None:
        """Return the range of a horizontal axis whose bars have texts at their ends, with room for these; else None."""
        marks = [mark for mark in self.chart.marks if mark.kind == "bars" and mark.text]
        owned = [(self.own(mark, key), mark) for mark in marks]
        values = np.concatenate([[0.0], *(self._numeric(rows[mark.x]) for rows, mark in owned)])
        if self.x.span or not self.y.rows or not (values[np.isfinite(values)] != 0).any():
            return None
        words = [label_width(text, SMALL) + 8 for rows, mark in owned for text in row_texts(mark.text, rows)]
        sides = np.where(values < 0, -1.0, 1.0) * np.minimum([0.0, *words], 0.6 * self.panel_width)
        low, high = first, last = float(np.nanmin(values)), float(np.nanmax(values))
        for _ in range(12):  # the room for the words depends on the range, which depends on the room
            ends = values + sides * (last - first) / self.panel_width
            first, last = min(low, float(np.nanmin(ends))), max(high, float(np.nanmax(ends)))
        return first, last

    def _legend(self, place: str, wide: int, inner: float) -> dict[str, Any]:
        if place == "none":
            return {}
        if place == "right":
            return {"x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"}
        flat: dict[str, Any] = {"orientation": "h", "x": EDGE / self.width, "xref": "container", "xanchor": "left"}
        flat |= {"entrywidth": wide - 46, "tracegroupgap": 0}
        if place == "above":
            return flat | {"y": 1 + 6 / inner, "yanchor": "bottom"}
        below = 4 if self.is_table else self.ticks + 6
        return flat | {"y": -below / inner, "yanchor": "top"}

    def _legend_traces(self, place: str) -> Iterator[dict[str, Any]]:
        if place == "none":
            return
        for entry in self.entries:
            yield {"type": "scatter", "x": [None], "y": [None], "name": self.label(entry.name), "showlegend": True, **entry.trace} | {
                "legendgroup": self.label(entry.name)
            }

    # ---- axes

    def _across(self, panel: float, reach: tuple[float, float] | None) -> dict[str, Any]:
        axis = self.x if reach is None else replace(self.x, span=reach)
        settings: dict[str, Any] = {"automargin": False} | (BARE if axis.bare else {})
        if axis.rows:
            labels, count = self.heads, len(axis.rows)
            step = panel / max(count, 1)
            every = 1 if self.angle == 0 else max(1, ceil((LETTERS + 1) / step))
            labels_left = [label if i % every == 0 else "" for i, label in enumerate(labels)]
            is_wide = self.is_table or any(mark.kind == "bars" for mark in self.chart.marks)
            edge = 0.5 if is_wide else min(0.5, max(0.1, (MARKER / 2 + 2) / step))  # a symbol at the edge does not touch the numbers
            settings |= {
                "tickvals": list(range(count)),
                "ticktext": labels_left,
                "tickangle": self.angle,
                "range": [-edge, count - 1 + edge],
            }
            return settings | ({"side": "top", "showgrid": False} if self.is_table else {})
        settings |= self._numbers(axis, max(2, min(8, int(panel // 40))))
        return settings | ({"ticktext": self._thinned(axis, panel)} if axis.ticks else {})

    def _thinned(self, axis: Axis, room: float) -> list[str]:
        """Return the labels of an axis' own ticks, with "" in place of each that would touch the one before it."""
        scale = np.log10 if axis.log else np.asarray
        at = scale(np.array(list(axis.ticks), dtype=float))
        low, high = scale(np.array(axis.span)) if axis.span else (at.min(), at.max())
        places = room * (at - low) / ((high - low) or 1.0)
        labels, free = [], -np.inf
        for place, label in zip(places, axis.ticks.values(), strict=True):
            half = label_width(label, LETTERS) / 2
            labels.append(as_text(label, LABEL) if place - half >= free else "")
            free = place + half + 6 if labels[-1] else free
        return labels

    def _down(self, number: int) -> dict[str, Any]:
        axis = self.y
        is_first = number % self.across == 0
        settings: dict[str, Any] = {"automargin": False} | (BARE if axis.bare else {})
        if axis.rows:
            count, every = len(axis.rows), ceil((LETTERS + 2) / self.row)
            ticks = {"tickvals": list(range(0, count, every)), "ticktext": self.names[::every], "range": [count - 0.5, -0.5]}
            is_named = is_first and not axis.bare
            return settings | ticks | {"showgrid": False, "showline": False, "showticklabels": is_named, "ticklabelstandoff": 4}
        settings |= self._numbers(axis, max(3, min(7, int(self.area // 34))))
        panels = self.chart.panels
        if number and self.is_alike:
            settings["matches"] = "y"
        elif number and panels is not None and isinstance(panels.alike, Mapping):
            keys = list(self.panels)
            first = next(i for i, key in enumerate(keys) if panels.alike.get(key) == panels.alike.get(keys[number]))
            if first != number:
                settings["matches"] = "y" if first == 0 else f"y{first + 1}"
        if self.chart.square:
            settings |= {"scaleanchor": "x" if number == 0 else f"x{number + 1}", "constrain": "domain"}
        return settings | {"showticklabels": (is_first or not self.is_alike) and not axis.bare}

    def _numbers(self, axis: Axis, most: int) -> dict[str, Any]:
        settings: dict[str, Any] = {"tickformat": axis.form, "nticks": most, "tickangle": 0}
        low, high = self._numbers_on(axis)
        step = axis.step or (0.0 if axis.ticks or axis.log else _least_step(low, high, most))
        if axis.form.endswith("%") and not axis.ticks:
            digits = 0 if step and round(100 * step, 9).is_integer() else int(axis.form[1:-1])
            settings |= {"tickformat": f".{digits}%", "labelalias": _percents(low, high, digits)}
        if axis.log:
            settings["type"] = "log"
        if axis.span:
            settings["range"] = list(np.log10(axis.span)) if axis.log else list(axis.span)
        elif axis.zero:
            settings["rangemode"] = "tozero"
        if axis.ticks:
            settings |= {"tickvals": list(axis.ticks), "ticktext": [as_text(label, LABEL) for label in axis.ticks.values()]}
        if step:
            settings |= {"dtick": step, "tick0": 0}
        return settings

    def _numbers_on(self, axis: Axis) -> tuple[float, float]:
        """Return the smallest and the largest number on an axis."""
        ends = list(axis.span or ((0.0,) if axis.zero else ()))
        for mark in () if axis.span else self.chart.marks:
            is_across = axis is self.x
            columns = [mark.x if is_across else mark.y, *([] if is_across is not bool(self.y.rows) else [mark.low, mark.high])]
            ends += [float(end) for column in filter(None, columns) for end in (mark.frame[column].min(), mark.frame[column].max())]
        known = [end for end in ends if np.isfinite(end)] or [0.0, 1.0]
        return min(known), max(known)

    # ---- marks

    def _traces(self, mark: Mark) -> Iterator[dict[str, Any]]:
        if mark.kind == "cells":
            yield self._heatmap(mark)
            if mark.click:
                yield self._spots(mark)
            return
        if mark.by and mark.dashes:
            for (name, run), part in mark.frame.groupby([mark.by, mark.dashes], sort=False, observed=True):
                yield from self._marks(replace(mark, dash=self.dash(mark, str(run))), part, str(name))
        elif mark.by:
            for name, part in mark.frame.groupby(mark.by, sort=False, observed=True):
                yield from self._marks(mark, part, str(name))
        elif len(mark.frame):
            yield from self._marks(mark, mark.frame, None)

    def _marks(self, mark: Mark, rows: pd.DataFrame, name: str | None) -> Iterator[dict[str, Any]]:
        x, y = (self._places(axis, rows[column]) for axis, column in ((self.x, mark.x), (self.y, mark.y)))
        if self.y.rows:
            y = y + self._shift(mark, name) + (rows[mark.lift].to_numpy(float) if mark.lift else 0.0)
        elif mark.apart and name is not None:
            x = x + mark.apart * (list(self.series).index(name) - (len(self.series) - 1) / 2)
        values = "x" if self.y.rows else "y"
        stroke = self.stroke(mark, name)
        colour = stroke["marker"]["color"]
        if mark.level:
            low_end, high_end = mark.span
            stroke["marker"]["color"] = blend(self._stops(mark), (rows[mark.level].to_numpy(float) - low_end) / (high_end - low_end))
        if mark.kind == "points" and not mark.symbol:
            stroke |= {"mode": "markers", "marker": stroke["marker"] | {"opacity": 0}}
        if mark.tint:
            stroke["marker"]["color"] = [self.look.colour(role) for role in rows[mark.tint]]
        label = self.label(name or mark.name) if name or mark.name else ""
        trace: dict[str, Any] = {"x": x, "y": y, "showlegend": False, "legendgroup": label, "name": label}
        if mark.hover:
            trace |= {"hovertext": row_texts(mark.hover, rows), "hovertemplate": "%{hovertext}<extra></extra>"}
        else:
            trace["hoverinfo"] = "skip"
        if mark.click:
            trace["customdata"] = rows[list(mark.click)].to_numpy(object).tolist()
        if mark.low and mark.high and np.isfinite(rows[mark.low].to_numpy(float)).any():
            low, high = np.sort(self._numeric(rows[[mark.low, mark.high]]), axis=1).T
            at = x if values == "x" else y
            if mark.kind == "line" and not mark.whiskers:
                known = np.isfinite(low) & np.isfinite(high)
                yield self._band(x[known], low[known], high[known], colour, label)
            else:
                bar = self.colours.ink if mark.kind == "bars" else colour
                ends = {"type": "data", "symmetric": False, "array": high - at, "arrayminus": at - low, "width": 0}
                ends["thickness"] = 1.6 if mark.symbol else mark.size * MARKER
                trace[f"error_{values}"] = ends | {"color": bar}
        unfaded = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}} if mark.click else {}
        if mark.kind == "bars":
            shade = {"color": stroke["marker"]["color"], "opacity": 0.45 if mark.faint else 1.0}
            if self.look.is_grey and mark.role in ("wrong", "minus"):
                shade["pattern"] = {"shape": PATTERNS[1], "size": 6, "solidity": 0.2, "fillmode": "overlay"}
            if unfaded:
                unfaded = {side: {"marker": {"opacity": shade["opacity"]}} for side in unfaded}
            if mark.text:
                trace |= {"text": row_texts(mark.text, rows), "textposition": "outside", "cliponaxis": False, "textfont": {"size": SMALL}}
            yield trace | {"type": "bar", "orientation": "h" if self.y.rows else "v", "width": rows[mark.wide] if mark.wide else 0.55,
                           "marker": shade, **unfaded}  # fmt: skip
            return
        if mark.text:
            sides = rows[mark.text_at].tolist() if mark.text_at else "top center"
            stroke = stroke | {"mode": f"{stroke['mode']}+text", "text": row_texts(mark.text, rows), "textposition": sides,
                               "textfont": {"size": SMALL, "color": self.colours.muted}}  # fmt: skip
        if mark.stepped:
            stroke["line"] = stroke["line"] | {"shape": "vh"}
        yield trace | {"type": "scatter", "cliponaxis": False, **stroke, **unfaded}

    @staticmethod
    def _numeric(values: pd.Series[Any] | pd.DataFrame) -> np.ndarray[Any, Any]:
        """Return numbers, with NaN, which is not drawn, in place of infinities."""
        numbers = values.to_numpy(float)
        return np.where(np.isinf(numbers), np.nan, numbers)

    def _places(self, axis: Axis, values: pd.Series[Any]) -> np.ndarray[Any, Any]:
        if not axis.rows:
            return self._numeric(values)
        at = {key: i for i, key in enumerate(axis.rows)}
        return np.array([at[value] for value in values], dtype=float)

    def _shift(self, mark: Mark, name: str | None) -> float:
        if name is None or name not in self.spread:
            return mark.shift
        return mark.shift + (self.spread.index(name) - (len(self.spread) - 1) / 2) * self.step / self.row

    def _band(self, x: Any, low: Any, high: Any, colour: str, group: str) -> dict[str, Any]:
        outline = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]]), "mode": "lines", "fill": "toself"}
        fill = {"fillcolor": colour, "opacity": 0.18, "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        return {"type": "scatter", "legendgroup": group, "name": group, **outline, **fill}

    # ---- cells

    def _table(self, mark: Mark, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        """Return values of a mark's rows as a table, (rows, columns); None for a cell without a row."""
        table = np.full((len(self.y.rows), len(self.x.rows)), None, dtype=object)
        at = self._places(self.y, mark.frame[mark.y]).astype(int), self._places(self.x, mark.frame[mark.x]).astype(int)
        for row, column, value in zip(*at, values, strict=True):
            table[row, column] = value
        return table

    def _stops(self, mark: Mark) -> tuple[str, ...]:
        stops: tuple[str, ...] = getattr(self.colours, mark.scale)
        return stops

    def _heatmap(self, mark: Mark) -> dict[str, Any]:
        hover = self._table(mark, row_texts(mark.hover, mark.frame))
        return {
            "type": "heatmap",
            "z": self._table(mark, mark.frame[mark.level].tolist()).astype(float),
            "x": list(range(len(self.x.rows))),
            "y": list(range(len(self.y.rows))),
            "zmin": mark.span[0],
            "zmax": mark.span[1],
            "colorscale": colour_scale(self._stops(mark)),
            "showscale": bool(mark.ticks),
            "colorbar": colour_bar(mark.span, mark.ticks, self.colours),
            "xgap": min(2, self.row // 8),
            "ygap": min(2, self.row // 8),
            "hoverongaps": False,
            "customdata": np.where(hover == None, "", hover),  # noqa: E711 - an array is compared, element by element
            "hovertemplate": "%{customdata}<extra></extra>",
        }

    def _spots(self, mark: Mark) -> dict[str, Any]:
        """Return invisible marks in the middles of cells, which take the clicks that a heatmap does not."""
        rows = mark.frame[np.isfinite(mark.frame[mark.level].to_numpy(float))]
        unseen = {"marker": {"opacity": 0}}
        return {
            "type": "scatter",
            "x": self._places(self.x, rows[mark.x]),
            "y": self._places(self.y, rows[mark.y]),
            "mode": "markers",
            "marker": {"symbol": "square", "size": 0.8 * min(self.row, self.panel_width / len(self.x.rows)), "opacity": 0},
            "selected": unseen,
            "unselected": unseen,
            "customdata": rows[list(mark.click)].to_numpy(object).tolist(),
            "hovertext": row_texts(mark.hover, rows),
            "hovertemplate": "%{hovertext}<extra></extra>",
            "showlegend": False,
        }

    def _outlines(self, mark: Mark) -> Iterator[dict[str, Any]]:
        """Yield the outline of each chosen cell."""
        at = [({key: i for i, key in enumerate(axis.rows)}) for axis in (self.x, self.y)]
        for x, y in ((at[0][x], at[1][y]) for x, y in mark.chosen if x in at[0] and y in at[1]):
            sides = {"x0": x - 0.5, "x1": x + 0.5, "y0": y - 0.5, "y1": y + 0.5}
            yield {"type": "rect", "line": {"color": self.colours.ink, "width": 2.5}, **sides}

    def _cell_texts(self, mark: Mark, rows: pd.DataFrame, panel: float) -> Iterator[dict[str, Any]]:
        """Yield the text of each cell, if all fit into their cells, in black or white."""
        known = rows[np.isfinite(rows[mark.level].to_numpy(float))]
        if not mark.text or known.empty:
            return
        texts = row_texts(mark.text, known)
        room, lines = panel / len(self.x.rows) - 2, max(map(count_lines, texts))
        size = min(SMALL * self.chart.height, 18, self.row / (1.4 * lines), room / max(label_width(text, 1) for text in texts))
        if size < SMALL:
            return
        low, high = mark.span
        shades = blend(self._stops(mark), (known[mark.level].to_numpy(float) - low) / (high - low))
        for x, y, text, shade in zip(self._places(self.x, known[mark.x]), self._places(self.y, known[mark.y]), texts, shades, strict=True):
            yield {"x": x, "y": y, "xanchor": "center", "yanchor": "middle", "text": text, "font": {"size": size, "color": ink_on(shade)}}

    # ---- names at ends, rules and rows

    def _corner(self, key: Any, ends: str) -> Iterator[dict[str, Any]]:
        """Yield the notes in the corner of a panel, the first one on top."""
        notes = self.chart.panels.notes.get(key, ()) if self.chart.panels else ()
        is_right = self.chart.panels is not None and self.chart.panels.corner == "right"
        for i, (text, role) in enumerate(reversed(notes)):
            place = {"x": 0.98 if is_right else 0.02, "xref": f"x{ends} domain", "xanchor": "right" if is_right else "left"}
            place |= {"y": 0.02, "yref": f"y{ends} domain", "yanchor": "bottom", "yshift": i * (LINE - 1)}
            font = {"size": LETTERS, "color": self.look.colour(role)}
            yield {"text": as_text(text, None), "font": font, "bgcolor": self.colours.paper, **place}

    def _end_names(self, key: Any, ends: str, area: float) -> Iterator[dict[str, Any]]:
        """Yield the names of lines at their ends, moved apart until none covers another."""
        names = self.ends.get(key)
        if not names:
            return
        mark = self.chart.marks[0]
        seen = self._numeric(self.own(mark, key)[mark.y])
        low, high = self.y.span or (min(0.0, np.nanmin(seen)) if self.y.zero else np.nanmin(seen), np.nanmax(seen))
        heights = np.array([low, high, *(end[0] for end in names)], dtype=float)
        low, high, *heights = (np.log10(heights) if self.y.log else heights).tolist()
        places = pushed_apart(heights, LINE * (high - low or 1.0) / area)
        places = places - max(0.0, places[-1] - high)
        for y, (_, colour, text) in zip(places, names, strict=True):
            beside = {"x": 1, "xref": f"x{ends} domain", "xanchor": "left", "xshift": 4, "y": y, "yref": f"y{ends}"}
            yield {"text": text, "font": {"size": LETTERS, "color": colour}, **beside}

    def _rule(self, rule: Rule, ends: str, domain: Any, shapes: list[dict[str, Any]], notes: list[dict[str, Any]]) -> None:
        along, across = ("x", "y") if rule.y is None else ("y", "x")
        value = rule.x if rule.y is None else rule.y
        colour = self.look.colour(rule.role)
        keys = list(self.y.rows)
        span = (keys.index(rule.rows[0]) - 0.5, keys.index(rule.rows[1]) + 0.5) if rule.rows else (0, 1)
        side = {f"{across}ref": f"{across}{ends}" + ("" if rule.rows else " domain"), f"{across}0": span[0], f"{across}1": span[1]}
        if rule.low is not None and rule.high is not None:
            shapes.append({"type": "rect", f"{along}ref": f"{along}{ends}", f"{along}0": rule.low, f"{along}1": rule.high, **side,
                           "fillcolor": colour, "opacity": 0.18, "line": {"width": 0}, "layer": "below"})  # fmt: skip
        if value is not None:
            dash = {"color": colour, "width": 1.2 if rule.solid else 1, "dash": "solid" if rule.solid else "dot"}
            shapes.append({"type": "line", f"{along}ref": f"{along}{ends}", f"{along}0": value, f"{along}1": value, **side, "line": dash})
        if rule.note:
            value = value if value is not None or rule.low is None or rule.high is None else (rule.low + rule.high) / 2
            axis = self.x if along == "x" else self.y
            value = np.log10(value) if axis.log and value else value
            at = {"x": value, "xref": f"x{ends}", "xanchor": "center", "y": domain[1][1], "yref": "paper"}
            if rule.rows:
                at |= {"y": span[0], "yref": f"y{ends}"}
            beside = [rival.x for rival in self.chart.rules if rival.note and rival.x is not None and rival.rows is None]
            if rule.x in beside and len(beside) > 1:
                at["xanchor"] = "right" if rule.x == min(beside) else "left"
            if along == "y":
                at = {"x": domain[0][1], "xref": "paper", "xanchor": "left", "y": value, "yref": f"y{ends}", "yanchor": "middle"}
                at["xshift"] = 8
            font = {"size": SMALL, "color": colour}
            notes.append({"text": as_text(rule.note, LABEL), "yanchor": "bottom", "font": font, **at})

    def _rows(self, ends: str, number: int, shapes: list[dict[str, Any]], notes: list[dict[str, Any]]) -> None:
        """Add shades, notes, groups and the outline of the chosen row."""
        across = {"xref": f"x{ends} domain", "x0": 0, "x1": 1, "yref": f"y{ends}", "layer": "below"}
        if self.y.striped:
            shade = {"type": "rect", "fillcolor": self.colours.neutral, "opacity": 0.5, "line": {"width": 0}, **across}
            shapes += [shade | {"y0": i - 0.5, "y1": i + 0.5} for i in range(0, len(self.y.rows), 2)]
        keys = list(self.y.rows)
        if self.y.chosen in keys:
            at = keys.index(self.y.chosen)
            shapes.append({"type": "rect", "y0": at - 0.5, "y1": at + 0.5, "line": {"color": self.colours.ink, "width": 1.5}, **across})
        if number % self.across != self.across - 1:
            return
        beside = {"x": 1, "xref": f"x{ends} domain", "xanchor": "left", "xshift": 8, "yref": f"y{ends}", "align": "left"}
        for i, note in enumerate(self.y.notes):
            notes.append({"y": i, "text": lines_of(note, 400, SMALL, None), "font": {"size": SMALL}, **beside})
        for text, members in self.groups.items():
            first, last = keys.index(members[0]), keys.index(members[-1])
            notes.append({"y": (first + last) / 2, "text": text, "font": {"size": SMALL, "color": self.colours.muted}, **beside})
            if first:
                line = {"color": self.colours.muted, "width": 1}
                shapes.append({"type": "line", "y0": first - 0.5, "y1": first - 0.5, "line": line, **across})


def _percents(low: float, high: float, digits: int) -> dict[str, str]:
    """Return the style of each share that an axis can name: Plotly's formats have no space before the sign."""
    unit, rim = 10 ** (2 + digits), 0.1 * (high - low)
    shares = [step / unit for step in range(floor(unit * (low - rim)), ceil(unit * (high + rim)) + 1)]
    return {f"{share:.{digits}%}".replace("-", MINUS): percent(share, digits) for share in shares}


def _least_step(low: float, high: float, most: int) -> float:
    """Return the largest distance of ticks that shows two of them, if Plotly's choice for `most` ticks shows fewer; else 0."""
    rough = 1.2 * (high - low) / most  # Plotly adds a rim at both ends
    if not rough > 0:
        return 0.0
    base = 10.0 ** floor(np.log10(rough))
    steps = [base * factor for factor in (10, 5, 2, 1, 0.5, 0.2)]
    counts = [floor(high / step + 1e-9) - ceil(low / step - 1e-9) + 1 for step in steps]
    usual = next(i for i in (2, 1, 0) if rough <= steps[i] * (1 + 1e-9))
    return 0.0 if counts[usual] > 1 else next((step for step, count in zip(steps, counts, strict=True) if count > 1), 0.0)
