"""The paper's models by name: what each ablation lacks, counted; prints as they stand; a run with its tagger, whole and damaged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import sentviz
from sentviz.data.parts_of_speech import TAGS
from sentviz.errors import RunError
from sentviz.models.encoder import Encoder
from sentviz.papers.sentiformer.study import ABLATIONS
from sentviz.papers.studies.items import makers
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import preset
from sentviz.runs.printed import printed
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe
from tests.kit import toy_recipe, use_toy_data
from tests.shipped import ASKABLE

PAPER = find_paper("sentiformer")
pytestmark = pytest.mark.slow

TEXT = "what a warm, clever song we saw!"
SMALL = {"width": 16, "layers": 2, "heads": 2, "ffn_width": 24, "window": 2}


def count(name: str) -> int:
    config = preset(name, vocab_size=1000, classes=5, max_length=512)
    assert isinstance(config, EncoderConfig)
    return Encoder(config).parameters_count()


def test_parameters_of_the_whole_and_of_each_ablation() -> None:
    """The number of parameters is the one counted in the test: d = 256, 6 layers, FFN of 1,024, biases, two LayerNorms and a gate each,
    tags.
    """
    d, layers, wide = 256, 6, 1024
    layer = 4 * d * d + 4 * d + 2 * d * wide + wide + d
    norms, gates, aware = layers * 2 * 2 * d, layers * d, len(TAGS) * d + 3
    whole = 1000 * d + layers * layer + norms + gates + aware + 5 * d + 5
    assert count("sentiformer") == whole
    lacks = {"sentiformer-sinusoid": aware, "sentiformer-no-gate": gates, "sentiformer-full": 0, "sentiformer-no-norm": norms}
    assert {name: whole - count(name) for name in ABLATIONS} == lacks
    assert 67_000 * d + whole - 1000 * d == pytest.approx(22e6, rel=0.01), "the printed 22 M would take 67,000 tokens"


@pytest.mark.parametrize("dataset", sorted(name for name in PAPER.recipes() if not Recipe.read(f"sentiformer_{name}").base))
def test_all_compared_have_one_budget(dataset: str) -> None:
    """The recipes of a study's models differ only in the network and its inputs."""
    settings = [
        {key: value for key, value in Recipe.read(f"sentiformer_{dataset}", model=model).as_dict().items() if key not in ("model", "cls")}
        for model in PAPER.presets
    ]
    assert all(each == settings[0] for each in settings)
    assert settings[0]["select"] == "loss" and settings[0]["patience"] == 3 * settings[0]["evaluations"]


def test_prints() -> None:
    wanted = {
        ("sst5_trees", "sentiformer"): [92.3],
        ("sst5_trees_binary", "sentiformer-no-norm"): [88.4],
        ("imdb", "cnn"): [88.0],
        ("imdb", "sentiformer-full"): [],
        ("sst2", "cnn"): [],
    }
    for (data, model), percent in wanted.items():
        assert (100 * printed(data, model)["value"]).tolist() == pytest.approx(percent)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        shape: dict[str, Any] = SMALL
        return train(toy_recipe("sentiformer", shape=shape, cls=True), tmp_path_factory.mktemp("runs"), progress=False)


@pytest.mark.exhaustive
def test_a_run_carries_its_tagger_and_its_scalars(run: Run) -> None:
    assert run.config["tagger"] == {"version": "english-1", "tags": list(TAGS)} and run.capabilities.tags
    model = sentviz.load(run)
    assert model.tagger is not None
    trace = model.trace(TEXT)
    assert trace.tags[0] == "" and "ADJ" in trace.tags
    history = run.history()
    for name in ("alpha", "beta", "gamma"):
        curve = history[history["name"] == name]
        assert curve["value"].iloc[0] == 1 and len(curve) > 3 and set(curve["layer"]) == {-1}
        assert curve["value"].iloc[-1] != 1


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_run_without_its_tagger_is_one_sentence(damage: str, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "toy" / "sentiformer"
    shutil.copytree(run.folder, folder)
    (folder / "tagger.json.gz").unlink()
    if damage == "changed":
        (folder / "tagger.json.gz").write_bytes(b"tags")
    with pytest.raises(RunError, match=r"toy/sentiformer: .*tagger\.json\.gz"):
        sentviz.load(Run.open(folder, "toy/sentiformer"))


@pytest.mark.exhaustive
def test_items_of_one_run_are_exported() -> None:
    """The sarcastic sentence and the three failure modes are drawn of a SentiFormer, Proposition 2 is a table of what is stored."""
    run = next(run for run in ASKABLE if run.name == "sst5_trees/sentiformer")
    items_of = {name: makers(PAPER)[name]([run]) for name in ("example", "proposition-2", "failure-modes")}
    assert {name: len(items) for name, items in items_of.items()} == {"example": 2, "proposition-2": 1, "failure-modes": 1}
    assert {"Great", "Wi"} & set(items_of["example"][0].frame["token"]) and items_of["proposition-2"][0].frame["right"].between(0, 1).all()
    assert not makers(PAPER)["example"]([])
