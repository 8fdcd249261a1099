"""The registry of papers, and a made-up paper in a package of its own that joins by an entry point."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from app.views.papers.own import drawing_of
from sentviz.analysis.claim import Finding
from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from sentviz.gallery import FIGURES
from sentviz.papers.studies.claims import BROKEN, claims_of, judged
from sentviz.papers.studies.collected import of_paper
from sentviz.papers.studies.export_paper import export_paper
from sentviz.papers.studies.runner import collect, plan, source, training
from sentviz.runs import registry
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import find_preset as preset_of
from sentviz.runs.presets import preset, split
from sentviz.runs.registry import Page, Paper, Preset, Section, find_paper, papers, printed, problems, studies
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe, finished, recipes
from tests.makers import use_toy_data

ROOT = Path(__file__).parents[1]
PAGES_OF_ALL = [f"app/views/papers/{name}.py" for name in ("board_part", "claims", "generic", "items_part", "shared")]
FILES = {
    "made_up/__init__.py": """
from pathlib import Path
from sentviz.runs.registry import Page, Paper, Preset, Section, Study

PAPER = Paper(
    name="made-up",
    short="Made-up",
    title="A made-up paper of two tables and *one* claim",
    citation="Nobody",
    folder=Path(__file__).parent,
    page=Page(
        "Two tables and a claim.",
        cannot="It shows no more.",
        sections=(Section("seen", "Seen", "made_up.seen:show"), Section("bars", "Bars", figures=("made-up-bars",))),
    ),
    figures="made_up.bars",
    presets={
        "made-small": Preset({"width": 16, "heads": 2, "ffn_width": 24}),
        "made-wide": Preset({"width": 32, "heads": 2, "ffn_width": 24}, recipe={"epochs": 1}),
    },
    injections={"near": {"lexicon": "add"}},
    studies={"made-up": Study("two models", ("toy",), ("made-small", "made-wide"))},
    claims="made_up.work:CLAIMS",
    answers="made_up.work:answers",
    printed="made_up.work:printed",
)
""",
    "made_up/work.py": """
import pandas as pd
from pathlib import Path
from sentviz.analysis.claim import Claim, Effect, Finding
from sentviz.papers.studies.collected import configurations

TABLE = pd.read_csv(Path(__file__).parent / "printed" / "accuracies.csv")

def printed(dataset, preset):
    rows = TABLE[(TABLE["data"] == dataset) & (TABLE["model"] == preset)]
    return pd.DataFrame({"name": "accuracy", "layer": -1, "component": -1, "value": rows["accuracy"]})

def answers(runs):
    return [f"{len(configurations(runs, 'toy', ['made-small', 'made-wide']))} of its models are here."]

def _trained(runs):
    here = configurations(runs, "toy", ["made-wide"])
    if not here:
        return Finding("unjudged", "no run is here")
    found = here["made-wide"][0].metrics()["test"]["accuracy"]
    effect = Effect.from_share(found["value"], found["low"], found["high"], 0.5, "accuracy")
    return Finding("holds", f"n = {here['made-wide'][0].metrics()['test']['n']}", effect=effect)

TRAINS = "A wide model can be trained"
CLAIMS = (Claim("trains", TRAINS, "section 1", "runs here", _trained, "It trains", on="Toy", data=("toy",), shows="seen"),)
""",
    "made_up/bars.py": """
import numpy as np
from sentviz.figures import probability_bars
from sentviz.gallery.registry import figure
from sentviz.gallery.subjects import Study

@figure("made-up-bars", "Bars", Study, "verdict:probability_bars")
def _bars(of, *, theme="light"):
    return probability_bars([f"{len(of.runs)} runs", "rest"], np.array([0.25, 0.75]), theme=theme)
""",
    "made_up/seen.py": """
import streamlit as st

def show(runs):
    st.markdown(f"A section of its own sees {len(runs)} runs.")
""",
    "made_up/items.toml": """
[[item]]
id = "accuracies"
printed = "Table 1"
title = "Accuracies"
view = "page"
runs = "every seed here"
state = "live"
why = "nothing differs"

[[item]]
id = "words"
printed = "Table 2"
title = "Words"
view = "page"
runs = "none"
state = "live"
why = "nothing differs"

