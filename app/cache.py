"""Data that all visitors share: runs, read-only models, predictions on data sets; predictions on a visitor's own file for that visit."""

from __future__ import annotations

import os
import re
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from app.focus import Focus
from app.places import Fit
from app.server.process import return_memory
from app.server.queue import time_left, turn
from app.shared import once
from app.visit import keep_result
from sentviz.analysis.explain import explained
from sentviz.analysis.maps.injection import Entries, entries_of
from sentviz.analysis.testset.predictions_file import brought
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted, stored
from sentviz.data import datasets, demo
from sentviz.data.examples import examples_for
from sentviz.data.lexicon import Lexicon
from sentviz.data.predictions import NO_MODEL, Predictions
from sentviz.data.upload import TextTable
from sentviz.errors import InputError, RunError, SentvizError
from sentviz.io.files import APP_CLASSES, APP_MODEL
from sentviz.runs import store
from sentviz.runs.catalog import StudyRuns, language, reads_pairs
from sentviz.runs.catalog import best_run as best
from sentviz.runs.configs import Capabilities
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from sentviz.verbs.sources import own_model

FIRST_SCREEN = "english/ndt-unit-2"
"""The run that shows best how a model decides: of the English runs, one word or one head alone most often changes its answer."""
KEPT_TABLES = 4
MOVES = 0.1  # seconds between two updates of a progress bar
SMALL, LARGE = 5_000_000, 40_000_000  # parameters of models whose live page computes in 32 bits, and of those that get one at all


def _searched() -> str:
    """Return the folders of runs, and the name of the model in memory. Results that were cached for others do not apply."""
    return "\0".join([*map(str, store.roots()), os.environ.get(APP_MODEL, "")])


@dataclass(frozen=True)
class Readable:
    """The readable runs by name, those of them with weights, and the names of the runs that fit a view once somebody opened it."""

    runs: dict[str, Run]
    models: dict[str, Run]
    fitting: dict[Fit, tuple[list[str], list[str]]] = field(default_factory=dict)


@once(1, ttl=20)
def _readable(searched: str) -> Readable:
    first: dict[str, Run | RunError] = {}
    if named := os.environ.get(APP_MODEL):
        try:
            in_memory = _in_memory(named, os.environ.get(APP_CLASSES, ""))
            first[in_memory.name] = in_memory
        except SentvizError as error:  # `sentviz app` told it before the server started
            first[named] = RunError(str(error))
    readable = {name: run for name, run in (first | store.runs()).items() if isinstance(run, Run)}
    return Readable(readable, {name: run for name, run in readable.items() if run.has_weights})


@once(1, "Opening your model")
def _in_memory(named: str, classes: str) -> Run:
    """Return the model that `sentviz app --model` names, open in memory and read by all visitors."""
    from sentviz.models.in_memory import OpenModel

    model = own_model(named, classes)
    text = next(iter(examples_for(model.labels).values())).text
    name = re.split(r"[:/\\.]", named.rstrip("/\\"))[-1]
    return OpenModel.of(model, name=f"open/{name}", first_trace=explained(model, model.trace(text)))


@once(1, ttl=20)
def _gathered(searched: str) -> StudyRuns:
    from sentviz.runs.catalog import study_runs as read

    return read()


def study_runs() -> StudyRuns:
    """Return the runs that studies read, and the reasons for which others are left out."""
    return _gathered(_searched())


def changed() -> None:
    """Clear the cached list of runs, because one of the folders was written."""
    _readable.clear()
    _gathered.clear()


def runs() -> dict[str, Run]:
    """Return the readable runs by name."""
    return dict(_readable(_searched()).runs)


def models() -> dict[str, Run]:
    """Return the runs with weights, which can make predictions, by name."""
    return dict(_readable(_searched()).models)


def fitting(fit: Fit) -> tuple[list[str], list[str]]:
    """Return the names of the runs that a view shows, and of those that it could show once they are measured.

    All runs are asked once, because that takes a tenth of a second for hundreds.
    """
    known = _readable(_searched())
    if fit not in known.fitting:
        names = [name for name, run in known.runs.items() if fit.shows(run)]
        known.fitting[fit] = names, [name for name in known.runs if name not in names and fit.could(known.runs[name])]
    return known.fitting[fit]


def runs_for(fit: Fit) -> list[Run]:
    """Return the runs that a view shows."""
    known = runs()
    return [known[name] for name in fitting(fit)[0]]


def best_run(spoken: str = "en") -> str:
    """Return the name of the run that answers sentences of a language best; "" if there is none."""
    return best(models().values(), spoken)


def default_run() -> str:
    """Return the run of a link that names none: the model in memory, `FIRST_SCREEN`, the best run for English, or the first one, or ""."""
    first = next(iter(runs()), "")
    if os.environ.get(APP_MODEL):
        return first
    return FIRST_SCREEN if FIRST_SCREEN in models() else best_run() or first


def run(name: str) -> Run:
    """Return the run called `name`. If there is none, show an error and stop the page."""
    run = runs().get(name)
    if run is None:
        st.error("No runs are installed. `sentviz train sst2` trains a run.", icon=":material/inventory_2:")
        st.stop()
    return run


def shape(name: str) -> Capabilities | None:
    """Return the capabilities of a run's model; None if there is no such run."""
    of = runs().get(name)
    return of.capabilities if of else None


