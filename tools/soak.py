"""Run visitors, uploads, cut connections and damaged runs on a served app, all on this machine, for a number of minutes.

`python -m tools.soak --minutes 3 --visitors 20` prints how often what was done, answers that were wrong, memory, and how long answers
took: a visitor alone, then all of them with two seconds between their actions.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

ROOT = Path(__file__).parents[1]
RUNS = ("sst2/ndt-unit-2", "sst2/vanilla-matched")
WORDS = ("warm", "dull", "clever", "hollow", "tender", "clumsy", "bright", "dreadful", "splendid", "cold")
SENTENCES = [f"a {first} story with a {second} end" for first, second in itertools.permutations(WORDS, 2)]
PAUSE = 2.0  # seconds between a visitor's actions
PATIENCE = 120.0  # seconds, after which a visitor gives up
SLOWER = 3  # times the single visitor's, at most, is the aim


@dataclass
class Seen:
    """Observations of all visitors."""

    did: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


class Visitor:
    """A visit by the protocol that browsers speak."""

    patience = PATIENCE

    def __init__(self, socket: ClientConnection, seen: Seen) -> None:
        self.socket, self.seen = socket, seen
        self.pages: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.query, self.page, self.session = "", "", ""

    async def run(self, *widgets: WidgetState, until: str = "") -> list[str]:
        """Ask for a run of the page with what was typed; its words, up to those that start with `until`, or all of them."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_script_hash = self.page
        message.rerun_script.widget_states.widgets.extend(widgets)
        message.rerun_script.context_info.url = "http://127.0.0.1/"
        await self.socket.send(message.SerializeToString())
        texts: list[str] = []
        async with asyncio.timeout(self.patience):
            while True:
                answer = ForwardMsg()
                answer.ParseFromString(await self.socket.recv())
                kind = answer.WhichOneof("type")
                if kind == "new_session":
                    texts.clear()
                    self.session = answer.new_session.initialize.session_id or self.session
                elif kind == "page_info_changed":
                    self.query = answer.page_info_changed.query_string
                elif kind == "navigation":
                    self.pages = {page.url_pathname: page.page_script_hash for page in answer.navigation.app_pages}
                    self.page = answer.navigation.page_script_hash
                elif kind == "delta":
                    texts += self._delta(answer.delta)
                    if until and texts and texts[-1].startswith(until):
                        return texts
                elif kind == "script_finished" and answer.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    return texts

    def _delta(self, delta: Any) -> list[str]:
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind in ("text_input", "file_uploader", "selectbox"):
            self.ids[getattr(element, kind).label] = getattr(element, kind).id
        if kind == "exception":
            self.seen.errors[element.exception.type or element.exception.message[:60]] += 1
        return [element.markdown.body] if kind == "markdown" else [element.alert.body] if kind == "alert" else []

    async def enter(self, sentence: str, answers: dict[tuple[str, str], str], run: str) -> None:
        """Type a sentence and read the answer."""
        begin = time.monotonic()
        texts = await self.run(WidgetState(id=self.ids["Sentence"], string_value=sentence), until="### ")
        self.seen.seconds.append(time.monotonic() - begin)
        self.seen.did["answers"] += 1
        answer = next((line for line in texts if line.startswith("### ")), "none")
        if answer != answers[run, sentence]:
            self.seen.wrong.append(f"{sentence}: {answer} instead of {answers[run, sentence]}")
        await self.rest()

    async def rest(self) -> None:
        """Read the page to its end."""
        async with asyncio.timeout(self.patience):
            while True:
                answer = ForwardMsg()
                answer.ParseFromString(await self.socket.recv())
                if answer.WhichOneof("type") == "delta":
                    self._delta(answer.delta)
                if answer.WhichOneof("type") == "script_finished":
                    return


