"""The examples of the documentation site and of the README, run: Python in the order of its page, commands where they end quickly."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from click import Group
from click.testing import CliRunner

from sentviz.cli import main
from tests.docs import DOCS, ROOT

pytestmark = pytest.mark.exhaustive
PAGES = [ROOT / "README.md", *sorted((DOCS / "pages").rglob("*.md"))]


class Example(NamedTuple):
    """A block of code and the output that the page shows for it; "" if the page shows none."""

    language: str
    code: str
    prints: str


def examples(page: Path) -> Iterator[Example]:
    """Return the Python and shell blocks of a page, each with the text block right behind it."""
    blocks = re.finditer(r"^```(\w+)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for block in blocks:
        if block[1] != "text":
            yield Example(block[1], block[2], block[3] or "")


ON_A_FILE = ("yours", "model", "tasks")  # these examples need files: tests of the same names run them
WITH_CODE = [page for page in PAGES if page.stem not in ON_A_FILE and any(example.language == "python" for example in examples(page))]


def trimmed(text: str) -> str:
    """Return the text without spaces at the end of its lines; a space that does not break is a space."""
    return "\n".join(line.rstrip() for line in text.replace("\u00a0", " ").strip("\n").splitlines())


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_python_of_a_page_prints_what_it_says(page: Path) -> None:
    """The blocks of a page, run one after the other, print exactly the text blocks below them."""
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
    """Each line that begins with sentviz names an existing command with existing options; nothing is run."""
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
    """The command's output begins with the lines of the page."""
    done = CliRunner().invoke(main, shlex.split(example.code)[1:])
    assert done.exit_code == 0, done.output
    assert trimmed(done.output).startswith(trimmed(example.prints))
