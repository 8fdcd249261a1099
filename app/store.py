"""What the visitors share and what each keeps: runs and read-only models for all, traces for one visit only."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import streamlit as st

import sentviz.runs as folders
from app.focus import Focus
from sentviz.background import Turns
from sentviz.errors import InputError, RunError, SentvizError
from sentviz.explain import SCORES, available, explained, supported
from sentviz.explain import score as score_of
from sentviz.explain.headline import Chance, chance_of
from sentviz.lexicon import Lexicon
from sentviz.remarks import language, reads_pairs
from sentviz.runs import Run
from sentviz.shapes import Capabilities
from sentviz.testset.rows import Rows
from sentviz.trace import Trace

if TYPE_CHECKING:
    from sentviz.explain.faithfulness import Verdict
    from sentviz.maps.injection import Entries
    from sentviz.shelf import Gathered

__all__ = [
    "change",
    "demo_rows",
    "entries",
    "example",
    "explanations",
    "fits_demo",
    "gathered",
    "heads",
    "injects",
    "language",
    "lexicon",
    "lexicon_title",
    "model",
    "models",
    "reads_pairs",
    "reasoned",
    "run",
    "runs",
    "shape",
    "table",
    "table_of",
    "texts",
    "trace",
    "turn",
    "turns",
    "verdict",
    "visitor",
    "warm",
    "warming",
]

KEPT_TRACES = 8
KEPT_TOKENS = 12_000  # of these traces together: a long text's holds tens of kilobytes a token
KEPT_TABLES = 4


def visitor() -> str:
    """A name for whoever looks, for this visit."""
    who: str = st.session_state.setdefault("visitor", uuid.uuid4().hex)
    return who


@st.cache_resource(show_spinner=False)
def turns(work: str) -> Turns:
    """The queue of all visitors for one kind of work that takes the machine."""
    return Turns()


@contextmanager
def turn(work: str = "model") -> Iterator[None]:
    """This visitor's turn at such work; the page says how many are before. Not to be asked for within a turn."""
    shown: list[Any] = []

    def say(before: int) -> None:
        if not shown:
            shown.append(st.empty())
        shown[0].caption(f":material/hourglass_empty: {before} before you")

    with turns(work).turn(visitor(), say):
        if shown:
            shown[0].empty()
        yield


def _searched() -> tuple[str, ...]:
    """The folders of runs as they are now: what is kept of others is of no use."""
    return tuple(map(str, folders.roots()))


@st.cache_resource(ttl=20, max_entries=1, show_spinner=False)
def _all_runs(searched: tuple[str, ...]) -> dict[str, Run | RunError]:
    return folders.runs()


@st.cache_resource(ttl=20, max_entries=1, show_spinner=False)
def _gathered(searched: tuple[str, ...]) -> Gathered:
    from sentviz.shelf import gathered as read

    return read()


def gathered() -> Gathered:
    """The runs that studies read, and what they leave out."""
    return _gathered(_searched())


def runs() -> dict[str, Run]:
    """The readable runs by name."""
    return {name: run for name, run in _all_runs(_searched()).items() if isinstance(run, Run)}


def models() -> dict[str, Run]:
    """The runs that carry weights, so that they can be asked."""
    return {name: run for name, run in runs().items() if run.askable}


def run(name: str) -> Run:
    """A run by name; the page stops with a sentence where there is none."""
    found = runs().get(name)
    if found is None:
        st.error("There are no runs here yet. `sentviz train sst2` trains one.", icon=":material/inventory_2:")
        st.stop()
    return found


def shape(name: str) -> Capabilities | None:
    """What a run's model has; None where there is no such run."""
    found = runs().get(name)
    return found.capabilities if found else None


def injects(of: Run) -> bool:
    """Whether a run puts a lexicon into its scores."""
    return of.capabilities.lexicon


@st.cache_resource(max_entries=32, show_spinner=False)
def _example(name: str, digest: str) -> Trace:
    return runs()[name].example()


def example(of: Run) -> Trace:
    """The stored trace of a run's example sentence: needs neither torch nor weights."""
    return _example(of.name, of.digest)


@st.cache_resource(max_entries=6, show_spinner=False)
def _model(name: str, digest: str, max_length: int) -> Any:
    from sentviz.models.loading import load

    return load(runs()[name], max_length=max_length)


def model(of: Run) -> Any:
    """The read-only model of a run, one for all visitors."""
    return _model(of.name, of.digest, of.max_length)


