"""Exported files are read back and drawn again; the one-file report; figures and traces in notebooks."""

import ast
import base64
import html
import json
import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner

from sentviz.analysis.explain import explained
from sentviz.charts import Figure, heatmap, probability_bars, strip
from sentviz.charts.gallery import code, draw
from sentviz.charts.source import Call, Source
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export import notebook, report
from sentviz.export.embedded_record import _insert, _split, embed_record, extract_record
from sentviz.export.files import render, save
from sentviz.export.record import ChangedError, Record, difference, packed, unpacked
from sentviz.export.report import report_html
from sentviz.export.verify import Verdict, compare_with_runs, verify
from sentviz.models.model import Model
from sentviz.runs.store import Run, find
from sentviz.runs.trace import Trace
from tests.charts import picture, stub
from tests.docs import DOCS
from tests.kit import SHIPPED, refused

RUN = "toy/ndt-unit-2"
BARE = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="9"><g/></svg>',
    "pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Size 2\n/Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
    "png": b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(17) + bytes(4) + b"IEND" + bytes(4),
    "html": b"<!DOCTYPE html><html><head><title>x</title></head><body></body></html>",
}
CUT = "changed, cut or saved again"


@pytest.fixture(scope="module", autouse=True)
def toys(tiny_runs: Path) -> Iterator[None]:
    """Let figures be drawn of the two small runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_RUNS", str(tiny_runs))
        yield


def figure() -> Figure:
    return draw(RUN, "attention", layer=1, head="max")


@pytest.fixture(scope="module")
def files(toys: None) -> dict[str, bytes]:
    """Return a file in every format that has a record; the pictures themselves are empty."""
    record = Record.of(figure())
    return {format: embed_record(data, format, record) for format, data in BARE.items()}


@pytest.mark.parametrize(
    ("of", "name", "options"),
    [
        (RUN, "attention", {"text": "Not bad <at> all.", "heads_off": [(0, 1)], "lambdas": [[1.0, -0.25], [1.0, 0.5]]}),
        (RUN, "curves", {"versus": ("toy/vanilla-matched",), "x": "step"}),
        (RUN, "classes", {"versus": ("toy/vanilla-matched",)}),
        pytest.param("all", "coverage", {}, marks=[pytest.mark.exhaustive, SHIPPED]),
    ],
)
def test_every_subject_is_drawn_again_from_its_record(of: str, name: str, options: dict[str, Any]) -> None:
    record = Record.of(draw(of, name, **options))
    assert Record.read(record.text()).text() == record.text() and compare_with_runs(Record.read(record.text())).state == "equal"
    assert compare_with_runs(replace(record, runs=record.runs[::-1])).state == "equal"
    for gone in record.runs[:1]:
        fewer = compare_with_runs(replace(record, runs=record.runs[1:]))
        why = f"shows a run that is not named in its record: {gone.run!r}." if of != "all" else f"see {gone} (seed"
        assert fewer.state == "differs" and why in fewer.why


def _swap(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old)
    return data.replace(old, new, 1)


def _told(data: bytes, old: str, new: str) -> bytes:
    """Return the page with another text in its record."""
    format, text, rest = _split(data)
    assert text is not None and text.count(old)
    return _insert(rest, format, text.replace(old, new, 1))


def _retold(data: bytes) -> bytes:
    """Return the file with other numbers and their digest in the record."""
    _, record = extract_record(data)
    frame = figure().frame
    numbers = frame.select_dtypes("floating").columns[-1]
    changed = Record.of(replace(figure(), frame=frame.assign(**{numbers: frame[numbers] + 0.1})))
    return _told(_told(data, record.table, changed.table), record.frame, changed.frame)


CHANGES: dict[str, tuple[str, Callable[[bytes], bytes], str, str]] = {
    "a letter of the SVG": ("svg", lambda data: _swap(data, b"<g/>", b"<g />"), "differs", CUT),
    "a pixel of the PNG": ("png", lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:], "differs", CUT),
    "a byte of the PDF": ("pdf", lambda data: _swap(data, b"obj\n<<", b"obj\r<<"), "differs", CUT),
    "words of the page": ("html", lambda data: _swap(data, b"<body>", b"<body>1"), "differs", CUT),
    "a word in the record": ("svg", lambda data: _told(data, '"source": "', '"source": "RETRACTED '), "numbers equal", "Its source is not"),
    "the seed in the record": ("html", lambda data: _told(data, '"seed": 0', '"seed": 1'), "differs", "does not name the runs"),
    "the record's numbers": ("html", _retold, "differs", "first in row 1 ("),
    "the digest alone": ("html", lambda data: _told(data, '"frame": "', '"frame": "0'), "differs", "do not have the stored digest"),
    "the run's digest": (
        "html",
        lambda data: _told(data, f'"digest": "{find(RUN).digest}"', '"digest": "0123"'),
        "cannot be had",
        "digest 0123; the installed run",
    ),
    "a run of another place": (
        "html",
        lambda data: _told(data, '"run": "toy', '"run": "mine'),
        "cannot be had",
        "mine/ndt-unit-2 is not installed",
    ),
    "an option of another kind": ("html", lambda data: _told(data, '"layer": 1', '"layer": {}'), "cannot be had", "cannot be drawn again"),
    "another layer": ("html", lambda data: _told(data, '"layer": 1', '"layer": 0'), "differs", "column attention in"),
    "the end cut off": ("png", lambda data: data[:-8], "differs", CUT),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_found_and_said(change: str, files: dict[str, bytes], tmp_path: Path) -> None:
    format, changed, state, why = CHANGES[change]
    (path := tmp_path / "changed").write_bytes(changed(files[format]))
    verdict = verify(path)
    assert (verdict.state, why in verdict.why) == (state, True), verdict
    assert "\n" not in verdict.why and verdict.why.endswith(".")


def test_foreign_files_are_told_in_a_sentence_and_words_in_a_record_stay_words(tmp_path: Path) -> None:
    (tmp_path / "foreign.png").write_bytes(BARE["png"])
    (tmp_path / "words.txt").write_text("words")
    with (tmp_path / "huge.png").open("wb") as huge:
        huge.truncate(200_000_000)
    messages = {"foreign.png": "has no sentviz record", "words.txt": "neither PNG", "huge.png": "at most 100 MB are read"}
    for name, why in (messages | {"nowhere.png": "It is missing", ".": "It is a folder"}).items():
        verdict = verify(tmp_path / name)
        assert verdict.state == "cannot be had" and why in verdict.why, verdict
    record = Record.of(draw(RUN, "confusion"))
    assert compare_with_runs(replace(record, call=None)).why == "Its record does not say how to draw the figure again."
    bomb = base64.b64encode(zlib.compress(b"0" * 65_000_000)).decode()
    with pytest.raises(InputError, match="numbers in its record are damaged"):
        Record.read(replace(record, table=bomb).text())
    for words in ["</script><script>alert(1)</script>", "</metadata>&amp;", ") >> endobj \\", "긍정 \ud83d"]:
        record = replace(Record.of(probability_bars(["no", "yes"], [0.2, 0.8])), source=words)
        for format, data in BARE.items():
            sealed = embed_record(data, format, record)
            assert extract_record(sealed)[1].source == words and extract_record(sealed)[0] == format
            assert format in ("pdf", "png") or b"</script><script>" not in sealed
            with pytest.raises(ChangedError):
                extract_record(sealed.replace(data[-9:], data[-9:] + b" ", 1) if format != "pdf" else b"%PDF- " + sealed[6:])


def test_the_command_says_it_and_ends_so(tmp_path: Path, files: dict[str, bytes]) -> None:
    good = save(draw(RUN, "verdict", text="A quiet delight."), tmp_path / "good.html")
    (bad := tmp_path / "bad.html").write_bytes(good.read_bytes().replace(b"<body>", b"<body> "))
    done = CliRunner().invoke(main, ["verify", str(good)])
    assert done.exit_code == 0 and f"{good}: equal." in done.output and "text='A quiet delight.'" in done.output
    done = CliRunner().invoke(main, ["verify", str(good), str(bad)])
    assert done.exit_code == 1 and f"{bad}: differs." in done.output
    assert b"digest" not in render(draw(RUN, "verdict"), "csv") and b'"frame"' not in render(draw(RUN, "verdict"), "tex")
    frame, run = figure().frame, find(RUN)
    (path := tmp_path / "drawn.html").write_bytes(render(figure(), "html"))
    for format, data in (files | {"drawn": path.read_bytes()}).items():
        (path := tmp_path / format).write_bytes(data)
        verdict = verify(path)
        assert verdict.state == "equal" and f"({len(frame):,} rows)" in verdict.why
        record = verdict.record
        assert record is not None and record.call == code(RUN, "attention", layer=1, head="max") and record.version
        assert record.runs == (Source(RUN, run.digest, 0, "test split n = 60"),) and record.differs(frame) == ""


def test_where_tables_differ_is_told_by_row_and_column() -> None:
    old = {"name": ["a", "b", "c"], "value": [1.0, 2.0, None], "on": [True, False, True]}
    assert difference(old, old) == "" and difference(old, {**old, "value": [1.0, 2.000001, None]}) == ""
    assert difference(old, {**old, "value": [1.0, 2.5, None]}) == "column value in row 2 (2.0 in the file, 2.5 now), by 0.5 at most"
    assert "column value in 2 rows, first in row 1" in difference(old, {**old, "value": [0.0, 2.0, 3.0]})
    assert difference(old, {**old, "name": ["a", "b", "x"]}) == "column name in row 3 (c in the file, x now)"
    assert difference(old, {**old, "on": [True, True, True]}).startswith("column on in row 2")
    assert "the file has 3 rows, and the installed runs give 2" in difference(old, {name: values[:2] for name, values in old.items()})
    assert "the column on" in difference(old, {"name": old["name"], "value": old["value"]})
    assert difference(old, {name: old[name] for name in ("on", "name", "value")}) == "the file has the columns in another order"
    assert difference(old, old | {"more": [1, 2, 3]}) == "the file has no column more"
    assert difference({"a": [1, "x", True]}, {"a": [1 + 1e-6, 2, 1.5]}) == "column a in 2 rows, first in row 2 (x in the file, 2 now)"
    assert difference({name: [0.0] for name in "abcde"}, {name: [1.0] for name in "abcde"}).endswith("by 1 at most; and in 2 more columns")
    plain = pd.DataFrame({"a": [1, 2], "b": ["x", "<y>"], "c": [0.1, float("nan")], "d": [float("inf"), 1.0]})
    retyped = plain.assign(a=plain["a"].astype("int8"), b=plain["b"].astype("category"), c=plain["c"] + 1e-12)
    assert packed(plain) == packed(retyped) == '{"a":[1,2],"b":["x","<y>"],"c":[0.1,null],"d":["inf",1.0]}'
    mixed = pd.DataFrame({0: [True, None, 123456789, 1.23456789, np.float32(0.5), -np.inf, np.bool_(False)]}, dtype=object)
    assert packed(mixed) == '{"0":[true,null,123456789,1.234568,0.5,"-inf",false]}'
    call = Call("all", "any", {"rows": np.arange(2), "each": (1, {"a": np.int64(3)}), "plain": "<b>"})
    record = Record("n", call, (Source("r", "d", 0, "rows"),), "s", "v", "st", "1.0", "", "", "p", caption="c", calibrated=False)
    written = {"sentviz": "1.0", "name": "n", "source": "s", "view": "v", "style": "st", "frame": "", "table": "", "picture": "p"}
    options = {"rows": [0, 1], "each": [1, {"a": 3}], "plain": "<b>"}
    runs = [{"run": "r", "digest": "d", "seed": 0, "rows": "rows"}]
    written |= {"caption": "c", "call": {"of": "all", "figure": "any", "options": options}, "runs": runs}
    assert json.loads(record.text()) == written and "\\u003cb>" in record.text()
    sheet = Record.of_sheet("sheet", [record], "plain")
    assert json.loads(sheet.text())["panels"] == [written] and sheet.panels == (record,)
    for table in (
        "!",
        b64encode(b"no").decode(),
        b64encode(zlib.compress(b"\xff")).decode(),
        b64encode(zlib.compress(b"a" * 99)[:-9]).decode(),
    ):
        refused(InputError, "^the numbers in its record are damaged$", unpacked, table)


def test_a_sheet_is_as_bad_as_its_worst_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    frame = pd.DataFrame({"value": [1.0, 2.0]})
    figure: Any = stub(frame=frame, runs=(), name="a", source="", caption="words", call=Call("all", "any", {"k": 1}), view="")

    def draw(*of: str, **options: Any) -> Any:
        calls.append((*of, options))
        if error := options.get("error"):
            raise {"no": InputError("No run."), "odd": KeyError("odd")}[error]
        return figure

    every = {"any": stub(of=stub(OF_RUN=False), names=["all"], options={"calibrated": True})}
    monkeypatch.setattr("sentviz.export.verify.FIGURES", every)
    monkeypatch.setattr("sentviz.export.verify.draw", draw)
    monkeypatch.setattr("sentviz.export.verify.runs", dict)
    good, equal = Record.of(figure), "The installed runs give the same numbers (2 rows)."
    changed_by = " Its {} is not the one that this version of sentviz writes."
    odd = "It cannot be drawn again with the options in its record"
    small = Record.of(stub(**vars(figure) | {"frame": frame.head(1)}))
    cases = [
        (good, "equal", equal),
        (replace(good, caption="", calibrated=False), "equal", equal),
        *((replace(good, **{name: "b"}), "numbers equal", equal + changed_by.format(name)) for name in ("name", "source", "caption")),
        (small, "differs", "The installed runs give other numbers: the file has 1 rows, and the installed runs give 2."),
        (replace(good, call=Call("all", "new", {})), "cannot be had", "There is no figure 'new' in this version."),
        (replace(good, call=Call("some", "any", {})), "cannot be had", "It shows 'some', which is not available."),
        (replace(good, call=Call("all", "any", {"error": "no"})), "cannot be had", "It cannot be drawn again: No run."),
        (replace(good, call=Call("all", "any", {"error": "odd"})), "cannot be had", f"{odd} (KeyError)."),
    ]
    for record, state, why in cases:
        assert compare_with_runs(record) == Verdict(state, why, record)
    assert calls[:2] == [("all", "any", {"k": 1}), ("all", "any", {"k": 1, "calibrated": False})]
    same, (named, _, words), (bad, _, changed), (lost, _, unknown) = "The installed runs give the same numbers", cases[2], *cases[5:7]
    for panels, state, why in (
        ([good], "equal", f"{same}."),
        ([good, good], "equal", f"{same} in all 2 panels."),
        ([good, named], "numbers equal", f"{same} in all 2 panels. {words}"),
        ([good, named, lost], "cannot be had", f"Panel c: {unknown}"),
        ([lost, bad, good], "differs", f"Panel b: {changed}"),
        ([good] * 26 + [bad], "differs", f"Panel 27: {changed}"),
    ):
        sheet = Record.of_sheet("sheet", panels)
        assert compare_with_runs(sheet) == Verdict(state, why, sheet)


def test_a_large_table_is_compared_by_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.5]})
    figure = Figure("cloud", picture(go.Figure()), frame, "")
    room = len(Record.of(figure).table)
    monkeypatch.setattr("sentviz.export.record.MAX_PACKED", room)
    assert len(Record.of(figure).table) == room
    monkeypatch.setattr("sentviz.export.record.MAX_PACKED", room - 1)
    record = Record.of(figure)
    assert record.table == "" and record.differs(frame.copy()) == ""
    assert "so the row and column are unknown" in record.differs(frame.assign(x=0.0))


HOSTILE = "a warm </script><script>window.hacked=1</script> <img src=x onerror=hacked()> <!-- & \"song\" 'we' saw $x$ שלום"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PNG = b"\x89PNG"
MARKUP = "<img src=x onerror=alert(1)>"
CHECKS = {
    "figure_for_a_paper": "verdict.state == 'equal' and len(files) == 3",
    "attention_at_work": "trace.probabilities.tolist() != without.probabilities.tolist()",
    "why_negative": "answers['label'].tolist()[:3] == ['positive', 'negative', 'positive'] and flip.label == 'positive'",
    "which_explanation": "judgement.verdict in ('believe', 'doubt', 'unclear') and len(judgement.exact.players) > 5",
}


def figures(page: str) -> list[dict[str, Any]]:
    script = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert script
    drawn: list[dict[str, Any]] = json.loads(script[1])
    return drawn


def words(page: str) -> str:
    body = page.split("<body>")[1].split('<script type="application/json"')[0]
    return unescape(re.sub(r"<[^>]+>", " ", body))


def test_scores_are_chosen_faults_said_and_many_maps_thinned(run: Run, tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = explained(tiny_model, tiny_model.trace("a warm, clever song"), ["removal", "gradient"])
    text = words(report_html(trace, run, scores=["gradient", "removal"]))
    assert 0 < text.index("Gradient × input") < text.index("Word removal") and "Attention received" not in text
    refused(InputError, "Integrated gradients runs the model", report_html, trace, run, scores=["integrated-gradients"])
    trace = explained(tiny_model, tiny_model.trace("a warm song"))
    monkeypatch.setattr(report, "MAX_MAPS", 4)
    page = report_html(trace, run)
    assert "The maps of the single components are left out." in words(page)
    assert sum("layer" in figure["layout"].get("title", {}).get("text", "") for figure in figures(page)) == 2

    def refuse(trace: Trace, name: str) -> None:
        raise InputError(f"No {name} <today>.")

    monkeypatch.setattr(strip, "strip", refuse)
    assert "No received <today>." in words(report_html(explained(tiny_model, tiny_model.trace("a warm song")), run))


def test_a_hostile_text_stays_text(run: Run, tiny_model: Model) -> None:
    page = report_html(explained(tiny_model, tiny_model.trace(HOSTILE)), run)
    body = page.split("<body>")[1].split('<script type="application/json"')[0]
    assert not re.search(r"<(?:script|img|!--)", body) and HOSTILE in words(page)
    assert page.count("</script>") == page.count("<script type=") + 2
    assert "hacked" not in page.split("<body>")[0].split("<title>")[0]


def test_a_trace_is_its_linked_picture_and_a_figure_has_a_fallback(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny_model.trace("a warm song <img src=x onerror=alert(1)>")
    scored = explained(tiny_model, plain)
    for trace, coloured in ((plain, False), (scored, True)):
        bundle = trace._repr_mimebundle_()
        frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" [^<>]*></iframe>', bundle["text/html"])
        assert frame and trace.run in bundle["text/plain"]
        page = html.unescape(frame[1])
        assert "default-src 'none'" in page and "<img" not in page and not re.search(r'(src|href)="(?!data:)', page)
        script = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page)
        assert script and (json.loads(script[1])["scores"] is not None) == coloured
    figure = heatmap(tiny_model.trace("a warm song"), layer=0)
    monkeypatch.setattr(notebook, "find_browser", lambda: "chromium")
    monkeypatch.setattr(notebook, "render", lambda figure, format: b"PNG")
    still = figure._repr_mimebundle_()["text/html"]
    assert f'<img src="data:image/png;base64,{b64encode(b"PNG").decode()}" width="{figure.plot.layout.width}" alt="' in still
    monkeypatch.setattr(notebook, "render", lambda figure, format: (_ for _ in ()).throw(notebook.SentvizError("no browser")))
    bundle = figure._repr_mimebundle_()
    assert "<img" not in bundle["text/html"] and "<table" in bundle["text/html"]


def run_cell(source: str, scope: dict[str, Any]) -> Any:
    """Run a cell as Jupyter does: its statements, then the value of its last line."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], ast.Expr(ast.Constant(None))
    exec(compile(ast.Module(statements, []), "cell", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), scope)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(notebook, "find_browser", lambda: None)
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    scope: dict[str, Any] = {}
    values = [run_cell("".join(cell["source"]), scope) for cell in cells]
    pictures = [value for value in values if hasattr(value, "_repr_mimebundle_")]
    assert len(pictures) >= 2 and all("text/plain" in value._repr_mimebundle_() for value in pictures)
    assert not any(value is False for value in values) and eval(CHECKS[path.stem], scope)
