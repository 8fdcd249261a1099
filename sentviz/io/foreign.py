"""The one place that runs code of others: a tokenizer, a function of the user, the loading of a model of the hub.

Such code may raise anything. The library `tokenizers` panics in Rust if a pattern backtracks too long. A panic is a BaseException, which no
`except Exception` catches. Rust code cannot be interrupted, so the time limit ends the wait only: the code continues in a daemon
thread, and its result is dropped. A daemon thread does not keep the process alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sentviz.errors import InputError, SentvizError


class Foreign:
    """A function of texts that others wrote. Every call ends in its result or in an `InputError`. Thread-safe.

    While a call that took too long still runs, further calls are refused at once. So a slow text costs one thread, whoever repeats it.
    """

    def __init__(self, name: str) -> None:
        """Create it; `name` is the subject of the messages."""
        self.name = name
        self._late: threading.Thread | None = None  # thread of the last call that took too long

    def call(self, function: Callable[[list[str]], Any], texts: Sequence[str], seconds: float) -> Any:
        """Return what a function returns for some texts."""
        if self._late is not None and self._late.is_alive():
            raise InputError(f"{self.name} still works on an earlier text that takes too long. Wait, or choose another model.")
        results, failures = list[Any](), list[SentvizError]()

        def work() -> None:
            try:
                results.append(function(list(texts)))
            except SentvizError as error:
                failures.append(error)
            except BaseException as error:  # The code of others may raise anything, also SystemExit.
                failures.append(_failure(self.name, error))

        thread = threading.Thread(target=work, daemon=True, name=self.name)
        thread.start()
        thread.join(seconds)
        if failures:
            raise failures[0] from failures[0].__cause__
        if not results:
            self._late = thread
            counted = f"{len(texts):,} text{'s' * (len(texts) != 1)}"
            raise InputError(f"{self.name} did not return within {seconds:.3g} seconds for {counted}.")
        return results[0]


@contextmanager
def contained(name: str) -> Iterator[None]:
    """Turn a BaseException that is not an Exception, such as a Rust panic, into an `InputError`. Ctrl-C still stops the block."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise _failure(name, error) from error


def _failure(name: str, error: BaseException) -> InputError:
    message = " ".join(str(error).split())[:200].rstrip(".")
    failure = InputError(f"{name} raised {type(error).__name__}{f': {message}' if message else ''}.")
    failure.__cause__ = error
    return failure
