"""The examples of the documentation site and of the README, run in the order of their pages; of some pages in an empty library."""

import io
import os
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from click import Group
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.io.files import APP_CLASSES, APP_MODEL
from sentviz.runs.store import find
from tests.docs import DOCS, ROOT, Example, examples
from tests.kit import BAD, GOOD, NOUNS, toy_splits, use_toy_data

pytestmark = pytest.mark.exhaustive
PAGES = [ROOT / "README.md", *sorted((DOCS / "pages").rglob("*.md"))]
ON_A_FILE = ("yours", "model", "tasks")  # these examples need files: tests of the same names run them
TABLE = ("review,opinion\n,negative\nA review without an opinion,\n") + "".join(
    f'"The {noun} was {first} and {second}{end}",{opinion}\n'
    for opinion, words in (("negative", BAD), ("positive", GOOD))
    for k, noun in enumerate(NOUNS)
    for first in words
    for second in [words[(words.index(first) + 1 + k % 4) % 5]]
    for end in (".", "!", " again.")[: 3 if k < 2 else 2]
)


WITH_CODE = [page for page in PAGES if page.stem not in ON_A_FILE and any(example.language == "python" for example in examples(page))]


def trimmed(text: str) -> str:
    """Return the text without spaces at the end of its lines; a space that does not break is a space."""
    return "\n".join(line.rstrip() for line in text.replace("\u00a0", " ").strip("\n").splitlines())


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_python_of_a_page_prints_what_it_says(page: Path) -> None:
    names: dict[str, object] = {}
    for example in examples(page):
        if example.language == "python":
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile(example.code, str(page), "exec"), names)
            if example.prints:
                assert trimmed(output.getvalue()) == trimmed(example.prints)


COMMANDS = [(page.stem, example) for page in PAGES for example in examples(page) if example.language == "sh" and "sentviz " in example.code]


def test_commands_of_pages_are_there() -> None:
    lines = [line.partition(" #")[0] for _, example in COMMANDS for line in example.code.splitlines() if line.startswith("sentviz ")]
    assert len(lines) >= 4
    for line in lines:
        name, *rest = shlex.split(line)[1:]
        assert name in main.commands, line
        target = main.commands[name]
        if isinstance(target, Group):
            target = target.commands[rest[0]]
        known = {option for parameter in target.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("-")} <= known, line


@pytest.mark.parametrize(
    ("page", "example"),
    [(page, example) for page, example in COMMANDS if example.prints and page not in ON_A_FILE],
    ids=lambda value: str(value)[:12],
)
def test_the_commands_of_a_page_print_what_it_says(page: str, example: Example) -> None:
    done = CliRunner().invoke(main, shlex.split(example.code)[1:])
    assert done.exit_code == 0, done.output
    assert trimmed(done.output).startswith(trimmed(example.prints))


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


def test_the_pages_of_your_data_and_your_model_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("SENTVIZ_HOME", str(home))
    (tmp_path / "reviews.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    outputs = printed(DOCS / "pages" / "yours.md", {})
    assert len(outputs) == 8 and any("commonest class" in each and "TF-IDF, logistic regression" in each for each in outputs)
    assert find("reviews/minilm").folder.is_relative_to(home) and find("reviews/minilm").metrics()["test"]["accuracy"]["value"] > 0.8
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
