"""The rows as the model sees them: pooled vectors in two or three dimensions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from app import drawer, shell, store
from app.views import embeddings_part as parts
from sentviz.errors import SentvizError
from sentviz.figures.scatter import COLOURS, measured, scatter
from sentviz.gallery import signed
from sentviz.projection import METHODS, Projection, simplified
from sentviz.slices import Slice

shell.intro(
    "Each row as one point: the vector that the classifier reads, in a picture that keeps near rows near.",
    "Distances between far points, sizes of groups and, with t-SNE and UMAP, axes mean little: trust the numbers beside it.",
)
rows = drawer.begin()
focus, run = shell.focus(), store.run(rows.run)
last = parts.layers_of(run)
layer = last if focus.depth < 0 else min(focus.depth, last)
dims = int(focus.dims)
LAYERS = {0: "embedding"} | {i: f"layer {i}" for i in range(1, last)} | {last: f"layer {last}, the last"}
ASKS = {
    "trustworthiness": "Are the {} nearest points in the picture near in the vectors as well?",
    "continuity": "Are the {} nearest vectors still near in the picture?",
}
SAMPLES = {"stored": "stored sample", "all": "all rows"}
DRAGS = {"lasso": "lasso", "select": "box", "pan": "move"}


def take_layer() -> None:
    chosen = st.session_state["depth"]
    shell.go(depth=-1 if chosen == last else chosen)


def take_sentence() -> None:
    shell.go(text=st.session_state["placed-sentence"])


def take_outline(method: str, layer: int) -> None:
    event: Any = st.session_state.get("plot-embedding") or {}
    drawn = event.get("selection", {})
    if drawn.get("lasso"):
        corners = np.array([drawn["lasso"][-1]["x"], drawn["lasso"][-1]["y"]]).T
    elif drawn.get("box"):
        (x0, x1), (y0, y1) = drawn["box"][-1]["x"], drawn["box"][-1]["y"]
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    else:
        if shell.focus().slice.startswith("lasso="):
            shell.go(slice="")
        return
    if len(corners) >= 3:
        shell.go(slice=str(Slice.lasso(method, layer, simplified(corners))))


with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="embedding-controls"):
    shell.choose(st.segmented_control, "Picture", "method", list(METHODS), format_func=lambda method: METHODS[method])
    shell.choose(st.segmented_control, "Dimensions", "dims", ["2", "3"], format_func=lambda dims: f"{dims}-D")
    shell.choose(st.selectbox, "Colour", "colour", list(COLOURS), format_func=lambda colour: COLOURS[colour], width=170)
    st.session_state["depth"] = layer
    st.select_slider("Layer", list(LAYERS), format_func=lambda layer: LAYERS[layer], key="depth", on_change=take_layer, width=260)
    if rows.over == "test":
        shell.choose(st.segmented_control, "Points", "sample", ["stored", "all"], format_func=lambda which: SAMPLES[which])
    if dims == 2:
        drag = st.segmented_control("Pointer", list(DRAGS), format_func=lambda drag: DRAGS[drag], default="lasso", key="drag") or "lasso"
    st.session_state["placed-sentence"] = parts.sentence_of(focus)
    st.text_input("Place a sentence", placeholder="Type one and press Enter", key="placed-sentence", on_change=take_sentence)


def chosen_of(of: parts.Source) -> Any:
    """(n,) which points are in the slice; None where there is no slice, or one that means nothing here."""
    try:
        part = Slice.parse(focus.slice)
        if part is None:
            return None
        other = drawer.second(rows) if part.kind == "agree" else None
        kept = rows.frame.loc[part.mask(rows, other, drawer.points_of(part, rows)), "id"]
    except SentvizError:
        return None  # the drawer says why
    return of.rows.frame["id"].isin(set(kept)).to_numpy()


def outline_of(method: str) -> Any:
    """The corners of a lasso drawn in this picture; None for every other slice."""
    try:
        part = Slice.parse(focus.slice)
    except SentvizError:
        return None
    return part.outline if part is not None and part.kind == "lasso" and part.picture == (method, layer) and dims == 2 else None


def show(of: parts.Source, found: Projection) -> None:
    """The picture with its numbers."""
    frame = of.rows.frame.assign(**dict(zip("xyz", found.points.T, strict=False)))
    if of.rows.has_text:
        frame = frame.assign(length=[len(str(text).split()) for text in frame["text"]])
    colour = "predicted" if not rows.labelled and focus.colour in ("label", "right") else focus.colour
    title = f"{METHODS[found.method]}, {LAYERS[layer]}"
    own = found.turn.rotation is None and found.shares
    of_all = " of the variance" if dims == 2 else ""  # three dimensions have no room for it
    axes = [f"component {i + 1} ({share:.0%}{of_all})" for i, share in enumerate(found.shares)] if own else ["", "", ""]
    settings = ", ".join(f"{name} {value:.3g}" for name, value in found.parameters.items())
    about = f"{METHODS[found.method]} of {of.about}, {LAYERS[layer]}{', ' + settings if settings else ''}, seed {found.seed}."
    if layer < last:
        about += " Turned and scaled onto the layer above."
    sentence = parts.sentence_of(focus)
    left, right = shell.halves("embedding", 2.4, 1.0)
    with left:
        star = None
        if sentence:
            try:
                star = parts.placed(of, found, layer, sentence)
            except SentvizError as error:
                st.caption(shell.md(str(error)))
        drawn, outline = chosen_of(of), outline_of(found.method)
        selecting: dict[str, Any] = (
            {"on_select": partial(take_outline, found.method, layer), "selection_mode": ("lasso", "box")} if dims == 2 else {}
        )
        shell.figure(
            lambda theme: signed(
                scatter(
                    frame,
                    classes=rows.classes,
                    colour=colour,
                    title=title,
                    axes=axes,
                    chosen=drawn,
                    outline=outline,
                    star=None if star is None else star.tolist(),
                    star_name=sentence,
                    about=about,
                    drag=drag if dims == 2 else "orbit",
                    theme=theme,
                ),
                run,
            ),
            "embedding",
            **selecting,
        )
    with right:
        numbers = parts.measured_of(of, found, layer)
        shell.figure(lambda theme: signed(measured(numbers, theme=theme), run), "silhouette")
        for row in numbers[numbers["space"] == "both"].to_dict("records"):
            st.markdown(
                f"**{row['measure'].capitalize()}** {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
                help=f"{ASKS[row['measure']].format(row['k'])} 1 = all of them.",
            )
        n = int(numbers["n"].max()) if len(numbers) else 0
        st.caption(
            f"{settings + ', ' if settings else ''}seed {found.seed}, k = {int(numbers['k'].max()) if n else 0}, measured on {n:,} rows"
        )
        if dims == 2:
            st.caption("Draw a line around points to see their rows below; a double click takes it away.")


try:
    of = parts.source(rows)
    found = parts.picture(of, focus.method, dims, layer)
    if found is None:
        parts.begun(of, focus.method, dims, layer)
        found = parts.picture(of, "pca", dims, layer)
        if found is not None:
            st.caption("Meanwhile, the same vectors by PCA.")
    if found is not None:
        show(of, found)
except SentvizError as error:
    st.warning(shell.md(str(error)), icon=":material/block:")
if parts.problem():
    st.caption(shell.md(parts.problem()))
drawer.end(rows)
