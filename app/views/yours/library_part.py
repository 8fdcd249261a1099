"""The visitor's data sets in the library of this machine: save one, list them, train a model on one, open the runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.server.headers import own_machine
from app.server.queue import jobs, time_left, wait
from app.text import md
from sentviz.cli.process import run_apart
from sentviz.cli.terminal import Report
from sentviz.data.datasets import datasets, is_own, run_group
from sentviz.data.understanding import Understood
from sentviz.data.user_datasets import store
from sentviz.errors import Stopped
from sentviz.io.files import home
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.runs.bases import bases
from sentviz.runs.store import resume_point
from sentviz.serving.jobs import Job
from sentviz.training.own_data import BASE

ADOPTED = "adopted"  # first part of the names of runs that were made of a model's folder


def offer(dataset: str, trained: list[str]) -> None:
    """Draw the button that trains a model on a data set, the progress, and the result.

    Args:
        trained: names of the runs that were trained on it.
    """
    job = jobs("training").get(dataset)
    group = run_group(dataset)
    left = [name for name in (BASE, *bases()) if f"{group}/{name}" not in trained]
    left = [name for name in dict.fromkeys(left) if name in bases()]
    if job is not None and job.state == "done":
        _show_result(job.result)
    if not left:
        return
    base = left[0]
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if len(left) > 1 and (job is None or job.is_over):
            base = st.selectbox("Train an adapter on", left, key=f"train-base-{dataset}", width=220)
        goes_on = resume_point(home() / "runs" / group / base).exists()
        label = f"Continue the training of {group}/{base}" if goes_on else f"Train {group}/{base}"
        work = partial(_train, dataset, base)
        wait("training", dataset, f"Training {group}/{base}", work, button=label, icon=":material/model_training:")


def _train(dataset: str, base: str, job: Job) -> list[dict[str, object]]:
    """Train, and return the accuracy of the run and of simple classifiers on the validation rows."""
    began, first = 0.0, -1
    result: list[dict[str, object]] = []

    def hear(report: Report) -> None:
        nonlocal began, first
        result.extend(report.get("compared", ()))
        if "done" not in report:
            return
        done, total = int(report["done"]), int(report["total"])
        if first < 0:
            began, first = time.monotonic(), done
        pace = (time.monotonic() - began) / max(1, done - first)
        rest = f"about {time_left(pace * (total - done))} left" if 0 < done - first < total - first else ""
        job.tick(done / total, ", ".join(filter(None, (f"step {done:,} of {total:,}", rest))) if done < total else "measuring the result")

    try:
        job.tick(0.0, "reading the data set")
        run_apart(["train", dataset, "--base", base], hear, lambda: job.tick(job.share, job.doing))
    except Stopped as stopped:
        raise Stopped("The training is stopped, and can be continued.") from stopped
    cache.changed()
    return result


def _show_result(rows: list[dict[str, object]]) -> None:
    """Show the accuracy on the validation rows next to that of simple classifiers."""
    if not rows:
        return
    frame = pd.DataFrame(rows)
    best = int(frame["accuracy"].to_numpy().argmax())
    n = int(frame["n"].iloc[0])
    table = pd.DataFrame(
        {
            "": frame["name"],
            "accuracy": [percent(value) for value in frame["accuracy"]],
            "95 % interval": [f"{percent(low)} to {percent(high)}" for low, high in zip(frame["low"], frame["high"], strict=True)],
        }
    )
    st.caption(f"Accuracy on {n:,} validation rows:")
    st.dataframe(table, hide_index=True, height="content", width="content")
    if best:
        st.warning(f"On these rows, {md(str(frame['name'].iloc[best]))} is more often right than the trained run.", icon=":material/info:")


def save(file: str, understood: Understood | None, remarks: Sequence[str], default: str) -> None:
    """Draw the name and the button that saves an understood file as mine/NAME."""
    name = st.text_input("Name in your library", default, key=f"yours-name-{file}", width=220)
    if st.button("Save to my library", icon=":material/save:", key="yours-save", disabled=understood is None) and understood is not None:
        with boundary():
            added = store(name, file, understood, remarks)
            st.session_state["yours-saved"] = added.name
            st.rerun()


def saved() -> None:
    """List the data sets in the library, with the runs that were trained on them; only for a visitor on this machine."""
    if not own_machine(st.context.ip_address, st.context.headers):
        return
    if name := st.session_state.pop("yours-saved", ""):
        st.success(f"Saved as {md(name)}.", icon=":material/check:")
    frame = datasets()
    frame = frame[[is_own(name) for name in frame["name"]]]
    if frame.empty:
        return
    st.markdown("##### Your data sets")
    runs = {name: run for name, run in cache.runs().items() if is_own(str(run.config["data"]["name"]))}
    for row in frame.to_dict("records"):
        trained = [name for name, run in runs.items() if run.config["data"]["name"] == row["name"]]
        with st.container(border=True, gap="small"):
            st.markdown(f"**{md(row['name'])}** · {md(row['labels'])} · {md(row['splits'])}")
            for name in trained:
                with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                    st.markdown(f":material/network_node: {md(name)}", width="content")
                    _button(name, "Mistakes", "grid_view", "confusion", over="test")
                    _button(name, "Sentence", "psychology_alt", "explore")
            offer(row["name"], trained)


def models() -> None:
    """List the models that were opened from folders; only for a visitor on this machine."""
    opened = [name for name in cache.runs() if name.startswith(f"{ADOPTED}/")]
    if not opened or not own_machine(st.context.ip_address, st.context.headers):
        return
    st.markdown("##### Your models")
    with st.container(horizontal=True, gap="small"):
        for name in opened:
            _button(name, name, "psychology_alt", "explore")


def _button(name: str, label: str, icon: str, page: str, **fields: str) -> None:
    """Draw a button that opens a run on a page."""
    if st.button(md(label), icon=f":material/{icon}:", key=f"yours-{page}-{name}", help=f"Open {md(name)}"):
        visit.go(run=name, **fields)
        st.switch_page({"explore": "views/sentence/explore.py", "confusion": "views/testset/confusion.py"}[page])
