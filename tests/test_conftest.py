"""What the tests themselves rest on: the mark fast, and statements about many runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.shipped import of_each

RUNS: Any = [SimpleNamespace(name=name) for name in ("one", "two", "three")]


def test_a_test_without_marks_is_fast(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("fast")


@pytest.mark.slow
def test_a_slow_test_is_not_fast(request: pytest.FixtureRequest) -> None:
    assert not request.node.get_closest_marker("fast")


def test_the_browser_begins_and_files_stay_whole() -> None:
    """Its files are one group, the first; every other file is one of its own."""
    files = (
        "tests/test_map.py",
        "tests/browser/test_map.py",
        "tests/foreign/test_map.py",
        "tests/browser/test_gates.py",
        "tests/test_map.py",
    )
    given: list[tuple[str, Any]] = []

    def item(file: str) -> Any:
        return SimpleNamespace(path=Path(file), get_closest_marker=lambda name: None, add_marker=lambda mark: given.append((file, mark)))

    conftest.pytest_collection_modifyitems([item(file) for file in files])
    groups = [(file, mark.args[0]) for file, mark in given if mark != "fast"]
    assert groups == [
        ("tests/browser/test_map.py", "browser"),
        ("tests/browser/test_gates.py", "browser"),
        ("tests/test_map.py", "tests/test_map"),
        ("tests/foreign/test_map.py", "foreign/test_map"),
        ("tests/test_map.py", "tests/test_map"),
    ]


def test_every_run_is_checked_and_those_that_fail_are_named() -> None:
    seen = []

    def stated(run: Any) -> None:
        seen.append(run.name)
        assert run.name == "two", "it is not the second"

    with pytest.raises(AssertionError, match=r"(?s)2 of 3 runs\none: it is not the second.*\nthree: it is not the second"):
        of_each(RUNS)(stated)()
    assert seen == ["one", "two", "three"]
    of_each(RUNS[1:2])(stated)()
    with pytest.raises(pytest.skip.Exception, match="empty"):
        of_each([])(stated)()
