"""A visitor's own file: encodings, separators, columns, and files without a table."""

import gzip
import io
import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sentviz.data.table as reader
import sentviz.data.upload
from sentviz.data.columns import guess
from sentviz.data.table import Limits, parsed
from sentviz.data.upload import LIMITS, labelled, read_table
from sentviz.errors import InputError
from tests.kit import refused, workbook

CLASSES = ("negative", "positive")
TABLE = pd.DataFrame({"id": ["7", "8", "9"], "review": ["Ein schöner Film.", " ", "a; b"], "sentiment": ["Positive", "negative", "1"]})
NOTES = [["About this file"], ["It has opinions on lakes."], ["Ask before you use it."]]
FIELDS = [["Field", "Meaning"], ["review", "what was said"]]
REVIEWS = [["review", "sentiment"], ["a calm lake", "good"], ["a loud road", "bad"]]
UNNAMED = [["words", "verdict"], ["a calm lake", "good"], ["a loud road", "bad"]]
NESTED = [
    {"review": {"text": "a calm lake", "by": {"id": 7}}, "label": {"sentiment": "good"}, "tags": ["x"]},
    {"review": None, "label": {"sentiment": "bad"}, "tags": []},
    {"review": {"text": "a loud road", "by": {"id": 8}}, "label": {}, "tags": None},
]
TEXTS = ["\U0001f600" * 9, "warm", None, "e\u0301" * 4]


def test_csv_files_are_read_whatever_their_encoding_and_rows_have_ids_and_labels() -> None:
    for encoding, mark in [("utf-8", ","), ("utf-8-sig", "\t"), ("utf-16", ";"), ("cp1252", ",")]:
        table, remarks = parsed(TABLE.to_csv(index=False, sep=mark).encode(encoding), "mine.csv", LIMITS)
        pd.testing.assert_frame_equal(table.to_pandas(), TABLE, check_dtype=False)
        assert bool(remarks) == (encoding in ("utf-16", "cp1252"))
        assert "cp949" in parsed("text,label\n정말 재미있는 영화,1\n".encode("cp949"), "k.csv", LIMITS)[1][0]
    assert parsed(b"text,label\na,b,,\nc,d\n", "x.csv", LIMITS)[0].to_pydict() == {"text": ["a", "c"], "label": ["b", "d"]}
    assert parsed(b'text\na film, warm; long\n\n"b"\n', "x.txt", LIMITS)[0].to_pydict() == {"text": ["a film, warm; long", "b"]}
    for data, names in [
        ("A warm film.,1\nA dull one.,0\n", "column 1, column 2"),
        ("positive\tit was warm\nnegative\tit was dull\npositive\tfine\npositive\tgood\n", "column 1, column 2"),
        ("kind,words\n1,it was warm\n0,it was dull\n", "kind, words"),
        (",words\n0,warm\n1,dull\n", "column 1, words"),
        ("a,b\nx,y\nz,w\n", "a, b"),
    ]:
        table, remarks = parsed(data.encode(), "x.csv", LIMITS)
        assert ", ".join(table.column_names) == names
        assert bool(remarks) == (names == "column 1, column 2") == (len(table) == data.count("\n"))
    frame = pd.DataFrame({"t": ["a", "", "b" * 20_001, "c", "d"], "y": ["POSITIVE", "1", "0", "1.0", "meh"]})
    rows, remarks = labelled(frame, "t", "y", CLASSES)
    assert rows["id"].tolist() == ["1", "3", "4", "5"] and rows["label"].tolist() == [1, 0, 1, -1]
    assert rows["text"].str.len().tolist() == [1, 20_000, 1, 1]
    assert remarks == [
        "Labels in “y”: 0 = negative, POSITIVE, 1 = positive; 4 of 5 rows.",
        "Labels in “y” that are not one of negative, positive: 'meh' (1 row). Those rows are left out.",
        "Rows without a text that are left out: 1.",
        "1 cell has more than 20,000 characters; only these are read.",
    ]
    assert labelled(frame, "t", "", CLASSES)[0]["label"].tolist() == [-1] * 4
    for table, column, message in ((TABLE, "x", "no column 'x'; its columns are id, review"), (frame[1:2], "t", "No row has a text")):
        refused(InputError, message, labelled, table, column, "", CLASSES)
    unnamed = pd.DataFrame({"a": ["1"], "b": ["a long entry"]})
    assert [guess(table, labels=labels) for table in (TABLE, unnamed) for labels in (False, True)] == ["review", "sentiment", "b", ""]


