"""The direction of the classes on the visitor's sentence, on rows and on words; all run the model."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.get_data import offer
from app.blocks.sentence import sentence_box, sentence_of, texts_in_focus
from app.server.queue import turn
from app.shared import once
from app.text import halves, marked, md
from sentviz.analysis.causal.direction_tables import steered_in_words
from sentviz.analysis.causal.directions import Directions
from sentviz.charts.directions import directions_of
from sentviz.charts.subjects import Runs
from sentviz.runs.store import Run

QUICK = 4  # layers up to which the direction is computed without a click


@once(4, "Finding the direction")
def shared_directions(run: Run) -> Directions:
    """Return the directions of a run on its test rows, found once for all visitors; nobody may change them."""
    with turn(long=True) as step:
        return replace(directions_of(cache.model(run).stoppable(step)), model=cache.model(run))


def _depth(run: Run) -> int:
    """Return the depth in focus, whose choice the page draws; the last one unless the model has it."""
    depth, last = visit.focus().depth, run.capabilities.layers
    return depth if 0 <= depth <= last else last


@boundary()
def steer(run: Run) -> None:
    """Show the typed sentence while the direction is added."""
    text, pair = texts_in_focus(run)
    sentence_box(run, text, pair, "directions-sentence")
    wanted_digests = st.session_state.setdefault("asked-directions", set())
    if run.digest not in wanted_digests:
        if not offer(run.config["data"]["name"], "test", place="directions"):
            return
        if run.capabilities.layers > QUICK and not st.button("Find the direction here", icon=":material/play_arrow:", key="find-direction"):
            st.caption(f"This runs {md(run.name)} on 600 test rows.")
            return
        wanted_digests.add(run.digest)
    depth, class_directions = _depth(run), shared_directions(run)
    trace = answers.trace(replace(visit.focus(), run=run.name, target="", against=""), scored=False, exact=True)
    steps = visit.page_value("push", 0, lambda value: int(value) if value.lstrip("-").isdecimal() and abs(int(value)) <= 200 else None)
    st.slider("Norm, in percent of the distance of the two means", -200, 200, step=5, **visit.bound("push", steps))
    norm = steps / 100 * class_directions.apart("difference", depth)
    after = class_directions.steer(trace.text, depth, [0.0, norm], trace.text_pair)
    st.markdown(marked(steered_in_words(class_directions, after, depth, norm)))
    of = sentence_of(run, trace)
    of.known["directions"] = class_directions
    show_figure("steering", of, depth=depth, norm=norm)


@boundary()
def along(run: Run) -> None:
    """Show rows and words along the direction, once it is found for the sentence above."""
    if run.digest not in st.session_state["asked-directions"]:
        return
    subject, depth = Runs(run), _depth(run)
    subject.directions = shared_directions(run)
    left, right = halves("along")
    with left:
        show_figure("direction-rows", subject, depth=depth)
    with right:
        if texts_in_focus(run)[1] is None:
            show_figure("direction-words", subject, depth=depth)
