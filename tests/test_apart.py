"""A command in a process of its own: what it reports, how it fails, and how it is stopped."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sentviz.cli.process import run_apart
from sentviz.cli.terminal import Report
from sentviz.errors import SentvizError, Stopped
from sentviz.models.folder import is_model_folder, look_at
from sentviz.runs.store import find, resume_point
from tests.bases import toy_base
from tests.test_mine_training import rows

pytestmark = pytest.mark.slow


def test_a_failing_command_gives_its_sentence() -> None:
    with pytest.raises(SentvizError, match=r"^There is no data set 'nothing'"):
        run_apart(["data", "verify", "nothing"], print)


@pytest.mark.exhaustive
def test_a_training_reports_stops_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the listener stops the training, which stores its work; the same command then reports the rest and the result."""
    from sentviz.data.user_datasets import add_data

    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    add_data(rows(), "soups")
    toy_base(tmp_path / "runs")
    command = ["train", "mine/soups", "--base", "tiny", "--length", "20", "--keep-epochs", "0"]

    def stop(report: Report) -> None:
        if report["done"] >= 5:
            raise Stopped

    with pytest.raises(Stopped):
        run_apart(command, stop)
    assert resume_point(tmp_path / "runs" / "soups" / "tiny").is_dir()
    reports: list[Report] = []
    began = time.monotonic()
    run_apart(command, reports.append, lambda: time.monotonic() - began)
    steps = [report["done"] for report in reports if "done" in report]
    assert steps[0] > 5 and steps == list(range(steps[0], reports[0]["total"] + 1))
    assert reports[-1]["compared"][0]["accuracy"] == find("soups/tiny").metrics()["validation"]["stored_accuracy"]


def test_what_a_folder_says_of_itself(tmp_path: Path) -> None:
    """Classes are in the order of their numbers; without names they are those that transformers leaves out; encoders have none."""
    config = tmp_path / "config.json"
    kind = '"model_type": "bert", "num_hidden_layers": 2, "architectures": ["%s"]'
    config.write_text('{%s, "id2label": {"10": "k", "2": "c"}}' % (kind % "BertForSequenceClassification"))
    assert look_at(tmp_path).classes == ("c", "k") and look_at(tmp_path).layers == 2 and not look_at(tmp_path).is_unnamed
    config.write_text("{%s}" % (kind % "BertForSequenceClassification"))
    assert look_at(tmp_path).is_unnamed and len(look_at(tmp_path).classes) == 2
    config.write_text("{%s}" % (kind % "BertModel"))
    assert look_at(tmp_path).classes == () and is_model_folder(tmp_path)
    for wrong in ("[]", "{", '{"format": 1, "model_type": "bert"}', "[" * 9_999):
        config.write_text(wrong)
        assert not is_model_folder(tmp_path)
