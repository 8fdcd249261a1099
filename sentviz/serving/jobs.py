"""Work beside a page: one job a key, shared by whoever asks for it, with progress and a stop; and turns at work that takes a machine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sentviz.errors import SentvizError, Stopped

Work = Callable[["Job"], Any]

KEPT = 16  # finished jobs with their results
AT_ONCE = 2
WAIT = 0.3  # seconds before one who waits is told so


@dataclass(frozen=True, eq=False)
class _Ticket:
    who: str
    long: bool


class Turns:
    """A queue for work that takes the machine: so many pieces at a time, one for each visitor. Safe to share between visitors.

    Who asks first comes first, but short work comes before long work. Long work leaves one place free, and lets others go first between its
    steps.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once, self._line, self._busy = at_once, list[_Ticket](), list[_Ticket]()
        self._free = threading.Condition()

    @contextmanager
    def turn(
        self, who: str = "", say: Callable[[int], object] = lambda before: None, *, long: bool = False
    ) -> Iterator[Callable[[], None]]:
        """Wait for a turn, hold it, and give it back. A turn is not asked for within a turn.

        Args:
            who: asks; one who has no name may hold several.
            say: called with how many are before, again and again while waiting; what it raises ends the waiting.
            long: whether the work takes long. It has to call what this yields between its steps, which waits while others go first.
        """
        ticket = _Ticket(who, long)

        def step() -> None:
            with self._free:
                self._busy.remove(ticket)
                self._line.append(ticket)
                if self._comes(ticket):
                    return
                self._free.notify_all()
            self._wait(ticket, say)

        with self._free:
            self._line.append(ticket)
        try:
            self._wait(ticket, say)
            yield step
        finally:
            with self._free:
                for held in (self._line, self._busy):
                    if ticket in held:
                        held.remove(ticket)
                self._free.notify_all()

    def _wait(self, ticket: _Ticket, say: Callable[[int], object]) -> None:
        while (before := self._before(ticket)) is not None:
            say(before)

    def _before(self, ticket: _Ticket) -> int | None:
        """How many are before a ticket, after a while of waiting for a change; None where its turn has come."""
        with self._free:
            if self._comes(ticket):
                return None
            line = self._ordered()
            before = len(self._busy) + line.index(ticket)
            self._free.wait(WAIT)
            return None if self._comes(ticket) else before

    def _ordered(self) -> list[_Ticket]:
        return sorted(self._line, key=lambda ticket: ticket.long)

    def _able(self, ticket: _Ticket) -> bool:
        """Whether a ticket's visitor holds no turn, and there is a place for such work."""
        long = sum(other.long for other in self._busy)
        free = len(self._busy) < self._at_once and (not ticket.long or long < max(1, self._at_once - 1))
        return free and not (ticket.who and any(other.who == ticket.who for other in self._busy))

    def _comes(self, ticket: _Ticket) -> bool:
        if next(filter(self._able, self._ordered()), None) is not ticket:
            return False
        self._line.remove(ticket)
        self._busy.append(ticket)
        self._free.notify_all()
        return True


class Job:
    """One piece of work on its own thread; its fields may be read at any time."""

    def __init__(self, title: str, here: Callable[[str], bool] = lambda who: True) -> None:
        """`here` says whether one who wants the result still waits for it."""
        self.title, self._here = title, here
        self.state = "waiting"  # running, done, stopped, failed
        self.share, self.doing = 0.0, "waiting"
        self.result: Any = None
        self.error = ""  # one sentence, where it failed; where it was stopped, what the work says of that
        self.waiting: set[str] = set()  # who wants the result
        self.stop = threading.Event()  # set when nobody wants it any more

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ("done", "stopped", "failed")

    def tick(self, share: float, doing: str) -> None:
        """Report progress (from the work).

        Raises:
            Stopped: the job was given up.
        """
        self.share, self.doing = min(max(share, 0.0), 1.0), doing
        if self.stop.is_set() or not any(map(self._here, tuple(self.waiting))):
            raise Stopped

    def run(self, work: Work, turns: Turns) -> None:
        """Do the work, when its turn comes."""
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
        except Exception as error:  # a page must learn of any end
            logging.getLogger(__name__).exception("%s failed", self.title)
            self.error, self.state = f"{self.title} failed ({error}).", "failed"


class Jobs:
    """Jobs by key. Safe to share between visitors; a job goes on while one of them waits for it and is still here."""

    def __init__(self, kept: int = KEPT, at_once: int = AT_ONCE, here: Callable[[str], bool] = lambda who: True) -> None:
        """`here` says of one who waits whether they have not left."""
        self._jobs: dict[str, Job] = {}
        self._here = here
        self._lock, self._turns, self._kept = threading.Lock(), Turns(at_once), kept

    def get(self, key: str) -> Job | None:
        """The job of a key, whatever its state."""
        return self._jobs.get(key)

    def start(self, key: str, title: str, work: Work, who: str = "", *, again: bool = False) -> Job:
        """The job of a key for one who waits for it; started if there is none, if it was stopped or failed, or if it is wanted again."""
        with self._lock:
            job = self._jobs.pop(key, None)
            fresh = job is None or job.state in ("stopped", "failed") or job.stop.is_set() or (again and job.over)
            if job is None or fresh:
                job = Job(title, self._here)
            self._jobs[key] = job  # the latest last
            job.waiting.add(who)
            over = [k for k, other in self._jobs.items() if other.over]
            for old in over[: max(0, len(self._jobs) - self._kept)]:
                del self._jobs[old]
        if fresh:
            threading.Thread(target=job.run, args=(work, self._turns), name=title, daemon=True).start()
        return job

    def leave(self, key: str, who: str = "") -> None:
        """One waits no longer; the job stops at its next step when nobody does."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None:
                job.waiting.discard(who)
                if not job.waiting and not job.over:
                    job.stop.set()
                    job.doing = "stopping after this step"
