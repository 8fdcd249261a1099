"""A base from an encoder of the hub: its revision and digest are named, and nothing is stored if one of them is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import RunError
from sentviz.io.files import sha256
from sentviz.models.pretrained.base import add_base, hub_base
from sentviz.runs.bases import Base
from tests.bases import bert_folder
from tests.kit import refused, use_toy_data

REVISION = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture(autouse=True)
def no_other_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all installed runs and bases, and use the made-up data set."""
    monkeypatch.setattr("sentviz.runs.store.SHIPPED", tmp_path / "nowhere")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "none"))
    monkeypatch.delenv("SENTVIZ_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    use_toy_data(monkeypatch)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the only revision in the hub's cache, without a network."""
    folder = tmp_path / "cache" / "models--somebody--tiny-bert" / "snapshots" / REVISION
    bert_folder(folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    return folder


def test_a_base_is_made_from_a_pinned_revision_of_the_hub(hub: Path, tmp_path: Path) -> None:
    """The base is equal to that of the same folder. What is wrong is one sentence, and nothing is stored."""
    digest = sha256(hub / "model.safetensors")
    right = {"--revision": REVISION, "--sha256": digest}

    def add(**changes: str) -> Any:
        options = [word for name, value in (right | {f"--{k}": v for k, v in changes.items()}).items() if value for word in (name, value)]
        return CliRunner().invoke(main, ["base", "add", "somebody/tiny-bert", "mine", "-o", str(tmp_path / "bases"), *options])

    for changes, message in (
        ({"revision": ""}, "somebody/tiny-bert is on the hub, so its exact version is needed"),
        ({"sha256": ""}, "--sha256 with the digest of model.safetensors"),
        ({"revision": "main"}, "--revision COMMIT with 40 hex digits"),
        ({"sha256": "0" * 64}, f"somebody/tiny-bert: model.safetensors has the SHA-256 {digest}, not {'0' * 64}"),
        ({"revision": "f" * 40}, "it was not downloaded earlier, and the hub cannot be reached"),
    ):
        result = add(**changes)
        assert result.exit_code == 1 and message in " ".join(result.output.split()), result.output
        assert not (tmp_path / "bases" / "mine").exists()
    assert add().exit_code == 0
    base = Base("mine", tmp_path / "bases" / "mine")
    assert base.digest == add_base(hub, "same", tmp_path / "bases", bits=8).digest
    assert (base.card["source"], base.card["weights_sha256"]) == ("somebody/tiny-bert", digest) and REVISION in base.card["remark"]
    (hub / "tokenizer.json").unlink()
    assert "the hub cannot be reached" in " ".join(add().output.split())


def test_a_file_that_the_hub_lacks_is_named(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import errors

    for error, message in (
        (errors.EntryNotFoundError("404"), f"no file .* at the revision {REVISION}"),
        (errors.RevisionNotFoundError("404", response=Mock()), f"somebody/tiny-bert has no revision {REVISION} on the hub"),
    ):
        monkeypatch.setattr("huggingface_hub.hf_hub_download", Mock(side_effect=error))
        refused(RunError, message, hub_base, "somebody/tiny-bert", revision=REVISION, sha256="0" * 64)
