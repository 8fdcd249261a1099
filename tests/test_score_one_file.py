"""Predictions of files as one CSV: every column of the input, in its order, then the predictions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sentviz
from sentviz.runs.store import Run
from sentviz.serving.corpus.answers import Scorer
from tests.corpora import TEXTS, command


def test_one_csv_has_every_column_of_the_file_and_the_predictions(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    """Ranges of two rows give one file in the input's order. A cell that a spreadsheet would run begins with an apostrophe."""
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    frame = pd.DataFrame({"id": ["07", "8", "9"], "review": [TEXTS[0], "=1+1", ""], "row": ["x", "y", "z"], "label": ["1", "meh", "0"]})
    path.write_bytes(frame.to_csv(index=False, sep=";").encode("utf-16"))
    result = command("score", run.folder, path, "-o", out, "--text", "review", "--label", "label", "--rows", 2)
    assert result.exit_code == 0 and f"3 rows in {out}" in result.output, result.output
    assert "! in.csv is not UTF-8; it was read as utf-16-le." in result.output
    assert "! Labels in “label”: 0 = negative, 1 = positive; 2 of 3 rows." in result.output and "'meh' (1 row)" in result.output
    assert "accept numbers of 1 row: --partial" in result.output
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(written.columns[:6]) == ["id", "review", "row", "label", f"row ({run.name})", "predicted"]
    assert written["id"].tolist() == ["07", "8", "9"] and written["review"].tolist() == [TEXTS[0], "'=1+1", ""]
    assert written[f"row ({run.name})"].tolist() == ["1", "2", "3"] and written["label"].tolist() == ["1", "meh", "0"]
    assert written["predicted"].tolist() == [*tiny_model.predict(frame["review"][:2].tolist())["label"], ""]
    assert written["remark"].iloc[2].startswith("The text is empty") and sorted(tmp_path.iterdir()) == [path, out]


def test_files_of_two_formats_become_one_csv(run: Run, files: Path, tmp_path: Path) -> None:
    """The columns of both files are there; a column that a file lacks is blank. A JSON line that is a text has the column "text"."""
    out = tmp_path / "out.csv"
    result = command("score", run.folder, files / "a.csv", files / "d.jsonl", files / "deep", "-o", out, "--text", "review")
    assert result.exit_code == 0, result.output
    written = pd.read_csv(out)
    assert written.groupby("file").size().to_dict() == {"a.csv": 45, "d.jsonl": 10, "deep/c.parquet": 45}
    assert written["predicted"].isna().sum() == 4 and written["text"].dropna().tolist() == ["a warm song"]


def test_a_stopped_csv_continues(run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first part leaves no file; the same command scores only the other parts and removes the folder with them."""
    answer, scored = Scorer.__call__, []

    def stops(self: Scorer, task: tuple[int, int]) -> int:
        if len(scored) == 1:
            scored.append((9, 9))
            raise KeyboardInterrupt
        scored.append(task)
        return answer(self, task)

    monkeypatch.setattr(Scorer, "__call__", stops)
    out = tmp_path / "out.csv"
    arguments = ("score", run.folder, files / "a.csv", "-o", out, "--rows", 20)
    assert command(*arguments).exit_code == 130 and not out.exists()
    again = command(*arguments)
    assert again.exit_code == 0 and "25 of them new" in again.output and scored == [(0, 0), (9, 9), (0, 1), (0, 2)]
    assert len(pd.read_csv(out)) == 45 and [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def test_a_csv_never_replaces_its_input_and_takes_no_vectors(run: Run, files: Path, tmp_path: Path) -> None:
    before = (files / "a.csv").read_bytes()
    own = command("score", run.folder, files / "a.csv", "-o", files / "a.csv")
    vectors = command("score", run.folder, files / "a.csv", "-o", tmp_path / "out.csv", "--vectors")
    assert own.exit_code == 1 and "is one of the files to score" in own.output and (files / "a.csv").read_bytes() == before
    assert vectors.exit_code == 2 and "need a folder" in vectors.output and not (tmp_path / "out.csv").exists()
