"""Train a model on a data set of the visitor, in a process of its own: progress, time left, stop and resume."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from app import cache
from app.server.progress import time_left, wait
from app.text import md
from sentviz.cli.process import run_apart
from sentviz.cli.terminal import Report
from sentviz.data.datasets import run_group
from sentviz.errors import Stopped
from sentviz.io.files import home
from sentviz.io.lazy import pd
from sentviz.runs.bases import bases
from sentviz.runs.store import resume_point
from sentviz.serving.jobs import Job, Jobs
from sentviz.training.own_data import BASE


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    """Return the latest training on each data set. One runs at a time; the others wait for their turn."""
    return Jobs(at_once=1)


def offer(dataset: str, trained: list[str]) -> None:
    """Draw the button that trains a model on a data set, the progress, and the result.

    Args:
        trained: names of the runs that were trained on it.
    """
    job = _jobs().get(dataset)
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
        wait(_jobs(), dataset, f"Training {group}/{base}", work, button=label, icon=":material/model_training:")


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
            "accuracy": [f"{value:.1%}" for value in frame["accuracy"]],
            "95 % interval": [f"{low:.1%} to {high:.1%}" for low, high in zip(frame["low"], frame["high"], strict=True)],
        }
    )
    st.caption(f"Accuracy on {n:,} validation rows:")
    st.dataframe(table, hide_index=True, height="content", width="content")
    if best:
        st.warning(f"On these rows, {md(str(frame['name'].iloc[best]))} is more often right than the trained run.", icon=":material/info:")
