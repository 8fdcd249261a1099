"""A figure on a page: plot, caption, export menu, and the lines that draw it in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import streamlit as st

from app import cache, visit
from app.blocks import studio
from app.blocks.boundary import boundary
from app.blocks.files import MIME, as_file, csv_button
from app.blocks.pages import SIZE, first_row, page_buttons
from app.server import queue
from app.shared import once
from app.text import md, page_theme
from sentviz.charts import Figure, Theme, gallery
from sentviz.charts.look import SIZES as PRINT_SIZES
from sentviz.charts.look import Look, Style
from sentviz.charts.registry import FigureSubject
from sentviz.charts.source import Call
from sentviz.export.chromium import find_browser
from sentviz.export.files import FORMATS
from sentviz.io.spreadsheet import from_one

SIZES = {"screen": "screen", "column": "one column, 84 mm", "wide": "two columns, 174 mm", "slide": "slide"}


class Picked(NamedTuple):
    """A clicked point of a plot: its place on both axes and in its trace, and what the figure stores with it."""

    x: Any
    y: Any
    place: int
    data: Sequence[Any]


OnPick = Callable[[Picked], object]


@once(96, "Drawing")
def _drawn(key: str, code: str, of: tuple[str, ...], theme: Theme, _make: Callable[[], Figure]) -> Figure:
    return in_theme(_make(), theme)


def in_theme(figure: Figure, theme: Theme) -> Figure:
    """Return a figure with the look of a page's theme."""
    return replace(figure, look=replace(figure.look, theme=theme))


@boundary()
def show_drawn(
    make: Callable[[], Figure],
    key: str,
    *,
    slim: bool = False,
    code: Call | None = None,
    of: tuple[str, ...] = (),
    unmarked: Callable[[], Figure] | None = None,
    **selecting: Any,
) -> Figure | None:
    """Draw a figure with its caption and export menu; show the error in its place if it cannot be drawn.

    A slim figure has no caption on the page, and its menu is next to it; exported files have the caption.
    `code` draws the same figure in a notebook, and again when a file of it is verified. A figure that depends only on runs and `code` is
    drawn once for all visitors: `of` are the digests of its runs. `unmarked` draws it for files, if `make` marks what a visitor selected.
    `selecting` is what `picking` returns for a figure that can be clicked.
    """
    drawn = _drawn(key, str(code), of, page_theme(), make) if of else in_theme(make(), page_theme())
    plain = {"displaylogo": False, "displayModeBar": False}
    side: dict[str, Any] = {"horizontal": True, "wrap": False, "vertical_alignment": "center"} if slim else {}
    with st.container(key=f"figure-{key}", gap="small", **side):
        st.plotly_chart(drawn.plot, theme=None, key=f"plot-{key}", alt=drawn.caption, config=plain, **selecting)
        with st.container(horizontal=True, gap="small", wrap=False, width="content" if slim else "stretch"):
            if not slim:
                st.caption(md(drawn.caption), width="stretch")
            export_menu(unmarked or make, drawn.name, key, code=code)
    return drawn


def show_figure(
    name: str,
    subject: FigureSubject,
    key: str = "",
    /,
    *,
    slim: bool = False,
    selected: Any = None,
    on_pick: OnPick | None = None,
    clears: str = "",
    width: int = 0,
    **options: Any,
) -> Figure | None:
    """Show a registered figure of a subject with caption, export menu and the lines that draw it in a notebook.

    Args:
        key: key of its widgets; needed if the figure is on a page twice, otherwise the figure's name is used.
        slim, selected: as in `figure` and `sentviz.charts.gallery.make`.
        on_pick, clears: as in `picking`.
        width: pixels for which the picture is laid out, if its height follows from its width; by default what it is best read at.
        options: options of the figure; layers, heads, components and tokens count from 0.
    """

    def make(marked: Any = None) -> Figure:
        return gallery.make(name, subject, selected=marked, **options)

    return show_drawn(
        lambda: replace(make(selected), look=Look(width=width)),
        key or name,
        slim=slim,
        code=gallery.call(name, subject, options),
        of=subject.digests if selected is None else (),
        unmarked=make,
        **picking(key or name, on_pick, clears),
    )


