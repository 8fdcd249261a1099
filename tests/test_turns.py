"""Turns at work that takes the machine, code of others that ends in its result, and results that are computed once."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from app.shared import KEYS, once, rows_key
from sentviz.analysis.testset.rows import Rows, RowsSource
from sentviz.errors import InputError
from sentviz.io.foreign import Foreign, contained
from sentviz.models.in_memory import OpenModel
from sentviz.runs.store import Run
from sentviz.serving.jobs import Job, Jobs, Turns
from tests.kit import refused

SOON = 20.0  # seconds, after which a test has failed
SOURCE = RowsSource("a/b", "0123456789ab")
OF_SOURCE = {"name": "a/c", "digest": "ba98", "seed": 1, "calibration": 2.0, "gives": "scores"}


@contextmanager
def asking(turns: Turns, who: str, order: list[str], places: list[int], *, long: bool = False) -> Iterator[threading.Thread]:
    """Start a thread that requests a turn for a visitor; return when the visitor has a turn or a place in the queue."""
    there, waits = threading.Event(), threading.Event()

    def ask() -> None:
        def say(before: int) -> None:
            places.append(before)
            waits.set()

        with turns.turn(who, say, long=long):
            order.append(who)
            there.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert waits.wait(SOON) and not there.is_set()
    yield thread
    thread.join(SOON)
    assert there.is_set()


def test_who_comes_first_is_first_and_a_job_ends_when_all_have_left() -> None:
    turns, order, places = Turns(1), list[str](), {name: list[int]() for name in "ab"}
    with ExitStack() as stack, turns.turn("before"):
        for name in "ab":
            stack.enter_context(asking(turns, name, order, places[name]))
        assert [places[name][0] for name in "ab"] == [1, 2]
    assert order == ["a", "b"]
    turns, order = Turns(2), list[str]()
    with ExitStack() as stack, turns.turn("greedy"):
        stack.enter_context(asking(turns, "greedy", order, []))
        with turns.turn("other", lambda before: pytest.fail("there was a slot for another visitor")):
            order.append("other")
    assert order == ["other", "greedy"]
    turns, places = Turns(1), list[int]()

    def gone(before: int) -> None:
        places.append(before)
        if len(places) == 2:
            raise LookupError

    with turns.turn("a"), pytest.raises(LookupError), turns.turn("b", gone):
        pytest.fail("it was not its turn")
    assert places == [1, 1]
    with pytest.raises(ZeroDivisionError), turns.turn("c"):
        raise ZeroDivisionError
    with turns.turn("d", lambda before: pytest.fail("nobody is before")):
        pass
    turns, order = Turns(2), list[str]()
    with ExitStack() as stack, turns.turn("first", long=True) as step:
        step()  # nobody waits
        stack.enter_context(asking(turns, "second", order, [], long=True))
        with turns.turn("short", lambda before: pytest.fail("a place was kept for it")):
            assert not order
        step()
        assert order == ["second"]
    turns, order = Turns(1), list[str]()
    with ExitStack() as stack, turns.turn("before"):
        stack.enter_context(asking(turns, "long", order, [], long=True))
        stack.enter_context(asking(turns, "short", order, []))
    assert order == ["short", "long"]
    jobs, gone, started, go_on = Jobs(is_waiting=lambda who: who not in gone), set[str](), threading.Event(), threading.Event()

    def work(job: Job) -> None:
        started.set()
        while go_on.wait(SOON):
            job.tick(0.5, "a step")

    jobs.start("key", "Work", work, "a")
    job = jobs.start("key", "Work", work, "b")
    assert started.wait(SOON)
    gone.add("a")
    go_on.set()
    assert job.state == "running"
    gone.add("b")
    for thread in threading.enumerate():
        if thread.name == "Work":
            thread.join(SOON)
    assert job.state == "stopped"


class Panic(BaseException):
    """An error as Rust libraries raise it."""


RAISED = [ValueError("no\nsuch"), Panic("over"), SystemExit(3), GeneratorExit(), asyncio.CancelledError(), KeyboardInterrupt()]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_a_call_raises_is_one_sentence(error: BaseException) -> None:
    with pytest.raises(InputError, match=f"^Theirs raised {type(error).__name__}") as seen:
        Foreign("Theirs").call(Mock(side_effect=error), ["a"], 5)
    assert seen.value.__cause__ is error and "\n" not in str(seen.value) and str(seen.value).endswith(".")
    with pytest.raises(type(error) if isinstance(error, Exception | KeyboardInterrupt) else InputError), contained("Theirs"):
        raise error
    job = Job("Work")
    job.waiting.add("")
    job.run(Mock(side_effect=error), Turns())
    assert job.is_over and job.error.startswith("Work failed (")


def test_while_a_call_takes_too_long_others_are_refused_and_then_served() -> None:
    go, theirs = threading.Event(), Foreign("Theirs")
    refused(InputError, r"did not return within 0\.01 seconds for 2 texts", theirs.call, lambda texts: go.wait(60), ["a", "b"], 0.01)
    refused(InputError, "still works on an earlier text", theirs.call, list, ["a"], 5)
    go.set()
    assert theirs._late is not None
    theirs._late.join(60)
    assert theirs.call(list, texts := ["a"], 5) == ["a"]
    assert theirs.call(lambda own: own.clear() or 1, texts, 5) == 1 and texts == ["a"]


def rows_of(over: str, *texts: str) -> Rows:
    """Return rows with these texts, all labelled and predicted alike."""
    frame = pd.DataFrame({"id": [str(i) for i in range(len(texts))], "label": 1, "predicted": 1, "text": texts})
    return Rows(SOURCE, over, ("negative", "positive"), frame)


class Result:
    """The texts of rows, and whether a slow computation got its turn."""

    def __init__(self, rows: Rows, slow: bool = False) -> None:
        self.texts, self.slow = list(rows.texts), slow


def page(texts_of, argument):  # type: ignore[no-untyped-def]  # Streamlit runs the source alone, without the imports of this file
    import streamlit as st

    result = texts_of(argument)
    st.text(" ".join(result.texts))
    st.caption(str(result.slow))


def visit(texts_of: Callable[..., Result], argument: Any) -> AppTest:
    return AppTest.from_function(page, args=(texts_of, argument)).run()


def test_visitors_share_what_all_have_and_nothing_of_their_own_files() -> None:
    computed: list[str] = []

    @once(4, own=1)
    def texts_of(rows: Rows, *, step: Callable[[], object] | None = None) -> Result:
        computed.append(rows.texts.iloc[0])
        return Result(rows, step is not None)

    texts_of.clear()
    visits = [visit(texts_of, rows_of("test", "kind", "warm")) for _ in range(2)]
    assert [each.text[0].value for each in visits] == ["kind warm"] * 2 and computed == ["kind"]
    mine, yours = (rows_of("mine", *texts) for texts in (("kind", "warm"), ("dull", "cold")))
    visits = [visit(texts_of, rows) for rows in (mine, yours, mine)]
    assert [each.text[0].value for each in visits] == ["kind warm", "dull cold", "kind warm"]
    assert computed == ["kind", "kind", "dull", "kind"] and {each.caption[0].value for each in visits} == {"True"}
    assert [visits[0].run().text[0].value, len(computed)] == ["kind warm", 4]
    visits[0].args = (texts_of, yours)  # the same visit with another file
    assert [visits[0].run().text[0].value, len(computed)] == ["dull cold", 5]
    results: list[weakref.ref[Result]] = []

    @once(4)
    def of_lists(many: list[Rows]) -> Result:
        results.append(weakref.ref(result := Result(many[0])))
        return result

    app = visit(of_lists, [rows_of("test", "a"), rows_of("mine", "b")])
    assert app.text[0].value == "a" and results[0]() is not None
    del app
    gc.collect()
    assert results[0]() is None


OTHER: dict[str, Any] = {
    "source": replace(SOURCE, digest="ba9876543210"), "over": "demo", "classes": ("positive", "negative"), "calibration": 2.0,
    "threshold": 0.7, "frame": rows_of("test", "kind", "dull").frame, "unread": {"7": "it is empty"}, "file": ("0", "text", "label"),
    "total": 9, "remarks": ("The labels are numbers.",), "among": "word=kind", "described": "with the word kind",
}  # fmt: skip


def test_keys_of_rows_and_runs_name_all_that_differs(tmp_path: Path) -> None:
    rows = rows_of("test", "kind", "warm")
    assert rows_key(rows) == rows_key(rows_of("test", "kind", "warm"))
    assert OTHER.keys() == {field.name for field in fields(Rows)} and {*OF_SOURCE, "run"} == {field.name for field in fields(RowsSource)}
    changed = [replace(rows, **{name: value}) for name, value in OTHER.items()]
    changed += [replace(rows, source=replace(SOURCE, **{name: value})) for name, value in OF_SOURCE.items()]  # type: ignore[arg-type]
    assert len({rows_key(each) for each in (rows, *changed)}) == 1 + len(changed)
    assert {Run, *Run.__subclasses__()} == {Run, OpenModel}
    assert Run in KEYS and f"{OpenModel.__module__}.{OpenModel.__qualname__}" in KEYS
    runs = []
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "config.json").write_text(json.dumps({"format": 2, "number": number}))
        runs.append(Run("a/b", tmp_path / str(number)))
    runs += [replace(runs[0], max_length=512), replace(runs[0], weights="epochs/1.safetensors")]

    @once(8)
    def described(many: list[Run]) -> tuple[Path, str, int]:
        return many[0].folder, many[0].weights, many[0].max_length

    described.clear()
    assert len({described([run]) for run in runs}) == len(runs)
    assert described(runs) == described([runs[0], runs[1], *runs[2:]]) == described([runs[0]])
