"""Shared by all pages: the focus with its chips, caches, and the figure block with its export menu."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from app.focus import TEXT_IN_URL, Focus
from sentviz._browser import find_browser
from sentviz.errors import InputError, RunError, SentvizError
from sentviz.explain import SCORES
from sentviz.export import FORMATS, render
from sentviz.figures import Figure, Theme, component_name
from sentviz.runs import Run
from sentviz.runs import runs as read_runs
from sentviz.trace import Trace

__all__ = [
    "begin",
    "bound",
    "choose",
    "end",
    "figure",
    "focus",
    "go",
    "halves",
    "intro",
    "md",
    "run",
    "runs",
    "theme",
    "trace",
    "traced_text",
]

MIME = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf", "html": "text/html", "csv": "text/csv"}
KEPT_TRACES = 8
STYLE = "<style>@media (max-width: 1100px) { .st-key-halves [data-testid='stColumn'] { min-width: 100%; } }</style>"


# ---- focus


def begin() -> None:
    """Read the URL where it changed under us, fit the focus to its run, write the URL, draw the chips."""
    state, query = st.session_state, st.query_params.to_dict()
    touched = state.pop("touched", False)
    if "focus" not in state:
        state["focus"], state["notes"] = Focus.parse(query, list(runs()), SCORES)
    elif query and query != state["query"] and not touched:
        # the visitor went back or forward; a page switch drops the query, and a fast hand sends the one before the last
        linked, state["notes"] = Focus.parse(query, list(runs()), SCORES)
        state["focus"] = linked if linked.text or linked.row else replace(linked, text=focus().text)
    shape = _shape(focus().run)
    if shape:
        state["focus"], notes = focus().fit(**shape)
        state["notes"] = [*state.get("notes", []), *notes]
    state["query"] = focus().query()
    if query != state["query"]:
        st.query_params.from_dict(state["query"])
    st.html(STYLE)
    for note in state.pop("notes", []):
        st.info(md(note), icon=":material/info:")
    _chips()


def end() -> None:
    """What can wait until the page stands: torch is loaded beside it, so that the first typed sentence does not wait."""
    _warm()


def focus() -> Focus:
    """What this visitor looks at."""
    focused: Focus = st.session_state["focus"]
    return focused


def go(**changes: Any) -> None:
    """Change the focus (from a callback)."""
    st.session_state["focus"], st.session_state["touched"] = focus().with_(**changes), True


def choose(widget: Callable[..., Any], label: str, field: str, options: Sequence[str], **options_of_widget: Any) -> None:
    """A widget that shows one field of the focus and writes it."""
    widget(label, options, **bound(field, str(getattr(focus(), field))), **options_of_widget)


def bound(field: str, shown: Any) -> dict[str, Any]:
    """Key and callback of a widget that shows a value now and writes a field of the focus when it is moved."""
    key, kind = f"focus-{field}", type(getattr(focus(), field))
    st.session_state[key] = shown

    def take() -> None:
        if (chosen := st.session_state[key]) is not None:
            go(**{field: kind(chosen)})

    return {"key": key, "on_change": take}


def _chips() -> None:
    shown = {name: value for name, value in focus().query(with_text=True).items() if name != "run"}
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="chips"):
        st.markdown(f":material/network_node: **sentviz** · {md(focus().run)}")
        for name, value in shown.items():
            st.button(
                md(_chip(name, value)),
                key=f"chip-{name}",
                icon=":material/close:",
                icon_position="right",
                type="tertiary",
                help=f"Remove: back to the default {name}",
                on_click=go,
                kwargs={name: getattr(Focus(), name)},
            )
        with st.popover("Copy link", icon=":material/link:", type="tertiary"):
            _link()


def _chip(name: str, value: str) -> str:
    match name:
        case "text":
            return f"“{value if len(value) <= 28 else value[:27] + '…'}”"
        case "head":
            return f"head {value}" if value.isdecimal() else f"{value} of heads"
        case "component":
            return f"component {component_name(int(value) - 1)}"
        case "mix":
            return ", ".join(f"λ{component_name(c - 1)[1:]} of layer {layer} = {weight:+.2f}" for layer, c, weight in focus().mix)
        case "versus":
            return f"beside {value.replace('~', ', ')}"
        case "score":
            return SCORES[value].title
        case "specials":
            return "specials hidden"
        case "top":
            return f"top {value} tokens"
        case "scale":
            return "change from the start"
        case "axis":
            return f"by {value}"
        case _:
            return f"{name} {value}"


def _link() -> None:
    with_text = focus().query(with_text=True)
    base = (st.context.url or "").split("?")[0]
    st.caption("This view, for someone else. The link holds the sentence you typed, in the clear.")
    if len(with_text.get("text", "")) > TEXT_IN_URL:
        st.caption(f"The text is longer than {TEXT_IN_URL:,} characters, too long for a link: it is left out.")
        with_text.pop("text")
    st.code(f"{base}?{urlencode(with_text)}" if with_text else base, language=None, wrap_lines=True)


# ---- runs and traces


@st.cache_resource(ttl=20, max_entries=1, show_spinner=False)
def _all_runs() -> dict[str, Run | RunError]:
    return read_runs()


def runs() -> dict[str, Run]:
    """The readable runs by name."""
    return {name: run for name, run in _all_runs().items() if isinstance(run, Run)}


def broken() -> dict[str, RunError]:
    """Folders that are no readable run, with the reason."""
    return {name: error for name, error in _all_runs().items() if isinstance(error, RunError)}


def run(name: str | None = None) -> Run:
    """The run in focus, or another; the page stops with a sentence where there is none."""
    name = name or focus().run
    found = runs().get(name)
    if found is None:
        st.error("There are no runs here yet. `sentviz train sst2` trains one.", icon=":material/inventory_2:")
        st.stop()
    return found


def _shape(name: str) -> dict[str, int]:
    found = runs().get(name)
    return {key: found.config["model"][key] for key in ("layers", "heads", "components")} if found else {}


@st.cache_resource(max_entries=6, show_spinner=False)
def _model(name: str, digest: str) -> Any:
    from sentviz.model import Model

    return Model.of(runs()[name])


def model(of: Run) -> Any:
    """The read-only model of a run, one for all visitors."""
    return _model(of.name, of.digest)


def traced_text() -> str:
    """The text in focus: the visitor's, a row's of the data set, or "" for the run's example.

    Raises:
        DataMissingError, InputError: the row cannot be had.
    """
    if not focus().row:
        return focus().text
    from sentviz import datasets

    name = run().config["data"]["name"]
    for split in datasets.info(name).splits:
        frame = _split(name, split)
        rows = frame[frame["id"].astype(str) == focus().row]
        if not rows.empty:
            return str(rows["text"].iloc[0])
    raise InputError(f"{name} has no row {focus().row!r}.")


@st.cache_resource(max_entries=3, show_spinner="Reading the data set")
def _split(name: str, split: str) -> Any:
    from sentviz import datasets

    return datasets.load_split(name, split).frame


def trace() -> Trace:
    """The trace of the text in focus under the lambdas in focus, with its removal scores; kept for this visit only.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    source, text, mix = run(), traced_text(), focus().mix
    example = _example(source.name, source.digest)
    if text in ("", example.text) and not mix:
        return example
    kept: dict[Any, Trace] = st.session_state.setdefault("traces", {})
    key = (source.digest, text, mix)
    if key not in kept:
        kept[key] = _trace(source, text or example.text, mix)
        while len(kept) > KEPT_TRACES:
            kept.pop(next(iter(kept)))
    return kept[key]


