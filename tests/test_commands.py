"""The public interface and its commands: each option has an effect, or is refused in one sentence."""

import ast
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

import sentviz
import sentviz.analysis.explain
import sentviz.training
from sentviz.cli import main
from sentviz.training.recipe import Recipe


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def refused(arguments: Sequence[str | Path], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0 and isinstance(result.exception, SystemExit), result.output
    assert message in result.output


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
        ("--hub someone/model --model cls", "A Hugging Face model does not take --model"),
        ("--seed 9223372036854775808", "is not in the range"),
    ],
)
def test_an_option_without_a_meaning_is_refused(options: str, message: str, trained: list[Recipe], tmp_path: Path) -> None:
    refused(["train", "sst2", "-o", tmp_path / "runs", *options.split()], message)
    assert not trained and not (tmp_path / "runs").exists()


def test_a_recipe_that_cannot_be_trained_is_refused(trained: list[Recipe], tmp_path: Path, tiny_run: Path) -> None:
    path = tmp_path / "own.toml"
    for setting, message in (
        ("widht = 3", "no setting 'widht'"),
        ("heads = 7", "7 heads do not divide"),
        ("vocab_size = 7", "cannot set vocab_size"),
    ):
        path.write_text(f'dataset = "sst2"\n[shape]\n{setting}')
        refused(["train", path], message)
    assert not trained
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


def test_threads_and_settings_reach_a_hugging_face_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    def finetune(*arguments: Any, **settings: Any) -> None:
        seen.extend([arguments, settings])
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "set_num_threads", seen.append)
    monkeypatch.setattr(sentviz.training, "finetune", finetune)
    run("train", "sst2", "--hub", "someone/model", "--threads", "2", "--seed", "3", "--length", "40", "--quiet", "-o", tmp_path)
    wanted = {"device": "", "progress": False, "seed": 3, "max_length": 40, "lexicon": "", "injection": ""}
    assert seen == [2, ("someone/model", "sst2", tmp_path), wanted]


def test_unknown_classes_and_methods_of_explain_are_named(tiny_run: Path) -> None:
    for options, message in (
        ("--target joyful", "There is no class 'joyful'"),
        ("--target negative --against negative", "cannot be compared with itself"),
        ("--absent masked", "--absent belongs to --method exact"),
        ("--method exact --absent gone", "'gone' is not one of"),
        ("--pair another", "reads single texts"),
    ):
        refused(["explain", tiny_run, "a song", *options.split()], message)
    refused(["report", tiny_run, "a song", "--pair", "a dull one", "-o", "report.html"], "reads single texts")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("attention --layer 9", "has the layers 1 to 2, not 9."),
        ("attention --head +1", "head must be a number from 1, or mean or max, not '+1'."),
        ("smoother --head mean", "head must be a number from 1, not 'mean'."),
        ("smoother -O query=1.5", "query must be a number from 1, not '1.5'."),
        ("strip --pair another", "--pair is the second sentence of a pair. Give the first sentence with --text"),
        ("strip --text song --pair another", "reads single texts"),
    ],
)
def test_what_a_run_does_not_have_is_counted_as_the_user_counts(options: str, message: str, tiny_run: Path, tmp_path: Path) -> None:
    refused(["export", tiny_run, *options.split(), "-o", tmp_path / "figure.csv"], message)
    assert not list(tmp_path.iterdir())
    last = ("--layer", "2", "--head", "2", "--component", "2")
    assert run("export", tiny_run, "attention", *last, "-o", tmp_path / "figure.csv").exit_code == 0


def test_every_public_name_resolves() -> None:
    assert dir(sentviz) == sorted(sentviz.__all__)
    for name in sentviz.__all__:
        assert getattr(sentviz, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = sentviz.magic


def test_everything_public_has_a_docstring() -> None:
    """Except stubs of protocols and tests of claims, which the statements above them describe."""

    def bare(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
        if not ast.get_docstring(tree):
            yield getattr(tree, "name", "module")
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield from bare(node)
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.end_lineno != node.lineno:
                claim = node.name.startswith("judge_") and node.decorator_list
                if not claim and not ast.get_docstring(node):
                    yield node.name

    files = Path(sentviz.__file__).parent.rglob("*.py")
    assert not [(path.name, name) for path in files for name in bare(ast.parse(path.read_text(encoding="utf-8")))]


def test_a_mistake_is_one_sentence_and_an_exit_code(tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("SENTVIZ_DATA", "SENTVIZ_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    bad = tmp_path / "bad.toml"
    bad.write_text("dataset = ")
    places = {"RUN": tiny_runs / "toy/ndt-unit-2", "PLAIN": tiny_runs / "toy/vanilla-matched", "BAD": bad, "OUT": tmp_path / "out"}
    for arguments, reason in (
        (("explain", "toy/none", "a song"), "no run 'toy/none'"),
        (("explain", "RUN", "  "), "empty"),
        (("explain", "PLAIN", "a song", "--score", "difference"), "two components"),
        (("train", "none"), "no recipe"),
        (("train", "sst2", "--model", "magic"), "no model 'magic'"),
        (("train", "BAD"), "is not valid TOML"),
        (("train", "sst2", "-o", "OUT"), "SENTVIZ_DATA"),
        (("evaluate", "RUN", "--split", "magic"), "toy"),
    ):
        result = run(*(places.get(a, a) for a in arguments))
        assert result.exit_code != 0 and reason in result.output and "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path != bad]
