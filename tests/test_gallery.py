"""Every figure is registered by name, drawn and listed, and refused in a sentence if a run lacks its needs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sentviz.charts.gallery import FIGURES, code, draw
from sentviz.charts.registry import figure
from sentviz.charts.subjects import SUBJECTS, Sentence
from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from tests.kit import refused


def sentviz_(*arguments: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_name_is_there_once_and_can_be_part_of_a_link() -> None:
    refused(InputError, "two figures 'strip'", lambda: figure("strip", "again", Sentence)(lambda of, *, theme="light": None))

    for name in ("mine/map", "..", "My map", "", "strip-", "karte-ä"):
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
    with pytest.raises(SentvizError) as caught:
        draw(run, name, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


# ---- code and command


def test_the_lines_of_a_notebook_leave_out_defaults() -> None:
    for name, spec in FIGURES.items():
        lines = str(code("a/b", name, **{each.name: each.default for each in spec.options.values()}))
        assert lines.splitlines()[2] == f"figure = draw('a/b', {name!r})" and ast.parse(lines)
    assert "theme='dark'" in str(code("a/b", "strip", theme="dark"))
    refused(InputError, "takes no nonsense", code, "a/b", "strip", nonsense=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("strip", "--layer", "2"), "The figure strip takes no layer"),
        (("attention", "-O", "side"), "NAME=VALUE"),
        (("attention", "-O", "hide_specials=perhaps"), "hide_specials must be yes or no, not 'perhaps'"),
        (("strip", "-O", "lambdas=1"), "lambdas must be given in a notebook"),
        (("curves", "-O", "series=a"), "series must be a whole number, or several joined by commas, not 'a'."),
        (("difference", "--versus", "a/b", "--versus", "c/d"), "compares with one run: give --versus once"),
    ],
)
def test_options_are_checked_against_the_figure(arguments: tuple[str, ...], message: str, tiny_run: Path, tmp_path: Path) -> None:
    done = sentviz_("export", tiny_run, *arguments, "-o", tmp_path / "figure.csv")
    assert done.exit_code and message in done.output and not list(tmp_path.iterdir())


def test_the_list_has_every_figure() -> None:
    listed = sentviz_("figures").output
    assert all(f" {name} " in listed for name in FIGURES) and all(subject.SAYS in listed for subject in SUBJECTS)