@st.cache_resource(max_entries=32, show_spinner=False)
def _example(name: str, digest: str) -> Trace:
    return runs()[name].example()


def _trace(source: Run, text: str, mix: tuple[tuple[int, int, float], ...]) -> Trace:
    import numpy as np

    from sentviz.explain import explained

    loaded, lambdas = model(source), None
    if mix:
        shape = source.config["model"]
        lambdas = np.full((shape["layers"], shape["components"]), np.nan)
        for layer, component, value in mix:
            lambdas[layer - 1, component - 1] = value
    return explained(loaded, loaded.trace(text, lambdas=lambdas), lambdas=lambdas)


@st.cache_resource(show_spinner=False)
def _warm() -> threading.Thread:
    def load() -> None:
        import sentviz.model  # noqa: F401 - loads torch

    thread = threading.Timer(0.5, load)
    thread.daemon = True
    thread.start()
    return thread


# ---- words and figures


def theme() -> Theme:
    """The visitor's theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


def md(text: str) -> str:
    """A visitor's text inside markdown: every character that could mean something is escaped."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@^=])", r"\\\1", text.replace("\n", " "))


def intro(shows: str, cannot: str) -> None:
    """The sentence that opens a page: what it shows, and what it cannot show."""
    st.caption(f"{shows} {cannot}")


def halves(first: float = 1.0) -> list[Any]:
    """Two columns side by side, one above the other below 1,100 px."""
    with st.container(key="halves"):
        return st.columns([first, 1.0], gap="medium")


def figure(make: Callable[[Theme], Figure], key: str, *, slim: bool = False) -> Figure | None:
    """Draw a figure with its caption and export menu; a sentence in its place where it cannot be drawn.

    A slim one needs no caption on the page and has its menu beside it; exports carry the caption all the same.
    """
    try:
        drawn = make(theme())
    except (SentvizError, KeyError) as error:
        st.warning(md(str(error.args[0] if error.args else error)), icon=":material/block:")
        return None
    plain = {"displaylogo": False, "displayModeBar": False}
    side: dict[str, Any] = {"horizontal": True, "wrap": False, "vertical_alignment": "center"} if slim else {}
    with st.container(key=f"figure-{key}", gap="small", **side):
        st.plotly_chart(drawn.plot, theme=None, key=f"plot-{key}", alt=drawn.caption, config=plain)
        with st.container(horizontal=True, gap="small", wrap=False, width="content" if slim else "stretch"):
            if not slim:
                st.caption(md(drawn.caption), width="stretch")
            with st.popover("Export", icon=":material/download:", type="tertiary"):
                _export_menu(make, drawn.name, key)
    return drawn


def _export_menu(make: Callable[[Theme], Figure], name: str, key: str) -> None:
    """Files are made when asked for, always on a light ground."""
    pictures = find_browser() is not None
    for format in FORMATS:
        st.download_button(
            format.upper(),
            data=partial(_file, make, format),
            file_name=f"{name}.{format}",
            mime=MIME[format],
            key=f"export-{key}-{format}",
            on_click="ignore",
            disabled=not pictures and format in ("png", "svg", "pdf"),
            width="stretch",
        )
    if not pictures:
        st.caption("PNG, SVG and PDF need Chrome or Chromium on the machine that runs sentviz; HTML and CSV do not.")


def _file(make: Callable[[Theme], Figure], format: str) -> bytes:
    return render(make("light"), format)
