"""Store which tests execute each line: a plugin of pytest that writes into the folder that `MUTANTS_MAP` names.

A test counts for the lines of its own phases. A fixture of a wider scope is set up once, within the first test that needs it. Its lines
have a context of their own and count for every test that needs it. The caches of sentviz's functions are emptied before each file of
tests, since a cached answer would hide the lines that compute it.
"""

from __future__ import annotations

import functools
import json
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import coverage
import pytest

PACKAGES = ("sentviz", "app")
CACHES: list[weakref.ref[Any]] = []


def recording(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """Return a cache of functools that also adds the caches of sentviz's functions to `CACHES`."""

    @functools.wraps(decorator)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        cached = decorator(*arguments, **options)
        if not hasattr(cached, "cache_clear"):
            return recording(cached)
        if str(getattr(cached, "__module__", "")).partition(".")[0] in PACKAGES:
            CACHES.append(weakref.ref(cached))
        return cached

    return wrapper


def wide_fixture(definition: Any) -> str:
    """Return the context of a fixture that serves more than one test; "" if it serves one."""
    return "" if definition.scope == "function" else f"fixture {definition.baseid}::{definition.argname}"


class Cover:
    """Traces the packages of the working directory; stores the seconds and the wide fixtures of each test as well."""

    def __init__(self, folder: Path) -> None:
        """Start to trace."""
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        self.place = folder / f"tests{worker}.json"
        self.coverage = coverage.Coverage(
            data_file=str(folder / f"lines{worker}"), source=PACKAGES, config_file=False, concurrency="thread", messages=False
        )
        self.contexts = [""]
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self.fixtures: dict[str, float] = {}
        self.failed: set[str] = set()
        self.file = ""
        self.coverage.start()

    def measured(self, context: str) -> Iterator[float]:
        """Give the lines until the next step to a context; the second value is the seconds without those of wide fixtures within."""
        self.contexts.append(context)
        self.coverage.switch_context(context)
        start, before = perf_counter(), sum(self.fixtures.values())
        yield 0.0
        seconds = perf_counter() - start - sum(self.fixtures.values()) + before
        self.contexts.pop()
        self.coverage.switch_context(self.contexts[-1])
        yield seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Give the lines of a test to the test."""
        file = item.nodeid.partition("::")[0]
        if self.file != file:
            self.file = file
            for cached in [reference() for reference in CACHES]:
                if cached is not None:
                    cached.cache_clear()
        definitions = [each for group in item._fixtureinfo.name2fixturedefs.values() for each in group]
        clock = self.measured(item.nodeid)
        next(clock)
        try:
            return (yield)
        finally:
            self.tests[item.nodeid] = next(clock), [name for each in definitions if (name := wide_fixture(each))]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Give the lines of a wide fixture to the fixture."""
        if not (name := wide_fixture(fixturedef)):
            return (yield)
        clock = self.measured(name)
        next(clock)
        try:
            return (yield)
        finally:
            self.fixtures[name] = self.fixtures.get(name, 0.0) + next(clock)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the tests that did not pass: they cannot tell whether a fault makes them fail."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map."""
        self.coverage.stop()
        self.coverage.save()
        passed = {name: value for name, value in self.tests.items() if name not in self.failed}
        self.place.write_text(json.dumps({"tests": passed, "fixtures": self.fixtures}), encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before any module of the tree is imported."""
    functools.cache, functools.lru_cache = recording(functools.cache), recording(functools.lru_cache)
    early_config.pluginmanager.register(Cover(Path(os.environ["MUTANTS_MAP"])))