def picking(key: str, on_pick: OnPick | None, clears: str = "") -> dict[str, Any]:
    """Return the arguments of `st.plotly_chart` for a plot whose points can be clicked; none without `on_pick`.

    Args:
        key: of the figure.
        on_pick: called with the clicked point.
        clears: field of the focus, or setting, that is emptied when a second click takes the selection back.
    """
    if on_pick is None:
        return {}

    def take() -> None:
        if points := st.session_state[f"plot-{key}"]["selection"]["points"]:
            last = points[-1]
            on_pick(Picked(last.get("x"), last.get("y"), last.get("point_index", 0), last.get("customdata", ())))
        elif clears:
            visit.go(**{clears: ""})

    return {"on_select": take, "selection_mode": ("points",)}


def export_menu(make: Callable[[], Figure], name: str, key: str, *, code: Call | None = None, label: str = "Export") -> None:
    """Draw the export menu of a figure, also of one that the page shows in another way. A figure is drawn only when a file is requested."""
    with st.popover(label, icon=":material/download:", type="tertiary"):
        menu(make, name, key, code)


def menu(make: Callable[[], Figure], name: str, key: str, code: Call | None) -> None:
    """Draw the content of an export menu. Files always have a light background."""
    pictures = find_browser() is not None
    named = partial(_named, make, code, f"?{urlencode(visit.query(cache.default_run(), with_text=_holds_text(code) or None))}")
    size = st.segmented_control(
        "Size",
        ["screen", *PRINT_SIZES],
        default="screen",
        format_func=lambda size: SIZES[size],
        key=f"size-{key}",
        label_visibility="collapsed",
    )
    style = Style()
    if size in PRINT_SIZES:
        points = st.slider("Letters, points", 5.0, 20.0, float(PRINT_SIZES[size].points), 0.5, key=f"points-{key}-{size}")
        style = Style(size=size, points=points)
    for row in (FORMATS[:3], FORMATS[3:]):
        for column, format in zip(st.columns(3, gap="small"), row, strict=True):
            column.download_button(
                format.upper(),
                data=partial(as_file, queue.turns("export"), named, format, style),
                file_name=f"{name}.{format}",
                mime=MIME[format],
                key=f"export-{key}-{format}",
                on_click="ignore",
                disabled=not pictures and format in ("png", "svg", "pdf"),
                width="stretch",
            )
    with st.container(horizontal=True, gap="medium"):
        help = "Set size, letters, legend, colours and axes for print"
        if st.button("Studio", icon=":material/straighten:", key=f"open-studio-{key}", type="tertiary", help=help):
            studio.open_studio(named, name, key, code)
        if st.button("Numbers", icon=":material/table:", key=f"numbers-{key}", type="tertiary", help="The figure as a table"):
            open_numbers(named, name, key)
    if not pictures:
        st.caption("PNG, SVG and PDF need Chrome or Chromium on the machine that runs sentviz; HTML, CSV and TEX do not.")
    if code:
        text = ", your sentence" if _holds_text(code) else ""
        st.caption(
            f"PNG, SVG, PDF and HTML files contain the runs, the options{text} and this view's link. `sentviz verify FILE` draws the"
            " figure again."
        )
        st.caption("The same figure in a notebook")
        st.code(str(code), language="python", wrap_lines=True)


def _holds_text(code: Call | None) -> bool:
    """Return whether a figure shows a text. Its files then hold the text, because it cannot be drawn again without it."""
    return code is not None and not {"text", "second"}.isdisjoint(code.options)


def _named(make: Callable[[], Figure], code: Call | None, view: str) -> Figure:
    """Return the figure together with its call and the link of the page that shows it."""
    figure = make()
    return replace(figure, call=code or figure.call, view=view)


@st.dialog("Numbers", width="large", icon=":material/table:")
@boundary()
def open_numbers(make: Callable[[], Figure], name: str, key: str) -> None:
    """Show a figure's numbers as a table on the page.

    Args:
        make: draws the figure. name: of its file. key: of the widgets.
    """
    figure = make()
    frame = from_one(figure.frame, figure.from_zero)
    st.markdown(md(figure.caption))
    csv_button(frame, name, f"numbers-csv-{key}")
    start = first_row(len(frame), f"numbers-{key}")
    rows = frame.iloc[start : start + SIZE]
    page_buttons(len(frame), f"numbers-{key}")
    st.table(rows.map(lambda value: f"{value:.5g}" if isinstance(value, float) else md(str(value))))
