"""The top level of the repository, the scripts of the CI, the container, the Space and the citation file."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from unittest.mock import Mock

import pytest
import yaml

from sentviz.io.files import version
from tests.docs import DOCS, ROOT

TOP = {"pyproject.toml", "README.md", "LICENSE", "Dockerfile", "app", "sentviz", "experiments", "checkpoints", "tests", "tools", "docs"}


def test_the_top_level_holds_what_it_may() -> None:
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


DOCKERFILE = ROOT / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in text.splitlines() if line.strip()]


def test_the_health_check_says_whether_it_answers() -> None:
    """The health check fails if no server answers; `tests/test_wheel.py` tries it on a running app."""
    check = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD ")[2])
    done = subprocess.run([sys.executable, *check[1:-1], check[-1].replace(":8501", ":9")], capture_output=True)
    assert check[0] == "python" and done.returncode == 1 and b"refused" in done.stderr


def test_the_space_serves_the_container() -> None:
    text = (DOCS / "space" / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---")[1])
    assert head["sdk"] == "docker" and str(head["app_port"]) == dict(instructions())["EXPOSE"] and len(head["short_description"]) <= 60
    assert {head["colorFrom"], head["colorTo"]} <= {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    for file in re.findall(r"^hf upload YOU/sentviz (\S+)", text, re.MULTILINE):
        assert file == "dist" or (ROOT / file).is_file()


def test_the_citation_is_of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cited = yaml.safe_load((DOCS / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["cff-version"] == "1.2.0" and cited["message"] and cited["authors"] and cited["type"] == "software"
    assert (cited["title"], str(cited["version"]), cited["license"]) == (project["name"], project["version"], project["license"])
    monkeypatch.setattr(importlib.metadata, "version", Mock(side_effect=importlib.metadata.PackageNotFoundError("sentviz")))
    assert version() == project["version"]  # a source folder knows its version without an installation
