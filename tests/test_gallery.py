"""Every figure is registered by name, drawn and listed, and refused in a sentence if a run lacks its needs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import sentviz
from sentviz.charts.gallery import FIGURES, FigureSpec, code, draw
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.subjects import SUBJECTS, Sentence
from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from sentviz.runs.store import find
from tools.syntax import nodes

pytestmark = pytest.mark.slow

DRAWN = Path(sentviz.__file__).parent / "charts"


def sentviz_(*arguments: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def public() -> set[str]:
    """Return every public function of sentviz.charts that draws a figure."""
    return {
        node.name
        for path in DRAWN.glob("*.py")
        if path.stem != "gallery"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns is not None
        if ast.unparse(node.returns) == "Figure"
    }


def test_every_figure_has_a_name() -> None:
    """Every drawing function is called by a figure that is registered."""
    sources = [*DRAWN.glob("*.py"), *DRAWN.parent.glob("papers/*/figures.py")]
    called = {ast.unparse(node.func) for path in sources for node in nodes(path.read_text("utf-8")) if isinstance(node, ast.Call)}
    assert public() and public() <= called


def test_a_name_is_there_once() -> None:
    with pytest.raises(InputError, match="two figures 'strip'"):
        figure("strip", "again", Sentence)(lambda of, *, theme="light": None)


@pytest.mark.parametrize("name", ["mine/map", "..", "My map", "", "strip-", "karte-ä"])
def test_a_name_that_no_file_and_no_link_can_have_is_refused_at_registration(name: str) -> None:
    with pytest.raises(InputError, match="may have only small letters and digits with hyphens"):
        figure(name, "mine", Sentence, "strip:token_strip")(lambda of, *, theme="light": None)
    assert name not in FIGURES


# ---- what cannot be drawn


@pytest.mark.parametrize(
    ("run", "name", "options", "message"),
    [
        ("sst2/ndt-unit-2", "atention", {}, "There is no figure 'atention'; similar names: attention, "),
        ("sst2/ndt-unit-2", "strip", {"layer": 1}, "The figure strip takes no layer; it takes text, pair"),
        ("sst2/ndt-unit-2", "sigma", {}, "sst2/ndt-unit-2 has no lexicon"),
        ("sst2/vanilla", "lambda", {}, "sst2/vanilla has no lambda."),
        ("sst2/vanilla", "scalars", {}, "sst2/vanilla has no learned scalars."),
        ("sst2/vanilla", "gate-lines", {}, "sst2/vanilla has no gates."),
        ("sst2/vanilla", "component-words", {}, "one attention map per head"),
        ("imdb/hardmax-d2", "smoother", {}, "is not a softmax"),
        ("sst2/ndt-unit-2", "particles", {}, "`sentviz train imdb --model hardmax-d2`"),
        ("sst2/ndt-unit-2-s1", "head-grid", {}, "`sentviz heads sst2/ndt-unit-2-s1` measures them"),
        ("sst2/ndt-unit-2-s1", "attention", {}, "without weights. `sentviz train`"),
        ("sst2/ndt-unit-2", "agreement", {}, "name the second run with versus"),
        ("sst2/ndt-unit-2", "accuracy-grid", {}, "takes imdb, sst2, "),
        ("sst2", "roc-panels", {}, "takes all, not 'sst2'"),
        ("sst2/ndt-unit-2", "confusion", {"over": "train"}, "no stored predictions for the split 'train'"),
        ("sst2/ndt-unit-2", "attention", {"layer": 9}, "sst2/ndt-unit-2: "),
        ("sst2/ndt-unit-2", "strip", {"score": "shap"}, "There is no score 'shap'"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(run: str, name: str, options: dict[str, Any], message: str) -> None:
    """The error says what is missing, and names the command that makes it if there is one."""
    with pytest.raises(SentvizError) as caught:
        draw(run, name, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_need_is_asked_in_order() -> None:
    """The error names the first missing need: those of the subject come before those of the figure."""
    spec = FigureSpec(
        "x",
        "x",
        Sentence,
        lambda of: None,
        (RunRequirement("one", lambda run: "first."), RunRequirement("two", lambda run: "second.")),
    )
    assert spec.lacks(find("sst2/ndt-unit-2")) == "first."
    assert "without weights" in spec.lacks(find("sst2/ndt-unit-2-s1"))


# ---- code and command


def test_the_lines_of_a_notebook_leave_out_defaults() -> None:
    for name, spec in FIGURES.items():
        lines = str(code("a/b", name, **{each.name: each.default for each in spec.options.values()}))
        assert lines.splitlines()[2] == f"figure = draw('a/b', {name!r})" and ast.parse(lines)
    assert "theme='dark'" in str(code("a/b", "strip", theme="dark"))
    with pytest.raises(InputError, match="takes no nonsense"):
        code("a/b", "strip", nonsense=1)


def test_the_list_says_what_a_run_can_give() -> None:
    everything = sentviz_("figures").output
    assert all(f" {name} " in everything for name in FIGURES)
    assert all(subject.SAYS in everything for subject in SUBJECTS)
    of_run = sentviz_("figures", "imdb/hardmax-d2").output
    assert "✓ particles" in of_run and "✗ sigma" in of_run and "imdb/hardmax-d2 has no lexicon" in of_run
    assert "✗" not in of_run[of_run.index("Figures of a paper's study") :]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("strip", "--layer", "2"), "The figure strip takes no layer"),
        (("confusion", "--text", "a song"), "The figure confusion takes no text"),
        (("attention", "-O", "side"), "NAME=VALUE"),
        (("attention", "-O", "side=wide"), "side must be a whole number, not 'wide'."),
        (("attention", "-O", "hide_specials=perhaps"), "hide_specials must be yes or no, not 'perhaps'"),
        (("strip", "-O", "lambdas=1"), "lambdas must be given in a notebook"),
        (("reliability", "-O", "by=size"), "by must be width or mass, not 'size'."),
        (("curves", "-O", "series=a"), "series must be a whole number, or several joined by commas, not 'a'."),
        (("difference", "--versus", "a/b", "--versus", "c/d"), "compares with one run: give --versus once"),
        (("nothing",), "There is no figure 'nothing'"),
    ],
)
def test_options_are_checked_against_the_figure(arguments: tuple[str, ...], message: str, tiny_run: Path, tmp_path: Path) -> None:
    done = sentviz_("export", tiny_run, *arguments, "-o", tmp_path / "figure.csv")
    assert done.exit_code and message in done.output and not list(tmp_path.iterdir())
