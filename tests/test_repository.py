"""The top level of the repository, and the scripts of the CI."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.docs import ROOT

TOP = {"pyproject.toml", "README.md", "LICENSE", "Dockerfile", "app", "sentviz", "experiments", "checkpoints", "tests", "tools", "docs"}


def test_the_top_level_holds_what_it_may() -> None:
    """The top level holds only the files and folders of the README's layout, and hidden files."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git repository")
    tops = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert not {name for name in tops if not name.startswith(".")} - TOP
    assert "docs/" in (ROOT / "README.md").read_text(encoding="utf-8").partition("## Layout")[2]


def test_ci_scripts_run_the_command_of_the_readme() -> None:
    """`.ci/run` runs the README's test command unchanged where no path leads to data, and beside them the tests of data sets.

    Without data means: only the listed variables, an empty home, and a copy of the tree without a folder `../shared`. `.ci/full` runs all
    tests, then attacks and damages with a limit of time.
    """
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
