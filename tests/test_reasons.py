"""Files that say why: the reason for each row of a file, and the mistakes of an evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sentviz
from sentviz.analysis.explain import explained, headline, supported
from sentviz.analysis.explain.headline import chance_of
from sentviz.analysis.explain.leave_out import words
from sentviz.api import Source, predict
from sentviz.runs.store import Run
from sentviz.serving.corpus.answers import Scorer
from tests.corpora import TEXTS, command

LONG = "warm " * 700


def written(tmp_path: Path, texts: list[str]) -> Path:
    path = tmp_path / "in.csv"
    pd.DataFrame({"number": np.arange(len(texts)) + 7, "review": texts}).to_csv(path, index=False)
    return path


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False)


@pytest.mark.exhaustive
def test_every_row_has_the_reason_and_the_words_of_explain(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    """The witness are the same functions, text by text. A row without a text has a remark; a formula is escaped; no labels are needed."""
    texts = [*TEXTS[:3], "=cold soup", ""]
    out = tmp_path / "reasons.csv"
    result = command("explain", run.folder, "--data", written(tmp_path, texts), "-o", out)
    assert result.exit_code == 0 and f"5 rows with their reasons in {out}" in result.output, result.output
    frame = read(out)
    assert frame["number"].tolist() == [7, 8, 9, 10, 11] and frame["review"].iloc[3] == "'=cold soup"
    for row, text in zip(frame.to_dict("records"), texts[:4], strict=False):
        trace = supported(tiny_model, explained(tiny_model, tiny_model.trace(text)), chance_of(tiny_model, run))
        assert row["predicted"] == trace.label and row["reason"] and headline(trace).endswith(row["reason"])
        falls = {word.text: float(trace.token_scores["removal"][word.indices[0]]) for word in words(trace)}
        first = row["word_1"].removeprefix("'")
        assert abs(falls[first]) == max(map(abs, falls.values()))
        assert float(row["value_1"]) == pytest.approx(falls[first], abs=1e-4)
    assert frame["remark"].iloc[4].startswith("The text is empty") and frame["reason"].iloc[4] == frame["word_1"].iloc[4] == ""
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "in.csv", out])


@pytest.mark.exhaustive
def test_stopped_reasons_continue(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after the first part leaves no file; the same command explains the other rows only, and the file is that of one command."""
    path, out, whole, done = written(tmp_path, [*TEXTS[:4]] * 10), tmp_path / "out.csv", tmp_path / "whole.csv", list[tuple[int, int]]()
    assert command("explain", run.folder, "--data", path, "-o", whole).exit_code == 0
    answer = Scorer.__call__

    def stops(self: Scorer, task: tuple[int, int]) -> int:
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(task)
        return answer(self, task)

    monkeypatch.setattr(Scorer, "__call__", stops)
    assert command("explain", run.folder, "--data", path, "-o", out).exit_code != 0 and not out.exists()
    monkeypatch.setattr(Scorer, "__call__", lambda self, task: done.append(task) or answer(self, task))
    assert command("explain", run.folder, "--data", path, "-o", out).exit_code == 0
    assert done == [(0, 0), (0, 1), (0, 2)] and out.read_bytes() == whole.read_bytes()


def test_a_model_of_code_gives_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_mine.py").write_text("def predict(texts):\n    return [[0.9, 0.1] if 'dull' in t else [0.2, 0.8] for t in texts]\n")
    monkeypatch.chdir(tmp_path)
    path, out = written(tmp_path, ["a dull soup", "a warm soup"]), tmp_path / "out.csv"
    result = command("explain", "--model", "of_mine:predict", "--classes", "bad,good", "--data", path, "-o", out)
    assert result.exit_code == 0 and read(out)["word_1"].iloc[0] == "dull" and "“dull”" in read(out)["reason"].iloc[0], result.output


def test_what_does_not_go_together_is_one_sentence(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, TEXTS[:2])
    monkeypatch.chdir(tmp_path)
    for arguments, says in (
        (["--data", "in.csv"], "Missing option '-o'"),
        (["--data", "in.csv", "-o", "reasons.parquet"], "one CSV file"),
        (["a text", "--data", "in.csv", "-o", "reasons.csv"], "unexpected extra argument (a text)"),
        (["--data", "in.csv", "-o", "reasons.csv", "--edit"], "No such option '--edit'"),
        (["--data", "in.csv", "-o", "in.csv"], "one of the files"),
    ):
        result = command("explain", run.folder, *arguments)
        assert result.exit_code != 0 and says in result.output and "Traceback" not in result.output, result.output


@pytest.mark.slow
def test_truncated_rows_are_marked_at_every_door(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    """predict, serve, score and the reasons say of a row what explain says of its text; a row that fits is not marked."""
    most = tiny_model.config.max_length
    texts, beyond = ["a warm song", LONG, "warm " * most], 700 - most
    says = f"The model reads {most:,} tokens at most; the last {beyond:,} tokens were not read."
    assert command("explain", run.folder, LONG).output.strip().endswith(says)
    answers = predict(Source(run.name, opened=(run, tiny_model)), tuple(texts)).json()["answers"]
    result = command("score", run.folder, written(tmp_path, texts), "-o", tmp_path / "scores.csv")
    scored = read(tmp_path / "scores.csv")
    for remarks in (tiny_model.predict(texts)["remark"].tolist(), [each["remark"] for each in answers], scored["remark"].tolist()):
        assert remarks == ["", says, ""]
    assert "1 rows are longer than the model reads" in result.output and scored["truncated"].tolist() == [0, beyond, 0]


def test_mistakes_are_written_the_most_confident_first(run: Run, tiny_model: sentviz.Model, tmp_path: Path) -> None:
    """The witness are predictions of the texts. A formula is escaped."""
    texts = [*TEXTS[:6], "=cold soup"]
    predicted, opposite = tiny_model.predict(texts), {"negative": "positive", "positive": "negative"}
    labels = [opposite[label] if place % 2 == 0 else label for place, label in enumerate(predicted["label"])]
    path, out = tmp_path / "labelled.csv", tmp_path / "mistakes.csv"
    pd.DataFrame({"review": texts, "label": labels}).to_csv(path, index=False)
    result = command("evaluate", run.folder, "--data", path, "-o", out)
    assert result.exit_code == 0 and "4 mistakes written" in result.output, result.output
    wrong = pd.DataFrame({"id": range(1, 8), "text": texts, "label": labels, "predicted": predicted["label"]}).iloc[::2]
    wrong = wrong.assign(probability=predicted[["negative", "positive"]].max(axis=1), text=wrong["text"].str.replace("=cold", "'=cold"))
    wanted = wrong.sort_values("probability", ascending=False).reset_index(drop=True)
    pd.testing.assert_frame_equal(read(out), wanted, atol=1e-5, check_dtype=False)
