"""A command in a process of its own, for programs that must stay quick meanwhile: its progress is heard, and it can be stopped.

The process prints each report as a line of JSON after the character `MARK` (RFC 7464) and its other output as it is. It stops, as by
Ctrl-C, when its standard input is closed, so it also ends with the process that started it.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

from sentviz.cli.terminal import MARK, Report, Reporter
from sentviz.errors import SentvizError

LISTEN = 0.5  # seconds between two calls of `check` while the process says nothing
ENDING = 60.0  # seconds that a stopped process has to store its work
NICE = 5  # the process leaves the processor to answers of pages
LINES = 200  # last lines of other output that are kept
UNSEEN = "Error: "  # with this, click begins the sentence on an error


def run_apart(arguments: Sequence[str], hear: Callable[[Report], object], check: Callable[[], object] = lambda: None) -> None:
    """Run a command in a process of its own until it ends.

    Args:
        arguments: as on the command line, after `sentviz`.
        hear: called with each report. check: called twice a second. An exception of either stops the process and is raised again.
    Raises:
        SentvizError: the command failed; the sentence is its own.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "sentviz.cli.process", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    output_lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    reader = threading.Thread(target=_listen, args=(process.stdout, output_lines), daemon=True)
    reader.start()
    lines: list[str] = []
    try:
        while reader.is_alive() or not output_lines.empty():
            try:
                line = output_lines.get(timeout=LISTEN)
            except queue.Empty:
                check()
                continue
            if line.startswith(MARK):
                hear(json.loads(line[1:]))
            else:
                lines = [*lines[1 - LINES :], line]
    finally:
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(ENDING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        process.stdout.close()
    if process.returncode:
        why = "".join(lines).rpartition(UNSEEN)[2].strip()
        raise SentvizError(" ".join(why.split()) or f"sentviz {arguments[0]} ended with exit status {process.returncode}.")


def _listen(output: IO[str], output_lines: queue.SimpleQueue[str]) -> None:
    for line in output:
        output_lines.put(line)


def _end_with_input() -> None:
    """Interrupt this process when its standard input is closed."""
    with suppress(OSError):
        while os.read(0, 1024):  # unbuffered: a reader of sys.stdin would hold its lock when Python ends
            pass
    _thread.interrupt_main()


def _main() -> None:
    from sentviz.cli import main

    if hasattr(os, "nice"):
        os.nice(NICE)
    threading.Thread(target=_end_with_input, daemon=True).start()
    main(prog_name="sentviz", obj=Reporter())


if __name__ == "__main__":
    _main()
