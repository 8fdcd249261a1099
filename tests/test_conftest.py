"""Tests of the test machinery: the mark `fast`, the order of files, and statements about many runs."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest
from tests.kit import refused
from tests.shipped import of_each

SLOW = Path(__file__).with_name("slow.txt").read_text(encoding="utf-8").splitlines()
RUNS: Any = [SimpleNamespace(name=name) for name in ("one", "two", "three")]


def test_files_are_ordered_and_failing_runs_are_named() -> None:
    slow = next(name for name in SLOW if "[" not in name)
    marks = {"a::x": "", "b::x": "", "b::y": "exhaustive", slow: "", f"{slow}[case]": "", "browser/d::x": "browser"}
    added: dict[str, str] = {}
    items: Any = []
    for key, mark in marks.items():
        has = lambda name, mark=mark: name == mark  # noqa: E731
        path, add = Path(key.partition("::")[0]), partial(added.__setitem__, key)
        items.append(SimpleNamespace(nodeid=key, path=path, get_closest_marker=has, add_marker=add))
    conftest.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda name: None), items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == ["browser/d::x", "b::x", "b::y", slow, f"{slow}[case]", "a::x"]
    assert {key for key, mark in added.items() if mark == "fast"} == {"a::x", "b::x"} and "browser/d::x" in added
    seen = []

    def stated(run: Any) -> None:
        seen.append(run.name)
        assert run.name == "two", "it is not the second"

    refused(AssertionError, r"(?s)2 of 3 runs\none: it is not the second.*\nthree: it is not the second", lambda: of_each(RUNS)(stated)())
    assert seen == ["one", "two", "three"]
    of_each(RUNS[1:2])(stated)()
    refused(pytest.skip.Exception, "empty", lambda: of_each([])(stated)())