@st.cache_resource(max_entries=3, show_spinner="Reading the data set")
def _split(name: str, split: str) -> Any:
    from sentviz import datasets

    return datasets.load_split(name, split).frame


@st.cache_resource(max_entries=2, show_spinner=False)
def _lexicon(name: str) -> Lexicon:
    return Lexicon.load(name)


@st.cache_resource(max_entries=64, show_spinner=False)
def _entries(name: str, digest: str, token: int) -> Entries:
    from sentviz.maps.injection import entries_of

    of = runs()[name]
    return entries_of(_lexicon(of.config["recipe"]["lexicon"]), model(of).tokenizer, token)


def entries(of: Run, text: str, place: int) -> Entries:
    """What the lexicon of a run says of a token of a text.

    Raises:
        DataMissingError, InputError: the lexicon is not on this machine.
    """
    return _entries(of.name, of.digest, int(model(of).encode(text).ids[place]))


def lexicon_title(of: Run) -> str:
    """What the lexicon of a run is called."""
    from sentviz import datasets

    name = str(of.config["recipe"].get("lexicon", ""))
    try:
        return datasets.info(name).title
    except SentvizError:
        return name or "Its lexicon"


@st.cache_resource(max_entries=1, show_spinner=False)
def lexicon() -> dict[str, float]:
    """Polarity by English word, from the first lexicon at hand; empty where there is none."""
    from sentviz import datasets

    for name in ("lexicon_en_vader", "lexicon_en_opinion"):
        try:
            frame = datasets.load_file(name, "lexicon")
        except SentvizError:
            continue
        return {str(term).casefold(): float(value) for term, value in zip(frame["term"], frame["polarity"], strict=True)}
    return {}


def table(focus: Focus) -> Rows:
    """What the run in focus says of the rows in focus.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    return table_of(run(focus.run), focus)


def table_of(of: Run, focus: Focus) -> Rows:
    """What a run says of the rows in focus; asked once, answers about a visitor's own file kept for the visit only.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    if focus.over == "demo":
        return demo_rows(of)
    if focus.over != "mine":
        return _stored_rows(of.name, of.digest, focus.over)
    mine = st.session_state.get("mine")
    if mine is None:
        raise InputError("Your file is not here any more: it was kept for one visit only. Choose it again.")
    asked: dict[Any, Rows] = st.session_state.setdefault("mine-rows", {})
    key = (of.digest, mine.key)
    if key not in asked:
        from sentviz.testset.rows import predicted

        bar = st.progress(0.0, f"Asking {of.name} about {len(mine.frame):,} rows")

        def tick(done: int, total: int) -> None:
            bar.progress(done / total)

        try:
            with turn():
                asked[key] = predicted(model(of), of.digest, mine.rows(of.labels), "mine", tick)
        finally:
            bar.empty()
        while len(asked) > KEPT_TABLES:
            asked.pop(next(iter(asked)))
    return asked[key]


@st.cache_resource(max_entries=8, show_spinner=False)
def _stored_rows(name: str, digest: str, split: str) -> Rows:
    from sentviz.testset.rows import stored

    of = runs()[name]
    rows = stored(of, split)
    try:
        frame = _split(of.config["data"]["name"], split)
    except SentvizError:
        return rows
    return rows.with_text(frame)


def demo_rows(of: Run, groups: tuple[str, ...] = ()) -> Rows:
    """What a run says of the demo set, or of some of its groups; asked once for all visitors."""
    return _demo_rows(of.name, of.digest, groups)


@st.cache_resource(max_entries=32, show_spinner="Asking about the demo set")
def _demo_rows(name: str, digest: str, groups: tuple[str, ...]) -> Rows:
    from sentviz.testset import demo
    from sentviz.testset.rows import predicted

    of = runs()[name]
    frame = demo.load()
    if groups:
        frame = frame[frame["phenomenon"].isin(groups)].reset_index(drop=True)
    labels = demo.labels_for(of.labels)
    frame = frame.assign(label=frame["label"].map(labels), tag=frame["phenomenon"])
    return predicted(model(of), digest, frame, "demo")


def fits_demo(of: Run) -> bool:
    """Whether a run can be asked about the demo set: English sentences one by one, negative or positive."""
    from sentviz.testset import demo

    return of.askable and language(of) == "en" and not reads_pairs(of) and min(demo.labels_for(of.labels).values()) >= 0


