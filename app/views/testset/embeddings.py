"""The rows as the model sees them: pooled vectors in two or three dimensions, which travel from layer to layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from app import visit
from app.blocks import pictures
from app.blocks.boundary import boundary
from app.blocks.control import control
from app.blocks.figure import export_menu, show_drawn
from app.blocks.rows import Listing, beside, choose_rows, list_rows, outlined_points, rows_of_second_run
from app.blocks.slice_choice import choose_slice
from app.components import browser
from app.server.queue import turn
from app.text import halves, intro, md, page_theme
from sentviz.analysis.embeddings.projection import (
    METHODS,
    NEIGHBOURS,
    PERPLEXITY,
    SETTINGS,
    Projection,
    method_title,
    parsed_method,
    simplified,
)
from sentviz.analysis.testset import selection as lib
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.word_counts import Counts, stop_words
from sentviz.browser.points import points_data, points_html
from sentviz.charts.colours import Theme
from sentviz.charts.figure import Figure, file_safe
from sentviz.charts.gallery import call
from sentviz.charts.look import Look
from sentviz.charts.points import about_picture, layer_names
from sentviz.charts.scatter import said_of, scatter
from sentviz.charts.subjects import Answers, sourced
from sentviz.charts.word_clouds import word_bars
from sentviz.errors import SentvizError
from sentviz.io.glossary import tip
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent

DIFFERENT = 500_000  # words of the drawn rows
CUT = 160  # characters of a text in the table of nearest rows


@boundary(quiet=True)
def show_selection(rows: Rows, chosen: npt.NDArray[np.bool_], vectors: npt.NDArray[Any], key: str, layer: str) -> None:
    """Show what the selected points hold.

    Args:
        rows: of all points, (n,). chosen: (n,). vectors: (n, d) of the layer shown. key: digest of the rows. layer: its name.
    """
    st.markdown("##### What the selection holds")
    st.markdown(md(lib.describe_errors(rows, chosen)))
    left, right = halves("selection", 1.0, 1.4)
    with left, boundary(quiet=True):
        words = lib.typical(_counts(rows, chosen, key), stop_words())
        if words.empty:
            st.caption("No word is typical of these rows. There are too few rows, or their words are as frequent in all rows.")
        else:
            show_drawn(
                lambda: sourced(
                    word_bars(words, title=f"Typical words of {int(chosen.sum()):,} rows", about="Against all other points."),
                    rows.source,
                    rows=rows,
                ),
                "selection-words",
            )
            st.page_link("views/testset/words.py", label="Word clouds of the selection", icon=":material/cloud:")
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


intro(
    "Each row is one point: the vector that the classifier reads, projected so that similar rows stay near each other.",
    "Large distances and sizes of groups mean little.",
)
rows = choose_rows(second=False)
sliced, inside = choose_slice(rows)
focus = visit.focus()
try:
    run = rows.source.require_run("vectors of its rows")
except SentvizError as error:
    st.info(md(str(error)), icon=":material/scatter_plot:")
    list_rows(sliced)
    st.stop()
last = run.capabilities.layers
layer = last if focus.depth < 0 else min(focus.depth, last)
LAYERS = layer_names(last)
ASKS = {
    "trustworthiness": "Are the {} nearest points of the picture also near as vectors?",
    "continuity": "Are the {} nearest vectors still near in the picture?",
}
KEY = "embedding-points"
SIDE = 340  # pixels of the column beside the picture
OFFERED = {"perplexity": ["5", "10", "30", "50", "100"], "neighbours": ["5", "15", "30", "50", "100"]}
USUAL = {"perplexity": f"{PERPLEXITY:.0f}", "neighbours": str(NEIGHBOURS)}


def take_sentence() -> None:
    visit.go(text=st.session_state["placed-sentence"])


def take_layer() -> None:
    chosen = browser.wanted_layer(KEY, last)
    if chosen is not None:
        visit.go(depth=-1 if chosen == last else chosen)


def take_sample() -> None:
    """Draw other points. An outline was drawn around the old ones, so that it is deleted."""
    if (which := st.session_state["focus-sample"]) is not None:
        visit.go(sample=which, slice="" if visit.focus().slice.startswith("lasso=") else visit.focus().slice)


def take_outline() -> None:
    """Make the outline the slice; show all rows if the outline was removed."""
    drawn = browser.outline(KEY)
    if drawn is None:
        return
    picture, at, corners = drawn
    method = picture.partition(" ")[0]
    visit.go(slice=str(Slice.lasso(method, at, simplified(corners))) if len(corners) >= 3 and parsed_method(method)[0] else "")


controls = st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="embedding-controls")
left, right = st.container(), st.container()
with controls:
    method = visit.setting(st.segmented_control, "Picture", "method", METHODS, label_visibility="visible")
    colour = control("embeddings", "colour", "Colour", widget=st.selectbox, label_visibility="visible", width=130)
    st.session_state["placed-sentence"] = pictures.sentence_of(focus)[0]
    st.text_input("Place a sentence", placeholder="Type one and press Enter", key="placed-sentence", on_change=take_sentence)
    with st.popover("Settings", icon=":material/tune:", type="tertiary"):
        if (name := SETTINGS.get(method, "")) in OFFERED:
            value = visit.setting(
                st.select_slider,
                name.capitalize(),
                name,
                OFFERED[name],
                default=USUAL[name],
                width=220,
                help=tip(name),
                label_visibility="visible",
            )
            method = method if value == USUAL[name] else f"{method}-{value}"
        dims = control("embeddings", "dims", "Dimensions", label_visibility="visible")
        if rows.over == "test":
            st.session_state["focus-sample"] = pictures.sample()
            titles = pictures.SAMPLES
            st.segmented_control("Points", list(titles), format_func=lambda which: titles[which], key="focus-sample", on_change=take_sample)


def part_of(of: pictures.VectorSource) -> tuple[Any, Slice | None]:
    """Return which points are in the slice, (n,), and the slice; None for both if there is no slice or it cannot be applied here."""
    try:
        part = Slice.parse(focus.slice)
        if part is None:
            return (inside[of.places] if focus.among else None), None
        second = rows_of_second_run(rows) if part.kind == "agree" else None
        return part.mask(rows, second, outlined_points(part, rows))[of.places] & inside[of.places], part
    except SentvizError:
        return None, None  # the list of rows below shows why


@boundary(quiet=True)
def star_of(of: pictures.VectorSource, projections: dict[int, Projection], at: int, text: str, pair: str | None) -> dict[int, Any] | None:
    """Return the place of the sentence: in every layer for PCA, which costs nothing, otherwise in the layer that is shown."""
    return pictures.placed(of, projections if projections[at].method == "pca" else {at: projections[at]}, text, pair)


def show(of: pictures.VectorSource, projections: dict[int, Projection], at: int) -> None:
    """Draw the pictures of the layers, beginning with one of them, and its numbers."""
    projection = projections[at]
    frame = of.rows.frame
    if of.rows.has_text and colour == "length":
        frame = frame.assign(length=of.rows.texts.str.count(r"\S+"))
    coloured_by = "predicted" if not rows.labelled and colour in ("label", "right") else colour
    of_all = " of the variance" if dims == 2 else ""  # three dimensions have no room for it
    axes = [f"component {i + 1} ({percent(share, 0)}{of_all})" for i, share in enumerate(projections[last].shares)]
    settings = ", ".join(f"{name} {value:.3g}" for name, value in projection.parameters.items())
    about = about_picture(projection, of.about, at, last)
    shipped = rows.over == "test" and pictures.sample() == "stored"
    options: dict[str, Any] = {"method": projection.method, "dims": dims, "layer": None if at == last else at}
    with left:
        scores = st.container(key="silhouettes").empty()
        sentence, second = pictures.sentence_of(focus)
        stars = (star_of(of, projections, at, sentence, second) if sentence else None) or {}
        chosen, part = part_of(of)
        drawn_here = part is not None and part.kind == "lasso" and part.picture[0] == projection.method and dims == 2
        outline = part.outline if part is not None and drawn_here else None
        caption = said_of(frame, coloured_by, chosen=chosen, star_name=sentence if at in stars else "", about=about)
        common: dict[str, Any] = {"classes": rows.classes, "colour": coloured_by, "chosen": chosen}

        def still() -> Figure:
            placed = frame.assign(**dict(zip("xyz", projection.points.T, strict=False)))
            figure = scatter(
                placed,
                **common,
                title=f"{method_title(projection.method)}, {LAYERS[at]}",
                axes=axes if at == last and axes else [""] * dims,
                outline=outline if part is not None and outline is not None and part.picture[1] == at else None,
                star=stars[at].tolist() if at in stars else None,
                star_name=sentence,
                about=about,
            )
            return sourced(figure, run, rows=rows)

        def data(theme: Theme) -> dict[str, Any]:
            return points_data(
                frame,
                [projections[k].points for k in sorted(projections)],
                **common,
                layers=LAYERS,
                layer=at,
                title=method_title(projection.method),
                picture=f"{projection.method} {dims}",
                axes={last: axes},
                outline=None if part is None or outline is None else (part.picture[1], outline),
                star=(sentence, stars) if stars else None,
                more=pictures.has_missing(of, projection.method, dims),
                theme=theme,
            )

        def moving() -> bytes:
            figure = still()
            return points_html(data("light"), about=f"{figure.caption} {figure.source}").encode()

        with st.container(key="figure-embedding", gap="small"):
            browser.draw("points", data(page_theme()), key=KEY, outline=take_outline, layer=take_layer)
            if len(projections) <= last:
                compute(of)
            with st.container(horizontal=True, gap="small", wrap=False):
                st.caption(md(caption), width="stretch")
                if len(projections) > 1:
                    st.download_button(
                        "HTML that moves",
                        moving,
                        f"{file_safe('embeddings', projection.method, run.name)}.html",
                        "text/html",
                        icon=":material/animation:",
                        type="tertiary",
                        on_click="ignore",
                        key="export-embedding-moving",
                        help="The picture with all its layers as a file for any browser, without a network.",
                    )
                plain = shipped and chosen is None and not sentence
                lines = call("embeddings", Answers.of(rows), {"colour": coloured_by} | options) if plain else None
                export_menu(still, file_safe("embeddings", projection.method, at, run.name), "embedding", code=lines)
    with right:
        numbers = pictures.measured_of(of, projection, at)
        if line := silhouette_line(numbers):
            scores.markdown(line, help=tip("silhouette"))
        show_drawn(
            lambda: replace(sourced(pictures.silhouettes(of, projection, at), run, rows=rows), look=Look(width=SIDE)),
            "silhouette",
            code=call("silhouette", Answers.of(rows), options) if shipped else None,
        )
        for row in numbers[numbers["space"] == "both"].to_dict("records"):
            st.markdown(
                f"**{row['measure'].capitalize()}** {number(row['value'], 3, ends=(row['low'], row['high']))}",
                help=f"{ASKS[row['measure']].format(row['k'])} 1 means all of them.",
            )
        n = int(numbers["n"].max()) if len(numbers) else 0
        st.caption(
            f"{settings + ', ' if settings else ''}seed {projection.seed}, k = {int(numbers['k'].max()) if n else 0},"
            f" measured on {n:,} rows"
        )
        st.caption(
            "Draw an outline around points, or click a point, to see their rows at the side. Double-click to remove the outline."
            if dims == 2
            else "Drag to turn the picture. Outlines can be drawn only in two dimensions."
        )
    if chosen is not None:
        with beside(1):
            show_selection(of.rows, chosen, projection.vectors, of.key, LAYERS[at])


def silhouette_line(numbers: pd.DataFrame) -> str:
    """Return the silhouette of all rows in the picture and of their vectors, with intervals, as Markdown; "" if it is not known."""
    of_all = numbers[(numbers["measure"] == "silhouette") & (numbers["class"] == "")].set_index("space")
    if of_all.empty:
        return ""
    values = {space: number(row["value"], 2, ends=(row["low"], row["high"])) for space, row in of_all.to_dict("index").items()}
    words = {"picture": "in the picture", "vectors": "of the vectors themselves"}
    by = "labels" if rows.labelled else "predictions"
    return f"Silhouette by {by}: " + ", ".join(f"**{values[space]}** {words[space]}" for space in words if space in values)


def every(of: pictures.VectorSource) -> str:
    """Return the key in the session's state of the request for every layer."""
    return f"every {of.key} {method} {dims}"