@once(3, ttl=3600)
def live_page(of: Run) -> tuple[bytes, dict[str, Any]]:
    """Return the live page of a run with its example sentence, and what the function that writes it says about it.

    It is written once, one at a time, and all visitors get the same bytes. Models of more than `SMALL` parameters compute in 8 bits.

    Raises:
        SentvizError: the model is larger than a server should send, or its page cannot be written.
    """
    from sentviz.serving.live import page

    if int(of.config["parameters"]) > LARGE:
        raise RunError(
            f"The page of {of.name} would be too large to write here. Write it yourself: `sentviz live {of.name} --int8 -o page.html`."
        )
    with turn("export"), tempfile.TemporaryDirectory() as folder:
        about = page.live_page(of, Path(folder) / "live.html", int8=int(of.config["parameters"]) > SMALL)
        return (Path(folder) / "live.html").read_bytes(), about


def injects(of: Run) -> bool:
    """Return whether a run injects a lexicon into its attention scores."""
    return of.capabilities.lexicon


@once(32)
def example(of: Run) -> Trace:
    """Return the stored trace of a run's example sentence, which needs neither torch nor weights."""
    return of.example()


@once(6)
def model(of: Run) -> Any:
    """Return the read-only model of a run, one for all visitors."""
    from sentviz.models.loading import load

    loaded = load(of)
    return_memory()
    return loaded


@once(3, "Reading the data set")
def split_of(name: str, split: str) -> Any:
    """Return the rows of a data set's split; raise SentvizError if they are not available."""
    return datasets.load_split(name, split).frame


@once(2)
def _lexicon(name: str) -> Lexicon:
    return Lexicon.load(name)


@once(64)
def _entries(of: Run, token: int) -> Entries:
    return entries_of(_lexicon(of.config["recipe"]["lexicon"]), model(of).tokenizer, token)


def entries(of: Run, text: str, place: int) -> Entries:
    """Return the entries of a run's lexicon that contain a token of a text.

    Raises:
        DataMissingError, InputError: the lexicon is not on this machine.
    """
    return _entries(of, int(model(of).encode(text).ids[place]))


def lexicon_title(of: Run) -> str:
    """Return the title of a run's lexicon."""
    name = str(of.config["recipe"].get("lexicon", ""))
    try:
        return datasets.info(name).title
    except SentvizError:
        return name or "Its lexicon"


@once(1)
def lexicon() -> dict[str, float]:
    """Return the polarity by English word from the first installed lexicon; an empty dictionary if none is installed."""
    for name in ("lexicon_en_vader", "lexicon_en_opinion"):
        try:
            frame = datasets.load_file(name, "lexicon")
        except SentvizError:
            continue
        return {str(term).casefold(): float(value) for term, value in zip(frame["term"], frame["polarity"], strict=True)}
    return {}


def table(focus: Focus) -> Rows:
    """Return the predictions of the run in focus for the rows in focus, or those that a visitor's own file has.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    mine = st.session_state.get("mine")
    if focus.over == "mine" and mine is not None and mine.answers is not None:
        return brought_rows(mine, mine.answers)
    return table_of(run(focus.run), focus)


def table_of(of: Run, focus: Focus) -> Rows:
    """Return a run's predictions for the rows in focus, computed once; those for a visitor's own file are stored for the visit only.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    if focus.over == "demo":
        return demo_rows(of)
    if focus.over != "mine":
        return _stored_rows(of, focus.over)
    mine = st.session_state.get("mine")
    if mine is None:
        raise InputError("Your file is no longer available, because it is kept only for one visit. Choose the file again.")
    return keep_result("mine-rows", (of.digest, mine.key), lambda: _answered(of, mine), most=KEPT_TABLES)


def brought_rows(mine: TextTable, answers: Predictions) -> Rows:
    """Return the predictions that a visitor's own file has of one model."""

    def read() -> Rows:
        name = mine.name if answers.model == NO_MODEL else f"{answers.model} ({mine.name})"
        rows = brought(mine.frame, answers, mine.text, mine.label, name, mine.digest[:12])
        return replace(rows, file=(*mine.key, answers.model))

    return keep_result("mine-rows", (mine.key, answers), read, most=KEPT_TABLES)


def _answered(of: Run, mine: TextTable) -> Rows:
    """Predict the rows of a visitor's own file, and let other work in between."""
    bar = st.progress(0.0, f"Running {of.name} on {len(mine.frame):,} rows")
    begin = updated = time.monotonic()
    try:
        with turn(long=True) as step:

            def tick(done: int, total: int) -> None:
                nonlocal updated
                if time.monotonic() > updated + MOVES:
                    updated = time.monotonic()
                    left = time_left((updated - begin) * (total - done) / max(1, done))
                    bar.progress(
                        done / total, f"Running {of.name}: {done:,} of {total:,} rows, about {left} left. A smaller model is faster."
                    )

            rows = predicted(model(of).stoppable(step), RowsSource.of(of), mine.rows(of.labels), "mine", tick)
            return replace(rows, file=mine.key, total=len(mine.frame))
    finally:
        bar.empty()


@once(8)
def _stored_rows(of: Run, split: str) -> Rows:
    rows = stored(of, split)
    try:
        frame = split_of(of.config["data"]["name"], split)
    except SentvizError:
        return rows
    return rows.with_text(frame)


@once(32, "Predicting the demo set")
def demo_rows(of: Run, groups: tuple[str, ...] = ()) -> Rows:
    """Return a run's predictions for the demo set, or for some of its groups, computed once for all visitors."""
    frame = demo.load()
    if groups:
        frame = frame[frame["phenomenon"].isin(groups)].reset_index(drop=True)
    labels = demo.labels_for(of.labels)
    frame = frame.assign(label=frame["label"].map(labels), tag=frame["phenomenon"])
    return predicted(model(of), RowsSource.of(of), frame, "demo")


def fits_demo(of: Run) -> bool:
    """Return whether a run can predict the demo set, which has single English sentences with negative or positive labels."""
    return of.has_weights and language(of) == "en" and not reads_pairs(of) and min(demo.labels_for(of.labels).values()) >= 0
