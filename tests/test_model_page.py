"""The page "A model of yours" of the documentation, run from top to bottom on small models that are made on the spot."""

from __future__ import annotations

import io
import os
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from sentviz.cli import main
from sentviz.io.files import APP_CLASSES, APP_MODEL
from sentviz.runs.store import find
from tests.docs import DOCS
from tests.foreign.models import saved, theirs
from tests.kit import toy_splits, use_toy_data
from tests.test_site_examples import examples

PAGE = DOCS / "pages" / "model.md"

pytestmark = pytest.mark.slow


@pytest.mark.exhaustive
def test_the_page_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python and every command ends without an error; the run has test rows at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    use_toy_data(monkeypatch)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("mine.py").write_text("def predict(texts):\n    return [[0.2, 0.8] for _ in texts]\n", encoding="utf-8")
    saved(Path("my-model"), "bert", ("negative", "positive"))
    saved(Path("my-encoder"), "bert")
    theirs(Path("my-encoder")).base_model.float().save_pretrained("my-encoder")
    rows = toy_splits()["train"].frame.head(40)
    names = {"texts": rows["text"].tolist(), "labels": ["negative" if label == 0 else "positive" for label in rows["label"]]}
    commands, started = 0, []
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: started.append((os.environ[APP_MODEL], os.environ[APP_CLASSES])))
    for variable in (APP_MODEL, APP_CLASSES):
        monkeypatch.setenv(variable, "")
    monkeypatch.setattr("sys.argv", ["sentviz"])
    for example in examples(PAGE):
        if example.language == "python":
            with redirect_stdout(io.StringIO()):
                exec(compile(example.code, str(PAGE), "exec"), names)
            continue
        for line in example.code.splitlines():
            done = CliRunner().invoke(main, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
            commands += 1
    assert started == [("mine:predict", "negative,positive")]
    assert commands == 5 and find("adopted/my-model").has_rows and Path("my-encoder/model_head.safetensors").is_file()
