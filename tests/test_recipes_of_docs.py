"""The recipes of docs/CONTRIBUTING.md, followed: their code blocks go where the steps say, and what they promise is there."""

import shutil
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
import streamlit as st
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import sentviz
from app import places
from sentviz.analysis.explain import score
from sentviz.analysis.explain.gradients import integrated_gradients
from sentviz.charts.gallery import FIGURES, code, draw
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import InputError
from sentviz.models.loading import NETWORKS
from sentviz.runs import configs as shapes
from sentviz.runs import registry
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe
from tests.docs import ROOT, Block, blocks
from tests.kit import PAGES, opened, refused, sane, toy_splits, use_toy_data, words

TEXT = "what a warm, clever song, and never a dull soup"


def run_block(block: Block, folder: Path, package: types.ModuleType, patch: pytest.MonkeyPatch) -> None:
    """Put a module of a recipe into a package, from a folder beside it."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")
    patch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
    name = f"{package.__name__}.{path.stem}"
    patch.delitem(sys.modules, name, raising=False)
    import_module(name)


def into(module: types.ModuleType, block: Block, patch: pytest.MonkeyPatch) -> None:
    """Run a block as if it stood at the end of a module."""
    assert module.__file__ and Path(module.__file__).samefile(ROOT / block.file)
    names = dict(vars(module))
    exec(compile(block.text, block.file, "exec", dont_inherit=True, flags=__import__("__future__").annotations.compiler_flag), names)
    for name in names.keys() - vars(module).keys():
        patch.setattr(module, name, names[name], raising=False)


@pytest.fixture
def lengths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The figure of the recipe, registered."""
    before = dict(FIGURES)
    module, _ = blocks("Add a figure")
    run_block(module, tmp_path, import_module("sentviz.charts"), monkeypatch)
    (name,) = FIGURES.keys() - before.keys()
    yield name
    FIGURES.clear()
    FIGURES.update(before)
    del sys.modules["sentviz.charts.lengths"]


@pytest.mark.exhaustive
def test_a_figure_is_drawn_listed_and_exported(lengths: str, tiny_run: Path, tmp_path: Path) -> None:
    figure = draw(str(tiny_run), lengths, text=TEXT)
    assert figure.frame["letters"].tolist() == [len(token) for token in sentviz.load(tiny_run).trace(TEXT).tokens]
    assert "digest" in figure.source and lengths in str(code("a/b", lengths))
    commands = blocks("Add a figure")[1].text.splitlines()
    assert commands[0] == "sentviz figures" and f"sst2/ndt-unit-2 {lengths}" in commands[1]
    assert lengths in CliRunner().invoke(main, ["figures"]).output
    for suffix in ("html", "csv"):
        out = tmp_path / f"lengths.{suffix}"
        done = CliRunner().invoke(main, ["export", str(tiny_run), lengths, "--text", TEXT, "-O", "least=5", "-o", str(out)])
        assert done.exit_code == 0, done.output
    assert set(pd.read_csv(tmp_path / "lengths.csv")["token"]) == {"clever", "never"}
    assert "Letters of each token" in (tmp_path / "lengths.html").read_text(encoding="utf-8")


