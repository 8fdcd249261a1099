"""Work beside a page: one job a key, shared by whoever asks for it, with progress and a stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from sentviz.errors import SentvizError

__all__ = ["Job", "Jobs", "Stopped"]

Tick = Callable[[float, str], object]
Work = Callable[[Tick], Any]

KEPT = 16  # finished jobs with their results
AT_ONCE = 2


class Stopped(Exception):
    """Nobody waits for this job any more."""


class Job:
    """One piece of work on its own thread; its fields may be read at any time."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.state = "waiting"  # running, done, stopped, failed
        self.share, self.doing = 0.0, "waiting for other work"
        self.result: Any = None
        self.error = ""  # one sentence, where it failed
        self.waiting: set[str] = set()  # who wants the result
        self._stop = threading.Event()

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
        if self._stop.is_set():
            raise Stopped

    def run(self, work: Work, slots: threading.Semaphore) -> None:
        """Do the work, when a slot is free."""
        with slots:
            try:
                self.tick(0.0, "starting")
                self.state = "running"
                self.result = work(self.tick)
                self.state = "done"
            except Stopped:
                self.state = "stopped"
            except SentvizError as error:
                self.error, self.state = str(error), "failed"
            except Exception as error:  # a page must learn of any end
                logging.getLogger(__name__).exception("%s failed", self.title)
                self.error, self.state = f"{self.title} failed ({error}).", "failed"


class Jobs:
    """Jobs by key. Safe to share between visitors; a job goes on while one of them waits for it."""

    def __init__(self, kept: int = KEPT, at_once: int = AT_ONCE) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock, self._slots, self._kept = threading.Lock(), threading.Semaphore(at_once), kept

    def get(self, key: str) -> Job | None:
        """The job of a key, whatever its state."""
        return self._jobs.get(key)

    def start(self, key: str, title: str, work: Work, who: str = "") -> Job:
        """The job of a key for one who waits for it; started where there is none, or where it was stopped or failed."""
        with self._lock:
            job = self._jobs.pop(key, None)
            fresh = job is None or job.state in ("stopped", "failed") or job._stop.is_set()
            if job is None or fresh:
                job = Job(title)
            self._jobs[key] = job  # the latest last
            job.waiting.add(who)
            over = [k for k, other in self._jobs.items() if other.over]
            for old in over[: max(0, len(self._jobs) - self._kept)]:
                del self._jobs[old]
        if fresh:
            threading.Thread(target=job.run, args=(work, self._slots), name=title, daemon=True).start()
        return job

    def leave(self, key: str, who: str = "") -> None:
        """One waits no longer; the job stops at its next step when nobody does."""
        with self._lock:
            job = self._jobs.get(key)
            if job is not None:
                job.waiting.discard(who)
                if not job.waiting and not job.over:
                    job._stop.set()
                    job.doing = "stopping after this step"
