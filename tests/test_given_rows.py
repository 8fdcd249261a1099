"""Commands take rows from a data set or a file, and answers from a run or the user's own model."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from sentviz.cli import main
from sentviz.data.labels import LeftOutError, Reading
from sentviz.data.rows_argument import in_library, labelled_rows, rows_of
from sentviz.errors import InputError
from tests.kit import BAD, GOOD

CLASSES = ("negative", "positive")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty library, a file of 40 labelled rows with one wrong label, and a model in a module."""
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    table().to_csv("soups.csv", index=False)
    Path("judge.py").write_text("def predict(texts):\n    return [[0.5, 0.5] for text in texts]\n", encoding="utf-8")
    return tmp_path


def table() -> pd.DataFrame:
    texts = [f"the {word} soup number {i}, and {word} it was" for i in range(4) for word in (*BAD, *GOOD)]
    labels = ["positive" if any(word in text for word in GOOD) else "negative" for text in texts]
    return pd.DataFrame({"review": [*texts, "neither", ""], "opinion": [*labels[:-1], "negative", "unknown", "negative"]})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_rows_of_a_file_have_the_numbers_of_the_models_classes() -> None:
    for classes in (CLASSES, CLASSES[::-1]):
        rows, remarks = rows_of("soups.csv", "test", classes, "model")
        expected = [classes.index(label) if label in classes else -1 for label in table()["opinion"][:-1]]
        assert rows.frame["label"].tolist() == expected and rows.frame["text"].tolist() == table()["review"][:-1].tolist()
        assert any("“review”" in line for line in remarks) and any("'unknown' (1 row)" in line for line in remarks)
    with pytest.raises(LeftOutError, match=r"Only 40 of the 42 rows of soups\.csv"):
        labelled_rows(rows)
    assert len(labelled_rows(rows, Reading(partial=True))) == 40
    with pytest.raises(InputError, match=r"No row of soups.csv has one of the labels a, b"):
        labelled_rows(rows_of("soups.csv", "test", ("a", "b"), "model")[0])
    with pytest.raises(InputError, match="--text and --label are for files"):
        rows_of("sst2", "test", CLASSES, "model", text="review")
    with pytest.raises(InputError, match=r"nothing.csv"):
        rows_of("nothing.csv", "test", CLASSES, "model")


def test_a_file_enters_the_library_once() -> None:
    name, summary = in_library("soups.csv")
    assert name == "mine/soups" and "Texts are in the column “review”" in summary
    assert in_library("soups.csv") == (name, "soups.csv is the data set mine/soups.") and in_library("sst2") == ("sst2", "")
    table().iloc[::2].to_csv("soups.csv", index=False)
    with pytest.raises(InputError, match=r"mine/soups holds other rows than soups.csv"):
        in_library("soups.csv")


def test_what_does_not_fit_together_is_refused() -> None:
    for arguments, sentence in (
        (("evaluate",), "Give a RUN, or your own model with --model."),
        (("faithfulness", "--model", "judge:predict", "--classes", "a,b"), "has no rows: name a data set or a file with --data"),
        (("faithfulness", "--model", "judge", "--data", "soups.csv"), "--model takes package.module:object or the folder of a model"),
        (("score", "--model", "judge:predict", "--workers", "2", "soups.csv", "-o", "out.csv"), "runs in this process only"),
        (("score", "sst2/ndt-unit-2", "-o", "out.csv"), "Name a file to predict after the RUN."),
        (("words", "--model", "judge:predict", "--data", "soups.csv"), "have no names"),
    ):
        done = run(*arguments)
        assert done.exit_code and sentence in done.output and "Traceback" not in done.output, done.output
