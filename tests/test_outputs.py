"""Outputs are as stored: help and output of commands, files that they write, pages, and data of views in the browser.

`pytest tests/test_outputs.py --bless` stores what the code gives now in `tests/data/outputs.json`. Numbers of models are equal to 1e-3.
"""

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import MISSING, asdict, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.analysis.epochs import epoch_series, examples
from sentviz.browser import bertviz, canvas
from sentviz.browser.bertviz import bertviz_height, bertviz_html
from sentviz.browser.canvas import Scene, canvas_data, canvas_html, scene_of
from sentviz.browser.film import Film, through_data, through_html
from sentviz.browser.particles import animation_html, positions_frame
from sentviz.browser.points import points_data, points_html
from sentviz.charts import gains, heatmap, operating, token_strip
from sentviz.charts import scene as token_scene
from sentviz.charts.source import Call, Source
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export import comparison, notebook, report
from sentviz.export.embedded_record import embed_record
from sentviz.export.files import render
from sentviz.export.record import Record
from sentviz.export.report import report_html
from sentviz.models.clustering import simulate
from sentviz.models.loading import load
from sentviz.runs.configs import CONFIGS, Capabilities
from sentviz.runs.presets import VARIANTS, preset, presets
from sentviz.runs.store import Run
from sentviz.serving.corpus.engines import score
from sentviz.serving.corpus.inputs import all_fields, survey
from sentviz.serving.corpus.output import OutputOptions
from sentviz.serving.corpus.summary import heads as over_heads
from sentviz.serving.corpus.summary import totals
from sentviz.serving.corpus.summary import words as over_words
from sentviz.training.recipe import Recipe, recipe_names
from sentviz.verbs import VERBS
from sentviz.verbs.rows import _judged
from tests.charts import stub
from tests.injected import use_injected_data, write_lexicon
from tests.kit import fake_trace, tagged_rows
from tests.stored import DATA, compare, summary

RUNS = Path(__file__).parent / "golden" / "runs"
NDT, FUSED, HARDMAX = "toy/ndt-unit-2-epochs", "toy/cls-last-scaled-gated-aware", "toy/hardmax-d2"
TEXT, SECOND = "'what a warm garden and a dull song'", "'a cold, dull soup'"
SCRIPT = re.compile(r"<(script|style)(?: type=\"text/javascript\")?>.*?</\1>|'sha256-[^']*'|v?\d+\.\d+\.\d+(?:\.dev\d+)?", re.DOTALL)
LOADED = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
NAMES = {"NDT": NDT, "FUSED": FUSED, "HARDMAX": HARDMAX, "TEXT": TEXT, "SECOND": SECOND}
COMMANDS = (DATA / "commands.txt").read_text(encoding="utf-8").splitlines()
TYPED = [re.sub("|".join(NAMES), lambda name: NAMES[name[0]], command) for command in COMMANDS]
PAIR = fake_trace(9).replace(text_pair="and another", segments=(np.arange(9) >= 5).astype(np.int64))
SOURCES = (Source("a/b", "19ca14883bf0", 0, "test split n = 9"),)
RECORD = Record("verdict", Call("a/b", "verdict", {"text": "<x> & y"}), SOURCES, "Of a run.", "/explore", "", "0.1.0", "ab" * 16, "")
BARE = {
    "html": b"<!DOCTYPE html><html><head><title>x</title></head></html>",
    "svg": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9"><g/></svg>',
    "pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Size 2\n/Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(21) + b"IEND" + bytes(4),
}


def parts(value: Any, *places: Path) -> Any:
    """Return an answer for a summary: of a page its text and the data that its scripts draw, without the scripts and folders."""
    if isinstance(value, bytes):
        value = value.decode("utf-8-sig", errors="replace")
    if not isinstance(value, str):
        return value
    for place in places:
        value = value.replace(str(place), "")
    value = re.sub(r"in \S+ s \(\S+ rows per second\)", "", value)
    data = [json.loads(each) for each in LOADED.findall(value)]
    return [LOADED.sub("", SCRIPT.sub("", value)), data]


def commands(group: click.Group = main, before: str = "") -> Iterator[str]:
    """Yield every command and group of commands as it is typed."""
    yield before.strip()
    for name, each in group.commands.items():
        yield from commands(each, f"{before} {name}") if isinstance(each, click.Group) else [f"{before} {name}".strip()]