def texts(focus: Focus) -> tuple[str, str | None]:
    """The text in focus, the visitor's, a row's of the data set, or the run's example; with its second where the run reads pairs.

    Raises:
        DataMissingError, InputError: the row cannot be had.
    """
    source = run(focus.run)
    pairs = reads_pairs(source)
    if not focus.row:
        if not focus.text:
            return example(source).text, example(source).text_pair
        return focus.text, focus.pair if pairs and focus.pair else None
    from sentviz import datasets
    from sentviz.testset import demo

    ours = demo.load()
    if not (found := ours.loc[ours["id"] == focus.row, "text"]).empty:
        return str(found.iloc[0]), None
    name = source.config["data"]["name"]
    for split in datasets.info(name).splits:
        frame = _split(name, split)
        rows = frame[frame["id"].astype(str) == focus.row]
        if not rows.empty:
            return str(rows["text"].iloc[0]), str(rows["text_pair"].iloc[0]) if pairs else None
    raise InputError(f"{name} has no row {focus.row!r}.")


def trace(focus: Focus, *, scored: bool = True, exact: bool = False, longest: int = 0) -> Trace:
    """The trace of the text in focus under the interventions in focus, kept for this visit only.

    Unless `scored` is off, with its removal scores and the score in focus: they ask the model once a word, which long texts feel.
    An `exact` one is never the run's stored example, whose maps are of half precision: small differences need it. With `longest`, the
    run reads so many tokens, more than it was trained on (`Run.longer`).

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    source, (wanted, pair) = run(focus.run), texts(focus)
    stored = example(source)
    key = (source.digest, wanted, pair, focus.by_hand)
    whole = focus.score in available(stored) and (stored.polarity is not None or not injects(source))
    if whole and not exact and not longest and (wanted, pair) == (stored.text, stored.text_pair) and not change(source, focus):
        return _reasoned(stored, key)
    source = source.longer(longest) if longest else source
    kept: dict[Any, Trace] = st.session_state.setdefault("traces", {})
    key = (source.digest, wanted, pair, focus.by_hand)
    if key not in kept:
        with turn(), st.spinner("Asking the model"):
            loaded, changes = model(source), change(source, focus)
            kept[key] = loaded.trace(wanted, pair, maps=False, projections=True, **changes)  # pages ask for the maps that they show
    asked = [name for name in dict.fromkeys(("removal", focus.score)) if name in available(kept[key], asking=True)]
    if scored and (missing := [name for name in asked if name not in available(kept[key])]):
        with turn(), st.spinner("Asking the model without each word" if "removal" in missing else "Explaining the answer"):
            kept[key] = explained(model(source), kept[key], missing, **change(source, focus))
    while len(kept) > KEPT_TRACES or (len(kept) > 1 and sum(len(one.tokens) for one in kept.values()) > KEPT_TOKENS):
        kept.pop(next(iter(other for other in kept if other != key)))
    return _reasoned(kept[key], key)


def _reasoned(seen: Trace, key: Any) -> Trace:
    """The trace with its units and evidence, where they were asked for in this visit."""
    known = st.session_state.get("reasons", {}).get(key)
    if known is None:
        return seen
    scores, units, evidence = known
    return seen.replace(token_scores={**seen.token_scores, "units": scores}, units={**seen.units, "units": units}, evidence=evidence)


def reasoned(focus: Focus) -> Trace:
    """The trace in focus with what its headline rests on: units, and the smallest edit where none of them explains the answer.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    seen, source = trace(focus), run(focus.run)
    if seen.evidence is not None:
        return seen
    with turn():
        seen = supported(model(source), seen, _chance(source.name, source.digest), **change(source, focus))
    reasons: dict[Any, Any] = st.session_state.setdefault("reasons", {})
    reasons[source.digest, seen.text, seen.text_pair, focus.by_hand] = seen.token_scores["units"], seen.units["units"], seen.evidence
    while len(reasons) > KEPT_TRACES:
        reasons.pop(next(iter(reasons)))
    return seen


@st.cache_resource(max_entries=64, show_spinner=False)
def _chance(name: str, digest: str) -> Chance:
    of = runs()[name]
    return chance_of(model(of), of)