def parquet(table: pd.DataFrame | pa.Table) -> bytes:
    data = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.Table.from_pandas(table), data)
    return data.getvalue()


def zipped(content: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("a.csv", content)
    return data.getvalue()


def test_what_is_no_table_is_one_sentence() -> None:
    for data, message in [
        *((b"", "is empty"), (b"  \n", "is empty"), (b"text,label\n", "no rows")),
        *((bytes(range(256)), "not a table of text"), (b'a,b\n"x', "table")),
        (b",".join(b"c%d" % i for i in range(20_000)) + b"\n1\n", "20,000 columns; at most 200"),
        (parquet(pa.table({f"c{i}": [1] for i in range(300)})), "300 columns"),
        (parquet(pa.Table.from_arrays([pa.array(["a"])] * 2, names=["t", "t"])), "several columns named 't'"),
        (b"t,label,t\na,b,c\n", "several columns named 't'"),
        (b"text,label\na film, warm, and long,positive\nb,c\n", "Row 2 of x.csv has 4 fields, but its header 2"),
        (b"text,label\n" + b"a,b\n" * 3_000 + b"a,b,c\n", "Row 3,002 of x.csv has 3 fields, but its header 2"),
        (b"text,label\na,b,\n" + b"a,b\n" * 3_000 + b"a,b,c\n", "Row 3,003 of x.csv has 3 fields, but its header 2"),
        (b'text,label\n"a,b\n', "quotation mark in row 2 is never closed"),
        (b",".join(b"c%d" % i for i in range(1_000_000)), "The first line of x.csv has more than 4 MB"),
        (gzip.compress(b"text\n" + b"a" * (100 << 20)), "x.csv is a compressed file. Unpack it first"),
        (zipped(b"text\na\n"), "x.csv is a zip file and not a table. Unpack it first"),
    ]:
        with pytest.raises(InputError, match=message) as error:
            parsed(data, "x.csv", LIMITS)
        assert "\n" not in str(error.value)
    for data, name, sheet, message in [
        (workbook(NOTES, REVIEWS), "x.xlsx", "s1", r"x\.xlsx has no sheet 's1'; .*its sheets are S0, S1\."),
        (b"text\na\n", "x.csv", "S1", r"x\.csv is not an Excel file, so it has no sheet 'S1'\."),
        (workbook([["t"]], [["u"]]), "x.xlsx", "", r"x\.xlsx has a header but no rows\. x\.xlsx has the sheets “S0”, “S1”"),
        (b"PK\x03\x04 no zip", "x.xlsx", "", "x.xlsx is a damaged Excel file"),
        (workbook([["t"], ["<!x"]])[:-40], "x.xlsx", "", "damaged Excel file"),
        (b"\xd0\xcf\x11\xe0 old", "x.xls", "", r"old Excel file \(\.xls\)"),
        (workbook([["t", "t"], ["a", "b"]]), "x.xlsx", "", "several columns named 't'"),
        (workbook([[f"c{k}" for k in range(201)]]), "x.xlsx", "", "more than 200 columns"),
        (b"[1, 2", "x.json", "", "x.json is not JSON"),
        (b'{"a": {"b": 1},\n "c": 2}', "x.json", "", "holds no list of rows"),
        (b'{"t": "a"' + b"".join(b',"c%d": 1' % k for k in range(300)) + b"}\n", "x.jsonl", "", "301 columns"),
    ]:
        refused(InputError, message, parsed, data, name, LIMITS, sheet)
    assert parsed(parquet(TABLE), "mine.parquet", LIMITS)[0].to_pandas().equals(TABLE)
    refused(InputError, r"mine\.parquet is a damaged parquet file", parsed, parquet(TABLE)[:200], "mine.parquet", LIMITS)
    named = pa.table({"text": ["a"]}).replace_schema_metadata({"pandas": json.dumps({"index_columns": ["gone"], "columns": []})})
    assert parsed(parquet(named), "x.parquet", LIMITS)[0]["text"].to_pylist() == ["a"]
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    refused(InputError, "a text in it is not UTF-8", parsed, parquet(pa.table({"text": broken})), "x.parquet", LIMITS)


@pytest.mark.parametrize("data", [b"t" + b",a" * 300 + b"\n", b"t,u\n" + b"a," * 300 + b"\n"], ids=["header", "row"])
def test_a_shape_that_no_table_has_is_refused_before_anything_heavy_is_loaded(data: bytes) -> None:
    code = (
        "import sys\nfrom sentviz.data.table import Limits, parsed\n"
        f"try:\n    parsed({data!r}, 'x.csv', Limits())\nexcept ValueError:\n    print(sorted({{'pandas', 'numpy'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_sheet_that_looks_like_a_table_of_texts_is_read() -> None:
    for shared in [True, False]:
        rows = [["text", "n", "odd"], ["=HYPERLINK(1)", 3, 0.5], [None, None, None], ["a\nb", None, "x"]]
        table, remarks = parsed(workbook(rows, [["other"]], shared=shared), "x.xlsx", LIMITS)
        assert table.to_pydict() == {"text": ["=HYPERLINK(1)", "a\nb"], "n": [3, None], "odd": ["0.5", "x"]}
        assert remarks == ["x.xlsx has the sheets “S0”, “S1”; “S0” is read. `sentviz data add FILE --sheet NAME` reads another one."]
    cases = [([[], NOTES, FIELDS, REVIEWS], "S3"), ([NOTES, UNNAMED], "S1"), ([REVIEWS, NOTES, REVIEWS], "S0")]
    cases += [([NOTES, [["review", "sentiment"]]], "S0"), ([NOTES], "S0")]
    for sheets, read in cases:
        table, remarks = parsed(workbook(*sheets), "x.xlsx", LIMITS)
        assert table.to_pylist()[0] == dict(zip(*sheets[int(read[1:])][:2], strict=True))
        names = ", ".join(f"“S{k}”" for k in range(len(sheets)))
        assert bool(remarks) == (len(sheets) > 1)
        assert not remarks or remarks[0].startswith(f"x.xlsx has the sheets {names}; “{read}” is read.")
        for place, rows in enumerate(sheets):
            if len(rows) > 1:
                assert parsed(workbook(*sheets), "x.xlsx", LIMITS, f"S{place}")[0].num_rows == len(rows) - 1
    data = workbook(NOTES, REVIEWS, edit={"xl/workbook.xml": ('name="S1"', 'name="S1" state="hidden"')})
    assert parsed(data, "x.xlsx", LIMITS)[0].column_names == ["About this file"]
    assert parsed(data, "x.xlsx", LIMITS, "S1")[0].column_names == ["review", "sentiment"]


def test_json_is_read_with_rows_of_different_columns_and_entries_inside() -> None:
    for kind in ["jsonl", "json", "object"]:
        rows: list[dict[str, object]] = [{"text": "a", "n": 1}, {"text": "b", "n": "x", "more": [1, "\u00e9"]}] * 1_500
        data = (
            "\n".join(map(json.dumps, rows)) + "\nno JSON\n"
            if kind == "jsonl"
            else json.dumps({"rows": rows} if kind == "object" else rows)
        )
        table, remarks = parsed(data.encode(), f"x.{kind.replace('object', 'json')}", LIMITS)
        assert table.slice(0, 2).to_pydict() == {"text": ["a", "b"], "n": ["1", "x"], "more": [None, '[1, "\u00e9"]']}
        assert len(table) == 3_000 + (kind == "jsonl") and remarks[0] == "Columns of lists are read as texts: more."
        unread = ["Rows that cannot be read and are left out: 1. The first problem: The line is not JSON."]
        assert remarks[1:] == (unread if kind == "jsonl" else [])
        odd = b'{"text": "a", "x.y": NaN}\n{"text": "b", "x.y": 0.5}\n{"text": "c", "x.y": Infinity}\n'
        odd += b'{"text": "d", "x": {"y": 2}, "x.y": 3}\n'
        table, remarks = parsed(odd, "x.jsonl", LIMITS)  # pandas and NumPy write NaN for a missing cell
        assert table.to_pydict() == {"text": ["a", "b", None, None], "x.y": [None, 0.5, None, None]}
        assert remarks[0].startswith("Rows that cannot be read and are left out: 2.") and "Infinity is not a number of JSON" in remarks[0]
    for kind in ["jsonl", "json", "parquet"]:
        if kind == "parquet":
            data = parquet(pa.Table.from_pylist([{**row, "label": row["label"] or None} for row in NESTED]))
        else:
            data = ("\n".join(map(json.dumps, NESTED)) if kind == "jsonl" else json.dumps(NESTED)).encode()
        table, remarks = parsed(data, f"x.{kind}", LIMITS)
        columns = table.to_pydict()
        assert columns.pop("tags")[0] == '["x"]' or kind == "parquet"
        assert columns == {
            "review.text": ["a calm lake", None, "a loud road"],
            "review.by.id": [7, None, 8],
            "label.sentiment": ["good", "bad", None],
        }
        assert remarks[:2] == [
            "Entries inside other entries became columns: review.text, review.by.id, label.sentiment.",
            "Columns of lists are read as texts: tags.",
        ]
        assert [guess(table.to_pandas(), labels=labels) for labels in (False, True)] == ["review.text", "label.sentiment"]


def test_cells_and_files_are_cut_where_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ["csv", "large_string", "dictionary", "list"]:
        if kind == "csv":
            data = pd.DataFrame({"text": TEXTS, "n": "1234567"}).to_csv(index=False).encode()
        else:
            texts = pa.array([text and [text] for text in TEXTS]) if kind == "list" else pa.array(TEXTS)
            column = texts.dictionary_encode() if kind == "dictionary" else texts if kind == "list" else texts.cast(kind)
            data = parquet(pa.table({"text": column, "n": [12345678] * 4}))
        table, remarks = parsed(data, "x", Limits(cell=6))
        want = ["['" + (text or "")[:4] if kind == "list" else (text or "")[:6] for text in TEXTS]
        want[2] = table["text"][2].as_py() or ""
        assert [text or "" for text in table["text"].to_pylist()] == want
        cut = (4 if kind == "csv" else 0) + 2 + (kind == "list")
        assert remarks[-1] == f"{cut} cells have more than 6 characters; only these are read." and len(remarks) == 1 + (kind == "list")
    data = TABLE.to_csv(index=False).encode()
    table, remarks = parsed(data, "x.csv", Limits(rows=2))
    assert len(table) == 2 and "first 2 rows" in remarks[0]
    assert len(parsed(parquet(pd.concat([TABLE] * 1_000)), "x.parquet", Limits(rows=2))[0]) == 2
    refused(InputError, "at most", read_table, data, "x.csv", Limits(size=10))
    swells = parquet(pa.table({"text": pa.array(["x" * 10_000] * 1_000)}))  # a text that is stored once
    assert len(swells) < 50_000
    refused(InputError, "more than 4 MB of text", parsed, swells, "x.parquet", Limits(content=4 * 2**20))
    sizes: list[int] = []
    read = pq.ParquetFile.iter_batches

    def seen(file: pq.ParquetFile, rows: int) -> Iterator[pa.RecordBatch]:
        sizes.append(rows)
        return read(file, rows)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", seen)
    for length in (10, 2_500_000):
        table, _ = parsed(parquet(pa.table({"text": [f"{k}" * length for k in range(1, 5)]})), "x.parquet", LIMITS)
        assert table["text"].to_pylist() == [f"{k}" * min(length, LIMITS.cell) for k in range(1, 5)]
    assert sizes == [100, 6]


@pytest.mark.exhaustive
def test_a_file_is_read_apart_or_ended_if_it_takes_too_much() -> None:
    frame, remarks = read_table(TABLE.to_csv(index=False, sep=";").encode("cp1252"), "-\0mine.csv")
    pd.testing.assert_frame_equal(frame, TABLE, check_dtype=False)
    assert "cp1252" in remarks[0] and frame.attrs == {"sheets": [], "sheet": ""}
    assert read_table(workbook(NOTES, REVIEWS), "x.xlsx", sheet="S0")[0].attrs == {"sheets": ["S0", "S1"], "sheet": "S0"}
    data = TABLE.to_csv(index=False).encode()
    refused(InputError, r"takes longer than 0\.01 seconds", read_table, data, "x.csv", Limits(seconds=0.01))
    large = parquet(pa.table({"text": ["good film " * 25_000_000]}))
    refused(InputError, "takes more than 700 MB of memory", read_table, large, "x.parquet", Limits(memory=700 * 2**20))


def test_why_a_reader_ended_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, wrote, message in [
        (-signal.SIGXCPU, "", "takes longer than 10 seconds"),
        (-signal.SIGKILL, "", "takes more than 1,280 MB of memory"),
        (-signal.SIGABRT, "terminate called after throwing an instance of 'std::bad_alloc'", "takes more than 1,280 MB of memory"),
        (-signal.SIGSEGV, "", r"its reader stopped early \(Segmentation fault\)\. The file is damaged, or"),
        (1, "Traceback\nKeyError: 'x'", r"its reader stopped early \(KeyError: 'x'\)"),
    ]:
        done = subprocess.CompletedProcess([], status, b"", wrote.encode())
        monkeypatch.setattr(sentviz.data.upload.subprocess, "run", lambda *args, done=done, **settings: done)
        with pytest.raises(InputError, match=rf"^x\.csv .*{message}") as error:
            read_table(b"text\na\n", "x.csv")
        assert "\n" not in str(error.value)


def test_the_reader_of_a_file_writes_a_table_or_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader reads standard input and writes an Arrow stream; it runs in this process here."""
    limited: list[Limits] = []
    monkeypatch.setattr(reader, "_limited", limited.append)

    def run(data: bytes, name: str, sheet: str = "") -> tuple[int, bytes]:
        sent, wrote = SimpleNamespace(buffer=io.BytesIO(data)), SimpleNamespace(buffer=io.BytesIO())
        monkeypatch.setattr(reader.sys, "stdin", sent)
        monkeypatch.setattr(reader.sys, "stdout", wrote)
        return reader.main(name, LIMITS, sheet), wrote.buffer.getvalue()

    data = TABLE.to_csv(index=False, sep=";").encode("cp1252")
    status, stream = run(data, "x.csv")
    read = pa.ipc.open_stream(stream).read_all()
    rows, remarks = parsed(data, "x.csv", LIMITS)
    assert status == 0 and read.equals(rows) and limited == [LIMITS]
    assert {key: json.loads(value) for key, value in read.schema.metadata.items() if key == b"remarks"} == {b"remarks": remarks}
    status, stream = run(workbook(NOTES, REVIEWS), "x.xlsx", "S0")
    assert status == 0 and pa.ipc.open_stream(stream).read_all().column_names == parsed(workbook(NOTES), "x.xlsx", LIMITS)[0].column_names
    assert run(b"", "x.csv") == (reader.REFUSED, b"x.csv is empty.")
    monkeypatch.setattr(reader, "parsed", lambda *_: bytearray(1 << 62))
    assert run(b"a", "x.csv") == (reader.REFUSED, reader.too_large("x.csv", LIMITS).encode())
    *_, name, options = reader.arguments("x.csv", LIMITS, "S0")
    assert name == "sentviz.data.table" and json.loads(options) == {"name": "x.csv", "limits": asdict(LIMITS), "sheet": "S0"}