[[item]]
id = "figure-1"
printed = "Figure 1"
title = "A drawing"
view = ""
runs = "none"
state = "cannot be had"
why = "nobody drew it"
""",
    "made_up/printed/accuracies.csv": "data,model,accuracy\ntoy,made-small,0.75\ntoy,made-wide,0.8\n",
    "made_up/printed/words.csv": "word,count\nwarm,3\ndull,2\n",
    "made_up/recipes/toy.toml": """
dataset = "toy"
model = "made-small"
example = "a warm song"
min_count = 1
max_length = 16
epochs = 2
""",
    "made_up-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n",
    "made_up-1.0.dist-info/entry_points.txt": "[sentviz.papers]\nmade-up = made_up:PAPER\n",
    "scripted/__init__.py": """
from pathlib import Path
from sentviz.runs.registry import Page, Paper

HERE = Path(__file__).parent
PAPER = Paper("scripted", "Scripted", "A page", "Nobody", HERE, Page("Its own page.", script=HERE / "page.py"))
""",
    "scripted/page.py": 'import streamlit as st\n\nst.markdown("A page of its own.")\n',
    "scripted-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: scripted\nVersion: 1.0\n",
    "scripted-1.0.dist-info/entry_points.txt": "[sentviz.papers]\nscripted = scripted:PAPER\n",
    "broken/__init__.py": 'raise RuntimeError("it was never\\nfinished")\n',
    "broken-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n",
    "broken-1.0.dist-info/entry_points.txt": "[sentviz.papers]\nbroken = broken:PAPER\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: a paper, and one that raises on import."""
    root = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def made_up(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paper]:
    """The made-up paper, as the registry gives it."""
    monkeypatch.syspath_prepend(str(site))
    registry._registered.cache_clear()
    yield find_paper("made-up")
    registry._registered.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("made_up", "scripted")]:
        del sys.modules[name]


@pytest.fixture
def trained(made_up: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Its wide model, trained for an epoch by the paper's recipe on the made-up data."""
    use_toy_data(monkeypatch)
    return train(plan("made-up", "toy", models=["made-wide"])[0], tmp_path / "runs", progress=False)


# ---- ours


def test_the_papers_of_the_house() -> None:
    """Each stands in its folder with a list of items; names are told apart; nothing heavy is loaded to list them."""
    assert list(papers())[: len(registry.BUILT_IN)] == list(registry.BUILT_IN)
    for name in registry.BUILT_IN:
        paper = papers()[name]
        assert paper.folder == ROOT / "sentviz" / "papers" / name
        assert paper.items() and claims_of(paper) and paper.load("makers", {})
        for section in paper.page.sections:
            assert set(section.figures) <= FIGURES.keys() and (section.figures or callable(drawing_of(paper, section)))
        assert {claim.shows for claim in claims_of(paper)} <= {section.name for section in paper.page.sections}
        assert {claim.figure for claim in claims_of(paper)} - {""} <= FIGURES.keys()
    code = "import sys; from sentviz.runs.registry import papers; papers(); print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert not {"torch", "numpy", "pandas", "plotly", "sklearn", "transformers"} & set(loaded)


def test_every_study_has_recipes_of_its_models() -> None:
    for name, (_, study) in studies().items():
        for dataset in study.datasets:
            assert {recipe.dataset for recipe in plan(name, dataset)} == {dataset}


def test_recipes_go_by_paper_and_by_data_set() -> None:
    """A data set's plain name is the first paper's; the names that were are there."""
    assert recipes()["sst2"] == recipes()["ndt_sst2"] != recipes()["fused_sst2"]
    assert recipes()["nsmc"] == recipes()["fused_nsmc"]


def test_a_study_trains_by_its_own_papers_recipe() -> None:
    """Also where it is asked for another paper's model."""
    recipe = plan("ndt", "sst2", models=["cls"])[0]
    command = training(source("ndt", "sst2"))(recipe, Path("runs"))
    assert command[command.index("train") + 1] == "ndt_sst2"
    assert recipe == Recipe.read("ndt_sst2", model="cls")


@pytest.mark.parametrize(("name", "width", "how"), [("hardmax-d3", 3, "softmax"), ("hardmax-d16-straight-raw", 16, "hardmax")])
def test_a_family_names_models_that_are_not_listed(name: str, width: int, how: str) -> None:
    config = preset(name, vocab_size=9, classes=2, max_length=9)
    assert (config.KIND, config.width, getattr(config, "training", "")) == ("hardmax", width, how)
    assert getattr(config, "cleaning", None) is not name.endswith("-raw")


@pytest.mark.parametrize("name", ["hardmax-d0", "hardmax-d2-last", "hardmax-dx", "ndt-unit-5", "cls-last-last", "", "-last"])
def test_what_no_paper_names_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="There is no model"):
        preset_of(name)


