"""Run some tests on one fault, in a forked process. The parent imports other packages only, never the code under test."""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, TypeVar

import pytest

HEAVY = (
    *(
        "torch",
        "pandas",
        "scipy.stats",
        "sklearn.metrics",
        "hypothesis",
        "transformers",
        "tokenizers",
        "safetensors.torch",
        "huggingface_hub",
    ),
    *("streamlit", "plotly.graph_objects", "plotly.io", "pyarrow.parquet", "click.testing", "PIL.Image", "starlette.testclient"),
)
Name = TypeVar("Name")
MEMORY = 16 * 2**30
"""The most memory of a child, in bytes: a fault may ask for any amount."""


class Job(NamedTuple):
    """Describes what a child does: it runs tests on a file with a fault, within a limit of seconds. Without code there is no fault."""

    tree: Path
    file: str
    code: CodeType | None
    tests: Sequence[str]
    limit: float


class Outcome(NamedTuple):
    """Says what made the tests of a child fail, "" if they passed, and how many seconds they took."""

    killed_by: str
    seconds: float


class Finder:
    """Finds the module with the fault before Python finds its file."""

    def __init__(self, job: Job) -> None:
        """Find the module of this job."""
        self.name, self.code = job.file.removesuffix(".py").removesuffix("/__init__").replace("/", "."), job.code

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Return the module's place, from which the code with the fault is loaded; None for another module."""
        spec = PathFinder.find_spec(name, path) if name == self.name else None
        if spec is not None:
            spec.loader.get_code = lambda name: self.code  # type: ignore[union-attr]
        return spec


class Chosen:
    """A plugin of pytest that runs the chosen tests only, in their order, and remembers the first that failed."""

    def __init__(self, tests: Sequence[str]) -> None:
        """Run these tests."""
        self.order = {test: i for i, test in enumerate(tests)}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave the other tests out."""
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the first test that failed."""
        self.failed = self.failed or (report.nodeid if report.failed else "")


def prepare(caches: Path) -> None:
    """Import what the code under test imports; compiled modules are written to a folder outside the tree."""
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(caches)
    os.environ |= {"PYTHONPYCACHEPREFIX": str(caches), "OMP_NUM_THREADS": "1"}
    for name in HEAVY:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def plant(job: Job) -> None:
    """Let Python, and Streamlit, which reads scripts by itself, run the code with the fault."""
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache

    original, place = ScriptCache.get_bytecode, str(job.tree / job.file)
    sys.meta_path.insert(0, Finder(job))
    ScriptCache.get_bytecode = lambda cache, path: job.code if path == place else original(cache, path)  # type: ignore[assignment]


def run_tests(job: Job, folder: Path) -> None:
    """Run the tests of a job in this process, and write what made them fail."""
    os.setsid()
    output = os.open(folder / "output", os.O_CREAT | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(output, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.chdir(job.tree)
    os.environ |= {"PYTHONPATH": str(job.tree), "TMPDIR": str(folder), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis")}
    tempfile.tempdir = None
    sys.path.insert(0, str(job.tree))
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
        del sys.modules[name]  # the tests of the tree import its own tools
    if job.code is not None:
        plant(job)
    plugin, files = Chosen(job.tests), dict.fromkeys(test.partition("::")[0] for test in job.tests)
    options = ["-x", "-q", "--tb=line", "-Wignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    code = pytest.main([*options, f"--rootdir={job.tree}", f"--basetemp={folder / 'tests'}", *files], plugins=[plugin])
    passed = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    (folder / "outcome.json").write_text(json.dumps("" if passed else plugin.failed or "an import"))


def start(job: Job, folder: Path) -> int:
    """Return the number of a new process that runs the tests of a job."""
    if process := os.fork():
        return process
    try:
        run_tests(job, folder)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def outcomes(jobs: Iterator[tuple[Name, Job]], processes: int) -> Iterator[tuple[Name, Outcome]]:
    """Run jobs, some at a time; yield the name of each with its outcome when it ends. The time in which all are paused does not count."""
    running: dict[int, tuple[Name, Job, tempfile.TemporaryDirectory[str]]] = {}
    spent, last, waiting = dict[int, float](), time.monotonic(), True
    while waiting or running:
        if waiting and len(running) < processes:
            if following := next(jobs, None):
                folder = tempfile.TemporaryDirectory(prefix="mutant-", ignore_cleanup_errors=True)
                process = start(following[1], Path(folder.name))
                running[process], spent[process] = (*following, folder), 0.0
            waiting = following is not None
            continue
        time.sleep(0.01)
        passed, last = min(time.monotonic() - last, 1.0), time.monotonic()
        for process, (name, job, folder) in list(running.items()):
            spent[process] += passed
            ended = os.waitpid(process, os.WNOHANG)[0] == process
            if not ended and spent[process] < job.limit:
                continue
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)  # with what the tests left running
            if not ended:
                os.waitpid(process, 0)
            place = Path(folder.name) / "outcome.json"
            killed_by = json.loads(place.read_text()) if place.is_file() else "the end of the process" if ended else "the time limit"
            folder.cleanup()
            del running[process]
            yield name, Outcome(killed_by, round(spent.pop(process), 2))
