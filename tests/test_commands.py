"""Options of the commands that make and show runs: each has an effect, or is refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import sentviz.analysis.explain
import sentviz.training
from sentviz.analysis.explain import score
from sentviz.analysis.explain.exact import exact
from sentviz.cli import main
from sentviz.training.recipe import Recipe


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refused(arguments: Sequence[str | Path], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0 and isinstance(result.exception, SystemExit), result.output
    assert message in result.output


# ---- train ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """Collect the recipes that training gets, without training."""
    recipes: list[Recipe] = []

    def stop(recipe: Recipe, *_: Any, **__: Any) -> None:
        recipes.append(recipe)
        raise KeyboardInterrupt

    monkeypatch.setattr(sentviz.training, "train", stop)
    return recipes


def test_options_reach_the_recipe(trained: list[Recipe], tmp_path: Path) -> None:
    """The lexicon is the model's unless it is named; `--keep-epochs` reaches both kinds of models; a recipe of another paper is named."""
    run("train", "fused_sst2", "--model", "cls-last-scaled", "--lexicon", "lexicon_en_opinion", "-o", tmp_path)
    run("train", "fused_sst2", "--model", "cls-last-scaled", "-o", tmp_path)
    for model in ("vanilla-matched", "hardmax-d2"):
        run("train", "sst2", "--model", model, "--keep-epochs", "3", "-o", tmp_path)
    notes = [run("train", recipe, "--model", "cnn", "-o", tmp_path).stderr for recipe in ("imdb", "sentiformer_imdb")]
    assert [recipe.lexicon for recipe in trained[:2]] == ["lexicon_en_opinion", "lexicon_en_vader"]
    models = [(recipe.model, recipe.keep_epochs, recipe.learning_rate) for recipe in trained[1:]]
    assert [each[:2] for each in models[:3]] == [("cls-last-scaled", 0), ("vanilla-matched", 3), ("hardmax-d2", 3)]
    assert models[3:] == [("cnn", 0, 5e-4), ("cnn", 0, 1e-4)]
    assert "sentiformer_imdb; imdb is another paper's." in notes[0] and "recipe for this data set" not in notes[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--keep-epochs -1", "is not in the range"),
        ("--injection nonsense --lexicon nonsense", "--injection needs --hub"),
        ("--lexicon lexicon_en_vader", "vanilla-matched has no injection, so --lexicon"),
        ("--model hardmax-d2 --variant equal", "has no lambda with a start value"),
        ("--model hardmax-d2 --lexicon lexicon_en_vader", "does not take --lexicon"),
        ("--model hardmax-d2 --injection last", "does not take --injection"),
        ("--model hardmax-d2 --device cuda", "does not take --device"),
        ("--hub someone/model --model cls", "A Hugging Face model does not take --model"),
        ("--hub someone/model --variant 512", "A Hugging Face model does not take --variant"),
        ("--seed 9223372036854775808", "is not in the range"),
    ],
)
def test_an_option_without_a_meaning_is_refused(options: str, message: str, trained: list[Recipe], tmp_path: Path) -> None:
    refused(["train", "sst2", "-o", tmp_path / "runs", *options.split()], message)
    assert not trained and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ('dataset = "sst2"\n[shape]\nwidht = 3', "no setting 'widht'"),
        ('dataset = "sst2"\n[shape]\nheads = 7', "7 heads do not divide"),
        ('dataset = "sst2"\n[shape]\nvocab_size = 7', "shape cannot set vocab_size"),
    ],
)
def test_a_recipe_that_cannot_be_trained_is_refused(recipe: str, message: str, trained: list[Recipe], tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(recipe)
    refused(["train", path], message)
    assert not trained


def test_a_finished_run_is_not_trained_again(trained: list[Recipe], tiny_run: Path) -> None:
    """The command says that the run was trained already, and prints its numbers."""
    recipe = json.loads((tiny_run / "config.json").read_text())["recipe"]
    lines = [f"{name} = {json.dumps(value)}" for name, value in recipe.items() if name != "shape"]
    lines += ["[shape]", *(f"{name} = {json.dumps(value)}" for name, value in recipe["shape"].items())]
    path = tiny_run.parent / "again.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = run("train", path, "-o", tiny_run.parents[1])
    path.unlink()
    assert result.exit_code == 0, result.output
    assert "was already trained with this recipe" in result.output and "accuracy" in result.output
    assert not trained


def test_threads_count_for_every_kind_of_model(monkeypatch: pytest.MonkeyPatch, trained: list[Recipe], tmp_path: Path) -> None:
    import torch

    seen: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    for options in ((), ("--model", "hardmax-d2"), ("--hub", tmp_path)):
        run("train", "sst2", "--threads", "2", "-o", tmp_path, *options)
    assert seen == [2, 2, 2]


# ---- explain, export, report ----------------------------------------------------------------------------------------


def bars(output: str) -> list[tuple[str, float]]:
    """Return the side and the number of each token's printed bar."""
    rows = [line.partition("|") for line in output.splitlines() if "|" in line]
    return [("-" if "█" in left else "+" if "█" in right else "0", float(right.split()[-1].replace("−", "-"))) for left, _, right in rows]


def test_attention_scores_are_told_from_an_even_share(tiny_run: Path, tiny_model: sentviz.Model) -> None:
    """The command prints the bars of the figure: a token left of the line received less than an even share."""
    result = run("explain", tiny_run, "a warm, clever song", "--score", "received")
    assert result.exit_code == 0 and "+ more than an even share, - less" in result.output
    values = score(tiny_model.trace("a warm, clever song"), "received")
    drawn = bars(result.output)
    np.testing.assert_allclose([value for _, value in drawn], values - values.mean(), atol=6e-4)
    assert {side for side, _ in drawn} >= {"+", "-"}
    assert all(side == ("+" if value > 0 else "-") for side, value in drawn if abs(value) > 0.05)


def test_exact_values_of_a_class_are_printed(tiny_run: Path, tiny_model: sentviz.Model) -> None:
    """--method exact prints the values of the chosen class, their sum, what happens to absent words, and the pairs that interact."""
    result = run("explain", tiny_run, "a warm song", "--method", "exact", "--target", "negative", "--absent", "padded")
    trace = tiny_model.trace("a warm song").for_target(sentviz.analysis.explain.Target("negative"))
    wanted = exact(tiny_model, trace, absent="padded")
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose([value for _, value in bars(result.output)], wanted.scores, atol=6e-4)
    assert "as they should (gap 0.0000)" in result.output and "Absent words are replaced by" in result.output
    assert wanted.summary in result.output


def test_unknown_classes_and_methods_of_explain_are_named(tiny_run: Path) -> None:
    for options, message in (
        ("--target joyful", "There is no class 'joyful'"),
        ("--target negative --against negative", "cannot be compared with itself"),
        ("--absent masked", "--absent belongs to --method exact"),
        ("--method exact --absent gone", "'gone' is not one of"),
        ("--pair another", "reads single texts"),
    ):
        refused(["explain", tiny_run, "a song", *options.split()], message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("attention --layer 9", "has the layers 1 to 2, not 9."),
        ("attention --layer 0", "layer must be a number from 1, not '0'."),
        ("attention --head 3", "has the heads 1 to 2, not 3."),
        ("attention --head +1", "head must be a number from 1, or mean or max, not '+1'."),
        ("smoother --head mean", "head must be a number from 1, not 'mean'."),
        ("smoother -O query=1.5", "query must be a number from 1, not '1.5'."),
        ("token-step -O token=", "token must be a number from 1, not ''."),
        ("overview --component 4", "has the components 1 to 2, not 4."),
        ("strip --pair another", "--pair is the second sentence of a pair. Give the first sentence with --text"),
        ("strip --text song --pair another", "reads single texts"),
    ],
)
def test_what_a_run_does_not_have_is_counted_as_the_user_counts(options: str, message: str, tiny_run: Path, tmp_path: Path) -> None:
    refused(["export", tiny_run, *options.split(), "-o", tmp_path / "figure.csv"], message)
    assert not list(tmp_path.iterdir())
    last = ("--layer", "2", "--head", "2", "--component", "2")
    assert run("export", tiny_run, "attention", *last, "-o", tmp_path / "figure.csv").exit_code == 0
