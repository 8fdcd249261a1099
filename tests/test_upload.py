"""A visitor's own file: encodings, separators, columns, and what is no table."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from sentviz.errors import InputError
from sentviz.testset import upload
from sentviz.testset.upload import guess, labelled, read_table

CLASSES = ("negative", "positive")
TABLE = pd.DataFrame({"id": ["7", "8", "9"], "review": ["Ein schöner Film.", " ", "a; b"], "sentiment": ["Positive", "negative", "1"]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_csv_is_read_whatever_its_encoding_and_separator(encoding: str, mark: str) -> None:
    frame, remarks = read_table(TABLE.to_csv(index=False, sep=mark).encode(encoding), "mine.csv")
    pd.testing.assert_frame_equal(frame, TABLE, check_dtype=False)
    assert bool(remarks) == (encoding in ("utf-16", "cp1252"))


def test_korean_in_its_old_encoding_is_read() -> None:
    frame, remarks = read_table("text,label\n정말 재미있는 영화,1\n".encode("cp949"), "k.csv")
    assert frame.loc[0, "text"] == "정말 재미있는 영화"
    assert "cp949" in remarks[0]


def test_a_parquet_is_read_and_a_damaged_one_named() -> None:
    data = io.BytesIO()
    TABLE.to_parquet(data)
    assert read_table(data.getvalue(), "mine.parquet")[0].equals(TABLE)
    with pytest.raises(InputError, match=r"mine\.parquet is a damaged parquet file"):
        read_table(data.getvalue()[:200], "mine.parquet")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        *((b"", "is empty"), (b"  \n", "is empty"), (b"text,label\n", "no rows")),
        *((bytes(range(256)), "not a table of text"), (b'a,b\n"x', "table")),
    ],
)
def test_what_is_no_table_is_one_sentence(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        read_table(data, "x.csv")
    assert "\n" not in str(error.value)


def test_too_large_and_too_long_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "ROWS", 2)
    frame, remarks = read_table(TABLE.to_csv(index=False).encode(), "x.csv")
    assert len(frame) == 2
    assert "first 2 rows" in remarks[0]
    monkeypatch.setattr(upload, "BYTES", 10)
    with pytest.raises(InputError, match="at most"):
        read_table(TABLE.to_csv(index=False).encode(), "x.csv")


def test_columns_are_guessed_by_name_then_by_length() -> None:
    assert (guess(TABLE), guess(TABLE, labels=True)) == ("review", "sentiment")
    other = pd.DataFrame({"a": ["1"], "b": ["a long entry"]})
    assert (guess(other), guess(other, labels=True)) == ("b", "")


def test_labels_are_names_or_numbers_and_others_count_as_none() -> None:
    """Blank texts are left out, ids are places in the file; both are said."""
    frame = pd.DataFrame({"t": ["a", "", "b", "c", "d"], "y": ["POSITIVE", "1", "0", "1.0", "meh"]})
    made, remarks = labelled(frame, "t", "y", CLASSES)
    assert made["id"].tolist() == ["1", "3", "4", "5"]
    assert made["label"].tolist() == [1, 0, 1, -1]
    assert "1 rows without a text" in remarks[0]
    assert "1 labels are none of negative, positive" in remarks[1]
    assert labelled(frame, "t", "", CLASSES)[0]["label"].tolist() == [-1] * 4


def test_a_missing_column_and_no_text_at_all() -> None:
    with pytest.raises(InputError, match="no column 'x'; it has id, review, sentiment"):
        labelled(TABLE, "x", "", CLASSES)
    with pytest.raises(InputError, match="No row has a text"):
        labelled(pd.DataFrame({"t": ["", "\u200b"]}), "t", "", CLASSES)
