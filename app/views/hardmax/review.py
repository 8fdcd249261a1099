"""A review on its way through the layers: typed or picked, at any temperature, with words removed or pinned."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from app import visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_drawn
from app.blocks.sentence import example_buttons
from app.components import browser
from app.components.browser import Picked
from app.fields import LONGEST, two_places
from app.text import halves, md
from app.views.hardmax.parts import exports, model, runs, temperature, without_runs
from sentviz.browser.particles import scene_data
from sentviz.charts.clustering import farthest_step, read_in_words
from sentviz.charts.gallery import code
from sentviz.charts.scene import LOOKS, scene_of_review
from sentviz.charts.subjects import sourced
from sentviz.charts.token_step import token_step
from sentviz.data import datasets
from sentviz.errors import SentvizError
from sentviz.io.numbers import probability
from sentviz.models.clustering import weights
from sentviz.papers.hardmax.study import EXAMPLE
from sentviz.runs.store import Run

KEY = "hardmax-canvas"
EXAMPLES = {
    "Praise": "A wonderful film, funny and touching. The two leads are excellent, the music is beautiful, and I loved every minute of it.",
    "Complaint": "What a waste of time. The plot is boring, the acting is awful, and the worst dialogue I ever heard made it duller.",
    "Mixed": "The first hour is slow and poorly written, but the ending is superb, and one performance is great. Not perfect, worth it.",
    "Amazing, torture": EXAMPLE,
}
VIEWS = {"spread": "principal axes", "decision": "across the decision", "axes": "two coordinates"}


@dataclass(frozen=True)
class _Edits:
    """The words of one text that a visitor removed or pinned, as places in the complete text."""

    without: tuple[int, ...] = ()
    pinned: tuple[int, ...] = ()


def show() -> None:
    """Draw the review and its way through the layers."""
    available = runs()
    if not available:
        without_runs()
        return
    _lab(available)


def _text(available: dict[str, Run]) -> Run:
    """Draw the choice of review and model; return the model's run."""
    text = visit.focus().text or EXAMPLES["Praise"]

    def typed() -> None:
        visit.go(text=st.session_state["hardmax-text"])

    st.session_state["hardmax-text"] = text
    st.text_area(
        "Your review",
        key="hardmax-text",
        on_change=typed,
        height=96,
        max_chars=LONGEST,
        help="Press Ctrl+Enter to read the review. Only “Link” puts the review into a link.",
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        example_buttons({kind: (words, "") for kind, words in EXAMPLES.items()}, (text, ""))
        place = st.popover("From the test set", icon=":material/casino:", type="tertiary")
    run = available[visit.focus().run]
    with place:
        _pick(run)
    return run


def _pick(run: Run) -> None:
    """Draw the choice of a review from the test split by its place."""
    data = run.config["data"]["name"]
    place = st.number_input("Review", min_value=1, value=1, step=1, key="hardmax-row", help="Its place in the test split, from 1.")
    if "hardmax-refused" in st.session_state:
        st.caption(md(st.session_state.pop("hardmax-refused")))

    def take() -> None:
        try:
            texts = datasets.load_split(data, "test").frame["text"]
            visit.go(text=str(texts.iloc[(int(place) - 1) % len(texts)]))
        except SentvizError as error:
            st.session_state["hardmax-refused"] = str(error)

    st.button("Read it", on_click=take, key="hardmax-take")


@st.fragment
@boundary()
def _lab(available: dict[str, Run]) -> None:
    """Draw the animation, and next to it the review and the clicked word. A click runs only this part of the page again."""
    visit.settle()
    text = visit.focus().text or EXAMPLES["Praise"]
    left, right = halves("hardmax", 1.75, 1.0)
    slot = left.container()
    with right:
        run = _text(available)
        classifier = model(run)
        heat = temperature()
        look, axes = _look(run)
    edits: _Edits = st.session_state.setdefault("hardmax-edits", {}).get((run.digest, text), _Edits())
    base = visit.keep_result("hardmax-base", (run.digest, text), lambda: classifier.follow(text))
    key = (run.digest, text, heat, edits)
    plain = not heat and edits == _Edits()
    try:
        review = (
            base if plain else visit.keep_result("hardmax-review", key, lambda: classifier.follow(text, heat, edits.without, edits.pinned))
        )
    except SentvizError:
        _back(run, text, edits, base)
        raise
    index = [i for i in range(len(base.words)) if i not in edits.without]
    scene = visit.keep_result("hardmax-scene", (*key, look, axes), lambda: _scene(run, classifier, review, index, edits, text, look, axes))
    data = visit.keep_result("hardmax-data", (*key, look, axes), lambda: scene_data(scene))
    with slot:
        _verdict(run, review, base, heat, edits)
    with left:
        browser.draw("particles", data, key=KEY, token=None, point=None)
        picked = browser.picked_token(KEY, data)
        if scene.note:
            st.caption(md(scene.note))
        source = signed_source(run)
        about = (run.name, text) if plain and run.shape.width == 2 else None
        exports(scene, review.clustering, f"hardmax-{run.name}", "review", source, picked.layer if picked else None, about)
    with right:
        _panel(run, classifier, text, review, index, edits, heat, picked)
        _back(run, text, edits, base)


def signed_source(run: Run) -> str:
    """Return the source line of the figures: run, seed and digest."""
    return f"{run.name} (seed {run.config['recipe']['seed']}, digest {run.digest})."


def _look(run: Run) -> tuple[str, tuple[int, int]]:
    """Draw the choice of a plane for more than two dimensions; return its kind and two coordinates, counted from 0."""
    d = run.shape.width
    if d <= 2:
        return "spread", (0, 1)
    plane = visit.page_value("plane", "spread", lambda value: value if value in LOOKS or _coordinates(value, d) else None, resets=("run",))
    chosen = _coordinates(plane, d)
    first, second = chosen or (1, 2)
    look_now = "axes" if chosen else plane
    state = st.session_state
    state["hardmax-look"] = look_now

    def look() -> None:
        visit.go(plane="1.2" if state["hardmax-look"] == "axes" else state["hardmax-look"])

    def turn() -> None:
        right, up = state["hardmax-right"], state["hardmax-up"]
        visit.go(plane=f"{right}.{first if right == up else up}")

    help = (
        "Principal axes of the tokens of all layers; the plane across the decision, where the decision line is exact; or two coordinates."
    )
    with st.container(horizontal=True, gap="small"):
        st.selectbox("Plane", LOOKS, format_func=lambda name: VIEWS[name], key="hardmax-look", on_change=look, width=190, help=help)
        if look_now == "axes":
            state["hardmax-right"], state["hardmax-up"] = first, second
            st.selectbox("Right", range(1, d + 1), key="hardmax-right", on_change=turn, width=80)
            st.selectbox("Up", [c for c in range(1, d + 1) if c != first], key="hardmax-up", on_change=turn, width=80)
    return look_now, (first - 1, second - 1)


def _coordinates(value: str, d: int) -> tuple[int, int] | None:
    """Return two different coordinates, counted from 1, that a text such as 1.3 names; None for any other text, or beyond `d`."""
    pair = two_places(value)
    return pair if pair and pair[0] != pair[1] and max(pair) <= d else None


def _scene(run: Run, classifier: Any, review: Any, index: list[int], edits: _Edits, text: str, look: str, axes: tuple[int, int]) -> Any:
    pinned_places = [n for n, i in enumerate(index) if i in edits.pinned]
    story = hashlib.blake2b(f"{run.digest} {text}".encode(), digest_size=8).hexdigest()
    return scene_of_review(run, classifier, review, look=look, axes=axes, pinned=pinned_places, story=story)


def _verdict(run: Run, review: Any, base: Any, heat: float, edits: _Edits) -> None:
    """Show the prediction and the words that were not read."""
    p, before = float(review.probabilities[-1, 1]), float(base.probabilities[-1, 1])
    label = run.labels[int(p > 0.5)]
    words = f"### {md(label.capitalize())}, {probability(max(p, 1 - p))}."
    if heat or edits != _Edits():
        words += f" :gray[As trained: {md(run.labels[int(before > 0.5)])}, {probability(max(before, 1 - before))}.]"
    st.markdown(words)
    st.caption(md(" ".join(read_in_words(review, base, run.shape.max_length))))


def _panel(run: Run, classifier: Any, text: str, review: Any, index: list[int], edits: _Edits, heat: float, picked: Picked | None) -> None:
    """Draw the step of the clicked word and the buttons that remove or pin it."""
    clicked = picked is not None
    if picked is None:
        picked = Picked(farthest_step(review.positions), 0)
    token, layers = picked.token, len(review.positions) - 1
    layer = min(picked.layer, layers - 1)
    word = review.words[token]
    alike = [index[n] for n, each in enumerate(review.words) if each == word]
    pinned = index[token] in edits.pinned

    def change(**parts: tuple[int, ...]) -> None:
        st.session_state["hardmax-edits"] = {(run.digest, text): replace(edits, **parts)}

    st.markdown(f"##### {'' if clicked else 'For example: '}“{md(word)}” in layer {layer + 1}")
    if not clicked:
        st.caption("Click any word in the picture to see its step.")
    with st.container(horizontal=True, gap="small"):
        times = f" (all {len(alike)})" if len(alike) > 1 else ""
        st.button(
            f"Remove{times}",
            icon=":material/backspace:",
            key="hardmax-remove",
            on_click=change,
            kwargs={"without": (*edits.without, *alike)},
            help="Read the review without this word.",
        )
        rest = tuple(i for i in edits.pinned if i not in alike)
        st.button(
            f"{'Unpin' if pinned else 'Pin'}{times}",
            icon=":material/push_pin:",
            key="hardmax-pin",
            on_click=change,
            kwargs={"pinned": rest if pinned else (*rest, *alike)},
            help="A pinned word stays at its start. Other words still move towards it.",
        )
    share = weights(review.positions[layer], None, heat, review.clustering.tolerance)[token]
    show_drawn(
        lambda: sourced(token_step(review.positions[layer], token, share, review.clustering.alpha, review.words, pinned=pinned), run),
        "token-step",
        code=code(run.name, "token-step", text=text, layer=layer, token=token) if not heat and edits == _Edits() else None,
    )


def _back(run: Run, text: str, edits: _Edits, base: Any) -> None:
    """Draw a button for each removed or pinned word, which undoes the change."""
    if edits == _Edits():
        return

    def undo(**parts: tuple[int, ...]) -> None:
        st.session_state["hardmax-edits"] = {(run.digest, text): replace(edits, **parts)}

    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="hardmax-edited"):
        for name, places in (("without", edits.without), ("pinned", edits.pinned)):
            for word in dict.fromkeys(base.words[i] for i in places):
                left = tuple(i for i in places if base.words[i] != word)
                st.button(
                    f"{'without' if name == 'without' else 'pinned'} “{md(word)}”",
                    key=f"hardmax-undo-{name}-{word}",
                    icon=":material/close:",
                    icon_position="right",
                    type="tertiary",
                    on_click=undo,
                    kwargs={name: left},
                    help="Undo",
                )
        st.button("As trained", key="hardmax-undo", on_click=undo, kwargs={"without": (), "pinned": ()}, icon=":material/restart_alt:")
