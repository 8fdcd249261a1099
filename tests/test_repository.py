"""The top level of the repository, the scripts of the CI, the container, the Space, the citation file, and faults that are planted."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest
import yaml

from sentviz.io.files import version
from tests.docs import DOCS, ROOT
from tools.mutants.faults import compiled, drawn, listed, number_of

TOP = {"pyproject.toml", "README.md", "LICENSE", "Dockerfile", "app", "sentviz", "experiments", "checkpoints", "tests", "tools", "docs"}
SOURCE = '''"""A module."""
from __future__ import annotations
__all__ = ["f"]
KINDS = ("word", "some prose")
def f(a: "int", b: str = "left", c: object = None) -> object:
    """Return something."""
    if not a or a > 2:
        raise ValueError("wrong")
    print(KINDS[1:], a * 1.5, help="word")
    return True if b in KINDS and "x" not in b else c
'''
FAULTS = {
    "comparison": {("a > 2", "a >= 2"), ("b in KINDS", "b not in KINDS"), ("'x' not in b", "'x' in b")},
    "arithmetic": {("a * 1.5", "a / 1.5")},
    "and, or": {("not a or a > 2", "not a and a > 2"), ("b in KINDS and 'x' not in b", "b in KINDS or 'x' not in b")},
    "not": {("not a", "a")},
    "whole number": {("2", "3"), ("1", "2")},
    "number": {("1.5", "3.0")},
    "truth": {("True", "False")},
    "text": {("'word'", "'word_'"), ("'x'", "'x_'")},
    "default": {("'left'", "'left_'"), ("None", "0")},
    "slice": {("1:", "1 + 1:"), ("1:", "1:-1")},
    "condition": {("not a or a > 2", "not (not a or a > 2)"), ("b in KINDS and 'x' not in b", "not (b in KINDS and 'x' not in b)")},
    "statement": {
        ("raise ValueError('wrong')", "pass"),
        ("print(KINDS[1:], a * 1.5, help='word')", "pass"),
        ("KINDS = ('word', 'some prose')", "pass"),
    },
    "return": {("return True if b in KINDS and 'x' not in b else c", "return None")},
}


def test_the_top_level_holds_what_it_may() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git repository")
    tops = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert not {name for name in tops if not name.startswith(".")} - TOP
    assert "docs/" in (ROOT / "README.md").read_text(encoding="utf-8").partition("## Layout")[2]


def test_ci_scripts_run_the_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    run, full, prepare = ((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "full", "prepare"))
    fetched = subprocess.run(
        ["bash", "-c", f"{re.search('^readme.*$', prepare, re.MULTILINE)[0]}; readme"], cwd=ROOT, capture_output=True, text=True
    )
    command = fetched.stdout.removesuffix("\n")
    assert f"\n```\n{command}\n```\n" in readme and command.endswith('pytest -n auto -m "not exhaustive"')
    assert 'bare bash -euo pipefail -c "$(readme)"' in run and "env '$data' '$world/venv/bin/pytest' -m 'data and not exhaustive'" in run
    assert "env -i" in prepare and "SENTVIZ" not in prepare.partition("settings=(")[2].partition("bare()")[0]
    assert r"${command/ -m \"not exhaustive\"/}" in full and "timeout 3600" in full
    assert re.findall(r"^bare timeout \d+ python -m tools\.(\w+) ", full, re.MULTILINE) == ["attack", "damage"]
    for name in ("run", "full", "prepare"):
        subprocess.run(["bash", "-n", ROOT / ".ci" / name], check=True)


def test_the_space_serves_the_container_and_the_citation_is_of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    dockerfile = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    instructions = dict(line.split(" ", 1) for line in dockerfile.splitlines() if line.strip())
    check = json.loads(instructions["HEALTHCHECK"].partition("CMD ")[2])
    done = subprocess.run([sys.executable, *check[1:-1], check[-1].replace(":8501", ":9")], capture_output=True)
    assert check[0] == "python" and done.returncode == 1 and b"refused" in done.stderr
    text = (DOCS / "space" / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---")[1])
    assert head["sdk"] == "docker" and str(head["app_port"]) == instructions["EXPOSE"] and len(head["short_description"]) <= 60
    assert {head["colorFrom"], head["colorTo"]} <= {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    for file in re.findall(r"^hf upload YOU/sentviz (\S+)", text, re.MULTILINE):
        assert file == "dist" or (ROOT / file).is_file()
    cited = yaml.safe_load((DOCS / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["cff-version"] == "1.2.0" and cited["message"] and cited["authors"] and cited["type"] == "software"
    assert (cited["title"], str(cited["version"]), cited["license"]) == (project["name"], project["version"], project["license"])
    monkeypatch.setattr(importlib.metadata, "version", Mock(side_effect=importlib.metadata.PackageNotFoundError("sentviz")))
    assert version() == project["version"]  # a source folder knows its version without an installation


def test_each_kind_of_fault_is_found_and_no_prose() -> None:
    faults = listed("app/f.py", SOURCE)
    assert {kind: {(fault.before, fault.after) for fault in faults if fault.kind == kind} for kind in FAULTS} == FAULTS
    assert {fault.kind for fault in faults} == set(FAULTS)


def test_the_seed_fixes_the_draw_and_moved_lines_are_found(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "f.py").write_text(SOURCE)
    faults = drawn(tmp_path, "app", 100, seed=1)
    assert drawn(tmp_path, "app", 4, seed=1) == faults[:4] != drawn(tmp_path, "app", 4, seed=2)
    moved, codes = f"import os\n{SOURCE}", set()
    for fault in faults:
        number, later = number_of(fault, SOURCE), number_of(fault, moved)
        assert number is not None and later is not None and listed("app/f.py", moved)[later].line == fault.line + 1
        codes.add(compiled(SOURCE, number, "f.py"))
    assert len(codes) == len(faults) > 20 and not codes & {compile(SOURCE, "f.py", "exec"), number_of(faults[0], "")}


@pytest.mark.exhaustive
def test_faults_of_a_made_up_app_are_killed_or_survive(tmp_path: Path) -> None:
    pytest.importorskip("coverage", reason="coverage is not installed")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    (tmp_path / "app" / "f.py").write_text("def f(a):\n    return a + 1\n\n\ndef g(a):\n    return a + 1\n")
    (tmp_path / "test_f.py").write_text("import pytest\nfrom app.f import f\n@pytest.mark.fast\ndef test_f(): assert f(1) == 2\n")
    options = ["--tree", tmp_path, "--map", tmp_path / "map", "--results", tmp_path / "results"]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    for command in (["cover", *options[:4]], ["run", *options]):
        subprocess.run([sys.executable, "-m", "tools.mutants", *command], env=environment, check=True)
    outcomes = [json.loads(line) for line in (tmp_path / "results").read_text().splitlines()]
    assert {(each["line"], each["outcome"]) for each in outcomes} == {(2, "killed"), (6, "survived")}
