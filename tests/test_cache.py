"""The cache of pictures beside other processes that prune it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.embeddings.cache import Cache


def test_a_file_that_another_process_pruned_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be deleted between listing and reading; the entry just written stays and is counted as written."""
    cache = Cache(tmp_path, disk=1)
    cache.put("old", {"x": np.zeros(100)})
    stat = Path.stat

    def gone(path: Path, **options: Any) -> os.stat_result:
        if path.name == "old.safetensors":
            path.unlink(missing_ok=True)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", gone)
    cache.put("new", {"x": np.ones(100)})
    assert cache.problem == ""
    monkeypatch.undo()
    value = Cache(tmp_path).get("new")
    assert value is not None and (value["x"] == 1).all() and Cache(tmp_path).get("old") is None


def test_a_file_that_may_not_be_removed_is_no_problem_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path, disk=1)
    cache.put("old", {"x": np.zeros(100)})
    unlink = Path.unlink

    def denied(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".safetensors":
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", denied)
    cache.put("new", {"x": np.ones(100)})
    assert cache.problem == "" and sorted(path.stem for path in tmp_path.glob("*.safetensors")) == ["new", "old"]
