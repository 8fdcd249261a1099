"""Figures and traces in notebooks, and the notebooks of docs/, cell by cell."""

from __future__ import annotations

import ast
import html
import json
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from sentviz.analysis.explain import explained
from sentviz.charts import heatmap
from sentviz.export import notebook
from sentviz.models.model import Model
from tests.docs import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
PNG = b"\x89PNG"
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that no Chrome is installed."""
    monkeypatch.setattr(notebook, "find_browser", lambda: None)


def test_a_trace_is_its_linked_picture(tiny_model: Model) -> None:
    plain = tiny_model.trace(f"a warm song {MARKUP}")
    scored = explained(tiny_model, plain)
    for trace, coloured in ((plain, False), (scored, True)):
        bundle = trace._repr_mimebundle_()
        frame = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" [^<>]*></iframe>', bundle["text/html"])
        assert frame and trace.run in bundle["text/plain"]
        page = html.unescape(frame[1])
        assert "default-src 'none'" in page and "<img" not in page and not re.search(r'(src|href)="(?!data:)', page)
        script = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page)
        assert script and (json.loads(script[1])["scores"] is not None) == coloured


def run_cell(source: str, scope: dict[str, Any]) -> Any:
    """Run a cell as Jupyter does: its statements, then the value of its last line."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        statements, last = [*statements, last], ast.Expr(ast.Constant(None))
    exec(compile(ast.Module(statements, []), "cell", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), scope)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, no_browser: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Every cell runs in order and shows its last value; the notebook is stored without outputs, and its own checks pass."""
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    scope: dict[str, Any] = {}
    values = [run_cell("".join(cell["source"]), scope) for cell in cells]
    pictures = [value for value in values if hasattr(value, "_repr_mimebundle_")]
    assert len(pictures) >= 2 and all("text/plain" in value._repr_mimebundle_() for value in pictures)
    assert not any(value is False for value in values)
    assert eval(CHECKS[path.stem], scope)


CHECKS = {
    "figure_for_a_paper": "verdict.state == 'equal' and len(files) == 3",
    "attention_at_work": "trace.probabilities.tolist() != without.probabilities.tolist()",
    "why_negative": "answers['label'].tolist()[:3] == ['positive', 'negative', 'positive'] and flip.label == 'positive'",
    "which_explanation": "judgement.verdict in ('believe', 'doubt', 'unclear') and len(judgement.exact.players) > 5",
}


def test_the_picture_of_a_figure_is_a_fallback(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = heatmap(tiny_model.trace("a warm song"), layer=0)
    monkeypatch.setattr(notebook, "find_browser", lambda: "chromium")
    monkeypatch.setattr(notebook, "render", lambda figure, format: PNG)
    still = figure._repr_mimebundle_()["text/html"]
    assert f'<img src="data:image/png;base64,{b64encode(PNG).decode()}" width="{figure.plot.layout.width}" alt="' in still
    monkeypatch.setattr(notebook, "render", lambda figure, format: (_ for _ in ()).throw(notebook.SentvizError("no browser")))
    bundle = figure._repr_mimebundle_()
    assert "<img" not in bundle["text/html"] and "<table" in bundle["text/html"]