def test_the_help_the_verbs_presets_and_recipes_are_as_stored(request: pytest.FixtureRequest) -> None:
    helps = {typed: CliRunner().invoke(main, [*typed.split(), "--help"], terminal_width=120).output for typed in commands()}
    compare("outputs.json", "help", {typed: summary(text) for typed, text in helps.items()}, request)
    takes = {name: [[repr(vars(each)) for each in verb.arguments], verb.help] for name, verb in VERBS.items()}
    clean = {name: re.sub(r"<[^<>]* at 0x\w+>|PosixPath|WindowsPath", "", repr(value)) for name, value in takes.items()}
    compare("outputs.json", "verbs", {name: summary(value) for name, value in clean.items()}, request)
    now = {name: summary(asdict(preset(name, vocab_size=90, classes=2, max_length=16))) for name in presets()}
    now |= {
        name: summary([(each.name, each.type, each.default) for each in fields(kind) if each.default is not MISSING])
        for name, kind in CONFIGS.items()
    }
    compare("outputs.json", "presets", now, request)
    variants = {name: Recipe.read("sst2", model="ndt-free-3", variant=name).as_dict() for name in VARIANTS if name != "whole-words"}
    read = {name: Recipe.read(name).as_dict() for name in recipe_names()} | variants
    compare("outputs.json", "recipes", {name: summary(recipe) for name, recipe in read.items()}, request)


@pytest.mark.parametrize("typed", TYPED)
def test_a_command_prints_and_writes_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, request: pytest.FixtureRequest
) -> None:
    shutil.copytree(RUNS, tmp_path / "runs")
    write_lexicon(tmp_path / "data")
    for name, value in {"RUNS": "runs", "DATA": "data", "HOME": "home", "MODELS": "models"}.items():
        monkeypatch.setenv(f"SENTVIZ_{name}", str(tmp_path / value))
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-browser"))
    monkeypatch.setattr("sentviz.runs.store.SHIPPED", tmp_path / "nowhere")
    use_injected_data(monkeypatch)
    (work := tmp_path / "work").mkdir()
    monkeypatch.chdir(work)
    two, words = ("negative", "positive"), ["warm", "dull"] * 20
    rows = [(f"a {word} song {i}", two[i % 2], two[i // 2 % 2]) for i, word in enumerate(words)]
    frame = pd.DataFrame(rows, columns=["text", "label", "a_predicted"]).assign(b_predicted="positive")
    frame.loc[40] = ["", "positive", "positive", "positive"]
    frame.to_csv("answers.csv", index=False)
    many = {"text": [row[0] for row in rows * 3], "label": [row[1] for row in rows * 3], "product": ["phone", "game", "song"] * 40}
    pd.DataFrame(many).assign(p_negative=np.linspace(0.98, 0.02, 120), p_positive=np.linspace(0.02, 0.98, 120)).to_csv(
        "many.csv", index=False
    )
    shutil.copytree(DATA / "exported", "exported")
    Path("scores.json").write_text(json.dumps({"text": "a warm song", "tokens": ["a", "warm", "song"], "scores": [0.1, 2.0, -0.5]}))
    before = {*work.rglob("*")}
    done = CliRunner().invoke(main, shlex.split(typed))
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception
    now = {"output": summary([parts(done.output, tmp_path), done.exit_code])}
    for path in sorted({*work.rglob("*")} - before):
        if path.suffix in (".csv", ".html", ".tex", ".json", ".md"):
            now[path.name] = summary(parts(path.read_bytes(), tmp_path))
        elif path.suffix == ".parquet":
            now[path.name] = summary(pd.read_parquet(path).to_dict("list"))
    compare("outputs.json", typed, now, request, 1e-3)


def dots(n: int = 30) -> pd.DataFrame:
    label, predicted = np.arange(n) % 3 - 1, np.arange(n) % 2
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(n)], "label": label, "predicted": predicted, "right": label == predicted})
    return frame.assign(confidence=np.linspace(0.5, 1, n), length=np.arange(n) + 1, text="a <i>warm</i> song " * 20)


def points(colour: str) -> dict[str, Any]:
    at = [np.c_[np.sin(np.arange(30.0)), np.cos(np.arange(30.0)), np.arange(30.0)][:, : 2 + (colour == "length")] for _ in range(2)]
    options: dict[str, Any] = {"layers": ["embedding", "layer 1"], "layer": 1, "colour": colour, "title": "Rows", "picture": "pca"}
    if colour == "label":
        outline, star = (1, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), ("mine", {1: (0.5, 0.5)})
        options |= {"axes": {1: ("one", "two")}, "chosen": np.arange(30) < 9, "outline": outline, "star": star, "more": True}
    return points_data(dots(), at, classes=("negative", "positive"), **options)


