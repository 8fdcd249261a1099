"""What docs/ names exists, and imports run as drawn."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

from sentviz.presets import presets
from tests.docs import DOCS, ROOT, blocks

RECIPES = ("Add a figure", "Add a page", "Add a model", "Add a paper")
DOCUMENTS = sorted(path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *(DOCS / "pages").rglob("*.md")])
PACKAGES = ("sentviz", "app")


def sources() -> list[Path]:
    """Every module of the library and the app."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@cache
def names() -> set[str]:
    """What is defined anywhere: modules, classes, functions, arguments, attributes, and strings that are names, as of figures."""
    found = {part for path in sources() for part in (*path.relative_to(ROOT).parts[:-1], path.stem)} | set(dir(builtins))
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    found.add(name)
    return found


def test_the_documents_are_short() -> None:
    assert {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"} <= set(DOCUMENTS)
    assert len((DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_names_exists(document: str) -> None:
    """Backticked files and folders stand in the repository, dotted names of sentviz resolve, other names are defined somewhere.

    Files that a recipe makes are in nobody's repository; words with blanks are commands or code.
    """
    made = {block.file for recipe in RECIPES for block in blocks(recipe)}
    text = re.sub(r"^ *```.*?^ *```$", "", (DOCS / document).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    wrong, checked = [], 0
    for word in dict.fromkeys(re.findall(r"`([^`\n]+)`", text)):
        if word in made or re.search(r"[\s<>(=\[]", word) or word.startswith(("-", '"')) or word.isupper() or word == "config.json":
            continue
        checked += 1
        if "/" in word or re.search(r"\.(py|toml|md|csv)$", word):
            wrong += [] if (ROOT / word).exists() else [word]
        elif re.fullmatch(r"sentviz(\.\w+)+", word):
            try:
                resolve_name(word)
            except (ImportError, AttributeError):
                wrong += [] if word == "sentviz.papers" else [word]
        elif re.fullmatch(r"[\w.]+", word):
            wrong += [] if set(word.split(".")) <= names() or word in presets() else [word]
    assert not wrong
    assert checked >= 1 or "/" in document


@pytest.mark.parametrize("word", ["BUILT_IN", "CONFIGS", "RETIRED", "FORMAT", "KIND", "NETWORKS", "MODELS", "SUBJECTS", "PRESETS", "PAGES"])
def test_constants_that_are_named_exist(word: str) -> None:
    """All capitals, which the documents share with what is no name."""
    files = [*sources(), ROOT / "tests" / "test_app.py"]
    assert any(re.search(rf"^ *{word}\b.*=", path.read_text(encoding="utf-8"), re.MULTILINE) for path in files)
    assert any(word in (DOCS / document).read_text(encoding="utf-8") for document in DOCUMENTS)


@pytest.mark.slow
def test_a_name_that_does_not_exist_is_found() -> None:
    """The test above can fail."""
    assert not (ROOT / "sentviz/nowhere.py").exists() and "Nonsense" not in names() and {"Trace", "band", "capabilities"} <= names()


# ---- layers


def drawn() -> dict[str, int]:
    """Names of the picture, each with its line, counted from the top."""
    text = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = re.search(r"## Layers.*?```\n(.*?)```", text, re.DOTALL)
    assert found
    lines = [re.split(r" {3,}", line)[0].split() for line in found[1].splitlines()]
    return {name: place for place, line in enumerate(lines) for name in line}


def imported(path: Path) -> set[str]:
    """Modules of ours that a module imports when it runs, also inside functions; types alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = {
        id(n) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) for n in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typed:
            found |= {f"sentviz.{one.name}" for one in node.names} if node.module == "sentviz" else {node.module}
    return {name for name in found if name.partition(".")[0] in PACKAGES}


def part(module: str) -> str:
    """The name in the picture of a module."""
    parts = module.split(".")
    return "app" if parts[0] == "app" else parts[1] if len(parts) > 1 else "sentviz"


def test_the_picture_shows_every_part() -> None:
    there = {part(".".join(path.relative_to(ROOT).with_suffix("").parts)) for path in sources()}
    there |= {"app"}
    assert {name for name in there if not name.startswith("_")} == drawn().keys()


@pytest.mark.slow
def test_imports_run_as_drawn() -> None:
    """Each module imports from its own line or from below it. What `import sentviz` gives is for users, who stand above all."""
    places, wrong = drawn(), []
    for path in sources():
        here = part(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for module in imported(path):
            there = part(module)
            if here in places and there in places and places[there] < places[here]:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_figures_need_no_torch() -> None:
    for path in (ROOT / "sentviz" / "figures").glob("*.py"):
        assert not re.search(r"^\s*(import torch|from torch)", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
