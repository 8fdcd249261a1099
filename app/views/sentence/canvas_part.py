"""The sentence as one linked picture: words, heads, maps and prediction; and its export."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from app import answers, cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import menu
from app.blocks.sentence import in_lines, open_map, place, sentence_of
from app.components import browser
from app.focus import Focus
from app.live import ticket
from sentviz.analysis.explain import SCORES
from sentviz.browser.canvas import Pick, Scene, canvas_data, canvas_html, is_quick, scene_of
from sentviz.browser.packing import digest
from sentviz.charts import file_safe
from sentviz.charts.gallery import call, make
from sentviz.charts.maps import component_slug, head_slug
from sentviz.data.texts import BREAK
from sentviz.errors import SentvizError
from sentviz.io.numbers import percent
from sentviz.models.budget import Spent
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from sentviz.serving.live import check

KEY = "canvas"
FILES = {"verdict": "Answer", "strip": "Words", "map": "Map", "picture": "All in one", "live": "Live page"}
LIVE_HELP = (
    "One HTML file that holds this model and answers what is typed, without a network. It opens with the model's example sentence."
    " Writing it takes a while the first time."
)
FIELDS = {  # selectors in Reason
    "box": ".st-key-sentence :is(input, textarea)",
    "second": ".st-key-sentence-pair input",
    "heading": ".st-key-answer h3",
}


def follow(*subject: Hashable) -> str:
    """Mark the page if it still has elements of another subject, and return the name of this one, which `followed` takes at the end.

    Streamlit leaves elements on the page until it draws them anew. The browser hides those of the old answer and dims those below the
    picture (`app/style.css`), so that no word of the sentence before stands beside the new answer. The picture is drawn later than the
    elements, so that it names its subject itself, and it is dimmed while that is not the page's.

    Args:
        subject: everything that answer and reason depend on: run, texts, change of the model, explained class.
    """
    name, drawn = digest(repr(subject)), st.session_state.get("pictured")
    if is_new := drawn not in (None, name):
        st.session_state["pictured"] = ""  # A run of the page that does not reach its end leaves old elements.
    old = f'body:not([data-typing], [data-pictured="{name}"]) .st-key-canvas'
    st.html(f'<i class="{"pending" if is_new else "follows"}"></i><style>{old} {{ opacity: .4; transition: none; }}</style>')
    return name


def followed(subject: str) -> None:
    """Note that all elements of the page are of a subject."""
    st.session_state["pictured"] = subject


def reserve() -> Any:
    """Keep the place of the first picture of a visit, and return the slot that the caller empties after the picture."""
    slot = st.empty()
    if st.session_state.get("pictured") is None:
        slot.html('<div class="awaited picture" role="status" aria-label="Drawing the picture"></div>')
    return slot


def show(trace: Trace, run: Run, score: str, before: Trace | None, subject: str, *, stopped: bool) -> Scene:
    """Draw the picture and return what `exports` writes to files. It waits for the effects of heads only if they are measured quickly.

    Args:
        score: score that colours the words, a name of `SCORES`.
        before: trace of the same text without interventions; None if there are none.
        subject: result of `follow`.
        stopped: whether nothing measures the effects of heads that are not measured yet.
    """
    falls = None
    if _is_measured(trace, run):
        with suppress(Spent):  # The picture is drawn without the effects of heads.
            falls = answers.heads(visit.focus(), trace, wait=is_quick(run))
    pinned = visit.focus().token - 1 if 0 < visit.focus().token <= len(trace.tokens) else None
    chosen = _chosen(trace)
    scene = scene_of(trace, run.capabilities, score, heads=falls, before=before, chosen=chosen, pinned=pinned)
    if falls is not None and scene.chosen is None:  # The map of the strongest head stays when the visitor changes the model.
        scene = replace(scene, chosen=visit.keep_result("first-map", (run.digest, trace.text, trace.text_pair), lambda: scene.pick))
    axes = trace.lambdas.shape[0], len(trace.head_ids), trace.lambdas.shape[1] + 1
    pin = partial(_pin, len(trace.tokens))
    data = canvas_data(scene, acts=True, stopped=stopped) | {"live": _live(trace, run) | {"subject": subject}}
    browser.draw("canvas", data, key=KEY, pick=partial(_pick, axes), silence=partial(_silence, axes[:2]), pin=pin)
    st.session_state.setdefault("pictured", "")
    return scene


def _live(trace: Trace, run: Run) -> dict[str, Any]:
    """Return what the picture needs to follow keys and sliders: their places, texts and values, and the view as `app.live` reads it."""
    view, has, (layers, components) = visit.focus(), run.capabilities, trace.lambdas.shape
    dials: list[dict[str, Any]] = []
    for layer in range(1, layers + 1 if has.lambdas else 1):
        for part in range(2, components + 1):
            value = float(trace.lambdas[layer - 1, part - 1])
            dials.append({"box": f".st-key-lambda-{layer}-{part}", "edit": f"lambda:{layer}.{part}", "value": value})
    for dial in has.dials:
        value = view.change.strength.get(dial.term, 1.0)
        dials.append({"box": f".st-key-strength-{dial.term}", "edit": f"term:{dial.term}", "value": value})
    return FIELDS | {
        "text": in_lines(trace.text),
        "whole": trace.text,
        "tag": BREAK if BREAK in trace.text else "",
        "pair": trace.text_pair or "",
        "view": replace(view, text="", pair="", row="", shared=False).query(),
        "visitor": visit.keep_result("ticket", "", ticket),
        "dials": dials,
    }


def measure_heads(trace: Trace, run: Run) -> None:
    """Measure the effects of heads that the picture did not wait for, and draw the page again with them."""
    if _is_measured(trace, run) and not is_quick(run) and answers.heads(visit.focus(), trace, wait=False) is None:
        with boundary("heads"):
            answers.heads(visit.focus(), trace)
            visit.draw_again()


def _is_measured(trace: Trace, run: Run) -> bool:
    return trace.has_maps and run.capabilities.silence


def _chosen(trace: Trace) -> Pick | None:
    """Return the map in focus; None if no map was chosen."""
    focus, plain = visit.focus(), Focus()
    as_given = (focus.layer, focus.head, focus.component)
    if not trace.has_maps or (focus.large == "strongest" and as_given == (plain.layer, plain.head, plain.component)):
        return None
    head = place(focus.head)
    return focus.layer - 1, "mean" if isinstance(head, str) else head, place(focus.component)


def _pick(axes: tuple[int, int, int]) -> None:
    if at := browser.places(KEY, "pick", *axes):
        layer, head, part = at
        open_map(layer=layer + 1, head=str(head + 1) if head >= 0 else "mean", component=str(part) if part else "effective")


def _silence(axes: tuple[int, int]) -> None:
    if at := browser.places(KEY, "silence", *axes):
        change = visit.focus().change
        visit.go(change=change.exactly("head", {*change.heads_off} ^ {at}))


def _pin(tokens: int) -> None:
    if at := browser.places(KEY, "pin", tokens):
        visit.go(token=at[0] + 1)


def exports(scene: Scene, run: Run, score: str) -> None:
    """Draw one menu for the files of the figures in the picture, of the picture itself, and of a page that computes."""
    trace, (layer, head, component) = scene.trace, scene.pick
    of = sentence_of(run, trace)
    figures: dict[str, tuple[str, str, dict[str, Any]]] = {  # name, file and options of each figure
        "verdict": ("verdict", "probabilities", {"answered": False}),
        "strip": ("strip", file_safe("tokens", SCORES[score].title.lower()), {"score": score}),
    }
    if trace.has_maps:
        named = file_safe("attention", trace.run, f"layer{layer + 1}", head_slug(head), component_slug(component))
        figures["map"] = "attention", named, {"layer": layer, "head": head, "component": component, "side": 400}
    kinds = [kind for kind in FILES if kind in figures or kind == "picture" or (kind == "live" and can_be_live(run))]
    with st.popover("Export", icon=":material/download:", type="tertiary", key="exports"):
        how: dict[str, Any] = {"format_func": FILES.get, "label_visibility": "collapsed", "required": True}
        kind = st.segmented_control("What", kinds, default="verdict", key="export-what", **how)
        if kind == "live":
            live_file(run)
        elif kind == "picture":
            st.caption("Words, heads, maps and answer as they are linked here, in one HTML file that needs no network.")
            st.download_button(
                "HTML",
                data=lambda: canvas_html(scene, about=make("verdict", of).source).encode(),
                file_name="sentviz-sentence.html",
                mime="text/html",
                on_click="ignore",
                key="picture",
            )
        else:
            name, named, options = figures[kind]
            menu(partial(make, name, of, **options), named, kind, call(name, of, options))


def can_be_live(run: Run) -> bool:
    """Return whether a page without a server can hold the model of a run."""
    try:
        check(run)
    except SentvizError:
        return False
    return True


@boundary()
def live_file(run: Run) -> None:
    """Draw the button that writes a page on which the model computes without this server."""
    st.caption(LIVE_HELP)
    if st.button("Write the page", icon=":material/offline_bolt:", key="live-page"):
        with st.spinner("Writing the page"):
            page, about = cache.live_page(run)
        name, label = f"{file_safe(run.name)}-live.html", f"Save ({len(page) / 1e6:.0f} MB)"
        st.download_button(label, page, name, "text/html", icon=":material/download:", on_click="ignore", key="save-live-page")
        (model,) = about["models"]
        if "same" in (cost := model["cost"]):
            st.caption(f"It computes in 8 bits: the same class as this run for {percent(cost['same'])} of {cost['n']:,} test rows.")
