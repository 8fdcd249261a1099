"""A command in a process of its own that fails, and what the folder of a model says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentviz.cli.process import run_apart
from sentviz.errors import SentvizError
from sentviz.models.folder import is_model_folder, look_at
from tests.kit import refused


@pytest.mark.slow
def test_a_failing_command_gives_its_sentence() -> None:
    refused(SentvizError, r"^There is no data set 'nothing'", run_apart, ["data", "verify", "nothing"], print)


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