def tokens(n: int, **options: Any) -> token_scene.Scene:
    """Return a scene of tokens that approach leaders."""
    clustering = simulate(np.random.default_rng(0).normal(size=(n, 2)))
    means = clustering.positions.mean(axis=1)
    shares = 1 / (1 + np.exp(-means.sum(axis=1)))
    words = [f"word{i}" for i in range(n)]
    return token_scene.scene_of(clustering, words, "A review", decision=(np.ones(2), 0.1), means=means, probabilities=shares, **options)


def film() -> Film:
    run = Run.open(RUNS / NDT, NDT)
    return Film("toy & <b>", epoch_series(run), examples(run)[0], run.history(), run.capabilities.scalars, layer=1)


def example(name: str) -> Any:
    run = Run.open(RUNS / name, name)
    return scene_of(run.example(), run.capabilities)


def bundle() -> Any:
    shown_as = token_strip(["a", "<b>"], [0.5, -1.0])._repr_mimebundle_()
    return [shown_as["text/html"], shown_as["text/plain"], sorted(shown_as)]


def maps_of_reports() -> Any:
    """Return the maps of reports of traces with numbers of tokens, layers and components, and of a run without maps."""
    sizes = ((24, 2, 2), (25, 2, 2), (24, 1, 1), (3, 8, 2), (3, 9, 2), (3, 24, 1), (3, 25, 1), (3, 2, 2))
    of = [stub(trace=fake_trace(n, each, components=c), run=stub(capabilities=stub(maps=True))) for n, each, c in sizes]
    of[-1].run = stub(name="a<b", capabilities=stub(maps=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "make", lambda name, of, **options: repr((name, options)))
        return [list(report._maps(each, lambda figure, columns=1: f"{figure} {columns}")) for each in of]


def parts_that_differ() -> Any:
    """Return what a page says of the rows on which sources differ, by the number of their trainings."""
    every = {"both": np.ones(9, dtype=bool), "differ": np.zeros(9, dtype=bool), "none": np.zeros(9, dtype=bool)}
    of = [
        stub(parts=lambda: every, part_in_words="of {}".format, n=9, candidates=[stub(trainings=[0] * n), stub(trainings=[0])])
        for n in (1, 2)
    ]
    return [list(comparison.differences(each)) for each in of]


GAINS = ("value", "low", "high", "other")


def curve(n: int) -> pd.DataFrame:
    return pd.DataFrame({"x": np.linspace(0, 1, n) ** 3, "y": np.linspace(0, 1, n)})


def titled_strip() -> str:
    plot = token_strip(["a", "<b>"], [0.5, -1.0], removed=[(1, "@you")], title="a title of many words " * 9).plot
    return str([list(plot.data[0].customdata), plot.layout.height, plot.layout.margin.t, plot.layout.margin.b])


def limits_of_views() -> Any:
    """Return what views make of many tokens, of tags for breaks, and of wrong numbers, and the heights of BertViz's views."""
    has = Capabilities(layers=2, heads=4, components=2)
    text = fake_trace(tokens=["a", "<br />", "<br", "/>", "song"], seed=3).replace(text="a <br /> <br /> song")
    answers: list[Any] = [canvas_data(Scene(text, has))["breaks"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canvas, "SIDE", 5)
        falls = np.array([0.1, 0.5, -2.0], dtype=np.float32)
        for n in (5, 6, 12):
            data = canvas_data(Scene(fake_trace(n), has, units=[(1,), (2, 3), (4,)], falls=falls, pinned=n - 1))
            answers += [data["maps"], str([data[name] for name in ("pick", "rows", "pinned", "units")]), str(data["maps"]["shown"])]
        patch.setattr(canvas, "WEIGHTS", 200)
        answers.append(str(canvas_data(Scene(fake_trace(12), has))["maps"]["shown"]))
    places, scores = np.array([0, 1, 1, 1, 1, 2]), np.array([0.0, 1.5, 1.5, 1.5, 1.5, -0.5], dtype=np.float32)
    parted = scene_of(text.replace(token_scores={"units": scores}, units={"units": places}), has, "units")
    answers.append(str([parted.units, parted.falls, parted.scale]))
    wrong: list[dict[str, Any]] = [{"units": [(0,), (0, 1)]}, {"units": [(5,)]}, {"pinned": 5}, {"pinned": -1}]
    wrong += [{name: np.zeros((9, 9))} for name in ("scores", "tones", "falls", "before")] + [{"heads": stub(falls=np.zeros(3))}]
    for options in wrong:
        with pytest.raises(InputError) as error:
            Scene(fake_trace(5), has, **options)
        answers.append(str(error.value))
    sizes = ((9, 1, 1), (19, 2, 4), (60, 2, 4), (300, 6, 8))
    views: tuple[Any, ...] = ("head", "model", "neuron")
    answers.append(str([[bertviz_height(fake_trace(n), view, *size) for view in views] for n, *size in sizes]))
    for most in ("LINES", "WEIGHTS"):
        for view in views:
            with pytest.MonkeyPatch.context() as patch, pytest.raises(InputError) as error:
                patch.setattr(bertviz, most, 100 if most == "WEIGHTS" else dict.fromkeys(views, 100))
                bertviz._check(fake_trace(9).replace(keys=np.zeros((2, 4, 9, 5), dtype=np.float32)), view, 2, 4)
            answers.append(str(error.value))
    return answers


def scored() -> Any:
    """Return what is written about the rows of a file, and what is read of it and of a file of lines."""
    review = [f"a {word} song" for word in ("warm", "dull", "cold", "warm", "clever", "hollow")] + [" "]
    with TemporaryDirectory() as place:
        rows, lines = Path(place) / "in.parquet", Path(place) / "in.txt"
        pd.DataFrame({"review": review, "label": [0, 1, 1, 0, 0, 1, 1]}).to_parquet(rows, row_group_size=2)
        lines.write_text("\n".join(review[:3]))
        options, log = OutputOptions(vectors=True, attention=True, words=True, reasons=True), list[Any]()
        call = {"text": "review", "label": "label", "options": options, "rows": 3}
        out = score(Run.open(RUNS / NDT, NDT), [rows], Path(place) / "out", **call, progress=lambda *done: log.append(done))
        surveys = [survey(file.name, file, rows=2) for file in (rows, lines)]
        parts = [all_fields(source, piece) for source in surveys for piece in source.pieces]
        tables = (
            pd.read_parquet(out.folder),
            over_heads(out, lambda *done: log.append(done)),
            over_words(out).frame,
            over_words(out, 1).frame,
        )
        return [[table.to_dict("list") for table in tables], parts, log, totals(out).confusion]


MADE: dict[str, Callable[[], Any]] = {
    "limits of views": limits_of_views,
    "strip with a long title": titled_strip,
    "diagonal": lambda: str(vars(operating.diagonal("guess"))),
    "long curves": lambda: [operating._thinned(curve(n), "x", "y").to_dict("list") for n in (400, 401, 900)],
    "gains in points": lambda: [gains._in_points(pd.DataFrame({key: [0.25] for key in names})).to_dict() for names in (GAINS, GAINS[:1])],
    "maps of reports": maps_of_reports,
    "parts that differ": parts_that_differ,
    "bertviz heads": lambda: bertviz_html(fake_trace(7, layers=3, heads=2, signed=True), "head"),
    "bertviz model": lambda: bertviz_html(fake_trace(7, layers=3, heads=2), "model", 0, layers=[2], heads=[1, 0]),
    "bertviz pair": lambda: bertviz_html(PAIR, theme="dark"),
    "bertviz neurons": lambda: bertviz_html(load(RUNS / NDT).trace("a warm song", projections=True), "neuron", 0),
    **{f"canvas {name}": lambda name=name: canvas_data(example(name), acts=True) for name in (NDT, FUSED)},
    "canvas page": lambda: canvas_html(example(NDT), about="ours", theme="dark"),
    **{f"points by {colour}": lambda colour=colour: points(colour) for colour in ("label", "right", "confidence", "length")},
    "points page": lambda: points_html(points("label"), about="ours"),
    "tokens page": lambda: animation_html(tokens(6, labels=("negative", "positive")), about="ours"),
    "tokens": lambda: positions_frame(simulate(np.eye(3)), "abc").to_dict("list"),
    "film": lambda: through_data(film(), asks=True),
    "film page": lambda: through_html(film(), about="ours", theme="dark"),
    "page of a figure": lambda: render(heatmap(fake_trace(tokens=["a", "<b>"]), 0), "html"),
    "csv of a figure": lambda: render(heatmap(fake_trace(tokens=["=a", "<b>"]), 0), "csv"),
    "tex of a figure": lambda: render(heatmap(fake_trace(tokens=["a_b", "50% & more"]), 0), "tex"),
    "cell of a notebook": bundle,
    "scored": scored,
    "judged": lambda: vars(_judged([replace(tagged_rows(), total=40), replace(tagged_rows(1, run="toy/b"), total=40)]))["lines"],
    "report": lambda: report_html(Run.open(RUNS / FUSED).example(), Run.open(RUNS / FUSED)),
    **{
        f"record in {format}": lambda format=format, data=data: embed_record(data, format, RECORD).decode("latin-1")
        for format, data in BARE.items()
    },
}


@pytest.mark.parametrize("name", MADE)
def test_an_output_is_as_stored(name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "find_browser", lambda: None)
    compare("outputs.json", name, {"output": summary(parts(MADE[name]()))}, request, 1e-3)
