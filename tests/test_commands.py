"""The public interface and its commands: each option has an effect, or is refused in one sentence."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

import sentviz
import sentviz.analysis.explain
import sentviz.training
from sentviz.analysis.explain import score
from sentviz.cli import main
from sentviz.io.numbers import percent, probability
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


def test_a_recipe_that_cannot_be_trained_is_refused(trained: list[Recipe], tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    for setting, message in (
        ("widht = 3", "no setting 'widht'"),
        ("heads = 7", "7 heads do not divide"),
        ("vocab_size = 7", "cannot set vocab_size"),
    ):
        path.write_text(f'dataset = "sst2"\n[shape]\n{setting}')
        refused(["train", path], message)
    assert not trained


def test_a_finished_run_is_not_trained_again(trained: list[Recipe], tiny_run: Path) -> None:
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


# ---- explain, export, report ----------------------------------------------------------------------------------------


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


def bars(output: str) -> list[tuple[str, float]]:
    """Return the side and the number of each token's printed bar."""
    rows = [line.partition("|") for line in output.splitlines() if "|" in line]
    return [("-" if "█" in left else "+" if "█" in right else "0", float(right.split()[-1].replace("−", "-"))) for left, _, right in rows]


def test_attention_scores_are_told_from_an_even_share(tiny_run: Path, tiny_model: sentviz.Model) -> None:
    result = run("explain", tiny_run, "a warm, clever song", "--score", "received")
    assert result.exit_code == 0 and "+ more than an even share, - less" in result.output
    values = score(tiny_model.trace("a warm, clever song"), "received")
    drawn = bars(result.output)
    np.testing.assert_allclose([value for _, value in drawn], values - values.mean(), atol=6e-4)
    assert {side for side, _ in drawn} >= {"+", "-"}
    assert all(side == ("+" if value > 0 else "-") for side, value in drawn if abs(value) > 0.05)


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


PACKAGE = Path(sentviz.__file__).parent
HEAVY = set("torch sklearn umap transformers bertviz openTSNE wordcloud kaleido matplotlib huggingface_hub httpx2".split())  # noqa: SIM905


def fresh(code: str, *arguments: str, cwd: Path | None = None) -> str:
    """Return the output of code in a new interpreter, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    path = {"PYTHONPATH": str(PACKAGE.parent), "PATH": "", "HOME": str(cwd or Path.cwd())}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=path, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_resolves() -> None:
    assert dir(sentviz) == sorted(sentviz.__all__)
    for name in sentviz.__all__:
        assert getattr(sentviz, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = sentviz.magic


@pytest.mark.slow
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

    files = PACKAGE.rglob("*.py")
    assert not [(path.name, name) for path in files for name in bare(ast.parse(path.read_text(encoding="utf-8")))]


IMPORTS = {
    "names": "import sentviz; sentviz.catalog, sentviz.Run, sentviz.Trace, sentviz.preset, sentviz.Recipe",
    "scores": (
        "import sys, sentviz; from sentviz.analysis.explain import answer, score;"
        "t = sentviz.find('toy/ndt-unit-2', [sys.argv[1]]).example(); assert score(t, 'received').any() and answer(t)"
    ),
    "command": (
        "import sys; from click.testing import CliRunner; from sentviz.cli import main;"
        "assert 'toy/ndt-unit-2' in CliRunner().invoke(main, ['catalog', '--folder', sys.argv[1]]).output"
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("code", IMPORTS.values(), ids=IMPORTS)
def test_looking_at_stored_runs_loads_nothing_heavy(code: str, tiny_runs: Path, tmp_path: Path) -> None:
    listing = "; import json as j, sys as s; print(j.dumps(sorted({m.partition('.')[0] for m in s.modules})))"
    loaded = set(json.loads(fresh(code + listing, str(tiny_runs), cwd=tmp_path)))
    assert "sentviz" in loaded and not loaded & HEAVY


def test_the_catalog_lists_every_run(tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd" / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    result = run("catalog", "--folder", tiny_runs, "--folder", tmp_path)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    metrics = sentviz.find("toy/ndt-unit-2", [tiny_runs]).metrics()["test"]
    line = next(x for x in lines if x.startswith("toy/ndt-unit-2"))
    assert f"{percent(metrics['accuracy']['value'], 2)}" in line and f" {metrics['n']} " in line
    assert any(x.startswith("! odd/one") and "config.json" in x for x in lines)


@pytest.mark.parametrize("score", ["removal", "difference"])
def test_explain_says_what_the_model_says(score: str, tiny_run: Path, tiny_model: sentviz.Model) -> None:
    result = run("explain", tiny_run, "a warm, quixotic song", "--score", score)
    trace = tiny_model.trace("a warm, quixotic song")
    assert result.exit_code == 0 and f"{trace.label.capitalize()}, {probability(trace.confidence)}." in result.output
    assert all(f"{label:>10}" in result.output for label in trace.labels)
    assert set(trace.tokens) <= {line.split()[0] for line in result.output.splitlines() if line.strip()}
    assert result.output.count("not in the vocabulary") == 1 and ("Rank correlation" in result.output) == (score != "removal")


MISTAKES = (
    (("explain", "toy/none", "a song"), "no run 'toy/none'"),
    (("explain", "RUN", "  "), "empty"),
    (("explain", "RUN", "a song", "--score", "magic"), "no score 'magic'"),
    (("explain", "PLAIN", "a song", "--score", "difference"), "two components"),
    (("train", "none"), "no recipe"),
    (("train", "sst2", "--model", "magic"), "no model 'magic'"),
    (("train", "BAD"), "is not valid TOML"),
    (("train", "sst2", "-o", "OUT"), "SENTVIZ_DATA"),
    (("evaluate", "RUN", "--split", "magic"), "toy"),
    (("magic",), "No such command"),
    (("explain",), "Missing argument"),
)


def test_a_mistake_is_one_sentence_and_an_exit_code(tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("SENTVIZ_DATA", "SENTVIZ_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    bad = tmp_path / "bad.toml"
    bad.write_text("dataset = ")
    places = {"RUN": tiny_runs / "toy/ndt-unit-2", "PLAIN": tiny_runs / "toy/vanilla-matched", "BAD": bad, "OUT": tmp_path / "out"}
    for arguments, reason in MISTAKES:
        result = run(*(places.get(a, a) for a in arguments))
        assert result.exit_code != 0 and reason in result.output and "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path != bad]