def free_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The app as the README starts it, on a free port of this machine."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless=true", f"--server.port={port}"]
    process = subprocess.Popen(
        [*command, "--server.address=127.0.0.1"],
        cwd=ROOT,
        env={**os.environ, "SENTVIZ_RUNS": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).close()
                break
            time.sleep(0.2)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


def memory(process: subprocess.Popen[bytes]) -> float:
    """Megabytes of a process that are in memory."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def spent(process: subprocess.Popen[bytes]) -> float:
    """Seconds of a processor that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def expected() -> dict[tuple[str, str], str]:
    """Return the answer of each run to each sentence, computed without the app."""
    from app.text import md
    from sentviz import load
    from sentviz.analysis.explain import answer, explained

    models = {run: load(run) for run in RUNS}
    traces = ((run, text, explained(model, model.trace(text, maps=False))) for run, model in models.items() for text in SENTENCES)
    return {(run, text): f"### {md(answer(trace))}" for run, text, trace in traces}


async def visiting(port: int, number: int, end: float, answers: dict[tuple[str, str], str], seen: Seen, pause: float = PAUSE) -> None:
    """Visits until the end: sentences, other pages, now and then a connection that is cut and begins anew."""
    draw = random.Random(number)
    while time.monotonic() < end:
        run = draw.choice(RUNS)
        try:
            async with connect(f"ws://127.0.0.1:{port}/_stcore/stream", max_size=None, subprotocols=["streamlit"]) as socket:
                visitor = Visitor(socket, seen)
                visitor.query = f"run={run}"
                await visitor.run()
                seen.did["visits"] += 1
                while time.monotonic() < end:
                    await asyncio.sleep(pause)
                    await visitor.enter(draw.choice(SENTENCES), answers, run)
                    if draw.random() < 0.1:
                        page = visitor.page
                        visitor.page = visitor.pages[draw.choice([name for name in visitor.pages if name not in ("", "explore")])]
                        await visitor.run()
                        seen.did["other pages"] += 1
                        visitor.page, visitor.query = page, f"run={run}"
                        await visitor.run()
                    if draw.random() < 0.03:
                        socket.transport.abort()
                        seen.did["connections cut"] += 1
                        break
        except (OSError, TimeoutError, EOFError) as error:
            seen.errors[type(error).__name__] += 1
        except Exception as error:  # a cut connection says so in many ways
            if "ConnectionClosed" not in type(error).__name__:
                raise


async def damaging(folder: Path, end: float, seen: Seen) -> None:
    """A run that comes, breaks and goes, beside the others."""
    source, target = ROOT / "checkpoints" / RUNS[0], folder / "sst2" / "broken"
    files = ("config.json", "history.parquet", "test.parquet", "metrics.json", "example.safetensors")
    for file in itertools.cycle(files):
        if time.monotonic() > end:
            return
        await asyncio.to_thread(shutil.copytree, source, target)
        (target / file).write_bytes((target / file).read_bytes()[:100])
        seen.did["damaged runs"] += 1
        await asyncio.sleep(5)
        await asyncio.to_thread(shutil.rmtree, target)


async def uploading(end: float, seen: Seen) -> None:
    """Files that are hard to read, through the door that the app uses."""
    from sentviz.data.upload import read_table
    from sentviz.errors import InputError

    files = (b'text,label\n,"a",b\n,' + b'"' * 230 + b"x", b"text\n" + b"a warm song\n" * 20_000, b"PAR1" + os.urandom(4_000))
    for data in itertools.cycle(files):
        if time.monotonic() > end:
            return
        with suppress(InputError):
            await asyncio.to_thread(read_table, data, "mine.csv")
        seen.did["uploads"] += 1
        await asyncio.sleep(4)


async def soak(minutes: float, visitors: int) -> str:
    """The whole, as a table."""
    answers = expected()
    with tempfile.TemporaryDirectory() as name, served(folder := Path(name)) as (port, process):
        alone, many = Seen(), Seen()
        await visiting(port, 0, time.monotonic() + 20, answers, Seen())  # models are loaded
        await visiting(port, 0, time.monotonic() + 40, answers, alone)
        before, own = memory(process), -spent(process)
        end = time.monotonic() + 60 * minutes
        most = before

        async def watching() -> None:
            nonlocal most
            while time.monotonic() < end:
                most = max(most, memory(process))
                await asyncio.sleep(0.5)

        await asyncio.gather(
            *(visiting(port, number + 1, end, answers, many) for number in range(visitors)),
            damaging(folder, end, many),
            uploading(end, many),
            watching(),
        )
        most, own = max(most, memory(process)), own + spent(process)
        await asyncio.sleep(75)  # longer than a closed visit is kept
        await visiting(port, 0, time.monotonic() + 5, answers, Seen())
        after, load = memory(process), os.getloadavg()[0]
    first, all_ = (np.percentile(seen.seconds or [np.nan], [50, 95]) for seen in (alone, many))
    return "\n".join(
        [
            f"visitors                 {visitors}, {PAUSE:g} s between actions, {minutes:g} min; load of the machine {load:.1f}",
            *(f"{what:<24} {count:,}" for what, count in sorted(many.did.items())),
            f"answers wrong            {len(many.wrong)} {'; '.join(many.wrong[:2])}",
            f"tracebacks, failures     {dict(many.errors) or 0}",
            f"Enter to answer alone    p50 {first[0]:.2f} s, p95 {first[1]:.2f} s (n = {len(alone.seconds)})",
            f"Enter to answer          p50 {all_[0]:.2f} s, p95 {all_[1]:.2f} s; p95 {all_[1] / first[1]:.1f} times alone, aim {SLOWER}",
            f"processor                {own / (60 * minutes):.2f} at work on average, of the one that Python uses for its own",
            f"memory                   {before:,.0f} MB, at most {most:,.0f} MB, {after:,.0f} MB when all had gone",
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--visitors", type=int, default=20)
    options = parser.parse_args()
    print(asyncio.run(soak(options.minutes, options.visitors)))  # noqa: T201 - a command
