"""Code of others ends in its result or in one sentence, whatever it raises."""

from __future__ import annotations

import asyncio
import threading
from unittest.mock import Mock

import pytest

from sentviz.errors import InputError
from sentviz.io.foreign import Foreign, contained
from sentviz.serving.jobs import Job, Turns


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
    with pytest.raises(InputError, match=r"did not return within 0\.01 seconds for 2 texts"):
        theirs.call(lambda texts: go.wait(60), ["a", "b"], 0.01)
    with pytest.raises(InputError, match="still works on an earlier text"):
        theirs.call(list, ["a"], 5)
    go.set()
    assert theirs._late is not None
    theirs._late.join(60)
    assert theirs.call(list, texts := ["a"], 5) == ["a"]
    assert theirs.call(lambda own: own.clear() or 1, texts, 5) == 1 and texts == ["a"]
