"""The public interface: names, docstrings, light imports, the command."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import sentviz
from sentviz.analysis.explain.headline import edit_sentence, searched
from sentviz.cli import main
from sentviz.io.numbers import percent, probability
from sentviz.runs.target import Target
from tests.shipped import often

PACKAGE = Path(sentviz.__file__).parent
HEAVY = {
    "torch",
    "sklearn",
    "umap",
    "transformers",
    "bertviz",
    "openTSNE",
    "wordcloud",
    "kaleido",
    "matplotlib",
    "huggingface_hub",
    "httpx2",
}


def fresh(code: str, *arguments: str, cwd: Path | None = None) -> str:
    """Return the output of code in a new interpreter, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    path = {"PYTHONPATH": str(PACKAGE.parent), "PATH": "", "HOME": str(cwd or Path.cwd())}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=path, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_resolves() -> None:
    """`sentviz.__all__` equals `dir`, sorted, and each name exists; others are AttributeErrors."""
    assert dir(sentviz) == sorted(sentviz.__all__)
    for name in sentviz.__all__:
        assert getattr(sentviz, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = sentviz.magic


@pytest.mark.slow
def test_everything_public_has_a_docstring() -> None:
    """Every public module, class, function and method has a docstring. What the test of a claim tests is the statement above it."""
    bare: list[str] = []

    def visit(body: list[ast.stmt], where: str) -> None:
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
                continue
            if isinstance(node, ast.FunctionDef) and node.end_lineno == node.body[0].lineno == node.lineno:
                continue  # a protocol's one-line stub
            if node.name.startswith("judge_") and node.decorator_list:
                continue
            if not ast.get_docstring(node):
                bare.append(f"{where}.{node.name}")
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{where}.{node.name}")

    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not ast.get_docstring(tree):
            bare.append(path.name)
        visit(tree.body, path.stem)
    assert not bare


IMPORTS = {
    "import": "import sentviz, sentviz.errors, sentviz.runs.store, sentviz.runs.trace, sentviz.training.recipe",
    "names": "import sentviz; sentviz.catalog, sentviz.Run, sentviz.Trace, sentviz.preset, sentviz.Recipe",
    "catalog": "import sys, sentviz; assert len(sentviz.catalog([sys.argv[1]])) >= 2",
    "example": "import sys, sentviz; assert sentviz.find('toy/ndt-unit-2', [sys.argv[1]]).example().map(0).any()",
    "scores": (
        "import sys, sentviz; from sentviz.analysis.explain import answer, score;"
        "t = sentviz.find('toy/ndt-unit-2', [sys.argv[1]]).example(); assert score(t, 'received').any() and answer(t)"
    ),
    "help": (
        "from click.testing import CliRunner; from sentviz.cli import main;assert 'catalog' in CliRunner().invoke(main, ['--help']).output"
    ),
    "command": (
        "import sys; from click.testing import CliRunner; from sentviz.cli import main;"
        "assert 'toy/ndt-unit-2' in CliRunner().invoke(main, ['catalog', '--folder', sys.argv[1]]).output"
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("code", often(IMPORTS.values(), *(IMPORTS[name] for name in ("names", "scores", "command"))), ids=IMPORTS)
def test_looking_at_stored_runs_loads_nothing_heavy(code: str, tiny_runs: Path, tmp_path: Path) -> None:
    """A new interpreter loads neither torch nor scikit-learn nor another large library for any of these."""
    listing = "; import json as j, sys as s; print(j.dumps(sorted({m.partition('.')[0] for m in s.modules})))"
    loaded = set(json.loads(fresh(code + listing, str(tiny_runs), cwd=tmp_path)))
    assert "sentviz" in loaded and not loaded & HEAVY


def run(*arguments: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_the_catalog_lists_every_run(tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue has a line per run with accuracy, interval, n, parameters and seed; unreadable folders are below, with the reason."""
    (tmp_path / "odd" / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    result = run("catalog", "--folder", tiny_runs, "--folder", tmp_path)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    metrics = sentviz.find("toy/ndt-unit-2", [tiny_runs]).metrics()["test"]
    line = next(x for x in lines if x.startswith("toy/ndt-unit-2"))
    assert f"{percent(metrics['accuracy']['value'], 2)}" in line and f" {metrics['n']} " in line
    assert any(x.startswith("! odd/one") and "config.json" in x for x in lines)


@pytest.mark.parametrize("score", ["removal", "received", "first-layer", "difference"])
def test_explain_says_what_the_model_says(score: str, tiny_run: Path, tiny_model: sentviz.Model) -> None:
    """The output has label, probabilities and a row per token; unknown words are marked, and other scores state their agreement."""
    result = run("explain", tiny_run, "a warm, quixotic song", "--score", score)
    assert result.exit_code == 0, result.output
    trace = tiny_model.trace("a warm, quixotic song")
    assert f"{trace.label.capitalize()}, {probability(trace.confidence)}." in result.output
    assert all(f"{label:>10}" in result.output for label in trace.labels)
    for token in trace.tokens:
        assert any(line.split()[:1] == [token] for line in result.output.splitlines())
    assert result.output.count("not in the vocabulary") == 1
    assert ("Rank correlation" in result.output) == (score != "removal")


def test_explain_searches_the_smallest_edit(tiny_run: Path, tiny_model: sentviz.Model) -> None:
    """With --edit, the sentence says the class and the probability of the edited text, as its own prediction has them."""
    text = "a warm song"
    sentence = sentviz.smallest_edit(tiny_model, text)
    assert f"Smallest edit: {sentence}" in run("explain", tiny_run, text, "--edit").output
    flip = searched(tiny_model, tiny_model.trace(text))
    assert flip.edits
    again = tiny_model.trace(flip.text)
    assert again.label != tiny_model.trace(text).label
    assert sentence.startswith(f"{flip.words[0].upper()}{flip.words[1:]} it would be {again.label} ({probability(again.confidence)}).")
    target = Target(again.label)
    aimed = sentviz.smallest_edit(tiny_model, text, target=target)
    assert aimed == edit_sentence(replace(flip, goal=target))
    assert f"Smallest edit: {aimed}" in run("explain", tiny_run, text, "--edit", "--target", again.label).output
    assert "There is no class 'lukewarm'" in run("explain", tiny_run, text, "--edit", "--target", "lukewarm").output


def test_explain_says_what_it_did_not_read(tiny_run: Path) -> None:
    """The command says how many tokens of a long text were not read."""
    result = run("explain", tiny_run, "warm song " * 30)
    assert result.exit_code == 0 and "last 44 tokens were not read" in result.output


MISTAKES = {
    "an unknown run": (("explain", "toy/none", "a song"), "no run 'toy/none'"),
    "an empty sentence": (("explain", "RUN", "  "), "empty"),
    "an unknown score": (("explain", "RUN", "a song", "--score", "magic"), "no score 'magic'"),
    "a score the model lacks": (("explain", "PLAIN", "a song", "--score", "difference"), "two components"),
    "an unknown recipe": (("train", "none"), "no recipe"),
    "an unknown preset": (("train", "sst2", "--model", "magic"), "no model 'magic'"),
    "a recipe that is no TOML": (("train", "BAD"), "is not valid TOML"),
    "an unknown split": (("evaluate", "RUN", "--split", "magic"), "toy"),
    "an unknown command": (("magic",), "No such command"),
    "a missing argument": (("explain",), "Missing argument"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence_and_an_exit_code(name: str, tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake gives a reason and a code other than 0, without a traceback, and writes nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "none"))
    bad = tmp_path / "bad.toml"
    bad.write_text("dataset = ")
    places = {"RUN": tiny_runs / "toy/ndt-unit-2", "PLAIN": tiny_runs / "toy/vanilla-matched", "BAD": bad}
    arguments, reason = MISTAKES[name]
    result = run(*(places.get(a, a) for a in arguments))
    assert result.exit_code != 0 and reason in result.output and "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.toml"]


def test_missing_data_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training a shipped recipe without its data set names the missing files and the command."""
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    result = run("train", "sst2", "-o", tmp_path / "out")
    assert result.exit_code != 0 and "SENTVIZ_DATA" in result.output and "Traceback" not in result.output