def test_what_is_printed_has_the_columns_of_a_history() -> None:
    """Accuracy and lambdas against the paper's own tables; nothing of our control."""
    frame = printed("sst2", "ndt-unit-3")
    table = pd.read_csv(papers()["ndt"].tables()["lambdas"])
    rows = table[(table["dataset"] == "sst2") & (table["constraint"] == "[0,1]") & (table["components"] == 3)]
    assert sorted(frame[frame["name"] == "lambda"]["value"]) == sorted(rows["lambda"])
    assert frame[frame["name"] == "accuracy"]["value"].item() == pytest.approx(0.9159, abs=0.05)
    assert printed("sst2", "vanilla-matched").empty and printed("nowhere", "diff").empty


def test_no_generic_module_names_a_paper() -> None:
    """Neither in words (the studies) nor as a value or an import (navigation, focus, presets, recipes)."""
    names = "|".join(registry.BUILT_IN)
    for path in sorted((ROOT / "sentviz" / "studies").glob("*.py")):
        assert not re.search(rf"\b({names})\b", path.read_text(encoding="utf-8"), re.IGNORECASE), path.name
    said = {word for paper in map(find_paper, registry.BUILT_IN) for word in (paper.name, paper.title, paper.citation, paper.page.url)}
    for place in ("app/navigation.py", "app/focus.py", *PAGES_OF_ALL, "sentviz/runs/presets.py", "sentviz/training/recipe.py"):
        tree = ast.parse((ROOT / place).read_text(encoding="utf-8"))
        values = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not values & said, place
        assert not [one for one in values | modules if re.search(rf"papers[./]({names})\b", one)], place


# ---- another's


def test_a_foreign_paper_brings_models(made_up: Paper, trained: Run) -> None:
    """Its presets build, take injections, train; a preset's own settings stand in for those of a recipe for another model."""
    config = preset("made-wide", vocab_size=9, classes=2, max_length=9)
    assert isinstance(config, EncoderConfig) and (config.width, config.lexicon) == (32, "none")
    assert split("vanilla-near") == ("vanilla", "near") and preset_of("made-wide-near").shape["lexicon"] == "add"
    assert trained.name == "toy/made-wide" and trained.shape.layers == 2
    small, wide = plan("made-up", "toy")
    assert (small.epochs, wide.epochs) == (2, 1)
    assert Recipe.read("toy", model="made-wide", epochs=3).epochs == 3
    assert Recipe.read("made-up_toy").model == "made-small"


