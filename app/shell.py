"""Shared by all pages: the focus with its chips, caches, and the figure block with its export menu."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from app import store, turns
from app.focus import PRIVATE, TEXT_IN_URL, WITH_TEXT, Focus
from sentviz._browser import find_browser
from sentviz.background import Turns
from sentviz.errors import SentvizError
from sentviz.explain import SCORES
from sentviz.export import FORMATS, Style, render
from sentviz.export import SIZES as PRINT_SIZES
from sentviz.figures import Figure, Theme
from sentviz.gallery.registry import Subject
from sentviz.provenance import Call
from sentviz.registry import at
from sentviz.spreadsheet import as_csv

__all__ = [
    "as_file",
    "begin",
    "bound",
    "choose",
    "end",
    "export_menu",
    "figure",
    "focus",
    "go",
    "halves",
    "intro",
    "md",
    "paper",
    "settle",
    "theme",
]

MIME = {
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "html": "text/html",
    "csv": "text/csv",
    "tex": "application/x-tex",
}
SIZES = {"screen": "screen", "column": "one column, 84 mm", "wide": "two columns, 174 mm", "slide": "slide"}
STYLE = (
    "<style>@media (max-width: 1100px) { [class*=\"st-key-halves\"] [data-testid='stColumn'] { min-width: 100%; }"
    " [class*=\"st-key-halves\"] [data-testid='stHorizontalBlock'] { row-gap: 1rem; } }"
    " [class*=\"st-key-figure\"] [data-testid='stHorizontalBlock'] { overflow: visible; }"
    " @media (min-width: 1101px) { [data-testid='stColumn']:has(.st-key-interventions) {"
    " position: sticky; top: 4rem; align-self: flex-start; max-height: calc(100vh - 5rem); overflow-y: auto; } }"
    " .st-key-why-reason { min-height: 4.2rem; } .st-key-why-faithful { min-height: 2.6rem; }"
    " .st-key-why-reason-first, .st-key-why-reason-second { min-height: 4.2rem; }"
    " body:has([data-testid='stDialog']) [data-testid='stPopoverBody'] { display: none; }"
    " [data-testid='stMultiSelect'] [data-tag] { background: rgb(47 128 201 / 25%); color: inherit; }"
    " [data-testid='stMultiSelect'] [data-tag] * { color: inherit; }"
    " [data-testid='stCaptionContainer'] { color: inherit; opacity: .8; }</style>"  # Streamlit's own is too faint to read: 3.7 : 1
)

_JOINED = re.compile(r":(?=[\w+/-]+:)|(?<!\S)[-<>~](?=(?:->|>|-|=)(?!\S))")  # where a word of an icon begins, or an arrow
WITHOUT_RUN = ("Papers", "Library")  # sections whose pages are of many runs or of none


# ---- focus


def begin(page: str, title: str, section: str) -> None:
    """Read the URL where it changed under us, fit the focus to its run, write the URL, name the page, draw the chips.

    Args:
        page, title, section: of the page that follows: its address, its name, and where it stands.
    """
    state, query = st.session_state, st.query_params.to_dict()
    touched, before, state["page"] = state.pop("touched", False), state.get("page"), page
    if "focus" not in state:
        state["focus"], state["notes"] = Focus.parse(query, list(store.runs()), SCORES)
    elif (query or page == before) and query != state["query"] and not touched:
        # the visitor went back or forward; a switch to another page drops the query, and a fast hand sends the one before the last
        linked, state["notes"] = Focus.parse(query, list(store.runs()), SCORES)
        state["focus"] = linked if linked.text or linked.row else linked.beside(focus())
    if (has := store.shape(focus().run)) is not None:
        state["focus"], notes = focus().fit(has)
        state["notes"] = [*state.get("notes", []), *notes]
    state["query"] = focus().query()
    if query != state["query"]:
        st.query_params.from_dict(state["query"])
    st.html(STYLE)
    for note in state.pop("notes", []):
        st.info(md(note), icon=":material/info:")
    _chips(title, section)


def shows(*runs: str) -> None:
    """Name the runs that the page shows, in its heading and in the browser's tab: those in focus unless it says others, none with none.

    The tab never holds a sentence: it may stand on a wall.
    """
    heading, title, section = st.session_state["heading"]
    named = f"{runs[0]}{f' and {len(runs) - 1} more' if len(runs) > 1 else ''}" if runs else ""
    heading.markdown(f":material/network_node: {md(section)} › **{md(title)}**" + f" · {md(named)}" * bool(runs))
    st.set_page_config(page_title=" · ".join(filter(None, (title, named, "sentviz"))))


def end() -> None:
    """What can wait until the page stands: torch is loaded beside it, so that the first typed sentence does not wait."""
    turns.warm()


def focus() -> Focus:
    """What this visitor looks at."""
    focused: Focus = st.session_state["focus"]
    return focused


def go(**changes: Any) -> None:
    """Change the focus (from a callback)."""
    st.session_state["focus"], st.session_state["touched"] = focus().with_(**changes), True


def settle() -> None:
    """At the start of a fragment: where one of its widgets changed the focus, the chips and the URL follow."""
    if st.session_state.get("touched"):
        st.rerun()


def choose(widget: Callable[..., Any], label: str, field: str, options: Sequence[str], **options_of_widget: Any) -> None:
    """A widget that shows one field of the focus and writes it."""
    shown = str(getattr(focus(), field))
    widget(label, options, **bound(field, shown if shown in options or not options else options[0]), **options_of_widget)


def bound(field: str, shown: Any, *, part: str = "", put: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Key and callback of a widget that shows a value now and writes a field of the focus when it is moved.

    Args:
        part: what the widget shows of the field, where several widgets share it.
        put: the field's new value with what was chosen in it; the chosen itself without.
    """
    key, put = "-".join(filter(None, ("focus", field, part))), put or type(getattr(focus(), field))
    st.session_state[key] = shown

    def take() -> None:
        if (chosen := st.session_state[key]) is not None:
            go(**{field: put(chosen)})

    return {"key": key, "on_change": take}


