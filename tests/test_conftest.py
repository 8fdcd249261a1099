"""What the tests themselves rest on: the mark fast, and statements about many runs."""

from __future__ import annotations

from functools import partial
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


def test_files_with_most_that_is_slow_come_first() -> None:
    """Behind those of the browser, so that no worker ends alone; tests of a file stay together and in their order."""
    marks = {"a::x": "", "b::x": "", "b::y": "slow", "c::x": "slow", "c::y": "slow", "browser/d::x": "browser"}
    added: dict[str, str] = {}
    items: Any = [
        SimpleNamespace(nodeid=key, get_closest_marker=lambda name, of=mark: name == of, add_marker=partial(added.__setitem__, key))
        for key, mark in marks.items()
    ]
    conftest.pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["browser/d::x", "c::x", "c::y", "b::x", "b::y", "a::x"]
    assert added == {"a::x": "fast", "b::x": "fast"}


def test_the_browser_begins_in_two_workers_and_files_stay_whole() -> None:
    """Of three workers two take its files until none is left, the third takes other files meanwhile; a file is taken whole."""
    pytest.importorskip("xdist")
    names = ("map", "browser/test_map", "foreign/test_map", "browser/test_gates", "browser/test_words", "scale", "words", "text")
    files = [f"tests/{name}.py" for name in names]
    items: Any = [
        SimpleNamespace(nodeid=f"{file}::test_{i}", get_closest_marker=lambda name: None, add_marker=lambda mark: None)
        for i in range(2)
        for file in files
    ]
    conftest.pytest_collection_modifyitems(items)
    assert [conftest.of_browser(item.nodeid) for item in items] == [True] * 6 + [False] * 10
    option = SimpleNamespace(loadscopereorder=True, maxprocesses=None, tx=["popen"] * 3, numprocesses=3)
    config: Any = SimpleNamespace(option=option, getvalue=lambda name: ["popen"] * 3, getoption=lambda name: False)
    scheduler = conftest.pytest_xdist_make_scheduler(config, None)
    assert not option.loadscopereorder
    sent: dict[str, list[str]] = {}
    tests = sorted((item.nodeid for item in items), key=lambda one: not conftest.of_browser(one))

    class Worker:
        shutting_down = False

        def __init__(self, name: str) -> None:
            self.name = name
            self.gateway = SimpleNamespace(id=name)
            sent[name] = []

        def send_runtest_some(self, indices: list[int]) -> None:
            sent[self.name] += [tests[i] for i in indices]

        def shutdown(self) -> None:
            self.shutting_down = True

    workers = [Worker(name) for name in "abc"]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    done = dict.fromkeys("abc", 0)
    while left := [worker for worker in workers if done[worker.name] < len(sent[worker.name])]:
        for worker in left:
            scheduler.mark_test_complete(worker, tests.index(sent[worker.name][done[worker.name]]))
            done[worker.name] += 1
    assert sorted(one for some in sent.values() for one in some) == sorted(tests)
    assert not any(map(conftest.of_browser, sent["c"]))
    for some in sent.values():
        assert [one.endswith("test_1") for one in some] == [False, True] * (len(some) // 2)
        assert some == sorted(some, key=lambda one: not conftest.of_browser(one))


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
