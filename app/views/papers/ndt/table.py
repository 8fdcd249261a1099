"""Tables of the paper's page: numbers stay numbers, so that a click on a column sorts them."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from app.views.papers.shared import MINUS
from sentviz.figures import Theme, palette
from sentviz.figures.colours import blend, ink_on
from sentviz.papers.ndt.tables import COLUMNS

TITLES = {"accuracy": "Accuracy, %", "precision_weighted": "Precision", "f1_weighted": "F1", "auc": "AUC", "silhouette": "Silhouette"}
FULL = {"accuracy": 3.0, "precision_weighted": 0.03, "f1_weighted": 0.03, "auc": 0.03, "silhouette": 0.15}  # difference of full colour
DELTA = " Δ is ours minus the print; its colour is green above the print and purple below, full at 3 points (silhouette: 0.15)."


def beside_print(frame: pd.DataFrame, theme: Theme, *, key: str) -> None:
    """`sentviz.papers.ndt.tables.results`: ours with its interval, the print, the difference; a star marks a column's best."""
    shown = pd.DataFrame({"model": frame["model"], "seeds": frame["seeds"]})
    formats: dict[str, Any] = {"seeds": "{:.0f}"}
    best: dict[str, float] = {}
    differences: dict[str, float] = {}
    there = bool(frame[[f"{metric}_printed" for metric in COLUMNS]].notna().any(axis=None))
    for metric in COLUMNS:
        factor, digits = (100, 2) if metric == "accuracy" else (1, 3)
        title = TITLES[metric]
        value, low, high, printed = (factor * frame[name] for name in (metric, f"{metric}_low", f"{metric}_high", f"{metric}_printed"))
        names = title, f"{title.split(',')[0]}, print", f"{title.split(',')[0]}, Δ"
        shown[names[0]] = value
        top, spans = value.max(), dict(zip(value, zip(low, high, strict=True), strict=True))
        formats[names[0]] = _with_interval(spans, top, digits)
        best[names[0]] = top
        if not there:
            continue
        shown[names[1]], shown[names[2]] = printed, value - printed
        formats[names[1]] = _starred(printed.max(), digits)
        formats[names[2]] = lambda one, digits=digits: "–" if pd.isna(one) else f"{one:+.{digits}f}".translate(MINUS)
        best[names[1]] = printed.max()
        differences[names[2]] = FULL[metric]
    stops = palette(theme).signed

    def colours(column: pd.Series[Any]) -> list[str]:
        full = differences[str(column.name)]
        shades = [None if pd.isna(one) else blend(stops, [0.5 + 0.5 * max(-1.0, min(1.0, one / full))])[0] for one in column]
        return ["" if shade is None else f"background-color: {shade}; color: {ink_on(shade)}" for shade in shades]

    def bold(column: pd.Series[Any]) -> list[str]:
        return ["font-weight: 700" if one == best[str(column.name)] else "" for one in column]

    style = shown.style.format(formats, na_rep="–").apply(colours, subset=list(differences)).apply(bold, subset=list(best))
    wide = {name: st.column_config.Column(width=185) for name in TITLES.values()}
    narrow = {name: st.column_config.Column(width=110) for name in shown.columns[2:] if name not in wide}
    config = wide | narrow | {"model": st.column_config.Column(pinned=True, width=140)}
    st.dataframe(style, hide_index=True, height="content", key=key, column_config=config, placeholder="–")
    st.caption(
        "★ is the best of a column; brackets are 95% intervals."
        + (DELTA if there else " The paper prints nothing of these rows.")
        + " A click on a column sorts it by its number."
    )


def _with_interval(spans: dict[float, tuple[float, float]], top: float, digits: int) -> Any:
    def text(value: Any) -> str:
        if pd.isna(value):
            return "–"
        low, high = spans[value]
        span = "" if pd.isna(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
        return f"{'★ ' if value == top else ''}{value:.{digits}f}{span}".translate(MINUS)

    return text


def _starred(top: float, digits: int) -> Any:
    return lambda value: "–" if pd.isna(value) else f"{'★ ' if value == top else ''}{value:.{digits}f}"
