"""A server process under attack, and another visitor who makes ordinary requests in the meantime."""

from __future__ import annotations

import asyncio
import http.client
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, suppress
from functools import partial
from pathlib import Path

from websockets.exceptions import ConnectionClosed

from tools.attack.case import Case, Outcome
from tools.attack.watch import EVERY, SLOWER, Watch, computed, environment, pace
from tools.soak import free_port

RUN = "sst2/ndt-unit-2"
AFTER = 4.0  # seconds that are watched after the attacker left
ALONE = 12  # ordinary answers before the attack
PAUSE = 0.2  # seconds between two ordinary questions
MOST_ANSWERS = 0.95  # share of answers that is judged if single answers are
ENDED = (OSError, EOFError, http.client.HTTPException, ConnectionClosed)
Ask = Callable[[Callable[[], None]], Awaitable[None]]  # asks once, and calls the function when the answer is there


class Target:
    """A process that serves, attacked case by case."""

    def __init__(self, root: Path, inputs: Mapping[str, str]) -> None:
        self.root, self.port = root, free_port()
        self._home = tempfile.TemporaryDirectory(prefix="attack-home-")
        self._log = Path(self._home.name) / "log"
        with self._log.open("wb") as log:
            env = environment(root, Path(self._home.name), inputs)
            self.process = subprocess.Popen(
                [sys.executable, *self.command()], cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.made = {name: value for name, value in inputs.items() if name.isupper()}
        self._ready()

    def command(self) -> list[str]:
        """Words after the interpreter's."""
        raise NotImplementedError

    def visitor(self) -> AbstractAsyncContextManager[Ask]:
        """An ordinary visitor: a context that gives a coroutine function, which asks once."""
        raise NotImplementedError

    health = "/"

    @property
    def address(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def alive(self) -> bool:
        """Return whether the process runs."""
        return self.process.poll() is None

    def _ready(self, patience: float = 120.0) -> None:
        end = time.monotonic() + patience
        while time.monotonic() < end and self.alive:
            with suppress(OSError, http.client.HTTPException):
                urllib.request.urlopen(self.address + self.health, timeout=30).close()
                return
            time.sleep(0.2)
        output = self._log.read_text(errors="replace")
        self.close()
        raise RuntimeError(f"it did not start: {output[-500:]}")

    def close(self) -> None:
        """End it."""
        Watch(self.process.pid).kill()
        self.process.wait(30)
        self._home.cleanup()

    async def attacked(self, case: Case, inputs: Mapping[str, str], outcome: Outcome) -> tuple[str, str]:
        """Carry an attack out and measure it; what was said to the attacker, and what the process logged meanwhile."""
        async with self.visitor() as ask, aclosing(_prepared(case.run(self, inputs))) as attack:  # type: ignore[operator]
            meanwhile = Meanwhile(ask, partial(computed, self.process.pid), answers=case.answers)
            await anext(attack)
            outcome.rest, outcome.rest_work = await meanwhile.rest()
            watch, begin, logged = Watch(self.process.pid), time.monotonic(), self._log.stat().st_size
            watch.start()
            asking = asyncio.create_task(meanwhile.go_on())
            output = ""
            try:
                output = await _within(anext(attack), case.seconds, self.process.pid)
            except TimeoutError:
                outcome.falls.append(f"not done after {case.seconds:g} s")
            except ENDED as error:
                output = f"The connection ended ({type(error).__name__} {error})."
            except Exception as error:
                outcome.falls.append(f"not carried out ({type(error).__name__}: {error})"[:120])
            outcome.seconds = time.monotonic() - begin
            await asyncio.sleep(AFTER)
            asking.cancel()
            outcome.felt, outcome.work = meanwhile.slowest()
            with suppress(asyncio.CancelledError):
                await asking
        outcome.peak = watch.stop()
        outcome.falls += [f"another: {meanwhile.lost}"] if meanwhile.lost else []
        if watch.killed:
            outcome.falls.append("killed")
        elif not self.alive:
            outcome.falls.append(f"died ({self.process.returncode})")
        return output, self._log.read_text(errors="replace")[logged:]


async def _prepared(attack: Awaitable[str] | AsyncGenerator[str]) -> AsyncGenerator[str]:
    """The attack as a generator: first "", when it can begin, then what was said."""
    if isinstance(attack, AsyncGenerator):
        async with aclosing(attack):
            async for output in attack:
                yield output
    else:
        yield ""
        yield await attack


async def _within(attack: Awaitable[str], seconds: float, pid: int) -> str:
    """Return what was said to the attacker; raise TimeoutError if the process computes longer, or `SLOWER` times as long by the clock."""
    task, begin, before = asyncio.ensure_future(attack), time.monotonic(), computed(pid)
    while not (await asyncio.wait({task}, timeout=10 * EVERY))[0]:
        if computed(pid) - before > seconds or time.monotonic() - begin > SLOWER * seconds:
            task.cancel()
            await asyncio.wait({task})
            raise TimeoutError
    return task.result()


class Meanwhile:
    """Waiting time of an ordinary visitor, and the work of the target in it; `lost` says what went wrong."""

    def __init__(self, ask: Ask, work: Callable[[], float], *, answers: bool) -> None:
        self._ask, self._work, self._answers, self.lost = ask, work, answers, ""
        self._waits = list[tuple[float, float]]()  # seconds by the clock, and seconds of an idle core that the target computed
        self._since: tuple[float, float] | None = None  # clock and work at a question without an answer

    async def rest(self) -> tuple[float, float]:
        """Return seconds and work of the slowest of a few answers, without the first two."""
        await self.go_on(ALONE)
        self._waits = self._waits[2:]
        slowest, self._waits = self.slowest(), []
        return slowest

    async def go_on(self, times: int = sys.maxsize) -> None:
        """Ask so often, until cancelled or cut off."""
        for _ in range(times):
            self._since = time.monotonic(), self._work()
            try:
                await self._ask(self._answered if self._answers else lambda: None)
            except (*ENDED, RuntimeError) as error:
                self.lost = self.lost or f"{type(error).__name__} {error}"[:80].strip()
                if isinstance(error, ConnectionClosed):
                    return
            self._answered()
            await asyncio.sleep(PAUSE)

    def _answered(self) -> None:
        if self._since is not None:
            self._waits.append((time.monotonic() - self._since[0], pace() * (self._work() - self._since[1])))
            self._since = None

    def slowest(self) -> tuple[float, float]:
        """Return seconds and work of the slowest answer, also of one that has not come yet; of answers alone, without a twentieth."""
        self._answered()
        seconds, work = (sorted(column) for column in zip(*self._waits, strict=True)) if self._waits else ([0.0], [0.0])
        last = int(MOST_ANSWERS * (len(seconds) - 1)) if self._answers else -1
        return seconds[last], work[last]


@contextmanager
def targets(root: Path, kinds: Mapping[str, type[Target]]) -> Iterator[Callable[[str, Mapping[str, str]], Target]]:
    """Gives the process to attack, one at a time: the one that runs, if it is of the right kind and environment, else a fresh one."""
    running: Target | None = None

    def find_target(against: str, inputs: Mapping[str, str]) -> Target:
        nonlocal running
        kind = kinds[against]
        wanted = {name: value for name, value in inputs.items() if name.isupper()}
        if running is None or not running.alive or type(running) is not kind or running.made != wanted:
            if running is not None:
                running.close()
            running = kind(root, inputs)
        return running

    try:
        yield find_target
    finally:
        if running is not None:
            running.close()
