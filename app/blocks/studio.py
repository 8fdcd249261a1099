"""The studio: how a figure looks in print, with a preview at true size. Choices stay in the link, own words do not."""

from __future__ import annotations

import base64
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.files import MIME, as_file
from app.server import queue
from app.text import paper
from sentviz.charts import Figure
from sentviz.charts.look import FONTS, LEGENDS, PALETTES, PLAIN, SIZES, Look, Style
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.embedded_record import RECORD_FORMATS
from sentviz.export.files import render

CAPTION_WORDS = {"": "on screen only", "yes": "always", "no": "never"}
SIZE_WORDS = {name: f"{size.millimetres:g} mm" for name, size in SIZES.items()}


def style_in_focus() -> Style:
    """Return the style of this visitor: the one in the link, with the note, which no link carries."""
    try:
        return replace(Style.parse(visit.focus().style), note=st.session_state.get("note", ""))
    except InputError:  # a link from another version
        return PLAIN


@st.dialog("Figure studio", width="large", icon=":material/straighten:", on_dismiss="rerun")
@boundary()
def open_studio(make: Any, name: str, key: str, code: Any) -> None:
    """Show the controls next to a preview, and the downloads.

    Args:
        make: draws the figure. name: of its files. key: of its widgets. code: how it is drawn again, or None.
    """
    if st.session_state.get("studio-of", key) != key:
        _keep(replace(style_in_focus(), x=None, y=None))  # a range is of one figure's axes
    st.session_state["studio-of"] = key
    controls, sheet = st.columns([2, 3], gap="medium")
    with controls:
        style = _controls(style_in_focus())
    if style is None:
        return
    figure = make()
    with sheet:
        _preview(figure, style)
    with controls:
        _files(figure, name, style)
        if code is not None:
            arguments = ", ".join(f"{field}={value!r}" for field, value in style.changes.items())
            st.code(
                f"{code}\n\nfrom sentviz.export.files import Style, save\n\nsave(figure, '{name}.pdf', style=Style({arguments}))",
                wrap_lines=True,
            )


def _keep(style: Style) -> None:
    visit.go(style=replace(style, note="").text)
    st.session_state["note"] = style.note


@boundary()
def _controls(now: Style) -> Style | None:
    """Draw the controls and return their style; show an error and return None if a value is not allowed."""
    sizes = ["screen", *SIZES, "own"]
    own = bool(now.width)
    size = st.pills("Size", sizes, default="own" if own else now.size, format_func=_size_words, key="studio-size") or "screen"
    choices: dict[str, Any] = {"size": "screen" if size == "own" else size}
    with st.container(horizontal=True, gap="small"):
        if size == "own":
            choices["width"] = _number("Width, mm", now.width or 120, 20, 600, "width")
        choices["height"] = _number("Height, mm", now.height, 0, 600, "height", "0: chosen from the width")
        if size != "screen":
            choices["points"] = _number("Letters, pt", now.points, 0, 40, "points", "0: as set by the size, or 8 if the size sets none")
    with st.container(horizontal=True, gap="small"):
        choices["font"] = st.selectbox("Font", list(FONTS), list(FONTS).index(now.font), key="studio-font", width=120)
        choices["legend"] = st.selectbox(
            "Legend", list(LEGENDS), list(LEGENDS).index(now.legend), format_func=LEGENDS.__getitem__, key="studio-legend", width=140
        )
        choices["palette"] = st.selectbox(
            "Colours", list(PALETTES), list(PALETTES).index(now.palette), format_func=PALETTES.__getitem__, key="studio-palette", width=160
        )
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        captions = list(CAPTION_WORDS)
        caption = st.selectbox(
            "Caption",
            captions,
            captions.index({None: "", True: "yes", False: "no"}[now.caption]),
            format_func=CAPTION_WORDS.__getitem__,
            key="studio-caption",
            width=160,
        )
        choices["caption"] = {"": None, "yes": True, "no": False}[caption]
        choices["title"] = st.checkbox("Title", now.title, key="studio-title")
    spans = {}
    with st.container(horizontal=True, gap="small"):
        for letter in ("x", "y"):
            span = getattr(now, letter)
            text = "..".join(f"{end:g}" for end in span) if span else ""
            spans[letter] = st.text_input(f"Axis {letter}", text, placeholder="as 0..1", key=f"studio-{letter}", width=120)
    choices["note"] = st.text_input("Note below", now.note, max_chars=300, key="studio-note", help="Saved in the file, never in the link.")
    style = replace(Style.parse(f"{letter}={span.strip()}" for letter, span in spans.items() if span.strip()), **choices)
    _keep(style)
    return style


def _number(label: str, now: float, least: float, most: float, key: str, tip: str | None = None) -> float:
    return st.number_input(label, float(least), float(most), float(now), 0.5, format="%g", key=f"studio-{key}", width=120, help=tip)


def _size_words(size: str) -> str:
    return f"{SIZES[size].millimetres:g} mm" if size in ("column", "wide") else size


def _preview(figure: Figure, style: Style) -> None:
    """Show the figure at true size on white; without a browser for pictures, as an interactive plot."""
    if find_browser() is None:
        st.plotly_chart(replace(figure, look=Look(style=style)).plot, theme=None, key="studio-plot", config={"displayModeBar": False})
        return
    with st.spinner("Drawing"), queue.turns("export").turn():
        svg = render(figure, "svg", style=style)
    paper(base64.b64encode(svg).decode(), style.millimetres, "Preview of the figure")


def _files(figure: Figure, name: str, style: Style) -> None:
    with st.container(horizontal=True, gap="small"):
        for format in RECORD_FORMATS:
            st.download_button(
                format.upper(),
                data=partial(as_file, queue.turns("export"), lambda: figure, format, style),
                file_name=f"{name}.{format}",
                mime=MIME[format],
                key=f"studio-{format}",
                on_click="ignore",
                disabled=format != "html" and find_browser() is None,
            )
