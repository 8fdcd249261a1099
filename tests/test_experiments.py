"""Experiments: the runner finds them, the commands that the package names exist, and a new table says how it was measured."""

from __future__ import annotations

import re

from experiments.__main__ import MODULES, listed, main
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
from tests.kit import refused


def test_every_experiment_is_listed_and_can_be_started() -> None:
    lines = [re.split(r"\s+", line, maxsplit=2) for line in listed().splitlines()]
    assert [(paper, name) for paper, name, _ in lines] == list(MODULES) and all(about.endswith((".", ":")) for *_, about in lines)
    for path in MODULES.values():
        source = path.read_text(encoding="utf-8")
        assert "\ndef main(arguments: Sequence[str]" in source and "__main__" not in source, path.name
    refused(SystemExit, "no experiment 'fused nothing'", main, ["fused", "nothing"])


def test_the_commands_that_are_named_exist() -> None:
    modules = (coverage, fused_tables, latency, ndt_tables, study, study, sevenessxin, sentiformer, separation, throughput)
    commands = {stored.command for module in modules for stored in vars(module).values() if isinstance(stored, Stored)}
    assert len(commands) >= 20
    for path in (path for folder in ("sentviz", "app", "docs") for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".md")):
        text = path.read_text(encoding="utf-8")
        commands |= set(re.findall(r"python -m experiments [a-z]\w* \w+", text))
        assert path.is_relative_to(ROOT / "docs") or not re.search(r"^\s*(from|import) experiments", text, re.MULTILINE), path
    assert {tuple(command.split()[3:5]) for command in commands} <= set(MODULES)
