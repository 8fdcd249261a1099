"""Code of others ends in its result or in one sentence, whatever it raises."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from sentviz.errors import InputError
from sentviz.io.foreign import Foreign, contained
from sentviz.serving.jobs import Job, Turns


class Panic(BaseException):
    """An error as Rust libraries raise it."""


RAISED = [
    ValueError("no\nsuch"),
    KeyError("a"),
    Panic("over"),
    SystemExit(3),
    GeneratorExit(),
    asyncio.CancelledError(),
    KeyboardInterrupt(),
]


def raising(error: BaseException) -> Any:
    def function(*args: object) -> None:
        raise error

    return function


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_a_call_raises_is_one_sentence(error: BaseException) -> None:
    with pytest.raises(InputError, match=f"^Theirs raised {type(error).__name__}") as seen:
        Foreign("Theirs").call(raising(error), ["a"], 5)
    assert seen.value.__cause__ is error and "\n" not in str(seen.value) and str(seen.value).endswith(".")


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_block_keeps_exceptions_and_ctrl_c_and_contains_the_others(error: BaseException) -> None:
    stays = isinstance(error, Exception | KeyboardInterrupt)
    with pytest.raises(type(error) if stays else InputError), contained("Theirs"):
        raise error


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_job_ends_whatever_its_work_raises(error: BaseException) -> None:
    job = Job("Work")
    job.waiting.add("")
    job.run(raising(error), Turns())
    assert job.is_over and job.error.startswith("Work failed (")


def test_while_a_call_takes_too_long_others_are_refused_and_then_served() -> None:
    go, theirs = threading.Event(), Foreign("Theirs")
    with pytest.raises(InputError, match=r"did not return within 0\.01 seconds for 2 texts"):
        theirs.call(lambda texts: go.wait(60), ["a", "b"], 0.01)
    with pytest.raises(InputError, match="still works on an earlier text"):
        theirs.call(list, ["a"], 5)
    go.set()
    assert theirs._late is not None
    theirs._late.join(60)
    assert theirs.call(list, ["a"], 5) == ["a"]


def test_what_a_call_changes_in_its_list_stays_with_it() -> None:
    texts = ["a", "b"]
    assert Foreign("Theirs").call(lambda own: own.clear() or 1, texts, 5) == 1 and texts == ["a", "b"]
