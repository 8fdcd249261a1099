"""Results of five packages, judged as the packages return them; each package is installed in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from tests.foreign.explained import TEXT
from tests.foreign.models import saved

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow]

PACKAGES = ("captum", "shap", "lime", "interpreto", "interpkit")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("judged") / "bert", "bert", ("NEGATIVE", "POSITIVE"))


def environment_with(package: str, place: Path) -> Path:
    """Make an environment that has a package and, beside it, all that the tests' environment has; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    beside = next(place.glob("lib/python*/site-packages")) / "beside.pth"
    beside.write_text(sysconfig.get_paths()["purelib"] + "\n")
    installed = subprocess.run([python, "-m", "pip", "install", "--quiet", package], capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"{package} cannot be installed here: {installed.stderr.strip().splitlines()[-1][:200]}")
    return python


@pytest.mark.parametrize("package", PACKAGES)
def test_a_result_is_judged_as_the_package_returns_it(package: str, folder: Path, tmp_path: Path) -> None:
    """Each word has the sum of the package's scores for its pieces, and the judgement is a sentence."""
    python = environment_with(package, tmp_path / "env")
    ran = subprocess.run(
        [python, "-m", "tests.foreign.explained", package, str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    result = json.loads(ran.stdout.strip().splitlines()[-1])
    words = TEXT.split()
    assert result["words"] == words and "exact Shapley values" in result["sentence"] and "random orders" in result["sentence"]
    assert not [note for note in result["notes"] if "not found" in note or "no score" in note]
    if not result["pieces"]:
        assert len(result["given"]) == len(words) + 6  # "never" has five pieces, and two tokens are special
        whole = [*result["given"][1:6], sum(result["given"][6:11]), *result["given"][11:14]]
    elif package == "lime":
        weights = dict(zip(result["pieces"], result["given"], strict=True))
        whole = [weights[word] for word in words]
    else:
        inside = [(piece, value) for piece, value in zip(result["pieces"], result["given"], strict=True) if not piece.startswith("[")]
        whole = []
        for piece, value in inside:
            if piece.startswith("##"):
                whole[-1] += value
            else:
                whole.append(value)
    assert result["scores"] == pytest.approx(whole, abs=1e-7)
