"""The documents as tests read them: their code blocks, and what they name."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


class Block(NamedTuple):
    """A code block of a numbered step."""

    file: str  # the last file that the step names before it; "" for commands
    text: str


def blocks(heading: str, document: str = "CONTRIBUTING.md") -> list[Block]:
    """Return the code blocks of a section's numbered steps, in order."""
    section = re.split(rf"^## {re.escape(heading)}$", (DOCS / document).read_text(encoding="utf-8"), flags=re.MULTILINE)[1]
    steps = re.split(r"^\d\. ", re.split(r"^## ", section, flags=re.MULTILINE)[0], flags=re.MULTILINE)[1:]
    assert 1 <= len(steps) <= 6, f"{heading}: {len(steps)} steps"
    result = []
    for step in steps:
        words, *code = re.split(r"^ *```\w*\n(.*?)^ *```$", step, maxsplit=1, flags=re.MULTILINE | re.DOTALL)[:2]
        files = re.findall(r"`([\w/-]+\.(?:py|toml|csv))`", words)
        result += [Block(files[-1] if files else "", textwrap.dedent(text)) for text in code]
    return result


def code(document: str) -> str:
    """Return the Python blocks of a document, joined."""
    sources = re.findall(r"^```python\n(.*?)^```$", (DOCS / document).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert sources
    return "\n".join(sources)


def alone(source: str) -> str:
    """Return the output of code in a new interpreter that sees installed packages but not this repository."""
    done = subprocess.run([sys.executable, "-P", "-c", source], capture_output=True, text=True, cwd=DOCS, env={"PATH": ""}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
