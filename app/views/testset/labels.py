"""Labels that look wrong, texts that repeat, and rows that are among the training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.get_data import offer
from app.blocks.my_file import unlabelled
from app.blocks.rows import Listing, choose_rows, every_row, list_rows
from app.shared import once
from app.text import halves, intro, md
from sentviz.analysis.embeddings.cache import stored_sample
from sentviz.analysis.testset import label_errors as errors
from sentviz.analysis.testset import repeats
from sentviz.analysis.testset.rows import Rows
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError, SentvizError

intro(
    "Which labels look wrong, which texts occur more than once, and which rows the model has learned from.",
    "A listed row is a candidate, not an error: read it, then give it your own label or a note. The CSV of the list has both.",
)
SUSPICIOUS = "most suspicious first"
VIEWS = {"labels": "Label errors", "repeats": "Repeats", "train": "Leakage from training"}
rows = choose_rows(second=False, sliced=True)
view = visit.setting(st.segmented_control, "View", "view", VIEWS)


compared = once(8, "Comparing the rows", own=2)
repeated = compared(repeats.repeated)


@compared
def leaked(of: Rows, data: str, *, step: Callable[[], object] = lambda: None) -> tuple[Rows, int]:
    """Return the rows that are among the training rows of a data set, and the number of its training rows."""
    train = cache.split_of(data, "train")
    return repeats.leaked(of, train, step), len(train)


@compared
def judged(of: Rows, *, step: Callable[[], object] = lambda: None) -> tuple[Rows, Any]:
    """Return `label_errors` of rows, with the stored vectors if there are any, and what the ranking is worth on them."""
    run = of.source.run
    if run is None or of.over != "test" or "embeddings.safetensors" not in run.config["files"]:
        judged_rows = errors.label_errors(of)
    else:
        places, vectors = stored_sample(run, len(of))
        judged_rows = errors.label_errors(of, vectors, places)
    step()
    return judged_rows, errors.check(of)


def show_labels() -> None:
    """Show how many labels look wrong, which, and what that is worth, above the list of these rows."""
    if not rows.labelled:
        raise InputError(f"{unlabelled(rows.over)} Without labels none can look wrong; see the repeats.")
    every = every_row()
    judged_rows, check = judged(every)
    if rows.among:  # Rates of classes need all rows; a weak slice alone would look like swapped labels.
        inside = judged_rows.frame["id"].isin(rows.frame["id"])
        judged_rows = replace(judged_rows, frame=judged_rows.frame[inside], among=rows.among, described=rows.described)
    suspects = replace(judged_rows, frame=judged_rows.frame[judged_rows.frame["suspect"]])
    st.markdown(f"##### {md(errors.describe(judged_rows))}")
    left, right = halves("label-errors", 1.4, 1.0)
    with left:
        if len(suspects):
            show_figure("label-errors", Answers.of(judged_rows))
    with right:
        st.markdown(md(errors.describe_check(check)))
        st.caption(
            "Confident learning flags a row if the model gives another class more than that class's usual probability. The list begins"
            " with the labels of the lowest probability. Rows that are only hard for the model are flagged too."
            + (" The usual probabilities are those of all rows, also outside the slice." if rows.among else "")
        )
    list_rows(suspects, Listing(total=len(rows), words="labels that look wrong", order=SUSPICIOUS))


def show_repeats() -> None:
    """Show how many rows repeat another one, above the list of the groups."""
    again = repeated(rows)
    st.markdown(f"##### {md(repeats.describe_repeats(again, len(rows)))}")
    st.caption(
        "Case, punctuation, HTML and web addresses do not count. Nearly the same: at least 70 % of the pairs of words are shared. The rows"
        " of a group follow each other; groups with different labels come first."
    )
    list_rows(again, Listing(total=len(rows), words="rows that repeat another one", order=SUSPICIOUS))


def show_leaks() -> None:
    """Show how many rows are among the training rows of the run, above the list of these rows."""
    name = rows.source.require_run("training rows to compare with").config["data"]["name"]
    if not name:
        raise InputError(f"{rows.source.name} was adopted without data, so its training rows are not known.")
    known, training_rows = leaked(rows, name)
    st.markdown(f"##### {md(repeats.describe_leaks(known, rows, training_rows))}")
    st.caption(
        f"A row of {repeats.LONG} words or more also counts if its words stand in this order within a longer training text. The accuracy"
        " on the other rows is nearer to that on new texts."
    )
    list_rows(known, Listing(total=len(rows), words="rows that are among the training rows", order=SUSPICIOUS))


try:
    if view != "labels" and not rows.has_text and rows.source.data:
        offer(rows.source.data, rows.over, line="Texts are compared, and those of these rows are not on this machine.")
    else:
        {"labels": show_labels, "repeats": show_repeats, "train": show_leaks}[view]()
except SentvizError as error:
    st.warning(md(str(error)), icon=":material/block:")
    list_rows(rows)
