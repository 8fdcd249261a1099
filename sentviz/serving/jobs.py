"""Background jobs that visitors share by key, with progress and a way to stop them; and a queue for heavy work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sentviz.errors import SentvizError, Stopped

Work = Callable[["Job"], Any]

MAX_FINISHED = 16  # finished jobs whose results are stored
AT_ONCE = 2  # pieces of heavy work that run in parallel
WAIT_SECONDS = 0.3  # seconds to wait before the queue position is reported


@dataclass(frozen=True, eq=False)
class _Ticket:
    who: str
    long: bool
    used: Callable[[], float]

    @property
    def rank(self) -> tuple[bool, float]:
        """Place in the queue among tickets that wait: short work, then the work that has used the least time."""
        return self.long, self.used() if self.long else 0.0


class Turns:
    """First-come, first-served queue that runs at most `at_once` pieces of work at a time, and one per visitor. Thread-safe.

    Short work comes before long work. Long work leaves one place free, and other work may run between its steps: the work that has used the
    least time comes first, so that all get equal shares.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once, self._queue, self._busy = at_once, list[_Ticket](), list[_Ticket]()
        self._free = threading.Condition()

    @contextmanager
    def turn(
        self,
        who: str = "",
        say: Callable[[int], object] = lambda before: None,
        *,
        long: bool = False,
        used: Callable[[], float] = lambda: 0.0,
    ) -> Iterator[Callable[[], None]]:
        """Wait for a turn, hold it in the block, and give it back. Do not nest turns.

        Args:
            who: visitor; an empty name may hold several turns.
            say: called repeatedly while waiting, with the number of pieces of work before this one. An exception of it ends the waiting.
            long: whether the work takes long. Long work must call the yielded function between its steps, so that other work can go first.
            used: returns the seconds that long work has computed until now.
        """
        ticket = _Ticket(who, long, used)

        def step() -> None:
            with self._free:
                self._busy.remove(ticket)
                self._queue.append(ticket)
                if self._try_take(ticket):
                    return
                self._free.notify_all()
            self._wait(ticket, say)

        with self._free:
            self._queue.append(ticket)
        try:
            self._wait(ticket, say)
            yield step
        finally:
            with self._free:
                for queue in (self._queue, self._busy):
                    if ticket in queue:
                        queue.remove(ticket)
                self._free.notify_all()

    def _wait(self, ticket: _Ticket, say: Callable[[int], object]) -> None:
        while (before := self._position(ticket)) is not None:
            say(before)

    def _position(self, ticket: _Ticket) -> int | None:
        """Return the number of tickets before this one, after waiting up to `WAIT_SECONDS` for a change; None if its turn has come."""
        with self._free:
            if self._try_take(ticket):
                return None
            line = self._ordered()
            before = len(self._busy) + line.index(ticket)
            self._free.wait(WAIT_SECONDS)
            return None if self._try_take(ticket) else before

    def _ordered(self) -> list[_Ticket]:
        return sorted(self._queue, key=lambda ticket: ticket.rank)

    def _can_start(self, ticket: _Ticket) -> bool:
        """Return whether the ticket's visitor holds no turn and a place for such work is free."""
        long = sum(busy.long for busy in self._busy)
        free = len(self._busy) < self._at_once and (not ticket.long or long < max(1, self._at_once - 1))
        return free and not (ticket.who and any(busy.who == ticket.who for busy in self._busy))

    def _try_take(self, ticket: _Ticket) -> bool:
        if next(filter(self._can_start, self._ordered()), None) is not ticket:
            return False
        self._queue.remove(ticket)
        self._busy.append(ticket)
        self._free.notify_all()
        return True


class Job:
    """A piece of work on its own thread. Its fields may be read from any thread at any time."""

    def __init__(self, title: str, is_waiting: Callable[[str], bool] = lambda who: True) -> None:
        """Create a job; `is_waiting` returns whether a visitor still waits for the result."""
        self.title, self._is_waiting = title, is_waiting
        self.state = "waiting"  # then running, then done, stopped or failed
        self.share, self.doing = 0.0, "waiting"
        self.result: Any = None
        self.error = ""  # reason as one sentence, if the job failed or was stopped
        self.waiting: set[str] = set()  # visitors who wait for the result
        self.stop = threading.Event()  # set when no visitor waits any more

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""
        return self.state in ("done", "stopped", "failed")

    def tick(self, share: float, doing: str) -> None:
        """Report progress, called by the work.

        Args:
            share: finished part of the work, 0 to 1.
            doing: description of the present step.
        Raises:
            Stopped: no visitor waits for the result any more.
        """
        self.share, self.doing = min(max(share, 0.0), 1.0), doing
        if self.stop.is_set() or not any(map(self._is_waiting, tuple(self.waiting))):
            raise Stopped

    def run(self, work: Work, turns: Turns) -> None:
        """Wait for a turn and do the work."""
        try:
            with turns.turn(say=lambda before: self.tick(0.0, f"waiting, {before} before it")):
                self.tick(0.0, "starting")
                self.state = "running"
                self.result = work(self)
                self.state = "done"
        except Stopped as stopped:
            self.error, self.state = str(stopped), "stopped"
        except SentvizError as error:
            self.error, self.state = str(error), "failed"
        except BaseException as error:  # A page must see how the job ended, whatever the error.
            logging.getLogger(__name__).exception("%s failed", self.title)
            self.error, self.state = f"{self.title} failed ({error}).", "failed"


class Jobs:
    """Jobs by key, shared by all visitors. A job runs as long as a visitor who waits for it is still connected. Thread-safe."""

    def __init__(
        self, max_finished: int = MAX_FINISHED, at_once: int = AT_ONCE, is_waiting: Callable[[str], bool] = lambda who: True
    ) -> None:
        """Create an empty set of jobs; `is_waiting` returns whether a visitor is still connected."""
        self._jobs: dict[str, Job] = {}
        self._is_waiting = is_waiting
        self._lock, self._turns, self._max_finished = threading.Lock(), Turns(at_once), max_finished

    def get(self, key: str) -> Job | None:
        """Return the job of a key in any state; None if there is none."""
        return self._jobs.get(key)

    def start(self, key: str, title: str, work: Work, who: str = "", *, again: bool = False) -> Job:
        """Return the job of a key and add the visitor `who` to those who wait for it.

        A new job is started if there is none, if the last one was stopped or failed, or if it is over and `again` is set.
        """
        with self._lock:
            job = self._jobs.pop(key, None)
            fresh = job is None or job.state in ("stopped", "failed") or job.stop.is_set() or (again and job.is_over)
            if job is None or fresh:
                job = Job(title, self._is_waiting)
            self._jobs[key] = job  # The latest job is last.
            job.waiting.add(who)
            is_over = [k for k, job_of_key in self._jobs.items() if job_of_key.is_over]
            for old in is_over[: max(0, len(self._jobs) - self._max_finished)]:
                del self._jobs[old]
        if fresh:
            threading.Thread(target=job.run, args=(work, self._turns), name=title, daemon=True).start()
        return job

    def leave(self, key: str, who: str = "") -> None:
        """Remove a visitor from those who wait. If nobody waits any more, the job stops at its next step."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None:
                job.waiting.discard(who)
                if not job.waiting and not job.is_over:
                    job.stop.set()
                    job.doing = "stopping after this step"