def compute(of: pictures.VectorSource) -> None:
    """Draw the button that computes every layer, so that the points can travel."""
    if pictures.has_missing(of, method, dims) and not st.session_state.get(every(of)):
        st.button(
            "Compute every layer, so that the points can move",
            key="every-layer",
            icon=":material/layers:",
            on_click=st.session_state.update,
            args=({every(of): True},),
            help="The model reads these rows again in the background. Then the slider moves the points from layer to layer.",
        )


def neighbours(name: str) -> None:
    """Draw the rows nearest to a row of the list, if it has a vector."""
    if not drawable:
        return
    is_row = (of.rows.frame["id"] == name).to_numpy(bool)
    if is_row.any():
        nearest(of.rows, is_row, drawable[at].vectors, LAYERS[at])
    else:
        st.caption("This row is not among the points, so its nearest rows are not known. Choose “all rows” above.")


drawable: dict[int, Projection] = {}
at = last
with boundary():
    of = pictures.source(rows)
    available = pictures.available_projections(of, method, dims)
    wished = 0 if st.session_state.get(every(of)) else layer
    if any(k not in available for k in range(wished, last + 1)):
        pictures.start_pictures(of, method, dims, wished)
    drawable = available or pictures.available_projections(of, "pca", dims)
    if drawable:
        at = max(layer, min(drawable))
        if layer not in available:
            left.caption(f"Until this is computed, {method_title(next(iter(drawable.values())).method)} of {LAYERS[at]} is shown.")
        show(of, drawable, at)
if pictures.problem():
    st.caption(md(pictures.problem()))
list_rows(sliced, Listing(below=neighbours))
