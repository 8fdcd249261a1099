"""The page "Your data, your model" of the documentation, run from top to bottom in an empty library, on a file of our own words."""

from __future__ import annotations

import io
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.runs.store import find
from tests.docs import DOCS
from tests.kit import BAD, GOOD, NOUNS
from tests.test_site_examples import examples, trimmed

PAGE = DOCS / "pages" / "yours.md"
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


@pytest.mark.exhaustive
def test_the_file_is_understood_as_the_page_says() -> None:
    """The first command prints the output that the page shows below it."""
    example = next(examples(PAGE))
    done = CliRunner().invoke(main, shlex.split(example.code)[1:])
    assert done.exit_code == 0 and done.output.startswith(example.prints), done.output


@pytest.mark.exhaustive
def test_the_page_runs_as_printed(home: Path) -> None:
    """Every command ends without an error, and the Python prints the output that the page shows below it."""
    commands = 0
    for example in examples(PAGE):
        if example.language == "python":
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(example.code, str(PAGE), "exec"), {})
            assert trimmed(output.getvalue()) == trimmed(example.prints)
            assert find("reviews/minilm").folder.is_relative_to(home)
            continue
        for line in example.code.splitlines():
            done = CliRunner().invoke(main, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
            assert example.prints in done.output
            commands += 1
            if line.startswith("sentviz train"):
                assert "commonest class" in done.output and "TF-IDF, logistic regression" in done.output
    assert commands == 8 and find("reviews/minilm").metrics()["test"]["accuracy"]["value"] > 0.8