def verdict(focus: Focus, score: str) -> Verdict:
    """Whether a score of the text in focus names words that matter, or any.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    from sentviz.explain.faithfulness import against_chance

    seen, source = trace(focus), run(focus.run)
    kept: dict[Any, Verdict] = st.session_state.setdefault("verdicts", {})
    key = (source.digest, seen.text, seen.text_pair, focus.by_hand, score)
    if key not in kept:
        with turn():
            kept[key] = against_chance(model(source), seen, score_of(seen, score), **change(source, focus))
        while len(kept) > KEPT_TRACES:
            kept.pop(next(iter(kept)))
    return kept[key]


def heads(focus: Focus, seen: Trace) -> Any:
    """(L, H) fall of the answer's log-odds when a head is silenced, of what `trace` gave, kept for this visit; None until torch is loaded.

    The first paint does not wait for it: what stands on the page then is the run's stored example.
    """
    if not _with_torch():
        return None
    from sentviz.maps.silenced import silenced

    source = run(focus.run)
    kept: dict[Any, Any] = st.session_state.setdefault("heads", {})
    key = (source.digest, seen.text, seen.text_pair, focus.by_hand)
    if key not in kept:
        with turn():
            kept[key] = silenced(model(source), seen)
        while len(kept) > KEPT_TRACES:
            kept.pop(next(iter(kept)))
    return kept[key]


def warming() -> bool:
    """Whether torch is still being loaded beside the page, which has asked nothing yet."""
    return not st.session_state.get("traces") and warm().is_alive() and not _with_torch()


def _with_torch() -> bool:
    import sys

    return hasattr(sys.modules.get("sentviz.models.model"), "Model")


def change(of: Run, focus: Focus) -> dict[str, Any]:
    """The interventions in focus as `Model.trace` takes them; none where nothing was changed by hand."""
    import numpy as np

    changed: dict[str, Any] = {"heads_off": tuple((layer - 1, head - 1) for layer, head in focus.off)} if focus.off else {}
    if focus.strength:
        changed["strength"] = dict(focus.strength)
    if focus.gates:
        changed |= {f"gates_{state}": [place - 1 for place, each in focus.gates if each == state] for state in ("open", "shut")}
    if not focus.mix:
        return changed
    has = of.capabilities
    lambdas = np.full((has.layers, has.components), np.nan)
    for layer, component, value in focus.mix:
        lambdas[layer - 1, component - 1] = value
    return changed | {"lambdas": lambdas}


def explanations(focus: Focus) -> tuple[Trace, Any]:
    """The trace with every score that the model has, and a frame: explanation, its faithfulness beside random, milliseconds.

    Raises:
        SentvizError: in one sentence for the visitor.
    """
    import time

    import pandas as pd

    from sentviz.explain.faithfulness import faithfulness

    source = run(focus.run)
    seen, loaded, changes = trace(focus), model(source), change(source, focus)
    key = (source.digest, seen.text, seen.text_pair, focus.by_hand)
    if st.session_state.get("explanations", (None,))[0] == key:
        kept: tuple[Any, tuple[Trace, Any]] = st.session_state["explanations"]
        return kept[1]
    rows, scores = [], {}
    for name in available(seen, asking=True):
        begin = time.perf_counter()
        try:
            with turn():
                seen = explained(loaded, seen, [name], **changes)
            scores[name] = score_of(seen, name)
        except InputError:
            continue
        rows.append({"method": name, "explanation": SCORES[name].title, "milliseconds": 1e3 * (time.perf_counter() - begin)})
    with turn():
        measured = faithfulness(loaded, seen, scores, **changes)
    wide = measured.pivot(index="method", columns="metric", values="value")
    chance = measured.drop_duplicates("metric").set_index("metric")["random"]
    table = pd.DataFrame(rows).merge(wide.reset_index(), on="method").sort_values("comprehensiveness", ascending=False)
    table = pd.concat([table, pd.DataFrame([{"explanation": "random", **chance.to_dict()}])], ignore_index=True)
    result = seen, table[["explanation", "comprehensiveness", "sufficiency", "spearman", "milliseconds"]]
    st.session_state["explanations"] = (key, result)
    return result


@st.cache_resource(show_spinner=False)
def warm() -> threading.Thread:
    """Load torch and then scikit-learn beside the standing page, once a process, so that nobody waits for them later."""

    def load() -> None:
        for name in ("sentviz.models.model", "sklearn.metrics"):  # with torch, with scipy's statistics
            import_module(name)

    thread = threading.Timer(0.5, load)
    thread.daemon = True
    thread.start()
    return thread
