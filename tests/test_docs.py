"""Everything that docs/, commands and lists of items name exists, and imports follow the layers of docs/ARCHITECTURE.md."""

import ast
import builtins
import re
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd
import pytest
from docsite.numbers import MEASURED, filled, value

from experiments.__main__ import MODULES, listed, main
from sentviz.charts.verdicts import effect_in_words
from sentviz.errors import InputError, SentvizError
from sentviz.io.table import Table
from sentviz.papers.fused import coverage
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.hardmax import study
from sentviz.papers.ndt import latency
from sentviz.papers.ndt import tables as ndt_tables
from sentviz.papers.sentiformer import measured as sentiformer
from sentviz.papers.sentiformer import separation, throughput
from sentviz.papers.sevenessxin import measured as sevenessxin
from sentviz.papers.studies.items import listed as items_of
from sentviz.papers.studies.items import paper_faults
from sentviz.papers.studies.stored import Stored
from sentviz.papers.studies.verdicts import stored_findings
from sentviz.runs.items import PAGES, Item
from sentviz.runs.presets import presets
from sentviz.runs.registry import Paper, built_in, find_paper
from tests.docs import DOCS, ROOT, blocks
from tests.imports import EARLIER, ENTRIES, circle, graph, parts, upward
from tests.kit import refused
from tools import items as tool
from tools import printed
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


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_names_exists(document: str) -> None:
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
    texts = {name: (DOCS / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    named = {name for name, text in texts.items() if "{{" in text}
    assert "pages/papers/objections.md" in named and all(name.startswith("pages/") for name in named)
    assert not [name for name in named if "{{" in filled(texts[name])]
    findings = stored_findings()
    key, effect = next((key, finding.effect) for key, finding in findings.items() if finding.effect and finding.verdict == "holds")
    assert filled(f"{{{{ n }}}} claims, | {{{{ cells {key} }}}} |") == f"{len(findings)} claims, | holds | {effect_in_words(effect)} |"
    assert all(re.fullmatch(r"[\d.]+( to [\d.]+)? %", value(name)) for name in MEASURED)
    for name in ("nonsense", "cells nonsense"):
        refused(InputError, "there is no such claim", value, name)


def test_constants_that_are_named_exist() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in [*sources(), ROOT / "tests" / "test_app.py"])
    texts = "\n".join((DOCS / document).read_text(encoding="utf-8") for document in DOCUMENTS)
    for word in ("CONFIGS", "RETIRED", "FORMAT", "KIND", "NETWORKS", "MODELS", "TASKS", "PAGES"):
        assert re.search(rf"^ *{word}\b.*=", code, re.MULTILINE) and word in texts, word
    modules = (coverage, fused_tables, latency, ndt_tables, study, study, sevenessxin, sentiformer, separation, throughput)
    commands = {stored.command for module in modules for stored in vars(module).values() if isinstance(stored, Stored)}
    assert len(commands) >= 20
    for path in (path for folder in ("sentviz", "app", "docs") for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".md")):
        text = path.read_text(encoding="utf-8")
        commands |= set(re.findall(r"python -m experiments [a-z]\w* \w+", text))
        assert path.is_relative_to(ROOT / "docs") or not re.search(r"^\s*(from|import) experiments", text, re.MULTILINE), path
    assert {tuple(command.split()[3:5]) for command in commands} <= set(MODULES)


def test_a_name_that_does_not_exist_is_found() -> None:
    assert not (ROOT / "sentviz/nowhere.py").exists() and "Nonsense" not in names() and {"Trace", "band", "capabilities"} <= names()
    assert not upward()
    assert not circle(graph())
    assert not circle(parts())


