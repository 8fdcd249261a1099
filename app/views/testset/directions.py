"""Where is the answer written? One direction per layer: found in five ways, taken away, added, and read by probes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.control import control
from app.blocks.figure import show_figure
from app.blocks.get_data import offer
from app.blocks.measure import measured_run
from app.blocks.sentence import sentence_box, sentence_of, texts_in_focus
from app.blocks.slice_choice import note_unsliced
from app.places import DIRECTED
from app.server.queue import turn
from app.shared import once
from app.text import halves, intro, md
from app.views.papers.board_part import show_findings
from sentviz.analysis.causal.claims import CLAIMS
from sentviz.analysis.causal.direction_tables import board, depth_name, headline, table_of, why_no_leace
from sentviz.analysis.causal.directions import Directions
from sentviz.charts.directions import directions_of
from sentviz.charts.subjects import Runs
from sentviz.io.glossary import tip
from sentviz.io.numbers import percent
from sentviz.runs.store import Run

QUICK = 4  # layers up to which the direction is computed without a click


def depth_choice(run: Run) -> int:
    """Draw the choice of a depth, and return it."""
    layers = run.capabilities.layers
    titles = {str(depth): depth_name(depth).capitalize() for depth in range(layers, -1, -1)}
    return int(visit.setting(st.selectbox, "Layer", "depth", titles, resets=("run",), width=180))


def removed(run: Run) -> tuple[int, Any, Any]:
    """Show the accuracy without the direction, agreement of the five ways, and probes. Return the depth and the two places of `live`."""
    st.markdown(f"### {md(headline(run))}", help=tip("direction"))
    left, right = halves("removed", 1.15, 1.0)
    with left:
        by = control("direction-removal", "by", "Lines", written=str.capitalize)
        show_figure("direction-removal", Runs(run), by=by)
        if by == "way" and (why := why_no_leace(run)):
            st.caption(why)
    with right:
        depth = depth_choice(run)
        show_figure("directions", Runs(run), depth=depth)
        st.caption(
            "A way can separate the sides without carrying the answer: weights of a classifier read the states, the difference of means is"
            " what the model writes."
        )
    left, right = halves("probed", 1.15, 1.0)
    with left:
        show_figure("probes", Runs(run))
        if not (table_of(run)["name"] == "negation").any():
            st.caption("Negation and word class are marked in English texts only.")
    return depth, right.container(), left.container()


@once(4, "Finding the direction")
def shared_directions(run: Run) -> Directions:
    """Return the directions of a run on its test rows, found once for all visitors; nobody may change them."""
    with turn(long=True) as step:
        return replace(directions_of(cache.model(run).stoppable(step)), model=cache.model(run))


@boundary()
def live(run: Run, depth: int, below: Any) -> None:
    """Show the typed sentence while the direction is added and, in the place `below`, rows and words along it; all run the model."""
    st.markdown("##### Add the direction to your sentence", help=tip("steering"))
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
    class_directions = shared_directions(run)
    trace = answers.trace(replace(visit.focus(), run=run.name, target="", against=""), scored=False, exact=True)
    apart = class_directions.apart("difference", depth)
    steps = visit.page_value("push", 0, lambda value: int(value) if value.lstrip("-").isdecimal() and abs(int(value)) <= 200 else None)
    st.slider("Norm, in percent of the distance of the two means", -200, 200, step=5, **visit.bound("push", steps))
    norm = steps / 100 * apart
    after = class_directions.steer(trace.text, depth, [0.0, norm], trace.text_pair)
    before, then = (max((row[label], label) for label in trace.labels) for row in after.to_dict("records"))
    share, side = abs(norm) / float(class_directions.norms[depth]), class_directions.sides[norm >= 0]
    st.markdown(
        f"**{md(before[1])} {percent(before[0], 0)} → {md(then[1])} {percent(then[0], 0)}** with a vector of norm {abs(norm):.2f}"
        f" toward {md(side)} at every token ({depth_name(depth)}), {percent(share, 0)} of the mean norm of the states."
    )
    of = sentence_of(run, trace)
    of.known["directions"] = class_directions
    show_figure("steering", of, depth=depth, norm=norm)
    subject = Runs(run)
    subject.directions = class_directions
    with below:
        show_figure("direction-rows", subject, depth=depth)
        if trace.text_pair is None:
            show_figure("direction-words", subject, depth=depth)


intro(
    "In which direction of its states does a model write the answer? The direction is taken away, added, and read by probes.",
    "A probe can read what the model does not use, and a changed state is one that the model may never be in.",
)
note_unsliced("the measurements are stored as means over their sample, not for each of its rows")
every = list(cache.runs().values())
run = measured_run(DIRECTED, "directions")
depth, spot, below_probes = removed(run)
st.markdown("##### All models beside the printed numbers", help=tip("direction"))
st.table(board(every).set_index("run").map(lambda value: "–" if pd.isna(value) else f"{value:g}"))
st.caption(
    "Accuracy in % without the difference of means, set to its mean after every layer. The printed numbers are of a language model on SST"
    " (punctuation: commas), not of a classifier; `lost` is the share of the accuracy above 50 % that is lost at all tokens. Deep models"
    " are measured on texts of at most 30 words if there are enough of them."
)
with st.expander("Five claims about causes", icon=":material/gavel:", on_change="rerun", key="cause-claims") as opened:
    if opened.open:
        show_findings(CLAIMS, every)
with spot:
    live(run, depth, below_probes)
