"""The pages "Your data, your model" and "A model of yours" of the documentation, run from top to bottom in an empty library."""

from __future__ import annotations

import io
import os
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.io.files import APP_CLASSES, APP_MODEL
from sentviz.runs.store import find
from tests.docs import DOCS
from tests.kit import BAD, GOOD, NOUNS, toy_splits, use_toy_data
from tests.test_site_examples import examples, trimmed

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
TABLE = ("review,opinion\n,negative\nA review without an opinion,\n") + "".join(
    f'"The {noun} was {first} and {second}{end}",{opinion}\n'
    for opinion, words in (("negative", BAD), ("positive", GOOD))
    for k, noun in enumerate(NOUNS)
    for first in words
    for second in [words[(words.index(first) + 1 + k % 4) % 5]]
    for end in (".", "!", " again.")[: 3 if k < 2 else 2]
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test an empty library, and a folder with the file of the page."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    (tmp_path / "reviews.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def printed(page: Path, names: dict[str, Any]) -> list[str]:
    """Run every command and all Python of a page, each of which must end well; return what the commands print."""
    outputs = []
    for example in examples(page):
        if example.language == "python":
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(example.code, str(page), "exec"), names)
            assert not example.prints or trimmed(output.getvalue()) == trimmed(example.prints)
            continue
        for line in example.code.splitlines():
            done = CliRunner().invoke(main, shlex.split(line)[1:])
            assert done.exit_code == 0 and example.prints in done.output, done.output
            outputs.append(done.output)
    return outputs


def test_the_page_of_your_data_runs_as_printed(home: Path) -> None:
    outputs = printed(DOCS / "pages" / "yours.md", {})
    assert len(outputs) == 8 and any("commonest class" in each and "TF-IDF, logistic regression" in each for each in outputs)
    assert find("reviews/minilm").folder.is_relative_to(home) and find("reviews/minilm").metrics()["test"]["accuracy"]["value"] > 0.8


def test_the_page_of_your_model_runs_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models are small ones that are made on the spot; the run has test rows at the end."""
    pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")
    from tests.foreign.models import saved, theirs

    use_toy_data(monkeypatch)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("mine.py").write_text("def predict(texts):\n    return [[0.2, 0.8] for _ in texts]\n", encoding="utf-8")
    saved(Path("my-model"), "bert", ("negative", "positive"))
    saved(Path("my-encoder"), "bert")
    theirs(Path("my-encoder")).base_model.float().save_pretrained("my-encoder")
    rows, started = toy_splits()["train"].frame.head(40), []
    names = {"texts": rows["text"].tolist(), "labels": ["negative" if label == 0 else "positive" for label in rows["label"]]}
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: started.append((os.environ[APP_MODEL], os.environ[APP_CLASSES])))
    for variable in (APP_MODEL, APP_CLASSES):
        monkeypatch.setenv(variable, "")
    monkeypatch.setattr("sys.argv", ["sentviz"])
    assert len(printed(DOCS / "pages" / "model.md", names)) == 5 and started == [("mine:predict", "negative,positive")]
    assert find("adopted/my-model").has_rows and Path("my-encoder/model_head.safetensors").is_file()
