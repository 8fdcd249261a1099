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


@pytest.mark.parametrize("score", ["removal", "difference"])
def test_explain_says_what_the_model_says(score: str, tiny_run: Path, tiny_model: sentviz.Model) -> None:
    """The output has label, probabilities and a row per token; unknown words are marked, and other scores state their agreement."""
    result = run("explain", tiny_run, "a warm, quixotic song", "--score", score)
    trace = tiny_model.trace("a warm, quixotic song")
    assert result.exit_code == 0 and f"{trace.label.capitalize()}, {probability(trace.confidence)}." in result.output
    assert all(f"{label:>10}" in result.output for label in trace.labels)
    assert set(trace.tokens) <= {line.split()[0] for line in result.output.splitlines() if line.strip()}
    assert result.output.count("not in the vocabulary") == 1 and ("Rank correlation" in result.output) == (score != "removal")


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


MISTAKES = (
    (("explain", "toy/none", "a song"), "no run 'toy/none'"),
    (("explain", "RUN", "  "), "empty"),
    (("explain", "RUN", "a song", "--score", "magic"), "no score 'magic'"),
    (("explain", "PLAIN", "a song", "--score", "difference"), "two components"),
    (("train", "none"), "no recipe"),
    (("train", "sst2", "--model", "magic"), "no model 'magic'"),
    (("train", "BAD"), "is not valid TOML"),
    (("train", "sst2"), "SENTVIZ_DATA"),
    (("evaluate", "RUN", "--split", "magic"), "toy"),
    (("magic",), "No such command"),
    (("explain",), "Missing argument"),
)


def test_a_mistake_is_one_sentence_and_an_exit_code(tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake gives a reason and a code other than 0, without a traceback, and writes nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("SENTVIZ_DATA", "SENTVIZ_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    bad = tmp_path / "bad.toml"
    bad.write_text("dataset = ")
    places = {"RUN": tiny_runs / "toy/ndt-unit-2", "PLAIN": tiny_runs / "toy/vanilla-matched", "BAD": bad}
    for arguments, reason in MISTAKES:
        result = run(*(places.get(a, a) for a in arguments))
        assert result.exit_code != 0 and reason in result.output and "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.toml"]
