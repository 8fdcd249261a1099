"""The slice of rows that the views of Rows are about: chosen by column, source, length, script, phenomenon or word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import streamlit as st

from app import cache, visit
from app.shared import once
from app.text import md
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import Subset, facets
from sentviz.errors import InputError, SentvizError
from sentviz.io.numbers import percent

SAMPLE = 5_000  # rows of a data set from which slices are proposed; of a visitor's own file, all rows
FIRST_MISTAKE = "first mistake"  # in place of the list that holds the open row


def choose_slice(rows: Rows) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Draw the choice of slices; return the chosen rows, and which of the rows they are, (n,). All rows, if the slice holds no row."""
    every, subset = np.ones(len(rows), dtype=bool), Subset()
    try:
        subset = Subset.parse(visit.focus().among)
        inside = _inside(subset, rows) if subset.parts else every
        (chosen,) = subset.chosen(rows, inside=inside)
    except SentvizError as error:
        st.warning(md(f"{error} All rows are shown."), icon=":material/filter_alt_off:")
        chosen, inside = rows, every
    shares = _proposed(rows)
    options = [*dict.fromkeys([*shares, *map(str, subset.parts)])]

    def named(text: str) -> str:
        part = Slice.parse(text) if text in options else None
        share = f" · {percent(shares[text], 0)}" if text in shares else ""
        return text if part is None else f"{part.says(rows.classes)}{share}"

    if options:
        st.multiselect(
            "Slice",
            options,
            format_func=named,
            accept_new_options=rows.has_text,
            placeholder="All rows. Choose slices, or type a word.",
            label_visibility="collapsed",
            help="Rows that are in each chosen slice; of slices of one column, one is enough. The percentages are shares of all rows. The"
            " language is told by the script of most letters: Hangul is Korean; languages in Latin letters are not told apart.",
            width="stretch",
            **visit.bound("among", [*map(str, subset.parts)], put=_text_of),
        )
    return chosen, inside


def _inside(subset: Subset, rows: Rows) -> npt.NDArray[np.bool_]:
    """Return which rows are in the subset, (n,), stored for the visit: for a cluster of many rows, this takes seconds."""
    return visit.keep_result("slice-masks", (rows.digest, str(subset)), lambda: subset.mask(rows), most=8)


def _text_of(chosen: list[str]) -> str:
    """Return the subset of chosen slices; a typed text that is not a slice is a word."""
    parts = []
    for text in chosen:
        try:
            part = Slice.parse(text)
        except InputError:
            part = Slice("word", " ".join(text.replace("~", " ").casefold().split()))
        if part is not None:
            parts.append(part)
    return str(Subset.of(parts))


@once(16)
def _proposed(rows: Rows) -> dict[str, float]:
    """Return the slices that can be chosen, with their shares of the rows."""
    if rows.over != "mine":
        places = np.sort(np.random.default_rng(0).permutation(len(rows))[:SAMPLE])
        rows = replace(rows, frame=rows.frame.iloc[places].reset_index(drop=True))
    return {str(each.part): each.rows / len(rows) for each in facets(rows)}


def note_unsliced(why: str) -> None:
    """Say that the page does not follow the chosen slice, and why, if a slice is chosen.

    Args:
        why: end of the sentence, what the page is about.
    """
    focus = visit.focus()
    if focus.among:
        says = Subset.parse(focus.among).says(cache.run(focus.run).labels)
        st.caption(f":material/filter_alt_off: The slice “{md(says)}” does not apply here: {why}.")


def open_slice(text: str) -> None:
    """Show the rows of a slice, with its first mistake open."""
    visit.go(among=text, slice="")
    st.session_state["row-open"] = (FIRST_MISTAKE, 0)
