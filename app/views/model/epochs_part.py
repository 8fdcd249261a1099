"""A training run on one slider: the sentence, the rows, the heads and the losses after each of its epochs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.measure import lacking
from app.blocks.run_choice import most_similar
from app.blocks.sentence import component_choice, layer_and_head, place, sentence_box
from app.components import browser
from app.focus import Focus
from app.places import MEASURED
from app.shared import once
from app.text import md
from sentviz.analysis.epochs import PICTURES, EpochSeries, asked_of, epoch_series, examples, source_in_words
from sentviz.browser.film import Film, through_data, through_html
from sentviz.charts.epochs import Epochs
from sentviz.charts.figure import file_safe
from sentviz.errors import SentvizError
from sentviz.export.animation import NEEDS_BROWSER, film_gif
from sentviz.export.chromium import find_browser
from sentviz.io.glossary import tip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace

Traces = tuple[dict[int, Trace], tuple[str, ...]]
KEPT = 4  # stored sentences of a visit
FIGURES = {
    "epoch-maps": "Maps",
    "epoch-answers": "Answer",
    "epoch-confusion": "Confusion",
    "epoch-points": "Points",
    "epoch-heads": "Heads",
    "epoch-rows": "Rows",
}


load_epochs, load_examples = once(8)(epoch_series), once(8)(examples)


def sentence(run: Run, focus: Focus) -> Traces:
    """Return the traces of the sentence in focus by epoch, and problems of other epochs. Only the example is stored with the run.

    Raises:
        SentvizError: the text is not available or cannot be read.
    """
    if not (focus.text or focus.row):
        return load_examples(run)
    text, pair = answers.texts(focus)

    def ask() -> Traces:
        with st.spinner("Running the model of each epoch"):
            return asked_of(run, text, pair, lambda epoch: _model(run, epoch))

    traces, problems = visit.keep_result("through-traces", (run.digest, text, pair), ask, most=KEPT)
    return (traces, problems) if traces else (load_examples(run)[0], problems)


@once(12)
def _model(run: Run, epoch: int) -> Any:
    from sentviz.models.loading import load

    return load(run, epoch=epoch)


def film_of(run: Run, seen: EpochSeries, traces: Mapping[int, Trace], focus: Focus, travel: str) -> Film:
    """Return everything that the slider moves; traces only of measured epochs."""
    return Film(
        title=f"{run.name} through training",
        seen=seen,
        traces={epoch: trace for epoch, trace in traces.items() if epoch in seen.epochs},
        history=run.history(),
        scalars=run.capabilities.scalars,
        layer=focus.layer - 1,
        head=place(focus.head),
        component=place(focus.component),
        how=travel,
    )


def texts_of(run: Run, split: str) -> dict[str, str]:
    """Return the texts of a split by id; an empty dictionary if the data set is not on this machine."""
    try:
        frame = cache.split_of(run.config["data"]["name"], split)
    except SentvizError:
        return {}
    both = frame["text"] + " ⏐ " + frame["text_pair"] if "text_pair" in frame else frame["text"]
    return dict(zip(frame["id"].astype(str), both.astype(str), strict=True))


def figures(run: Run, film: Film, focus: Focus) -> None:
    """Draw the choice of a figure of the epochs, and the figure."""
    able = [name for name in FIGURES if film.first is not None or name not in ("epoch-maps", "epoch-answers")]
    able = [name for name in able if run.capabilities.maps or name not in ("epoch-maps", "epoch-heads")]
    name = st.segmented_control(
        "Figure", able, default=able[0], format_func=lambda name: FIGURES[name], label_visibility="collapsed", key="through-figure"
    )
    if name is None:
        return
    options: dict[str, Any] = {}
    if name == "epoch-maps":
        options = {"layer": film.layer, "head": film.head, "component": film.component}
    if name == "epoch-points":
        options = {"how": film.how}
    if name == "epoch-heads":
        measures = list(dict.fromkeys(film.seen.heads["measure"]))
        options = {"measure": st.selectbox("Measure", measures, key="through-measure", width=200)}
    own = bool(focus.text) and name in ("epoch-maps", "epoch-answers")
    of = Epochs(run, text=focus.text if own else None, pair=(focus.pair or None) if own else None)
    of.series, of.traces = film.seen, dict(film.traces)
    show_figure(name, of, **options)


KEY = "through"
AXES = " or ".join(PICTURES.values())
TITLES = {"joint": "one projection", "aligned": "each epoch's own"}


def epoch_by_epoch(run: Run) -> None:
    """Draw the run after each of its epochs; offer to measure them, or a run whose epochs are measured."""
    if MEASURED.shows(run):
        show(run)
    elif MEASURED.could(run):
        lacking(run, "epochs")
    elif measured := cache.runs_for(MEASURED):
        alike = most_similar(run, measured).name
        command = f"sentviz train {run.config['data']['name']} --model {run.configuration} --keep-epochs 6"
        st.button(
            f"Watch a training epoch by epoch: {md(alike)}",
            icon=":material/movie:",
            key="to-epochs",
            help=f"The epochs of {md(run.name)} are not stored; `{command}` trains it and stores them.",
            on_click=visit.go,
            kwargs={"run": alike},
        )


@boundary()
def show(run: Run) -> None:
    """Draw what moves with the slider, and in a drawer the figures with the epochs side by side."""
    focus = visit.focus()
    seen = load_epochs(run)
    traces, problems = sentence(run, focus)
    for problem in dict.fromkeys((*seen.problems, *problems)):
        st.warning(md(problem), icon=":material/broken_image:")
    first = next(iter(traces.values()), None)
    if first is not None and run.epochs:
        sentence_box(run, first.text, first.text_pair, "through-sentence")
    elif first is not None:
        st.markdown(f"“{md(first.text)}”", help="This run ships without the weights of its epochs, so its example is shown.")
    film = film_of(run, seen, traces, focus, visit.chosen("travel", TITLES))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="through-controls"):
        if (has := run.capabilities).maps:
            layer_and_head(has.layers, has.heads)
            if has.components > 1:
                component_choice(has.components, st.selectbox, width=130, help=tip("component"))
        visit.setting(st.selectbox, "Points", "travel", TITLES, width=180, help=f"PCA: {AXES}.", label_visibility="visible")
    _draw(run, film)
    with st.expander("Figures with the epochs side by side", icon=":material/view_module:"):
        figures(run, film, focus)


def _draw(run: Run, film: Film) -> None:
    """Draw the slider and everything that it moves, with what is seen, and the files of both."""
    seen = film.seen
    texts = texts_of(run, seen.first.split)

    def take_row() -> None:
        if row := browser.wanted_row(KEY, seen.first.ids):
            visit.go(run=run.name, row=row)

    with st.container(key="figure-through", gap="small"):
        browser.draw("through", through_data(film, texts=texts, asks=bool(texts) and bool(run.epochs)), key=KEY, row=take_row)
        about = source_in_words(run, seen)
        with st.container(horizontal=True, gap="small", wrap=False):
            st.caption(md(about), width="stretch", help=tip("forgetting-event"))
            common: dict[str, Any] = {"type": "tertiary", "on_click": "ignore"}
            name = file_safe("through-training", run.name)
            html, gif = partial(through_html, film, about=about), partial(film_gif, film)
            st.download_button(
                "HTML",
                lambda: html().encode(),
                f"{name}.html",
                "text/html",
                icon=":material/animation:",
                key="export-through-html",
                **common,
            )
            if find_browser() is None:
                common |= {"disabled": True, "help": NEEDS_BROWSER}
            st.download_button("GIF", gif, f"{name}.gif", "image/gif", icon=":material/gif_box:", key="export-through-gif", **common)
