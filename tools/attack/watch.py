"""Memory and time of a process and its children, watched from outside and limited."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MOST = 3_000  # megabytes beyond those at rest, at which a process and its children are killed
FREE = 6_000  # megabytes that the machine must have left before an attack begins
EVERY = 0.05  # seconds between two looks
SLOWER = 5  # seconds by the clock for each processor second that an attack may take: the machine may be busy with something else


def _tree(root: int) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(path.name))
    processes = [root]
    for process in processes:
        processes += children.get(process, [])
    return processes


def _megabytes(pid: int) -> float:
    """Return the memory of a process without mapped files, in megabytes."""
    with suppress(OSError):
        return sum(map(int, re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))) / 1024
    return 0.0


def computed(pid: int) -> float:
    """Return the processor seconds of a process and all below it, also of those that have ended."""
    ticks = 0
    for process in _tree(pid):
        with suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


ADDITIONS = 600_000  # the pace is measured over so many
SPEED = 18_000_000  # additions in Python that a core of the machine of the table makes in a second if nothing else runs


def pace() -> float:
    """Return how many seconds of an idle core a processor second is worth now.

    It is about a half while all cores are busy, because two threads of a core then share its units.
    """
    total, begin = 0, time.thread_time()
    for number in range(ADDITIONS):
        total += number * number
    return ADDITIONS / SPEED / (time.thread_time() - begin)


class Watch(threading.Thread):
    """Looks at a process and all below it until `stop`, and kills them when they take more than they may."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.killed = pid, False
        self.rest = self.peak = self.now()
        self._end = threading.Event()

    def now(self) -> float:
        """Megabytes at this moment."""
        return sum(map(_megabytes, _tree(self.pid)))

    def kill(self) -> None:
        """End the process and all below it."""
        for pid in reversed(_tree(self.pid)):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def run(self) -> None:
        """Look until told to stop."""
        while not self._end.wait(EVERY):
            self.peak = max(self.peak, self.now())
            if self.peak - self.rest > MOST:
                self.killed = True
                self.kill()
                return

    def stop(self) -> float:
        """Megabytes at most, beyond those at the beginning."""
        self._end.set()
        self.join()
        return self.peak - self.rest


def environment(root: Path, home: Path, inputs: Mapping[str, str] = {}) -> dict[str, str]:
    """Variables of a process that runs a checkout's code with a home of its own, and those among what was made."""
    variables = {name: value for name, value in os.environ.items() if name not in ("SENTVIZ_RUNS", "SENTVIZ_HOME")}
    own = {"PYTHONPATH": str(root), "SENTVIZ_HOME": str(home), "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return variables | own | {name: value for name, value in inputs.items() if name.isupper()}


@dataclass(frozen=True)
class Ended:
    """A command that is over: all it said, seconds, megabytes at most, and why it was ended, if it was."""

    output: str
    seconds: float
    peak: float
    why: str
    code: int


def bounded(command: Sequence[str], root: Path, env: Mapping[str, str], seconds: float) -> Ended:
    """Run a command in a checkout, within limits of memory and of processor seconds; `SLOWER` times as long by the clock."""
    begin = time.monotonic()
    process = subprocess.Popen(
        command, cwd=root, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    watch, why = Watch(process.pid), ""
    watch.rest = 0.0
    watch.start()
    while True:
        try:
            output, _ = process.communicate(timeout=EVERY)
            break
        except subprocess.TimeoutExpired:
            if not why and (computed(process.pid) > seconds or time.monotonic() - begin > SLOWER * seconds):
                watch.kill()
                why = f"not done after {seconds:g} s"
    peak = watch.stop()
    if watch.killed:
        why = f"killed at {peak:,.0f} MB"
    elif process.returncode < 0 and not why:
        why = f"died of {signal.Signals(-process.returncode).name}"
    return Ended(output, time.monotonic() - begin, peak, why, process.returncode)


def room(patience: float = 300.0) -> None:
    """Wait until the machine has memory left for an attack."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        match = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
        if match is None or int(match[1]) / 1024 > FREE:
            return
        time.sleep(2)
    raise MemoryError(f"The machine has had less than {FREE:,} MB left for {patience:g} s.")


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[str]:
    """A disk in memory at a folder, as in `size=1m` or `size=1m,ro`; why there is none, empty if there is."""
    if not options:
        yield ""
        return
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        yield "a small disk needs root"
        return
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        yield f"no small disk here: {done.stderr.strip()}"
        return
    try:
        yield ""
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
