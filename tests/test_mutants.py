"""Faults that `python -m tools.mutants` plants: each kind is found, the draw is fixed by the seed, and the bytecode differs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants.faults import compiled, drawn, listed, number_of

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
        (statement, "pass")
        for statement in ("raise ValueError('wrong')", "print(KINDS[1:], a * 1.5, help='word')", "KINDS = ('word', 'some prose')")
    },
    "return": {("return True if b in KINDS and 'x' not in b else c", "return None")},
}


def test_each_kind_of_fault_is_found_and_no_prose() -> None:
    """The faults of a module are those of `FAULTS`: not its docstrings, its annotations, `__all__`, or words of prose."""
    faults = listed("app/f.py", SOURCE)
    assert {kind: {(fault.before, fault.after) for fault in faults if fault.kind == kind} for kind in FAULTS} == FAULTS
    assert {fault.kind for fault in faults} == set(FAULTS)


def test_the_seed_fixes_the_draw_and_moved_lines_are_found(tmp_path: Path) -> None:
    """A larger draw begins with the smaller one; a fault changes the bytecode, and is found after its line has moved."""
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
    """A fault in a line that a test checks is killed; the others survive."""
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
