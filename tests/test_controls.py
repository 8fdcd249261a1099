"""The controls of lambda's start against the histories they are read from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from sentviz.papers.ndt.study import controlled_lambdas, describe_controls
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run


def varied(run: Path, folder: Path, variant: str, model: str = "ndt-free-2") -> Run:
    """Copy a run and mark it as a variant of another preset."""
    shutil.copytree(run, folder)
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    config["recipe"] |= {"variant": variant, "model": model}
    (folder / "config.json").write_text(json.dumps(config))
    return Run.open(folder, f"toy/{folder.name}")


@pytest.mark.slow
def test_every_lambda_is_there_with_its_start_end_and_change(tiny_run: Path, tmp_path: Path) -> None:
    first, second = varied(tiny_run, tmp_path / "as-is", ""), varied(tiny_run, tmp_path / "frozen", "frozen")
    second_run = varied(tiny_run, tmp_path / "other", "", "ndt-unit-2")
    frame = controlled_lambdas([first, second, second_run], first.config["data"]["name"])
    assert controlled_lambdas([second_run], first.config["data"]["name"]).empty and describe_controls(Studied("ndt", [], "sst2")) == []
    assert set(frame["run"]) == {first.name, second.name}
    assert frame["variant"].unique().tolist() == ["", "frozen"]
    history = first.history()
    for row in frame.itertuples():
        values = [v for name, layer, c, v in history[["name", "layer", "component", "value"]].to_numpy() if name == "lambda"
                  and layer == row.layer and c == row.component]  # fmt: skip
        assert row.start == pytest.approx(values[0])
        assert row.change == pytest.approx(values[-1] - values[0])
        assert row.accuracy == first.metrics()["test"]["accuracy"]["value"]
    lines = describe_controls(Studied("ndt", [first, second, second_run], first.config["data"]["name"]))
    assert len(lines) == 2
    assert "every lambda stays at the preset's start" in lines[1]
