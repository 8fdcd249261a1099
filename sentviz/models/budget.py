"""Computing time of a search: slices that let other work go first, a limit, and the results with which a search goes on after its limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from sentviz.errors import SentvizError

Floats = npt.NDArray[np.float32]

SLICE = 0.05  # seconds of computing after which a search lets other work go first


class Spent(SentvizError):
    """The computing time of a search is over. The message says how far it came; the same call with more time goes on from there."""

    def __init__(self, budget: Budget, done: int = 0, total: int = 0, what: str = "texts", partial: Floats | None = None) -> None:
        """Create the error.

        Args:
            done, total, what: finished and all parts of the search, and their name; total 0 if the number of parts is not known.
            partial: (total, K) logits of the parts, NaN for unfinished ones; None if the search has no such results.
        """
        far = f"Searched {done:,} of {total:,} {what}" if total else "The search is not complete"
        super().__init__(f"{far} after {budget.seconds:.3g} seconds of computing.")
        self.budget, self.partial = budget, partial


class Budget:
    """Seconds of computing that the searches for one question may take, and the batches that they computed.

    A search runs in the block of `working`, on a model from `Model.stoppable(step, budget.batches)`. It is deterministic, so the same
    search with more time finds its finished batches in `batches`, and its result equals that of a search whose time was enough. One
    thread works at a time.
    """

    def __init__(self, seconds: float = math.inf, *, clock: Callable[[], float] = time.thread_time) -> None:
        """Create a budget; `clock` returns the seconds that the calling thread has computed."""
        self.seconds, self.used, self._clock, self._given = seconds, 0.0, clock, seconds
        self.batches: dict[bytes, tuple[Floats, Floats]] = {}  # digest of a batch -> logits and pooled vectors

    @property
    def is_spent(self) -> bool:
        """Return whether no time is left."""
        return self.used >= self.seconds

    @property
    def more(self) -> float:
        """Seconds that `extend` adds: as many as before, but not fewer than at the beginning."""
        return max(self.seconds, self._given)

    def extend(self) -> None:
        """Allow more time. Doubling also completes a search whose parts cannot be stored."""
        self.seconds += self.more

    def stop(self) -> None:
        """End the search with what it has found until now."""
        self.seconds = self.used = max(self.used, SLICE)

    @contextmanager
    def working(self, rest: Callable[[], object] = lambda: None) -> Iterator[Callable[[], None]]:
        """Yield a function that the work calls between its parts. It counts the time, and calls `rest` at the end of each slice.

        A slice ends before the part with which it would take longer than `SLICE`, if that part takes as long as the last one.

        Raises:
            Spent: from the yielded function, if the time is over.
        """
        begin = last = self._clock()

        def count() -> float:
            nonlocal last
            took, last = self._clock() - last, self._clock()
            self.used += took
            return took

        def step() -> None:
            nonlocal begin, last
            took = count()
            if self.is_spent:
                raise Spent(self)
            if last + took - begin > SLICE:
                rest()
                begin = last = self._clock()

        try:
            yield step
        finally:
            count()
        if not self.is_spent:  # The search is complete.
            self.batches.clear()
