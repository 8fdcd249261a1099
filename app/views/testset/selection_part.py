"""Show what a selection of points holds: its mistakes, its typical words and its nearest rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from app import visit
from app.blocks.figure import show_drawn
from app.server.queue import turn
from app.text import halves, md
from sentviz.analysis.testset import selection as lib
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import Counts, stop_words
from sentviz.errors import SentvizError
from sentviz.figures.word_clouds import word_bars
from sentviz.gallery.subjects import sourced
from sentviz.io.lazy import pd

DIFFERENT = 500_000  # words of the drawn rows
CUT = 160  # characters of a text in the table of nearest rows


def show(rows: Rows, chosen: npt.NDArray[np.bool_], vectors: npt.NDArray[Any], key: str, layer: str) -> None:
    """Show what the selected points hold.

    Args:
        rows: of all points, (n,). chosen: (n,). vectors: (n, d) of the layer shown. key: digest of the rows. layer: its name.
    """
    st.markdown("##### What the selection holds")
    try:
        st.markdown(md(lib.describe_errors(rows, chosen)))
    except SentvizError as error:
        st.caption(md(str(error)))
        return
    left, right = halves("selection", 1.0, 1.4)
    with left:
        try:
            words = lib.typical(_counts(rows, chosen, key), stop_words())
            if words.empty:
                st.caption("No word is typical of these rows. There are too few rows, or their words are as frequent in all rows.")
            else:
                show_drawn(
                    lambda theme: sourced(
                        word_bars(
                            words, title=f"Typical words of {int(chosen.sum()):,} rows", about="Against all other points.", theme=theme
                        ),
                        rows.source,
                        rows=rows,
                    ),
                    "selection-words",
                )
                st.page_link("views/testset/words.py", label="Word clouds of the selection", icon=":material/cloud:")
        except SentvizError as error:
            st.caption(md(str(error)))
    with right:
        nearest(rows, chosen, vectors, layer)


def nearest(rows: Rows, chosen: npt.NDArray[np.bool_], vectors: npt.NDArray[Any], layer: str) -> None:
    """Draw the rows nearest to the selection, by their vectors."""
    is_single = int(chosen.sum()) == 1
    st.markdown(f"**Nearest rows{'' if is_single else ' outside the selection'}**")
    places, away = lib.nearest_to(vectors, chosen)
    part, names = rows.frame.iloc[places], [*rows.classes, "–"]
    columns = {"distance": away} | ({"text": part["text"].str.slice(0, CUT).to_numpy()} if "text" in part else {})
    columns |= {"label": [names[k] for k in part["label"]], "predicted": [names[k] for k in part["predicted"]], "id": part["id"].to_numpy()}
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        height="content",
        column_config={
            "distance": st.column_config.NumberColumn(format="%.2f", width=80),
            "text": st.column_config.TextColumn(width="large"),
        },
    )
    whose = "the row's vector" if is_single else "the mean vector of the selected rows"
    st.caption(f"By euclidean distance to {whose} ({layer}), not by the distance in the picture.")


def _counts(rows: Rows, chosen: npt.NDArray[np.bool_], key: str) -> Counts:
    """Return the words of both sides, counted once per visit and selection."""

    def count() -> Counts:
        with st.spinner("Counting words"), turn(long=True) as step:
            return lib.selection_words(rows, chosen, most=DIFFERENT, step=step)

    return visit.keep_result("selection-words", (key, chosen.tobytes()), count)
