"""CSV files: one module writes all of them; texts are never formulas; a file is written completely or not at all."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest

from sentviz.errors import SentvizError
from sentviz.io.spreadsheet import as_csv, plain_csv, store_csv, write_csv
from tests.kit import no_room

PACKAGE = Path(__file__).parents[1]
FORMULAS = ["=1+1", "+1+1", "-2+3", "@SUM(A1)", "  =1", "\t=1", "\r=1", "\n=1", "＝1+1", "＠x"]


def test_one_module_writes_csv() -> None:
    writer = re.compile(r"\bto_csv\(|\bto_excel\(|\bcsv\.writer\(|\bDictWriter\(")
    for path in [*(PACKAGE / "sentviz").rglob("*.py"), *(PACKAGE / "app").rglob("*.py")]:
        code = path.read_text(encoding="utf-8")
        assert path.match("sentviz/io/spreadsheet.py") or not writer.search(code), path
        assert "text/csv" not in code or "as_csv(" in code, path


@pytest.mark.parametrize("cell", FORMULAS)
def test_no_cell_nor_name_is_a_formula(cell: str) -> None:
    frame = pd.DataFrame([[cell, cell, -1.5], [2, "a", -2.5]], columns=[cell, cell, "n"])
    lines = list(csv.reader(io.StringIO(as_csv(frame).decode("utf-8-sig"), newline="")))
    assert lines[0][:2] == [f"'{cell}"] * 2 and lines[1] == [f"'{cell}"] * 2 + ["-1.5"] and lines[2][0] == "2"


def test_tables_of_this_program_are_read_back_as_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame({"word": ["=1+1", "-ly", "a\nb", 'c"d'], "value": [1 / 3, 2.0, -1e-9, 4.5]})
    pd.testing.assert_frame_equal(pd.read_csv(store_csv(tmp_path / "table.csv", frame)), frame)
    for form in (None, "%.1f"):
        assert plain_csv(frame, form) == frame.to_csv(index=False, float_format=form).encode()


@pytest.mark.parametrize("write", [write_csv, store_csv])
def test_a_disk_error_is_one_sentence_and_keeps_the_old_file(write: object, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    frame = pd.DataFrame({"text": ["a long text " * 20] * 100})
    with no_room(2_000), pytest.raises(SentvizError, match=r"table\.csv cannot be written: File too large\.$"):
        write(path, frame)  # type: ignore[operator]
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["table.csv"]
    with pytest.raises(SentvizError, match=r"no folder/table\.csv cannot be written: No such file"):
        write(tmp_path / "no folder" / "table.csv", frame)  # type: ignore[operator]