def test_layers_documents_and_experiments_are_listed() -> None:
    text = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = re.search(r"## Layers.*?```\n(.*?)```", text, re.DOTALL)
    assert picture
    assert [line.split()[0] for line in reversed(picture[1].splitlines())] == [*ENTRIES, "app"]
    there = {path.stem for path in (ROOT / "sentviz").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there == {*ENTRIES, *EARLIER, "__init__", "__main__"}
    for path in (ROOT / "sentviz" / "charts").glob("*.py"):
        assert not re.search(r"^\s*(import torch|from torch)", path.read_text(encoding="utf-8"), re.MULTILINE), path.name
    assert {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"} <= set(DOCUMENTS)
    assert len((DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()) <= 150
    lines = [re.split(r"\s+", line, maxsplit=2) for line in listed().splitlines()]
    assert [(paper, name) for paper, name, _ in lines] == list(MODULES) and all(about.endswith((".", ":")) for *_, about in lines)
    for path in MODULES.values():
        source = path.read_text(encoding="utf-8")
        assert "\ndef main(arguments: Sequence[str]" in source and "__main__" not in source, path.name
    refused(SystemExit, "no experiment 'fused nothing'", main, ["fused", "nothing"])


NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()  # noqa: SIM905
NOUNS = r"figures|of the runs|shipped runs|papers|capabilities|entries|recipes|sentences in English"
COUNTED = rf"(?i)\b(\d[\d,]*|{'|'.join(NUMBERS)}) ({NOUNS})\b"


def test_counts_in_the_documents_are_those_of_the_code() -> None:
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


GOOD = """[[item]]
id = "a"
kind = "table"
number = "1"
title = "Accuracies"
place = "?part=results"
"""


def paper_with(folder: Path, text: str) -> Paper:
    """Return a paper of another package with this list of items and NDT's page."""
    (folder / "items.toml").write_text(text, encoding="utf-8")
    ndt = find_paper("ndt")
    return replace(ndt, name="other", short="Other", folder=folder, page=replace(ndt.page, url="paper-other"))


def test_a_good_list_has_links_of_its_own_page_and_a_damaged_one_is_one_sentence(tmp_path: Path) -> None:
    wanted = ["Table 1", "live", "Accuracy (tables I to IX)", "paper-other?part=results"]
    assert items_of(paper_with(tmp_path, GOOD)).frame[["item", "state", "place", "link"]].to_numpy().tolist() == [wanted]
    for text in ("[[item]\n", "= 3", "\ufffe\x00"):
        refused(SentvizError, r"^\w+/items\.toml is not .*[^.]\.$", paper_with(tmp_path, text).items)
    for kind, number, name in (
        ("table", "IV", "Table IV"),
        ("equation", "4 to 6", "Equations 4 to 6"),
        ("equation", "1a and 1b", "Equations 1a and 1b"),
        ("claim", "section V-E", "Claim, section V-E"),
        ("setting", "training and results", "Setting, training and results"),
        ("theorem", "", "Theorem"),
        ("future work", "1 and 2", "Future work 1 and 2"),
    ):
        assert Item("x", kind, "t", number, place="data").name == name


@pytest.mark.parametrize("name", built_in())
def test_every_item_has_its_place(name: str) -> None:
    paper = find_paper(name)
    assert list(tool.listed_faults(paper)) == [] == list(paper_faults(paper))
    for item in paper.items():
        assert not item.why or re.fullmatch(r"[A-Z].*[a-z0-9%.”]\.", item.why), item.why
        assert not re.search(r"\b(in )?print(ed|s)?\b", f"{item.name} {item.title} {item.why}"), item.id
        assert not re.search("had here|could not be had|(is|are) (not )?here", item.why), item.id


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", built_in())
def test_every_printed_number_of_a_table_is_in_the_papers_files(name: str) -> None:
    assert list(printed.number_faults(find_paper(name), tool.shipped())) == []


def table_of(monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, item: str) -> Paper:
    """Return Sentiment-Fused with one table, in place of all others, that an item shows."""
    paper = find_paper("fused")
    monkeypatch.setattr(printed, "makers", lambda paper: dict.fromkeys(names, lambda runs: [Table("a", "A", frame, "")] if runs else []))
    names = [each.made_by for each in paper.items()]
    monkeypatch.setattr(type(paper), "items", lambda self: tuple(each for each in self._listed.items if each.id == item))
    return paper


@pytest.mark.parametrize(
    ("item", "frame", "faults"),
    [("table-1", {"ko-electra": [0.9063], "nsmc": [0.5]}, 0), ("table-1", {"ko-electra": [0.9064]}, 1),
     ("table-3", {"task": ["KorNLI", "PAWS"], "kr-bert": [0.0217, 0.003]}, 0),
     ("table-3", {"task": ["KorNLI", "PAWS"], "kr-bert": [0.0217, 0.0031]}, 1), ("table-3", {"task": ["KLUE-NLI"], "kr-bert": [0.01]}, 1),
     ("table-2", {"a": [3.0], "a_printed": [0.6], "a_difference": [2.4]}, 0),
     ("table-2", {"a": [3.0], "a_printed": [0.6], "a_difference": [2.5]}, 1)],
)  # fmt: skip
def test_computed_columns_are_recomputed(item: str, frame: dict[str, list[float]], faults: int, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = table_of(monkeypatch, pd.DataFrame(frame), item)
    assert len(list(printed.number_faults(paper, tool.shipped()[:1]))) == faults


def test_the_known_pages_are_those_of_the_app() -> None:
    assert tool.addresses() == PAGES | {"": "Reason"}


@pytest.mark.data
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", built_in())
def test_every_place_opens_and_every_live_table_and_figure_is_written(name: str, tmp_path: Path) -> None:
    assert list(tool.opened_faults(find_paper(name))) == []
    assert list(tool.drawn_faults(find_paper(name), tool.shipped(), tmp_path)) == []
