"""A training run on one slider: the sentence, the rows, the heads and the losses after each of its epochs."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from app import visit
from app.blocks.sentence import head_title, place, sentence_box
from app.components import browser
from app.text import intro, md
from app.views.training.through_part import chosen_run, figures, film_of, load_epochs, sentence, texts_of
from sentviz.analysis.epochs import PICTURES
from sentviz.browser.film import through_data, through_html
from sentviz.browser.film.gif import film_gif
from sentviz.errors import SentvizError
from sentviz.figures.figure import file_safe
from sentviz.figures.maps import component_name
from sentviz.io.glossary import tip

KEY = "through"
AXES = " or ".join(PICTURES.values())

intro(
    "The attention, predictions and mistakes of a model after each epoch of its training. The slider selects the epoch.",
    "The rows are a sample of the validation split. The page does not show what happens within an epoch.",
)
run, focus = chosen_run()
try:
    seen = load_epochs(run)
    traces, problems = sentence(run, focus)
except SentvizError as error:
    st.warning(md(str(error)), icon=":material/block:")
    st.stop()
for problem in dict.fromkeys((*seen.problems, *problems)):
    st.warning(md(problem), icon=":material/broken_image:")

first = next(iter(traces.values()), None)
has = run.capabilities
if first is not None and run.epochs:
    sentence_box(run, first.text, first.text_pair, "through-sentence")
elif first is not None:
    st.markdown(f"“{md(first.text)}”", help="This run ships without the weights of its epochs, so its example is shown.")
titles = {"joint": "one projection", "aligned": "each epoch's own"}
film = film_of(run, seen, traces, focus, visit.chosen("travel", list(titles)))
texts = texts_of(run, seen.first.split)


def take_row() -> None:
    """Make the text of a clicked row the sentence, if the text is available."""
    if row := browser.wanted_row(KEY, seen.first.ids):
        visit.go(run=run.name, row=row)


try:
    data = through_data(film, texts=texts, asks=bool(texts) and bool(run.epochs))
except SentvizError as error:
    st.warning(md(str(error)), icon=":material/block:")
    st.stop()
with st.container(key="figure-through", gap="small"):
    browser.draw("through", data, key=KEY, row=take_row)
    about = (
        f"{run.name} (seed {run.config['recipe']['seed']}, digest {run.digest}); {len(seen.first.ids):,} rows of {seen.first.split}, "
        f"drawn with seed {seen.first.seed}, predicted after epochs {', '.join(map(str, seen.epochs))}. "
        "A row is forgotten if it is right after one epoch and wrong after the next (Toneva et al. 2019)."
    )
    with st.container(horizontal=True, gap="small", wrap=False):
        st.caption(md(about), width="stretch", help=tip("forgetting-event"))
        common: dict[str, Any] = {"type": "tertiary", "on_click": "ignore"}
        name = file_safe("through-training", run.name)
        html, gif = partial(through_html, film, about=about), partial(film_gif, film)
        st.download_button(
            "HTML", lambda: html().encode(), f"{name}.html", "text/html", icon=":material/animation:", key="export-through-html", **common
        )
        st.download_button("GIF", gif, f"{name}.gif", "image/gif", icon=":material/gif_box:", key="export-through-gif", **common)

with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="through-controls"):
    if has.maps:
        visit.choose(st.selectbox, "Layer", "layer", [str(i + 1) for i in range(has.layers)], width=90)
        heads = ["mean", "max", *(str(i + 1) for i in range(has.heads))]
        visit.choose(st.selectbox, "Head", "head", heads, width=150, format_func=head_title)
        if has.components > 1:
            parts = ["effective", *(str(c + 1) for c in range(has.components))]
            names: dict[str, Any] = {"format_func": lambda name: component_name(place(name)), "width": 130}
            visit.choose(st.selectbox, "Component", "component", parts, **names, help=tip("component"))
    visit.setting(st.selectbox, "Points", "travel", list(titles), format_func=titles.get, width=180, help=f"PCA: {AXES}.")
with st.expander("Figures with the epochs side by side", icon=":material/view_module:"):
    figures(run, film, focus)
