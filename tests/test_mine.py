"""The user's own data sets and files of rows: how they are understood, what is stored, and what is refused in one sentence."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from sentviz.cli import main
from sentviz.data import datasets, user_datasets
from sentviz.data.labels import LeftOutError, Reading
from sentviz.data.rows_argument import in_library, labelled_rows, rows_of
from sentviz.data.table import Limits, parsed
from sentviz.data.understanding import Choices, understand
from sentviz.data.user_datasets import add_data, remove_data
from sentviz.errors import DataMissingError, InputError, SentvizError
from tests.kit import BAD, GOOD, no_room, refused

FIVE = ["very positive", "negative", "neutral", "very negative"]
CLASSES = ("negative", "positive")


def read_here(data: bytes, name: str, limits: Limits, sheet: str = "") -> tuple[pd.DataFrame, list[str]]:
    """Read a file in this process, which is faster than in one of its own."""
    table, remarks = parsed(data, name, limits, sheet)
    frame = table.replace_schema_metadata(None).to_pandas()
    frame.attrs = {"sheets": [], "sheet": ""}
    return frame, remarks


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(user_datasets, "read_table", read_here)
    monkeypatch.delenv("SENTVIZ_DATA", raising=False)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def table(**columns: Any) -> pd.DataFrame:
    """Return 40 rows with different texts, half of them positive, and further columns."""
    texts = [f"the {word} soup number {i} was {word}" for i in range(4) for word in (*BAD, *GOOD)]
    labels = ["negative" if any(word in text for word in BAD) else "positive" for text in texts]
    return pd.DataFrame({"review": texts, "label": labels} | columns)


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["data", *map(str, arguments)])


def test_a_file_becomes_a_data_set(tmp_path: Path) -> None:
    table().to_json(path := tmp_path / "reviews.jsonl", orient="records", lines=True)
    done = command("add", path, "--name", "soups")
    assert done.exit_code == 0, done.output
    assert "Texts are in the column “review”, labels in “label”." in done.output
    assert "Splits: train 28, validation 6, test 6, divided 70 % / 15 % / 15 % with seed 0" in done.output
    assert datasets.info("mine/soups").labels == ("negative", "positive") and datasets.info("mine/soups").language == "en"
    parts = {split: datasets.load_split("mine/soups", split).frame for split in ("train", "validation", "test")}
    rows = pd.concat(parts.values())
    assert sorted(rows["text"]) == sorted(table()["review"]) and rows["id"].is_unique
    for _, row in rows.iterrows():
        _, number, mark = row["id"].split("-")
        assert table()["review"][int(number) - 1] == row["text"] and len(mark) == 4
        assert table()["label"][int(number) - 1] == ("negative", "positive")[row["label"]]
    assert all(set(part["label"]) == {0, 1} for part in parts.values())
    datasets.verify("mine/soups")
    assert "mine/soups" in command("list").output and "mine/soups" in command("where").output
    products, prices = [f"product {i % 3}" for i in range(40)], [None, *(i / 7 for i in range(1, 40))]
    added = add_data(table(product=products, price=prices, note=[f"note {i}" for i in range(40)]), "soups", replace=True)
    assert any("Columns without groups" in remark and "“note”" in remark for remark in added.understood.sentences)
    for split in ("train", "validation", "test"):
        rows = datasets.load_split("mine/soups", split).frame
        places = [int(key.removeprefix(f"{split}-").partition("-")[0]) - 1 for key in rows["id"]]
        assert rows["own:product"].tolist() == [products[place] for place in places]
        np.testing.assert_allclose(rows["own:price"], [np.nan if prices[place] is None else prices[place] for place in places])


def test_rows_are_divided_once_by_their_texts_or_by_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.concat([table(), table().assign(review=table()["review"].str.upper() + " ")])
    for seed in range(5):
        understood = understand(frame, "f", Choices(seed=seed))
        seen = [{" ".join(text.casefold().split()) for text in part["text"]} for part in understood.parts.values()]
        assert sum(map(len, seen)) == len(set.union(*seen)) == 40
    assert "Rows that repeat the text of another row: 40. They are in the same split." in understood.remarks
    ids = [list(understand(table(), "f", Choices(seed=seed)).parts["test"]["id"]) for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]
    frame = table(fold=["Training"] * 20 + ["dev"] * 10 + ["test"] * 9 + [""])
    frame.loc[25, "review"] = frame.loc[0, "review"]
    understood = understand(frame, "f")
    assert {split: len(part) for split, part in understood.parts.items()} == {"train": 20, "validation": 10, "test": 9}
    assert understood.split == "fold" and understood.left_out == {"without a split": 1}
    assert "Rows of validation and test whose text is also in train: 1." in understood.remarks[-2] + understood.remarks[-1]
    without = understand(table(fold=["train"] * 30 + ["test"] * 10), "f")
    assert len(without.parts["test"]) == 10 and 0 < len(without.parts["validation"]) < 8
    assert understand(table(fold=list("abcd") * 10), "f").split == ""
    assert understand(frame, "f", Choices(shares=(50, 25, 25))).split == ""
    monkeypatch.setattr("sentviz.data.understanding.MOST_TESTED", 4)
    understood = understand(table(), "f")
    assert {split: len(part) for split, part in understood.parts.items()} == {"train": 32, "validation": 4, "test": 4}
    assert understood.division == "divided 80 % / 10 % / 10 % with seed 0, equal texts together"
    assert len(understand(table(), "f", Choices(shares=(70, 15, 15))).parts["test"]) == 6


UNDERSTOOD: list[tuple[pd.DataFrame, Choices, str, dict[str, int]]] = [  # a table, choices, and the classes and rows left out
    (table(label=[1.0, 2.0] * 20), Choices(), "1, 2", {}),
    (table(label=[True, False] * 20), Choices(), "False, True", {}),
    (table(label=FIVE * 10), Choices(), "very negative, negative, neutral, very positive", {}),
    (table(label=["10", "9"] * 20), Choices(), "9, 10", {}),
    (table(label=pd.Categorical(["b", "a"] * 20)), Choices(), "a, b", {}),
    (table(label=[0] * 40, rating=[1, 5] * 20), Choices(label="rating"), "1 star, 5 stars", {}),
    (table(label=["Bad", "bad", "bad", "good"] * 10), Choices(), "bad, good", {}),
    (table(label=[None, float("nan"), "", "NaN", *["a", "b"] * 18]), Choices(), "a, b", {"without a label": 4}),
    (table().replace({"review": {table()["review"][5]: " \u200b"}}), Choices(), "negative, positive", {"without a text": 1}),
    (table(label=["a"] * 19 + ["b"] * 19 + ["c"] * 2), Choices(), "a, b", {"of class “c”, which has fewer than 3 different texts": 2}),
    (table(label=[1, 2, 3, 4] * 10), Choices(classes=tuple("abcd")), "a, b, c, d", {}),
    (
        table(label=[1, 2, 3, 4] * 10),
        Choices(classes={"1": "bad", "2": "bad", "4": "good"}),
        "bad, good",
        {"with a label that is not in --classes (3)": 10},
    ),
]


def test_labels_become_classes_or_the_table_is_refused() -> None:
    for frame, choices, labels, left_out in UNDERSTOOD:
        understood = understand(frame, "f", choices)
        assert (", ".join(understood.labels), understood.left_out) == (labels, left_out)
        sentence_part = "; ".join(f"{n} {why}" for why, n in left_out.items())
        assert not sentence_part or any(f"Rows left out: {sentence_part}" in sentence for sentence in understood.sentences)
    frame = table().rename(columns={"review": "q1", "label": "q2"})
    assert understand(frame, "f").label == "q2"
    with pytest.raises(InputError, match=r"several columns may hold labels \(q2, shop\). Name the column with --label"):
        understand(frame.assign(shop=["x", "y"] * 20), "f")
    for frame, choices, message in BAD_INPUT:
        with pytest.raises(InputError, match=message) as caught:
            understand(frame, "reviews.csv", choices)
        assert "\n" not in str(caught.value) and (str(caught.value).startswith("reviews.csv") or message == "three whole percentages")


BAD_INPUT: list[tuple[pd.DataFrame, Choices, str]] = [
    (table(), Choices(text="revew"), r"has no column 'revew'; similar names: review; its columns are review, label"),
    (table(), Choices(text="review", label="review"), "cannot hold both texts and labels"),
    (table(), Choices(label="review"), r"there is no class; .* Rows left out: 40 of 40 classes that have fewer than 3 different texts"),
    (pd.DataFrame({"a": [1, 2], "label": [0, 1]}), Choices(), "no column holds texts"),
    (table().drop(columns="label"), Choices(), "no column is known to hold labels"),
    (table(label=["a"] * 40), Choices(), "there is one class, a; a data set needs two or more"),
    (table(label=[None] * 40), Choices(), "there is no class"),
    (pd.concat([table()] * 2).assign(label=np.arange(80) / 7), Choices(), "80 different values, so it does not hold classes"),
    (table().iloc[:0], Choices(), "has no rows"),
    (pd.DataFrame([["a", "b", "c"]], columns=["text", "text", "label"]), Choices(), "several columns named 'text'"),
    (table(), Choices(shares=(90, 10, 0)), "three whole percentages"),
    (table(), Choices(split="label"), "the column 'label' has 'negative', which is not one of train, validation, test"),
    (table(), Choices(classes=("a",)), r"has 2 labels \(negative, positive\), but 1 class names are given"),
    (table(), Choices(classes={"0": "a", "1": "b"}), "'0' is not a label in the column 'label'; its labels are negative, positive"),
    (table(), Choices(classes=("good", "Good")), "class names must differ"),
    (table(set=["test"] * 20 + ["train"] * 20, label=["a"] * 20 + ["b"] * 20), Choices(), "no row of train has the class 'a'"),
    (table(label=["x" * 61, "y"] * 20), Choices(), "61 characters; at most 60"),
]


def test_names_are_checked_replaced_only_if_asked_and_damage_hides_no_other(home: Path, tmp_path: Path) -> None:
    for name in ("a/b", "../x", "Upper", "with blank", "é", ".", "x" * 41, "-a", "sst2", "mine/mine/x"):
        with pytest.raises(InputError):
            add_data(table(), name)
    for name in ("sst2", "../data", "mine/../../home"):
        with pytest.raises(InputError):
            remove_data(name)
    assert not (home / "data").exists()
    table().to_csv(path := tmp_path / "My Reviews.csv", index=False)
    assert add_data(path).name == "mine/my-reviews"
    done = command("add", path)
    assert done.exit_code == 1 and "mine/my-reviews exists already" in done.output
    table().iloc[:20].to_csv(path, index=False)
    assert command("add", path, "--replace").exit_code == 0 and sum(datasets.info("mine/my-reviews").splits.values()) == 20
    assert command("remove", "my-reviews").exit_code == 0 and not [*(home / "data" / "mine").iterdir()]
    assert "There is no data set 'mine/my-reviews'" in command("remove", "mine/my-reviews").output
    refused(InputError, "There is no data set", datasets.load_split, "mine/my-reviews", "test")
    add_data(table(), "good")
    add_data(table(), "bad")
    (home / "data" / "mine" / "bad" / "dataset.toml").write_text("labels = 3")
    assert {"mine/good"} == {name for name in datasets.datasets()["name"] if name.startswith("mine/")}
    refused(InputError, "The data set mine/bad is damaged", datasets.info, "mine/bad")
    (home / "data" / "mine" / "good" / "test.parquet").write_bytes(b"PAR1")
    refused(DataMissingError, "damaged or incomplete; add its file The table again", datasets.load_split, "mine/good", "test")


def test_a_full_disk_and_ctrl_c_leave_what_was_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in [0, 1_500]:
        add_data(table(), "soups", replace=True)
        before = {path.name: path.read_bytes() for path in (home / "data" / "mine" / "soups").iterdir()}
        with no_room(most), pytest.raises(SentvizError, match=r"space|cannot be written"):
            add_data(table().iloc[:20], "soups", replace=True)
        assert {path.name: path.read_bytes() for path in (home / "data" / "mine" / "soups").iterdir()} == before
        assert [path.name for path in (home / "data" / "mine").iterdir()] == ["soups"]
    monkeypatch.setattr(user_datasets, "sha256", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        add_data(table(), "other")
    assert [path.name for path in (home / "data" / "mine").iterdir()] == ["soups"]


def test_rows_of_a_file_serve_in_the_place_of_a_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = pd.DataFrame({"review": ["neither", ""], "label": ["unknown", "negative"]})
    rows = pd.concat([table(), rows], ignore_index=True)
    rows.loc[39, "label"] = "negative"
    rows.to_csv("soups.csv", index=False)
    Path("judge.py").write_text("def predict(texts):\n    return [[0.5, 0.5] for text in texts]\n", encoding="utf-8")
    soups = rows
    for classes in (CLASSES, CLASSES[::-1]):
        rows, remarks = rows_of("soups.csv", "test", classes, "model")
        expected = [classes.index(label) if label in classes else -1 for label in soups["label"][:-1]]
        assert rows.frame["label"].tolist() == expected and rows.frame["text"].tolist() == soups["review"][:-1].tolist()
        assert any("“review”" in line for line in remarks) and any("'unknown' (1 row)" in line for line in remarks)
    refused(LeftOutError, r"Only 40 of the 42 rows of soups\.csv", labelled_rows, rows)
    assert len(labelled_rows(rows, Reading(partial=True))) == 40
    for ask, message in (
        (lambda: labelled_rows(rows_of("soups.csv", "test", ("a", "b"), "model")[0]), "which label is which class is not known"),
        (lambda: rows_of("sst2", "test", CLASSES, "model", text="review"), "--text and --label are for files"),
        (lambda: rows_of("nothing.csv", "test", CLASSES, "model"), "nothing.csv"),
    ):
        refused(InputError, message, ask)
    name, summary = in_library("soups.csv")
    assert name == "mine/soups" and "Texts are in the column “review”" in summary
    assert in_library("soups.csv") == (name, "soups.csv is the data set mine/soups.") and in_library("sst2") == ("sst2", "")
    soups.iloc[::2].to_csv("soups.csv", index=False)
    refused(InputError, r"mine/soups holds other rows than soups.csv", in_library, "soups.csv")
    for arguments, sentence in (
        ("evaluate", "Give a RUN, or your own model with --model."),
        ("faithfulness --model judge:predict --classes a,b", "has no rows: name a data set or a file with --data"),
        ("faithfulness --model judge --data soups.csv", "--model takes package.module:object or the folder of a model"),
        ("score --model judge:predict --workers 2 soups.csv -o out.csv", "runs in this process only"),
        ("score sst2/ndt-unit-2 -o out.csv", "Name a file to predict after the RUN."),
        ("words --model judge:predict --data soups.csv", "have no names"),
    ):
        done = CliRunner().invoke(main, arguments.split())
        assert done.exit_code and sentence in done.output and "Traceback" not in done.output, done.output
