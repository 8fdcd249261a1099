"""Turns at work that takes the machine, and code of others, which ends in its result or in one sentence."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import Mock

import pytest

from sentviz.errors import InputError
from sentviz.io.foreign import Foreign, contained
from sentviz.serving.jobs import Job, Jobs, Turns
from tests.kit import refused

SOON = 20.0  # seconds, after which a test has failed


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


def test_who_comes_first_is_first_and_all_know_their_place() -> None:
    turns, order, places = Turns(1), list[str](), {name: list[int]() for name in "abc"}
    with ExitStack() as stack, turns.turn("before"):
        for name in "abc":
            stack.enter_context(asking(turns, name, order, places[name]))
        assert [places[name][0] for name in "abc"] == [1, 2, 3]
    assert order == ["a", "b", "c"]


def test_one_visitor_holds_one_turn_and_does_not_block_others() -> None:
    turns, order = Turns(2), list[str]()
    with ExitStack() as stack, turns.turn("greedy"):
        stack.enter_context(asking(turns, "greedy", order, []))
        with turns.turn("other", lambda before: pytest.fail("there was a slot for another visitor")):
            order.append("other")
    assert order == ["other", "greedy"]


def test_a_visitor_who_leaves_the_line_leaves_no_gap() -> None:
    """An exception from `say`, as Streamlit raises when a visitor goes on, ends the waiting; work that fails gives its turn back."""
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


def test_long_work_leaves_a_place_and_lets_others_go_first_between_its_steps() -> None:
    """Long work takes one of two places. Between its steps other long work has its turn, and short work comes before both."""
    turns, order = Turns(2), list[str]()
    with ExitStack() as stack, turns.turn("first", long=True) as step:
        step()  # nobody waits
        stack.enter_context(asking(turns, "second", order, [], long=True))
        with turns.turn("short", lambda before: pytest.fail("a place was kept for it")):
            assert not order
        step()
        assert order == ["second"]


def test_short_work_comes_before_long_work_that_waits_longer() -> None:
    turns, order = Turns(1), list[str]()
    with ExitStack() as stack, turns.turn("before"):
        stack.enter_context(asking(turns, "long", order, [], long=True))
        stack.enter_context(asking(turns, "short", order, []))
    assert order == ["short", "long"]


def test_a_job_ends_when_all_who_wait_for_it_have_left() -> None:
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