@pytest.mark.exhaustive
def test_a_page_shows_it(lengths: str, tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, entry = blocks("Add a page")
    shutil.copytree(ROOT / "app", tmp_path / "app")
    (tmp_path / script.file).write_text(script.text, encoding="utf-8")
    (view,) = eval(f"({entry.text.strip()})", vars(places))  # The recipe shows it as an item of a place's views.
    monkeypatch.setattr(places, "SENTENCE", replace(places.SENTENCE, views=(*places.SENTENCE.views, view)))
    places.places.cache_clear()
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))
    st.cache_resource.clear()
    app = AppTest.from_file(str(tmp_path / "app" / "navigation.py"), default_timeout=60)
    app.query_params["run"] = "toy/ndt-unit-2"
    app.run()
    app.switch_page("views/sentence/lengths.py").run()
    assert not app.exception, app.exception
    app.text_input(key="lengths-sentence").set_value(TEXT).run()
    assert not app.exception and not app.warning
    page_text = words(app).replace("\\", "")
    assert "toy/ndt-unit-2" in page_text and "How many letters" in page_text
    assert f"Letters of {len(TEXT.replace(',', ' ,').split())} tokens" in page_text and app.session_state["focus"].text == TEXT
    assert {f"export-{lengths}-{format}" for format in ("html", "csv", "png")} <= {button.key for button in app.get("download_button")}
    assert entry.file == "app/places.py" and any(lengths in block.value for block in app.code)
    places.places.cache_clear()
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of runs with a trained bag of words and an encoder beside it; the kind of the recipe is registered."""
    root = tmp_path_factory.mktemp("bag")
    with pytest.MonkeyPatch.context() as patch:
        shape, kinds, network, place, preset, _ = blocks("Add a model")
        into(shapes, shape, patch)
        config_type = eval(kinds.text.partition("=")[2], vars(shapes))
        assert kinds.file == shape.file and set(get_args(config_type)) > set(get_args(shapes.ModelConfig))
        for each in get_args(config_type):
            patch.setitem(shapes.CONFIGS, each.KIND, each)
        run_block(network, root, import_module("sentviz.models"), patch)
        assert place.file == "sentviz/models/loading.py"
        for name, value in eval(f"{{{place.text}}}").items():
            patch.setitem(NETWORKS, name, value)
        presets = registry.read_paper((ROOT / preset.file).parent).presets
        for name, values in tomllib.loads(preset.text)["presets"].items():
            patch.setitem(presets, name, registry.Preset(**values))
        splits = toy_splits()
        splits["official_test"] = replace(splits["test"], split="official_test")
        patch.setattr(datasets, "load_split", lambda name, split: splits[split])
        patch.setenv("SENTVIZ_RUNS", str(root / "runs"))
        train(recipe(), root / "runs", progress=False)
        train(recipe("vanilla-matched", variant="512"), root / "runs", progress=False)
        st.cache_resource.clear()
        yield root / "runs"
        del sys.modules["sentviz.models.bag"]
    st.cache_resource.clear()


def recipe(model: str = "bag", **changes: Any) -> Recipe:
    """Return the recipe of a few steps on the made-up data, read as the command reads it."""
    shape = {"width": 16} | ({"heads": 2, "ffn_width": 24} if model != "bag" else {})
    settings = {"min_count": 1, "epochs": 6, "batch_size": 16, "max_length": 24, "learning_rate": 1e-2, "log_every": 5}
    return Recipe.read("sst2", model=model, shape=shape, **settings | changes)


@pytest.mark.exhaustive
def test_a_model_is_trained_opened_explained_and_drawn(bag: Path, tmp_path: Path) -> None:
    run, model = Run.open(bag / "sst2" / "bag"), sentviz.load("sst2/bag", folders=bag)
    assert run.shape.KIND == "bag" and not run.capabilities.maps and run.configuration == "bag"
    assert run.metrics()["test"]["accuracy"]["value"] > 0.8 and model.predict([TEXT])["label"][0] in run.labels
    trace = model.trace(TEXT)
    assert not trace.has_maps and abs(integrated_gradients(model, trace).gap) < 1e-2
    refused(InputError, "needs attention maps, and sst2/bag has none", score, trace, "rollout")
    run = Run.open(bag / "sst2" / "bag", "sst2/bag")
    lacking = {name: why for name, spec in FIGURES.items() if spec.of.OF_RUN and (why := spec.lacks(run))}
    assert {"attention", "overview", "smoother", "difference", "head-habits", "lambda", "particles", "sigma", "head-grid"} <= lacking.keys()
    assert all("sst2/bag" in why for why in lacking.values()) and "no attention" in lacking["component-words"]
    drawable = {name for name, spec in FIGURES.items() if spec.of.OF_RUN and name not in lacking}
    assert {"verdict", "strip", "verdict-by-layer", "curves", "confusion"} <= drawable
    empty = {name for name in drawable if FIGURES[name].make.__module__.endswith(".word_clouds")} | {"label-errors", "weak-slices"}
    for name in drawable - empty:  # of the made-up rows no word, label or slice stands out
        versus = {"versus": ("sst2/vanilla-matched-512",)} if name in ("agreement", "comparison") else {}
        assert not draw("sst2/bag", name, **versus).frame.empty
    for page in PAGES:
        sane(opened(page, run="sst2/bag", versus="sst2/vanilla-matched-512", text=TEXT))
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch, pairs=True)
        with pytest.raises(InputError, match="bag reads single texts; sst2 has pairs"):
            train(recipe(), tmp_path, progress=False)
