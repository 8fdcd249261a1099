"""The top level of the repository, and the scripts of the CI."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.docs import ROOT

TOP = {"pyproject.toml", "README.md", "LICENSE", "Dockerfile", "app", "sentviz", "checkpoints", "tests", "docs"}


def test_the_top_level_holds_what_it_may() -> None:
    """The top level holds only the files and folders of the README's layout, and hidden files."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git repository")
    tops = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert not {name for name in tops if not name.startswith(".")} - TOP
    assert "docs/" in (ROOT / "README.md").read_text(encoding="utf-8").partition("## Layout")[2]


def test_ci_scripts_run_the_command_of_the_readme() -> None:
    """`.ci/run` runs the README's test command; `.ci/full` runs it without the filter of exhaustive tests. Both parse as bash."""
    command = re.search(r'^.*install -e "\.\[dev\]" &&.*$', (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert command and command[0].endswith('pytest -n auto -m "not exhaustive"')
    run, full = ((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "full"))
    assert all('source "$(dirname "$0")/prepare"' in script and "$command" in script.replace("{", "") for script in (run, full))
    assert r"${command/ -m \"not exhaustive\"/}" in full and "timeout 3600" in full
    for name in ("run", "full", "prepare"):
        subprocess.run(["bash", "-n", ROOT / ".ci" / name], check=True)