def _chips(title: str, section: str) -> None:
    run = store.runs().get(focus().run)
    shown = focus().chips(run.labels, pairs=store.reads_pairs(run)) if run else focus().chips()
    if "part" in shown:
        asked = at(st.session_state["page"])
        shown["part"] = asked.page.titles.get(focus().part, shown["part"]) if asked else shown["part"]
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="chips"):
        st.session_state["heading"] = st.empty(), title, section
        shows(*([focus().run] if section not in WITHOUT_RUN else []))
        for name, words in shown.items():
            st.button(
                md(words),
                key=f"chip-{name}",
                icon=":material/close:",
                icon_position="right",
                type="tertiary",
                help=f"Remove: back to the default {name}",
                on_click=go,
                kwargs={name: getattr(Focus(), name)},
            )
        from app import sheet

        if st.session_state.get("sheet") and st.button("Sheet", icon=":material/dashboard:", type="tertiary", key="open-sheet"):
            sheet.open_sheet()
        with st.popover("Copy link", icon=":material/link:", type="tertiary"):
            _link()


def _link() -> None:
    with_text = focus().query(with_text=True)
    base = (st.context.url or "").split("?")[0]
    st.caption("This view, for someone else. The link holds the sentence you typed, in the clear.")
    if sum(len(with_text.get(name, "")) for name in PRIVATE) > TEXT_IN_URL:
        st.caption(f"The text is longer than {TEXT_IN_URL:,} characters, too long for a link: it is left out.")
        with_text = {name: value for name, value in with_text.items() if name not in WITH_TEXT}
    st.code(f"{base}?{urlencode(with_text)}" if with_text else base, language=None, wrap_lines=True)


# ---- words and figures


