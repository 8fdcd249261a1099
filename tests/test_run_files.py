"""Shipped runs whose predictions were written anew are still found by the digests that they had before."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from sentviz.runs.run_files import RENEWED
from sentviz.runs.store import Run, find
from sentviz.runs.writing import attach
from sentviz.training.recipe import Recipe

RUN = "sst2/ndt-unit-2"


def changes() -> dict[str, str]:
    """Return the digest before by the digest now."""
    with RENEWED.open(encoding="utf-8") as file:
        return {row["now"]: row["before"] for row in csv.DictReader(file)}


def test_a_run_is_found_by_both_digests() -> None:
    run = find(RUN)
    before, shorter = changes()[run.digest], Run(run.name, run.folder, max_length=16)
    assert run.had_digest(before) and run.had_digest(run.digest) and shorter.had_digest(shorter.digest)
    assert not (run.had_digest("0" * 12) or find("sst2/vanilla-matched").had_digest(before) or shorter.had_digest(before))


def test_what_was_measured_before_is_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the digest before takes another table, too; a new library has the folder of today's digest."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    run = find(RUN)
    assert run.beside.name == run.digest
    older = tmp_path / "measured" / changes()[run.digest]
    older.mkdir(parents=True)
    assert find(RUN).beside == older
    changed = attach(find(RUN), "heads.parquet", run.history().head(3))
    assert (older / "heads.parquet").is_file() and changed.path("heads.parquet").parent == older


def test_a_teacher_keeps_the_digest_of_the_recipe() -> None:
    run = find(RUN)
    before = changes()[run.digest]
    pinned = Recipe(dataset="sst2", model="vanilla", teacher=f"{RUN}@{before}").pinned()
    assert pinned.teacher == f"{RUN}@{before}"
    assert Recipe(dataset="sst2", model="vanilla", teacher=RUN).pinned().teacher == f"{RUN}@{run.digest}"
