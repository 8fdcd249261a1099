"""Every file with figures that sentviz writes holds their records; what holds none is known."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import sentviz.export.files as export
from sentviz.charts.gallery import draw
from sentviz.cli import main
from sentviz.export.chromium import find_browser
from sentviz.export.embedded_record import extract_record
from sentviz.export.verify import verify

RUN, TEXT = "sst2/ndt-unit-2", "A quiet delight."

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")]


def run(*words: str) -> None:
    """Run a command that succeeds."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output


def exported(folder: Path) -> None:
    for format in export.FORMATS:
        run("export", RUN, "verdict", "--text", TEXT, "-o", str(folder / f"figure.{format}"))


def reported(folder: Path) -> None:
    run("report", RUN, TEXT, "-o", str(folder / "report.html"))


def of_notebook(folder: Path) -> None:
    html = draw(RUN, "verdict", text=TEXT)._repr_mimebundle_()["text/html"]
    image = re.search(r"data:image/png;base64,([^\"]+)", html)
    assert image
    (folder / "cell.png").write_bytes(base64.b64decode(image[1]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("write", [exported, reported, of_notebook], ids=lambda write: write.__name__)
def test_every_file_with_a_figure_holds_its_record(write: Callable[[Path], None], tmp_path: Path) -> None:
    """Each file and each of its panels has a record, and the numbers equal those of the runs."""
    write(tmp_path)
    states = {}
    for path in sorted(tmp_path.iterdir()):
        if path.suffix in (".csv", ".tex"):
            assert verify(path).state == "cannot be had" and b'"sentviz": "' not in path.read_bytes()
            continue
        assert extract_record(path.read_bytes())[1].frame or extract_record(path.read_bytes())[1].panels
        states[path.name] = verify(path).state
        path.write_bytes(path.read_bytes().replace(b'"picture": "', b'"picture": "9', 1))
        assert verify(path).state in ("differs", "cannot be had")
    assert states and set(states.values()) == {"equal"}, states
