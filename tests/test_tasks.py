"""The page "Five tasks from start to end" of the documentation: the lines of each task, run in an empty library on made-up rows."""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from random import Random
from types import ModuleType

import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from tests.docs import DOCS, examples
from tests.kit import BAD, GOOD, NOUNS

PAGE = DOCS / "pages" / "tasks.md"
TASKS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
del TASKS["Time and limits"]
PIPELINE = """
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

rows = pd.read_csv("reviews.csv")
pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(rows["review"], rows["opinion"])
"""

pytestmark = pytest.mark.exhaustive
WRITTEN = {  # Files that a task writes on the command line, then in Python.
    "Predictions of another program": (["confusion.pdf"], ["confusion.pdf"]),
    "A Hugging Face folder": (["why.html"], ["strip.pdf", "overview.pdf", "head-habits.pdf", "verdict-by-layer.pdf"]),
    "Train on a file": ([], []),
    "A scikit-learn pipeline": ([], ["words.pdf", "removal.pdf"]),
    "Predict 50,000 rows": (["predicted.csv"], ["predicted.csv"]),
}
SAID = {  # Words that it prints, in lower case.
    "Predictions of another program": ("accuracy 90.0\u00a0%", "mistakes of answers.csv: 20", "number 19 was"),
    "A Hugging Face folder": ("adopted/my-model",),
    "Train on a file": ("tf-idf", "commonest class", "without “warm” it would be", "\nnegative\n"),
    "A scikit-learn pipeline": ("negative, predicted positive", "smallest edit: with “", "word removal"),
    "Predict 50,000 rows": ("400 rows in predicted.csv",),
}


def reviews(count: int) -> pd.DataFrame:
    """Return made-up reviews; 8 % have a label that does not fit their words."""
    random, rows = Random(0), []
    for number in range(count):
        good = random.random() < 0.5
        words = GOOD if good != (random.random() < 0.08) else BAD
        text = f"The {random.choice(NOUNS)} number {number} was {random.choice(words)} and {random.choice(words)}."
        rows.append((text, "positive" if good else "negative"))
    return pd.DataFrame(rows, columns=["review", "opinion"])


def write_files(folder: Path, rows: int = 400) -> None:
    """Write what the tasks read.

    Args:
        rows: number of rows to predict; the page says 50,000.
    """
    from tests.foreign.models import saved

    table = reviews(2_000)
    table.to_csv(folder / "reviews.csv", index=False)
    answers = table.head(200).set_axis(["text", "label"], axis=1)
    random = Random(1)
    answers["prob"] = [round(0.8 * (label == "positive") + 0.2 * random.random(), 3) for label in answers["label"]]
    answers.loc[:19, "prob"] = 1 - answers.loc[:19, "prob"]
    answers.to_csv(folder / "answers.csv", index=False)
    reviews(rows)[["review"]].to_csv(folder / "rows.csv", index=False)
    (folder / "mine.py").write_text(PIPELINE, encoding="utf-8")
    saved(folder / "my-model", "bert", ("negative", "positive"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a working folder with the files of the tasks, and an empty library."""
    pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # Streamlit's harness leaves a page there, which workers would run
    write_files(tmp_path)
    yield tmp_path
    sys.modules.pop("mine", None)


@pytest.mark.parametrize("task", TASKS)
def test_the_lines_of_a_task_run_as_printed(task: str, folder: Path) -> None:
    (folder / "task.md").write_text(TASKS[task], encoding="utf-8")
    printed, kinds = "", []
    for example in examples(folder / "task.md"):
        kinds.append(example.language)
        if example.language == "python":
            lines = [line for line in example.code.splitlines() if line and not line.startswith(("import ", "from "))]
            assert 3 <= len(lines) <= 5
            with redirect_stdout(io.StringIO()) as output:
                exec(compile(example.code, str(PAGE), "exec"), {})
            printed += output.getvalue()
        for line in example.code.splitlines() if example.language == "sh" else ():
            done = CliRunner().invoke(main, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
            printed += done.output
        for name in WRITTEN[task][example.language == "python"]:
            written = (folder / name).read_bytes()
            assert written.startswith(b"%PDF") if name.endswith(".pdf") else len(written) > 1_000
            (folder / name).unlink()
    assert kinds == ["sh", "python"] and "In the app: " in TASKS[task]
    assert not [words for words in SAID[task] if words not in printed.casefold()], printed
