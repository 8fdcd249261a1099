"""A model's folder becomes a run that every page of a sentence can show."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.server.headers import own_machine
from app.server.queue import finished, wait
from app.text import md
from sentviz.cli.process import run_apart
from sentviz.cli.terminal import Report
from sentviz.io.files import home
from sentviz.models.folder import ModelFolder, look_at, model_folders
from sentviz.serving.jobs import Job

MOST_CLASSES = 20  # of a model with more classes, the names are taken as they are


def of_operator() -> list[Path]:
    """Return the models in the folder that the operator of the server names in SENTVIZ_MODELS."""
    named = os.environ.get("SENTVIZ_MODELS")
    return model_folders(named) if named else []


@boundary()
def show() -> None:
    """Draw the choice of a folder, what it holds, the names of its classes, and the button that opens it or why it cannot be opened."""
    folder = _chosen()
    if folder is None:
        return
    model = look_at(folder)
    st.markdown(f"**{md(model.path.name)}** · {md(str(model).partition(': ')[2])}")
    if model.no_run:
        st.warning(md(model.no_run), icon=":material/block:")
        st.button("Open the model", icon=":material/open_in_new:", disabled=True)
        return
    classes = _named_classes(model)
    if classes is None:
        return
    key = f"adopt {model.path} {classes}"
    name = finished("model", key)
    if name and st.session_state.pop("yours-opening", "") == key:
        visit.go(run=name)
        st.switch_page("views/sentence/explore.py")
    if wait(
        "model", key, model.path.name, lambda job: _opened(model.path, classes, job), button="Open the model", icon=":material/open_in_new:"
    ):
        st.session_state["yours-opening"] = key


def _chosen() -> str | None:
    """Return the chosen folder; None if there is none yet."""
    local, offered = own_machine(st.context.ip_address, st.context.headers), of_operator()
    if not local and not offered:
        st.info(
            "On a server for several people, models come from a folder that its operator names in `SENTVIZ_MODELS`. This server has none."
            " In a browser on the machine that runs the server, any folder can be opened.",
            icon=":material/lock:",
        )
        return None
    if offered:
        place = st.selectbox(
            "Models of this server", offered, index=None, format_func=lambda path: path.name, key="yours-offered", width=480
        )
        if place is not None or not local:
            return str(place) if place is not None else None
    path = st.text_input(
        "Folder of the model", key="yours-folder", placeholder="with config.json, model.safetensors and tokenizer.json", width=640
    )
    st.caption(
        "A classifier in the layout of Hugging Face or sentence-transformers. It is copied to your library. Code in the folder is never"
        " run, and pickles are never read. Special tokens in a text, such as [SEP], are those of the model's own tokenizer."
    )
    return str(Path(path.strip()).expanduser()) if path.strip() else None


def _named_classes(model: ModelFolder) -> tuple[str, ...] | None:
    """Draw the names of the model's classes, which can be changed; return them, () to take those of the model, None if one is missing."""
    if not 0 < len(model.classes) <= MOST_CLASSES:
        return ()
    if model.is_unnamed:
        st.info("The model does not say what its classes mean. Name them.", icon=":material/label:")
    with st.container(horizontal=True, gap="small"):
        names = tuple(_name(model, place) for place in range(len(model.classes)))
    if any("," in name for name in names):
        st.warning("The name of a class has no comma.", icon=":material/label:")
    if not all(names) or any("," in name for name in names):
        return None
    return () if names == model.classes else names


def _name(model: ModelFolder, place: int) -> str:
    """Draw the name of a class, and return it."""
    own, key = model.classes[place], f"yours-class-{model.path}-{place}"
    return st.text_input(f"Class {place + 1}: {md(own)}", "" if model.is_unnamed else own, key=key, width=180).strip()


def _opened(folder: Path, classes: Sequence[str], job: Job) -> str:
    """Write the model as a run in the library, in a separate process; return the run's name. Other classes are another run."""
    job.tick(0.0, "loading the model")
    name = ""

    def hear(report: Report) -> None:
        nonlocal name
        name = str(report.get("run", name))

    named = ["--classes", ",".join(classes)] if classes else []
    run_apart(["adopt", str(folder), *named, "--own-name", "-o", str(home() / "runs")], hear, lambda: job.tick(job.share, job.doing))
    cache.changed()
    return name
