"""The repository as others' tools see it: its top level, the hooks before a commit, the public CI."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs import ROOT

TOP = {"pyproject.toml", "README.md", "LICENSE", "Dockerfile", "app", "sentviz", "checkpoints", "tests", "docs"}


def test_the_top_level_holds_what_it_may() -> None:
    """Nothing but what is named in the layout, and hidden files."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git repository")
    there = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert not {name for name in there if not name.startswith(".")} - TOP
    assert "docs/" in (ROOT / "README.md").read_text(encoding="utf-8").partition("## Layout")[2]


def read(path: str) -> Any:
    """A YAML file."""
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_hooks_call_what_is_there(tmp_path: Path) -> None:
    """Local tools of the development environment; the last one refuses a subject that is too long, and only the subject."""
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert repository["repo"] == "local" and {hook["language"] for hook in hooks.values()} == {"system"}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("ruff-check", "ruff-format", "mypy"):
        assert f'"{hooks[name]["entry"].split()[0]}>=' in project
    command = shlex.split(hooks["subject"]["entry"])
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    message = tmp_path / "message"
    for length, code in ((71, 0), (72, 1)):
        message.write_text("x" * length + "\n\n" + "y" * 100 + "\n", encoding="utf-8")
        assert subprocess.run([*command, message], capture_output=True).returncode == code


def test_the_public_ci_runs_what_is_there() -> None:
    """On every Python that the project names, by the one script, with a browser under the name that the script looks for."""
    workflow = read(".github/workflows/ci.yml")
    (job,) = workflow["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert job["runs-on"] == "ubuntu-latest" and job["strategy"]["matrix"]["python"] == ["3.11", "3.12"]
    assert steps[-1] == "bash .ci/run" and (ROOT / ".ci" / "run").is_file()
    assert "/usr/local/bin/chromium" in steps[0] and "command -v chromium" in (ROOT / ".ci" / "prepare").read_text(encoding="utf-8")


def test_both_scripts_run_the_readmes_command_and_one_leaves_nothing_out() -> None:
    """With one way to prepare; what is left out by `.ci/run` is the part of the command that `.ci/full` takes away."""
    command = re.search(r'^.*install -e "\.\[dev\]" &&.*$', (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert command and command[0].endswith('pytest -n auto -m "not exhaustive"')
    run, full = ((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "full"))
    assert all('source "$(dirname "$0")/prepare"' in script and "$command" in script.replace("{", "") for script in (run, full))
    assert r"${command/ -m \"not exhaustive\"/}" in full and "timeout 3600" in full
    for name in ("run", "full", "prepare"):
        subprocess.run(["bash", "-n", ROOT / ".ci" / name], check=True)
