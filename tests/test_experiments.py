"""Experiments: the runner finds them, the commands that the package names exist, and a new table says how it was measured."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from experiments.__main__ import MODULES, listed, main
from experiments.writing import update, write
from sentviz.io.spreadsheet import read_csv
from sentviz.papers.fused import coverage
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.hardmax import study
from sentviz.papers.ndt import latency
from sentviz.papers.ndt import tables as ndt_tables
from sentviz.papers.sentiformer import measured as sentiformer
from sentviz.papers.sentiformer import separation, throughput
from sentviz.papers.sevenessxin import measured as sevenessxin
from sentviz.papers.studies.stored import Stored
from tests.docs import ROOT


def test_every_experiment_is_listed_and_can_be_started() -> None:
    lines = [re.split(r"\s+", line, maxsplit=2) for line in listed().splitlines()]
    assert [(paper, name) for paper, name, _ in lines] == list(MODULES) and all(about.endswith((".", ":")) for *_, about in lines)
    for path in MODULES.values():
        source = path.read_text(encoding="utf-8")
        assert "\ndef main(arguments: Sequence[str]" in source and "__main__" not in source, path.name
    with pytest.raises(SystemExit, match="no experiment 'fused nothing'"):
        main(["fused", "nothing"])


def test_the_commands_that_are_named_exist() -> None:
    modules = (coverage, fused_tables, latency, ndt_tables, study, study, sevenessxin, sentiformer, separation, throughput)
    commands = {stored.command for module in modules for stored in vars(module).values() if isinstance(stored, Stored)}
    assert len(commands) >= 20
    for path in (path for folder in ("sentviz", "app", "docs") for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".md")):
        text = path.read_text(encoding="utf-8")
        commands |= set(re.findall(r"python -m experiments [a-z]\w* \w+", text))
        assert path.is_relative_to(ROOT / "docs") or not re.search(r"^\s*(from|import) experiments", text, re.MULTILINE), path
    assert {tuple(command.split()[3:5]) for command in commands} <= set(MODULES)


def test_a_new_table_says_how_it_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is read as without the first line, also a cell that begins with #."""
    monkeypatch.setattr(sys, "argv", ["experiments/__main__.py", "fused", "coverage", "a set"])
    stored = Stored(tmp_path / "measured" / "table.csv", ("name", "value"), "It is", "nothing", ("name",))
    frame = pd.DataFrame({"name": ["# a", "", "b, c"], "value": [0.5, None, 2.0]})
    write(stored, frame)
    first, header, *_ = stored.file.read_text(encoding="utf-8").splitlines()
    command, hardware, versions = first.split("; ")
    assert command == "# python -m experiments fused coverage 'a set'" and "cores" in hardware and "torch 2" in versions
    assert header == "name,value"
    pd.testing.assert_frame_equal(stored.read(), frame)
    assert update(stored, frame.tail(1).assign(value=3.0), ["name"])["value"].tolist()[2] == 3.0
    stored.file.write_text("\n".join(stored.file.read_text(encoding="utf-8").splitlines()[1:]), encoding="utf-8")
    assert len(stored.read()) == len(read_csv(stored.file)) == 3
