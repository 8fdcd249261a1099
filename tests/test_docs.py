"""Everything that docs/ names exists, and imports follow the layers of docs/ARCHITECTURE.md."""

from __future__ import annotations

import ast
import builtins
import re
import tomllib
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest
from docsite.numbers import MEASURED, filled, value

from sentviz.charts.verdicts import effect_in_words
from sentviz.errors import InputError
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.presets import presets
from tests.docs import DOCS, ROOT, blocks
from tests.imports import EARLIER, ENTRIES, circle, graph, parts, upward
from tools.syntax import nodes

RECIPES = ("Add a figure", "Add a page", "Add a model", "Add a paper")
DOCUMENTS = sorted(path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *(DOCS / "pages").rglob("*.md")])
PACKAGES = ("sentviz", "app")


def sources() -> list[Path]:
    """Return every module of the library and the app."""
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@cache
def names() -> set[str]:
    """Return every defined name: modules, classes, functions, arguments, attributes, and strings that look like names."""
    known = {part for path in sources() for part in (*path.relative_to(ROOT).parts[:-1], path.stem)} | set(dir(builtins))
    for path in sources():
        for node in nodes(path.read_text(encoding="utf-8")):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                    known.add(name)
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    known.add(name)
    return known


def test_the_documents_are_short() -> None:
    assert {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"} <= set(DOCUMENTS)
    assert len((DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_names_exists(document: str) -> None:
    """Backticked files, folders, runs and bases stand in the repository, dotted names of sentviz resolve, others are defined somewhere.

    A test, as in `tests/test_docs.py::NAME`, is defined in its file, and a claim has a stored verdict.
    Files that a recipe makes are in nobody's repository; words with blanks are commands or code.
    """
    new_files = {block.file for recipe in RECIPES for block in blocks(recipe)}
    text = re.sub(r"^ *```.*?^ *```$", "", (DOCS / document).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    wrong, checked = [], 0
    for word in dict.fromkeys(re.findall(r"`([^`\n]+)`", text)):
        if word in new_files or re.search(r"[\s<>(=\[]", word) or word.startswith(("-", '"')) or word.isupper() or word == "config.json":
            continue
        checked += 1
        if "::" in word:
            file, _, test = word.partition("::")
            wrong += [] if (ROOT / file).is_file() and f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8") else [word]
        elif re.fullmatch(r"(ndt|hardmax|fused|sentiformer|sevenessxin)-[0-9a-f]{6}", word):
            wrong += [] if word in stored_findings() else [word]
        elif "/" in word or re.search(r"\.(py|toml|md|csv)$", word):
            wrong += [] if (ROOT / word).exists() or (ROOT / "checkpoints" / word / "config.json").exists() else [word]
        elif re.fullmatch(r"sentviz(\.\w+)+", word):
            try:
                resolve_name(word)
            except (ImportError, AttributeError):
                wrong += [] if word == "sentviz.papers" else [word]
        elif re.fullmatch(r"[\w.]+", word):
            wrong += (
                [] if set(word.split(".")) <= names() or word in presets() or (ROOT / "checkpoints" / "bases" / word).is_dir() else [word]
            )
    assert not wrong
    assert checked >= 1 or "/" in document


def test_names_in_double_braces_are_stored_numbers() -> None:
    """Each name on a page of the site has its number; documents that are read as they are have no names."""
    texts = {name: (DOCS / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    named = {name for name, text in texts.items() if "{{" in text}
    assert "pages/papers/objections.md" in named and all(name.startswith("pages/") for name in named)
    assert not [name for name in named if "{{" in filled(texts[name])]
    findings = stored_findings()
    key, effect = next((key, finding.effect) for key, finding in findings.items() if finding.effect and finding.verdict == "holds")
    assert filled(f"{{{{ n }}}} claims, | {{{{ cells {key} }}}} |") == f"{len(findings)} claims, | holds | {effect_in_words(effect)} |"
    assert all(re.fullmatch(r"[\d.]+( to [\d.]+)? %", value(name)) for name in MEASURED)
    for name in ("nonsense", "cells nonsense"):
        with pytest.raises(InputError, match="there is no such claim"):
            value(name)


@pytest.mark.parametrize("word", ["CONFIGS", "RETIRED", "FORMAT", "KIND", "NETWORKS", "MODELS", "TASKS", "PAGES"])
def test_constants_that_are_named_exist(word: str) -> None:
    """Each constant that the documents name in capitals is defined; the other words in capitals are listed here."""
    files = [*sources(), ROOT / "tests" / "test_app.py"]
    assert any(re.search(rf"^ *{word}\b.*=", path.read_text(encoding="utf-8"), re.MULTILINE) for path in files)
    assert any(word in (DOCS / document).read_text(encoding="utf-8") for document in DOCUMENTS)


@pytest.mark.slow
def test_a_name_that_does_not_exist_is_found() -> None:
    """An unknown name in a document makes the check fail."""
    assert not (ROOT / "sentviz/nowhere.py").exists() and "Nonsense" not in names() and {"Trace", "band", "capabilities"} <= names()


# ---- layers


def test_the_layers_are_drawn() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = re.search(r"## Layers.*?```\n(.*?)```", text, re.DOTALL)
    assert picture
    assert [line.split()[0] for line in reversed(picture[1].splitlines())] == [*ENTRIES, "app"]


@pytest.mark.slow
def test_imports_follow_the_layers() -> None:
    """No import goes to an entry above, and neither modules nor parts import each other in a circle."""
    assert not upward()
    assert not circle(graph())
    assert not circle(parts())


def test_the_top_level_holds_the_entries_alone() -> None:
    there = {path.stem for path in (ROOT / "sentviz").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there == {*ENTRIES, *EARLIER, "__init__", "__main__"}


def test_figures_need_no_torch() -> None:
    for path in (ROOT / "sentviz" / "charts").glob("*.py"):
        assert not re.search(r"^\s*(import torch|from torch)", path.read_text(encoding="utf-8"), re.MULTILINE), path.name


NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
)
NOUNS = r"figures|of the runs|shipped runs|papers|capabilities|entries|recipes|sentences in English"
COUNTED = rf"(?i)\b(\d[\d,]*|{'|'.join(NUMBERS)}) ({NOUNS})\b"


def test_counts_in_the_documents_are_those_of_the_code() -> None:
    """Every count of figures, runs, papers, capabilities, layers and recipes in the README, the manual and the pages is right."""
    from sentviz.analysis.causal.direction_tables import TABLE
    from sentviz.analysis.explain.stored import read_measured
    from sentviz.charts.gallery import FIGURES
    from sentviz.data.behaviour import cases
    from sentviz.runs.registry import built_in

    in_wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["only-include"]
    of_cases = cases()
    right = {
        "figures": len(FIGURES),
        "of the runs": sum(name.startswith("checkpoints/") and "/bases/" not in name for name in in_wheel),
        "shipped runs": read_measured(TABLE)["run"].nunique(),
        "papers": len(built_in()),
        "capabilities": of_cases["capability"].nunique(),
        "sentences in english": len(of_cases),
        "entries": len(ENTRIES),
        "recipes": len(RECIPES),
    }
    is_right_at = {}
    for path in (ROOT / "README.md", *(DOCS / name for name in DOCUMENTS if name != "CHANGELOG.md")):
        text = " ".join(path.read_text(encoding="utf-8").split())
        for written, noun in re.findall(COUNTED, text):
            number = NUMBERS.index(written.lower()) if written.lower() in NUMBERS else int(written.replace(",", ""))
            is_right_at[path.name, noun.lower(), number] = number == right[noun.lower()]
    assert {noun for _, noun, _ in is_right_at} == set(right)
    assert all(is_right_at.values()), [place for place, is_right in is_right_at.items() if not is_right]