def theme() -> Theme:
    """The visitor's theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


def md(text: str) -> str:
    """A visitor's text inside markdown: every character that could mean something is escaped.

    Streamlit makes icons of `:home:` and arrows of `->` after that. There an invisible character (word joiner) keeps the signs apart.
    """
    apart = _JOINED.sub("\\g<0>\u2060", text.replace("\n", " "))
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@^=])", r"\\\1", apart)


def intro(shows: str, cannot: str) -> None:
    """The sentence that opens a page: what it shows, and what it cannot show."""
    st.caption(f"{shows} {cannot}")


def halves(name: str, *shares: float) -> list[Any]:
    """Columns side by side, two alike unless shares are given; one above the other below 1,100 px."""
    with st.container(key=f"halves-{name}"):
        return st.columns(list(shares) or [1.0, 1.0], gap="medium")


@st.cache_resource(max_entries=96, show_spinner="Drawing")
def _drawn(key: str, code: str, of: tuple[str, ...], theme: Theme, _make: Callable[[Theme], Figure]) -> Figure:
    return _make(theme)


def figure(
    make: Callable[[Theme], Figure],
    key: str,
    *,
    slim: bool = False,
    code: Call | None = None,
    of: tuple[str, ...] = (),
    **selecting: Any,
) -> Figure | None:
    """Draw a figure with its caption and export menu; a sentence in its place where it cannot be drawn.

    A slim one needs no caption on the page and has its menu beside it; exports carry the caption all the same.
    `code` draws the same figure in a notebook, and again where a file of it is verified. A figure of runs alone, in which nothing is a
    visitor's but what `code` says, is drawn once for all of them: `of` are the digests of its runs. `selecting`, as on_select and
    selection_mode, goes to `st.plotly_chart`; what was selected lies under the state's key plot-<key>.
    """
    try:
        drawn = _drawn(key, str(code), of, theme(), make) if of else make(theme())
    except (SentvizError, KeyError) as error:
        st.warning(md(str(error.args[0] if error.args else error)), icon=":material/block:")
        return None
    plain = {"displaylogo": False, "displayModeBar": False}
    side: dict[str, Any] = {"horizontal": True, "wrap": False, "vertical_alignment": "center"} if slim else {}
    with st.container(key=f"figure-{key}", gap="small", **side):
        st.plotly_chart(drawn.plot, theme=None, key=f"plot-{key}", alt=drawn.caption, config=plain, **selecting)
        with st.container(horizontal=True, gap="small", wrap=False, width="content" if slim else "stretch"):
            if not slim:
                st.caption(md(drawn.caption), width="stretch")
            export_menu(make, drawn.name, key, code=code)
    return drawn


def show_figure(
    name: str,
    subject: Subject,
    key: str = "",
    /,
    *,
    slim: bool = False,
    selected: Any = None,
    on_select: Callable[[], None] | None = None,
    **options: Any,
) -> Figure | None:
    """Show a registered figure of a subject with caption, export menu and the lines that draw it in a notebook.

    Args:
        key: of its widgets; the figure's name unless it stands twice on a page.
        slim, selected: as in `figure` and `sentviz.gallery.make`.
        on_select: called when points are clicked; they lie under the state's key plot-<key>.
        options: of the figure; layers, heads, components and tokens count from 0.
    """
    from sentviz import gallery

    selecting: dict[str, Any] = {"on_select": on_select, "selection_mode": ("points",)} if on_select else {}
    return figure(
        lambda theme: gallery.make(name, subject, selected=selected, **options, theme=theme),
        key or name,
        slim=slim,
        code=gallery.call(name, subject, options),
        of=subject.digests if selected is None else (),
        **selecting,
    )


def export_menu(make: Callable[[Theme], Figure], name: str, key: str, *, code: Call | None = None, label: str = "Export") -> None:
    """The export menu of a figure, also of one that the page shows otherwise; nothing is drawn before a file is asked for."""
    with st.popover(label, icon=":material/download:", type="tertiary"):
        _export_menu(make, name, key, code)


def csv(frame: pd.DataFrame | Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """A button for a table as a file, made when asked for; every table of the app leaves it by this one."""
    st.download_button(
        "CSV",
        lambda: as_csv(frame() if callable(frame) else frame),
        f"{name}.csv",
        "text/csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        key=key,
    )


def _export_menu(make: Callable[[Theme], Figure], name: str, key: str, code: Call | None) -> None:
    """Files are made when asked for, always on a light ground."""
    pictures = find_browser() is not None
    named = partial(_named, make, code, f"?{urlencode(focus().query(with_text=_holds_text(code)))}")
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
                data=partial(as_file, turns.turns("export"), named, format, style),
                file_name=f"{name}.{format}",
                mime=MIME[format],
                key=f"export-{key}-{format}",
                on_click="ignore",
                disabled=not pictures and format in ("png", "svg", "pdf"),
                width="stretch",
            )
    from app import numbers, sheet, studio

    with st.container(horizontal=True, gap="medium"):
        help = "Size, letters, legend, colours and axes, as print asks for them"
        if st.button("Studio", icon=":material/straighten:", key=f"open-studio-{key}", type="tertiary", help=help):
            studio.open_studio(named, name, key, code)
        if st.button("Numbers", icon=":material/table:", key=f"numbers-{key}", type="tertiary", help="The figure as a table"):
            numbers.open_numbers(named, name, key)
        add: dict[str, Any] = {"on_click": sheet.add, "args": (named,), "help": "Several figures as one file"}
        st.button("Add to sheet", icon=":material/dashboard:", key=f"add-{key}", type="tertiary", **add)
    if not pictures:
        st.caption("PNG, SVG and PDF need Chrome or Chromium on the machine that runs sentviz; HTML, CSV and TEX do not.")
    if code:
        text = ", your sentence" if _holds_text(code) else ""
        st.caption(f"PNG, SVG, PDF and HTML hold runs, options{text} and this view's link: `sentviz verify FILE` draws the figure again.")
        st.caption("The same figure in a notebook")
        st.code(str(code), language="python", wrap_lines=True)


def _holds_text(code: Call | None) -> bool:
    """Whether a figure is of a text, which its files hold, since it cannot be drawn again without."""
    return code is not None and "text" in code.options


def _named(make: Callable[[Theme], Figure], code: Call | None, view: str, theme: Theme) -> Figure:
    """The figure with how it is drawn again and the page that shows it."""
    made = make(theme)
    return replace(made, call=code or made.call, view=view)


def paper(svg: str, millimetres: float, alt: str) -> None:
    """An SVG, as base64, on white paper: so many millimetres wide as browsers count them, or as wide as there is room for 0."""
    width = f"width:{millimetres:g}mm;max-width:none" if millimetres else "max-width:100%"
    st.html(
        '<div class="paper" style="overflow:auto;background:#fff;padding:4px;border-radius:4px">'
        f'<img alt="{alt}" src="data:image/svg+xml;base64,{svg}" style="{width};display:block"></div>'
    )
    st.caption(f"At true size: {millimetres:g} mm wide." if millimetres else "As on screen.")


def as_file(turns: Turns, make: Callable[[Theme], Figure], format: str, style: Style) -> bytes:
    """A figure as the bytes of a file, on a light ground, when its turn comes."""
    with turns.turn():
        return render(make("light"), format, style=style)
