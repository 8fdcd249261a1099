"""The runs that studies read: what ships stands under its name, and what was trained on other rows is left out and said."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sentviz.papers.ndt import study
from sentviz.runs import store
from sentviz.runs.catalog import _same_rows, faults, study_runs
from sentviz.runs.convergence import verified
from sentviz.runs.store import SHIPPED, Run
from tests.studies import made_run


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Provide an empty folder of shipped runs and one of private runs, and no other."""
    for name in ("ships", "own"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "ships")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "own"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ships", tmp_path / "own"


def test_a_private_run_does_not_stand_for_one_that_ships(places: tuple[Path, Path]) -> None:
    """For equal names `find` gives the private run and a study the shipped one, with a note; a copy counts as the same run."""
    ships, own = places
    shipped, private = made_run(ships, "sst2", "vanilla", digest="a"), made_run(own, "sst2", "vanilla", wrong=50, digest="b")
    made_run(ships, "sst2", "diff", digest="a")
    shutil.copytree(ships / "sst2" / "diff", own / "sst2" / "diff")
    assert store.find("sst2/vanilla").digest == private.digest != shipped.digest
    catalog = study_runs()
    assert {run.name: run.digest for run in catalog.runs}["sst2/vanilla"] == shipped.digest and len(catalog.runs) == 2
    assert catalog.left_out == {"sst2/vanilla": "since another run ships under this name and is read"}


def test_runs_of_other_rows_are_left_out(places: tuple[Path, Path]) -> None:
    """Further seeds of a study's configuration join if they were trained on the same rows; runs with other names stay in the catalogue."""
    ships, own = places
    made_run(ships, "sst2", "vanilla", digest="a")
    made_run(own, "sst2", "vanilla", 1, digest="a")
    made_run(own, "sst2", "vanilla", 2, digest="b")
    made_run(own, "sst2", "vanilla", name="my-own-try", digest="b")
    made_run(own, "imdb", "vanilla", digest="c")
    catalog = study_runs()
    assert {run.name for run in catalog.runs} == {"sst2/vanilla", "sst2/vanilla-s1", "sst2/my-own-try", "imdb/vanilla"}
    assert catalog.left_out == {"sst2/vanilla-s2": "trained on other rows than sst2/vanilla"}
    assert {name: [run.name for run in seeds] for name, seeds in study.configurations(catalog.runs, "sst2").items()} == {
        "vanilla": ["sst2/vanilla", "sst2/vanilla-s1"]
    }


def test_splits_of_which_recipes_take_different_numbers_of_rows_are_not_compared() -> None:
    """Two runs have the same rows if all other splits have equal digests. `rows` draws from train, `test_rows` from test splits only."""

    def run(settings: dict[str, int], changed: str = "") -> Any:
        digests = {name: "b" if name in changed.split() else "a" for name in ("train", "validation", "test", "transfer")}
        return SimpleNamespace(config={"recipe": settings, "data": {"splits": {name: {"digest": of} for name, of in digests.items()}}})

    rows, test_rows = {"rows": 500}, {"test_rows": 500}
    for settings, changed, same in (
        *(({}, "", True), ({}, "train", False), ({}, "test", False)),
        *((rows, "train", True), (rows, "test", False), (rows, "validation", False)),
        *((test_rows, "test transfer", True), (test_rows, "train", False), (rows | test_rows, "train test", True)),
    ):
        first, second = run({}), run(settings, changed)
        assert _same_rows(first, second) is _same_rows(second, first) is same, (settings, changed)


@pytest.mark.parametrize("file", ["config.json", "metrics.json", "history.parquet", "test.parquet"])
def test_a_damaged_seed_is_left_out_and_said(places: tuple[Path, Path], file: str) -> None:
    """The other seed stays, and damage after the first reading is noticed."""
    ships, _ = places
    for seed in (0, 1):
        made_run(ships, "sst2", "vanilla", seed)
    assert len(study_runs().runs) == 2 and not study_runs().left_out
    (ships / "sst2" / "vanilla-s1" / file).write_bytes(b"{")
    catalog = study_runs()
    assert [run.name for run in catalog.runs] == ["sst2/vanilla"]
    assert file in catalog.left_out["sst2/vanilla-s1"]


SHIPS = (Path(__file__).parents[1] / "checkpoints" / "sst2" / "vanilla").is_dir()


@pytest.mark.skipif(not SHIPS, reason="sst2/vanilla is not in checkpoints/")
def test_what_was_read_before_is_checked_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of shipped runs are parsed once, those of other runs again; a changed byte is a fault of both."""
    shutil.copytree(SHIPPED / "sst2" / "vanilla", tmp_path / "sst2" / "vanilla")
    known, second = Run.open(tmp_path / "sst2" / "vanilla", "sst2/vanilla"), made_run(tmp_path, "sst2", "diff")
    assert known.digest in verified()
    read: list[str] = []
    frame = Run.frame
    monkeypatch.setattr(Run, "frame", lambda self, file: (read.append(self.name), frame(self, file))[1])
    assert faults([known, second], studied=True) == {} and set(read) == {second.name}
    for file in ("history.parquet", "heads.parquet", "test.parquet"):  # measured tables too: verdicts read them
        whole = (known.folder / file).read_bytes()
        content = bytearray(whole)
        content[len(content) // 2] ^= 1
        (known.folder / file).write_bytes(bytes(content))
        assert f"{file} is damaged" in faults([known], studied=True)["sst2/vanilla"]
        (known.folder / file).write_bytes(whole)