def test_a_recipe_for_a_model_keeps_its_own_settings(made_up: Paper, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('dataset = "toy"\nmodel = "made-wide"\nepochs = 5\n')
    assert Recipe.read(own).epochs == 5
    assert Recipe.read(own, model="made-small").epochs == 5


def test_a_foreign_study_knows_its_runs(made_up: Paper, trained: Run, tmp_path: Path) -> None:
    recipes_ = plan("made-up", "toy")
    assert [finished(recipe, tmp_path / "runs") is not None for recipe in recipes_] == [False, True]
    assert collect(recipes_, tmp_path / "runs")["model"].tolist() == ["made-wide"]
    assert [run.name for run in of_paper(made_up, [trained])] == ["toy/made-wide"]
    assert of_paper(replace(made_up, studies={}), [trained]) == [trained]
    with pytest.raises(InputError, match=r"no study 'none'; there are ndt, .*made-up.*broken"):
        plan("none", "toy")


@pytest.mark.slow
def test_a_foreign_claim_is_judged(made_up: Paper, trained: Run) -> None:
    """With and without the run; among all papers' claims as well."""
    assert judged([trained], ["made-up"])[["claim", "verdict", "evidence"]].values.tolist() == [
        ["A wide model can be trained", "holds", "n = 60"]
    ]
    assert "Made-up" in set(judged([])["paper"])
    assert judged([], ["made-up"])["verdict"].item() == "unjudged"


def test_a_foreign_paper_is_written(made_up: Paper, trained: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without makers of its own: its printed tables, measured beside printed, the claims; the answer is in the manifest."""
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    manifest = export_paper("made-up", tmp_path / "out", [trained])
    assert {item["id"]: item["state"] for item in manifest["items"]} == dict.fromkeys(
        ("accuracies", "words", "accuracy-toy", "claims"), "written"
    )
    assert [item["id"] for item in manifest["cannot be had"]] == ["figure-1"]
    assert manifest["answers"] == ["1 of its models are here."] and list(manifest["runs"]) == ["toy/made-wide"]
    beside = pd.read_csv(tmp_path / "out" / "accuracy-toy.csv", encoding="utf-8-sig").set_index("model")
    assert beside["printed"].tolist() == [0.75, 0.8]
    assert beside.loc["made-wide", "value"] == pytest.approx(trained.metrics()["test"]["accuracy"]["value"])
    words = pd.read_csv(tmp_path / "out" / "words.csv", encoding="utf-8-sig")
    assert words.to_dict("list") == {"word": ["warm", "dull"], "count": [3, 2]}


def test_commands_list_a_foreign_paper(made_up: Paper) -> None:
    """Help shows what there is when it is asked for, and what could not be loaded."""
    said = {command: " ".join(CliRunner().invoke(main, [command, "--help"]).output.split()) for command in ("study", "export", "train")}
    assert "made-up two models: toy" in said["study"] and "A made-up paper of two tables" in said["export"]
    assert "made-small, made-wide" in said["train"] and "-near" in said["train"] and "toy" in said["train"]
    assert all("RuntimeError: it was never finished" in text for text in said.values())


PAGES = """
import json, sys
from streamlit.testing.v1 import AppTest

app = AppTest.from_file("app/navigation.py", default_timeout=120)
app.run()
assert not app.exception, app.exception
pages = {}
own = next(key for key, info in app._registered_pages.items() if info["url_pathname"] == "paper-made-up")
for page, part in ((own, "claims"), (own, "items"), (own, "seen"), (own, "bars"), ("views/papers/claims.py", ""), (sys.argv[1], "")):
    if part:
        app._page_hash = page
        app.query_params["part"] = part
    else:
        app.switch_page(page)
        app.query_params["paper"] = "made-up"
    app.run()
    assert not app.exception, app.exception
    pages[part or page.split("/")[-1]] = {
        "words": [str(e.value) for e in [*app.markdown, *app.caption]],
        "warnings": [str(e.value) for e in app.warning],
        "tables": [e.value.to_dict("list") for e in app.dataframe],
        "claims": [box.options for box in app.selectbox if box.key == "focus-claim"],
        "boards": len(app.get("plotly_chart")),
        "expanders": [e.label.replace("\\\\", "") for e in app.expander],
        "paper": app.query_params.get("paper"),
    }
print(json.dumps(pages, default=str))
"""


@pytest.mark.slow
def test_the_app_shows_a_foreign_paper(site: Path, made_up: Paper, trained: Run, tmp_path: Path) -> None:
    """In a new process, as the app starts: its page among the others, its claims by link, the broken one in a sentence."""
    path = os.pathsep.join([str(site), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "SENTVIZ_RUNS": str(tmp_path / "runs")}
    done = subprocess.run(
        [sys.executable, "-c", PAGES, os.path.relpath(site / "scripted" / "page.py", ROOT / "app")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    pages = json.loads(done.stdout.splitlines()[-1])
    own = "\n".join(pages["claims"]["words"]).replace("\\", "")
    assert "A made-up paper of two tables and *one* claim" in own and "It shows no more." in own
    assert pages["claims"]["boards"] == 1 and pages["claims"]["claims"] == [["✓ A wide model can be trained"]]
    assert pages["claims"]["expanders"] == ["Its questions, answered in sentences"]
    assert pages["items"]["expanders"] == ["Table 1: Accuracies", "Table 2: Words"] and not pages["items"]["boards"]
    assert pages["items"]["tables"][0]["accuracy"] == [0.75, 0.8]
    assert pages["items"]["tables"][-1]["printed"] == ["Table 1", "Table 2", "Figure 1"]
    assert re.search(r"A section of its own sees \d+ runs", "\n".join(pages["seen"]["words"]))
    assert pages["bars"]["boards"] == 1 and not pages["bars"]["warnings"]
    assert pages["claims.py"]["paper"] == "made-up" and pages["claims.py"]["claims"] == pages["claims"]["claims"]
    assert any("broken" in warning for warning in pages["claims.py"]["warnings"])
    assert "A page of its own." in pages["page.py"]["words"]


# ---- what goes wrong costs nobody else anything


def test_a_paper_that_raises_on_import_is_a_sentence(made_up: Paper) -> None:
    assert "broken" not in papers()
    assert problems() == ["The paper 'broken' of the package broken cannot be loaded: RuntimeError: it was never finished."]
    with pytest.raises(InputError, match=r"There is no paper 'broken'; there are ndt.*it was never finished"):
        export_paper("broken", Path("nowhere"), [])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "ndt"}, "its name 'ndt' is NDT's already"),
        ({"name": "Made up"}, "is not of small letters"),
        ({"short": "NDT"}, "its heading 'NDT' is NDT's already"),
        ({"presets": {"vanilla": Preset()}}, "its preset 'vanilla' is NDT's already"),
        ({"presets": {"hardmax-d77": Preset()}}, "its preset 'hardmax-d77' is Hardmax transformer's already"),
        ({"injections": {"all": {"lexicon": "add"}}}, "its injection 'all' is Sentiment-Fused Attention's already"),
        ({"injections": {"near": {"width": 3}}}, "its injection 'near' may set lexicon, lexicon_heads, lexicon_scaled and nothing else"),
        ({"additions": {"gated": {"gate": True}}}, "its addition 'gated' is SentiFormer's already"),
        ({"studies": {"ndt": None}}, "its study 'ndt' is NDT's already"),
        ({"page": Page("x", icon="star")}, "icon 'star' is not"),
        ({"page": Page("x", script=Path("nowhere.py"))}, "nowhere.py is not there"),
        ({"page": Page("x", sections=(Section("claims", "Mine", "a:b"),))}, "its page has two parts 'claims'"),
        ({"page": Page("x", sections=(Section("mine", "Mine"),))}, "its part 'mine' must name a function or figures"),
        ({"page": Page("x", sections=(Section("mine", "Mine", "a:b", ("roc",)),))}, "its part 'mine' must name a function or figures"),
    ],
)
def test_what_would_take_anothers_place_is_left_out(made_up: Paper, changes: dict[str, object], said: str) -> None:
    others = [find_paper(name) for name in registry.BUILT_IN]
    assert registry._wrong(made_up, others) == ""
    assert said in registry._wrong(replace(made_up, **changes), others)  # type: ignore[arg-type]
    assert "is no sentviz.runs.registry.Paper" in registry._wrong(changes, others)


def test_claims_that_cannot_be_loaded_are_said(made_up: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of their verdicts; the other papers' claims stand."""
    lost = replace(made_up, claims="made_up.work:NOWHERE", makers="made_up.nowhere:MAKERS")
    with pytest.raises(SentvizError, match="Makers of Made-up cannot be loaded"):
        lost.load("makers", {})
    monkeypatch.setitem(papers(), "made-up", lost)
    frame = judged([], ["made-up", "hardmax"])
    assert frame["evidence"].iloc[0].startswith("Claims of Made-up cannot be loaded")
    assert len(frame) == 1 + len(claims_of(find_paper("hardmax")))


def test_a_test_that_raises_cannot_be_told(made_up: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(runs: object) -> Finding:
        raise KeyError("lost")

    (claim,) = claims_of(made_up)
    monkeypatch.setattr("made_up.work.CLAIMS", (replace(claim, test=fails), claim))
    first, second = judged([], ["made-up"])["evidence"]
    assert first == f"{BROKEN} (KeyError: 'lost')" and second == "no run is here"
