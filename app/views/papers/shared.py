"""What the papers' pages share: what a cached result depends on, and plain tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from app import cache, visit
from app.text import md
from sentviz.runs.registry import Paper
from sentviz.runs.store import Run

MINUS = str.maketrans("-", "−")
NAMED = 3  # runs that a note names
WORDS = {"better": "▲ better", "worse": "▼ worse", "cannot be told": "? cannot be told"}


def page_of(paper: Paper) -> Any:
    """The page of a paper as the navigation has it: its own script, or the one that shows any paper."""
    script = paper.page.script or Path(__file__).with_name("generic.py")
    return st.Page(script, title=paper.short, url_path=paper.page.url, icon=paper.page.icon, help=paper.page.help)


def digests(runs: Sequence[Run], dataset: str = "") -> tuple[str, ...]:
    """What a cached result of these runs depends on."""
    return tuple(run.name + run.digest for run in runs if dataset in ("", run.config["data"]["name"]))


def studied() -> list[Run]:
    """The runs that studies read; a note of those here that they do not."""
    found = cache.study_runs()
    for why in dict.fromkeys(found.left_out.values()):
        names = [name for name, reason in found.left_out.items() if reason == why]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        said = f"Left out of the papers' tables and claims, {why}: {', '.join(names[:NAMED])}{more}. All other pages show what is here."
        st.info(md(said), icon=":material/rule:")
    return found.runs


def picked(label: str, field: str, titles: Mapping[str, str]) -> str:
    """What a visitor looks at of a few things by their titles; the first where the link names none of them."""
    visit.choose(
        st.segmented_control, label, field, list(titles), format_func=titles.__getitem__, required=True, label_visibility="collapsed"
    )
    chosen = str(getattr(visit.focus(), field))
    return chosen if chosen in titles else next(iter(titles))


def plain(frame: pd.DataFrame, *, key: str, digits: int = 3, **formats: str) -> None:
    """Numbers with the same digits, sortable."""
    wanted: dict[Any, Any] = {name: signed(formats.get(str(name), f"{{:.{digits}f}}")) for name in frame.select_dtypes("number")}
    config = {"model": st.column_config.Column(pinned=True, width=140)}
    style = frame.style.format(wanted, na_rep="–")
    st.dataframe(style, hide_index=True, height="content", key=key, placeholder="–", column_config=config)


def signed(form: str) -> Callable[[float], str]:
    """A number as written, with a minus sign."""
    return lambda value: form.format(value).translate(MINUS)


def with_interval(value: pd.Series[float], low: pd.Series[float], high: pd.Series[float], form: str = "{:.2f}") -> Callable[[float], str]:
    """Writes a number with its interval; the column itself stays a number, so that it sorts."""
    write = signed(form)
    known = {v: f"{write(v)} [{write(a)}, {write(b)}]" for v, a, b in zip(value, low, high, strict=True)}
    return lambda one: "–" if pd.isna(one) else known[one]


def wide(frame: pd.DataFrame, by: str, printed: str = "{:.1f}") -> tuple[pd.DataFrame, dict[Any, Any]]:
    """Models down, for each value of a column the print and ours in percent; how each column is written, with the digits of the print."""
    columns: dict[str, pd.Series[float]] = {}
    forms: dict[Any, Any] = {}
    for name, rows in frame.groupby(by, sort=False):
        one = 100 * rows.set_index("model")[["printed", "value", "low", "high"]]
        columns |= {f"{name}, print": one["printed"], f"{name}, ours": one["value"]}
        forms |= {f"{name}, print": printed, f"{name}, ours": with_interval(one["value"], one["low"], one["high"], printed)}
    return pd.DataFrame(columns).reindex(list(dict.fromkeys(frame["model"]))), forms
