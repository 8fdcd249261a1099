"""What the tests themselves rest on: the mark fast, and statements about many runs."""

from __future__ import annotations

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
    pytest.importorskip("xdist")
    files = ("tests/test_map.py", "tests/browser/test_map.py", "tests/foreign/test_map.py", "tests/browser/test_gates.py")
    items: Any = [
        SimpleNamespace(nodeid=f"{file}::test_{i}", get_closest_marker=lambda name: None, add_marker=lambda mark: None)
        for i in range(2)
        for file in files
    ]
    conftest.pytest_collection_modifyitems(items)
    option = SimpleNamespace(loadscopereorder=True, maxprocesses=None, tx=["popen"], numprocesses=1)
    config: Any = SimpleNamespace(option=option, getvalue=lambda name: ["popen"], getoption=lambda name: False)
    scheduler = conftest.pytest_xdist_make_scheduler(config, None)
    assert not option.loadscopereorder
    assert [scheduler._split_scope(item.nodeid) for item in items] == [
        *["browser"] * 4,
        *["tests/test_map.py", "tests/foreign/test_map.py"] * 2,
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
