"""What is said beside an answer, and what a run has to hold for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sentviz.errors import RunError
from sentviz.remarks import reads_pairs
from sentviz.runs import Run


def changed(run: Path, to: Path, **entries: object) -> Run:
    """A copy with other entries of config.json."""
    shutil.copytree(run, to)
    path = to / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    return Run.open(to)


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_none_is_refused(temperature: float, tiny_run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"toy/run: config\.json is damaged or was not written by sentviz \(temperature must be above 0"):
        changed(tiny_run, tmp_path / "toy" / "run", temperature=temperature)


def test_whether_a_run_reads_pairs_is_what_its_data_set_says(tiny_run: Path, tmp_path: Path) -> None:
    data = json.loads((tiny_run / "config.json").read_text())["data"]
    for name, pairs in (("sst2", False), ("klue_nli", True), ("toy", False)):
        assert reads_pairs(changed(tiny_run, tmp_path / name, data=data | {"name": name})) is pairs
