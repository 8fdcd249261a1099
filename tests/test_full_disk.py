"""A disk that takes no more in the middle of a file: one sentence, nothing half-written, and what was there before stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import SentvizError
from sentviz.training import train
from tests.kit import no_room, toy_recipe, use_toy_data

pytestmark = pytest.mark.slow


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


@pytest.mark.exhaustive
@pytest.mark.parametrize("most", [0, 2_000, 8_000, 40_000])
def test_training_says_so_and_leaves_no_half_run(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk at any file leaves no partial run; with space again the same command completes."""
    use_toy_data(monkeypatch)
    with no_room(most), pytest.raises(SentvizError) as caught:
        train(toy_recipe(), tmp_path, progress=False)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and "ndt-unit-2" in message
    assert not (tmp_path / "toy" / "ndt-unit-2").exists() and not any(".tmp-new-" in name for name in names(tmp_path))
    assert train(toy_recipe(), tmp_path, progress=False).config["steps"] == 40


@pytest.mark.exhaustive
@pytest.mark.parametrize("before", [None, "an older report"])
def test_a_report_says_so_and_leaves_what_was_there(before: str | None, tiny_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    if before is not None:
        out.write_text(before)
    with no_room(3_000):
        done = CliRunner().invoke(main, ["report", str(tiny_run), "a warm song", "-o", str(out)])
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit)
    assert done.output.startswith("Error: ") and done.output.count("\n") == 1
    assert names(tmp_path) == (set() if before is None else {"page.html"})
    assert before is None or out.read_text() == before
