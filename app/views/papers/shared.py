"""Helpers of all pages of papers: their place in the navigation, the runs that they read, and keys of cached results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from app import cache, visit
from app.text import md
from sentviz.runs.registry import Paper
from sentviz.runs.store import Run

MOST_NAMED = 3  # runs that a note names


def page_of(paper: Paper) -> Any:
    """Return a paper's page for the navigation: its own script, or the script that shows any paper."""
    script = paper.page.script or Path(__file__).with_name("generic.py")
    return st.Page(script, title=paper.short, url_path=paper.page.url, icon=paper.page.icon, help=paper.page.help)


def digests(runs: Sequence[Run], dataset: str = "") -> tuple[str, ...]:
    """Return what a cached result of these runs depends on: their names and digests, of one data set or of all."""
    return tuple(run.name + run.digest for run in runs if dataset in ("", run.config["data"]["name"]))


def studied() -> list[Run]:
    """Return the runs that studies read, and show a note that names the installed runs that they do not read, with the reason."""
    catalog = cache.study_runs()
    for why in dict.fromkeys(catalog.left_out.values()):
        names = [name for name, reason in catalog.left_out.items() if reason == why]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        note = f"Left out of the papers' tables and claims, {why}: {', '.join(names[:MOST_NAMED])}{more}. All other pages show these runs."
        st.info(md(note), icon=":material/rule:")
    return catalog.runs


def pick(label: str, field: str, titles: Mapping[str, str]) -> str:
    """Let a visitor pick one of a few things by its title, and return its name; the first if the link names none of them."""
    visit.choose(
        st.segmented_control, label, field, list(titles), format_func=titles.__getitem__, required=True, label_visibility="collapsed"
    )
    chosen = str(getattr(visit.focus(), field))
    return chosen if chosen in titles else next(iter(titles))
