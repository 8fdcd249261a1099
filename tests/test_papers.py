"""The registry of papers, and the example paper of tests/example_paper, which joins by an entry point."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from app.views.papers import OWN
from sentviz.analysis.claim import Finding
from sentviz.charts.figure import Figure
from sentviz.charts.gallery import FIGURES
from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from sentviz.io.table import Column, Table
from sentviz.papers.studies.claims import BROKEN, claims_of, judged
from sentviz.papers.studies.compare_configurations import of_paper
from sentviz.papers.studies.export_paper import export_paper
from sentviz.papers.studies.items import make_table, makers
from sentviz.papers.studies.runner import collect, plan, source, training
from sentviz.papers.studies.tables import VERDICTS
from sentviz.runs import registry
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import find_preset as preset_of
from sentviz.runs.presets import preset, split
from sentviz.runs.registry import Page, Paper, Preset, find_paper, papers, problems, studies
from sentviz.runs.sections import OwnBlock, Section, TextBlock
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe, finished, recipes
from tests.kit import ROOT, refused, use_toy_data
from tests.studies import made_run

FILES = {
    "example_paper-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: example-paper\nVersion: 1.0\n",
    "scripted/__init__.py": """
from pathlib import Path
from sentviz.runs.printed import printed
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
PAGES = """
import json, os, re, sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
from sentviz.runs import store

store.roots = lambda folders=(): [Path(os.environ["SENTVIZ_RUNS"])]
app = AppTest.from_file("app/navigation.py", default_timeout=120)
app.query_params["paper"] = "example"
app.run()
assert not app.exception, app.exception
pages = {}
own = next(key for key, info in app._registered_pages.items() if info["url_pathname"] == "paper-example")
for page, part in ((own, "claims"), (own, "items"), (own, "width"), ("views/papers/claims.py", ""), (sys.argv[1], "")):
    if part:
        app._page_hash = page
        app.query_params["part"] = part
    else:  # by a link, with no other page before it
        known = app._registered_pages
        app = AppTest.from_file("app/navigation.py", default_timeout=120)
        app._registered_pages = known
        app.query_params["paper"] = "example"
        app.switch_page(page)
    app.run()
    assert not app.exception, app.exception
    pages[part or page.split("/")[-1]] = {
        "words": " ".join(str(e.value) for e in [*app.markdown, *app.caption, *app.warning]).replace("\\\\", ""),
        "tables": [e.value.to_dict("list") for e in app.dataframe],
        "claims": [box.options for box in app.selectbox if box.key == "focus-claim"],
        "links": re.findall('href="([^"]*)"', "".join(e.proto.body for e in app.get("html"))),
    }
print(json.dumps(pages, default=str))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages: the example paper by its own entry points, a paper with a script, and one that raises on import."""
    root = tmp_path_factory.mktemp("site")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "tests" / "example_paper" / "example_paper", root / "example_paper")
    points = tomllib.loads((ROOT / "tests" / "example_paper" / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = [f"[{group}]\n" + "\n".join(f"{name} = {place}" for name, place in each.items()) for group, each in points.items()]
    (root / "example_paper-1.0.dist-info" / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return root


@pytest.fixture
def example(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paper]:
    """The example paper, as the registry gives it, with its figure in the gallery."""
    monkeypatch.syspath_prepend(str(site))
    registry._registered.cache_clear()
    paper, before = find_paper("example"), dict(FIGURES)
    paper.load("figures", None)
    yield paper
    registry._registered.cache_clear()
    FIGURES.clear()
    FIGURES.update(before)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("example_paper", "scripted")]:
        del sys.modules[name]


@pytest.fixture
def trained(example: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the example paper's wide model, trained for one epoch by the paper's recipe on the made-up data."""
    use_toy_data(monkeypatch)
    return train(plan("example", "sst2", models=["example-wide"])[0], tmp_path / "runs", progress=False)


@pytest.fixture
def planted(example: Paper, tmp_path: Path) -> Run:
    """Return a run of the example paper's wide model with made-up predictions."""
    return made_run(tmp_path / "runs", "sst2", "example-wide")


# ---- ours


def test_the_papers_of_the_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(papers())[: len(registry.built_in())] == list(registry.built_in())
    for name, paper in registry.built_in().items():
        assert paper.folder == ROOT / "sentviz" / "papers" / name
        for block in (block for section in paper.page.sections for block in section.walk()):
            assert not isinstance(block, OwnBlock) or callable(resolve_name(OWN[block.draw]))
        for item in (*paper.items(), *paper.added()):
            assert makers(paper).keys() >= ({item.id} if item.tables else set())
        assert {claim.figure for claim in claims_of(paper)} - {""} <= FIGURES.keys()
    for name, (_, study) in studies().items():
        assert [{recipe.dataset for recipe in plan(name, dataset)} for dataset in study.datasets] == [
            {dataset} for dataset in study.datasets
        ]
    code = "import sys; from sentviz.runs.registry import papers; papers(); print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert not {"torch", "numpy", "pandas", "plotly", "sklearn", "transformers"} & set(loaded)
    names = "|".join(registry.built_in())
    own_words = {word for paper in registry.built_in().values() for word in (paper.name, paper.title, paper.citation, paper.page.url)}
    pages = [f"app/views/papers/{name}.py" for name in ("board_part", "claims", "generic", "items_part")]
    own = ("app/navigation.py", "app/focus.py", "app/blocks/sections.py", "sentviz/runs/presets.py", "sentviz/training/recipe.py")
    for place in (*pages, *own):
        tree = ast.parse((ROOT / place).read_text(encoding="utf-8"))
        values = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not values & own_words, place
        assert not [name_used for name_used in values | modules if re.search(rf"papers[./]({names})\b", name_used)], place
    for place, order in (("b", "order = 2"), ("c", "order = 1"), ("a", "")):
        (tmp_path / place).mkdir()
        page = f"{order}\n[page]\nhelp = '-'\ncannot = '-'"
        (tmp_path / place / "paper.toml").write_text(f"name = '{place}'\nshort = '-'\ntitle = '-'\ncitation = '-'\n{page}\n")
    (tmp_path / "studies").mkdir()
    monkeypatch.setattr(registry, "HOUSE", tmp_path)
    assert list(registry.built_in.__wrapped__()) == ["c", "b", "a"]


def test_recipes_and_presets_are_found_by_their_names() -> None:
    assert recipes()["sst2"] == recipes()["ndt_sst2"] != recipes()["fused_sst2"] and recipes()["nsmc"] == recipes()["fused_nsmc"]
    recipe = plan("ndt", "sst2", models=["cls"])[0]
    command = training(source("ndt", "sst2"))(recipe, Path("runs"))
    assert command[command.index("train") + 1] == "ndt_sst2" and recipe == Recipe.read("ndt_sst2", model="cls")
    for name, width, how in (("hardmax-d3", 3, "softmax"), ("hardmax-d16-straight-raw", 16, "hardmax")):
        config = preset(name, vocab_size=9, classes=2, max_length=9)
        assert (config.KIND, config.width, getattr(config, "training", "")) == ("hardmax", width, how)
        assert getattr(config, "cleaning", None) is not name.endswith("-raw")
    for name in ("hardmax-d0", "hardmax-d2-last", "hardmax-dx", "ndt-unit-5", "cls-last-last", "", "-last"):
        refused(InputError, "There is no model", preset_of, name)


# ---- another's


def test_a_foreign_paper_brings_models_and_studies(example: Paper, trained: Run, tmp_path: Path) -> None:
    config = preset("example-wide", vocab_size=9, classes=2, max_length=9)
    assert isinstance(config, EncoderConfig) and (config.width, config.lexicon) == (32, "none")
    assert split("vanilla-near") == ("vanilla", "near") and preset_of("example-wide-near").shape["lexicon"] == "add"
    assert trained.name == "sst2/example-wide" and trained.shape.layers == 2
    planned = plan("example", "sst2")
    assert [recipe.epochs for recipe in planned] == [2, 1] and Recipe.read("example_sst2").model == "example-small"
    assert Recipe.read("example_sst2", model="example-wide", epochs=3).epochs == 3
    own = tmp_path / "own.toml"
    own.write_text('dataset = "sst2"\nmodel = "example-wide"\nepochs = 5\n')
    assert Recipe.read(own).epochs == Recipe.read(own, model="example-small").epochs == 5
    assert [finished(recipe, tmp_path / "runs") is not None for recipe in planned] == [False, True]
    assert collect(planned, tmp_path / "runs")["model"].tolist() == ["example-wide"]
    assert of_paper(example, [trained]) == [trained] == of_paper(replace(example, studies={}), [trained])
    refused(InputError, r"no study 'none'; there are ndt, .*example.*broken", plan, "none", "toy")


def test_a_foreign_claim_is_judged(example: Paper, planted: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong, verdict in ((40, "holds"), (5, "fails"), (100, "open")):
        small = made_run(tmp_path / "runs", "sst2", "example-small", wrong=wrong)
        row = judged([planted, small], ["example"]).iloc[0]
        assert (row["claim"], row["verdict"]) == ("A wide model is better on SST-2", verdict)
        if verdict == "open":
            assert small.name in row["evidence"]
        else:
            low, high = (run.metrics()["test"]["accuracy"]["value"] for run in (small, planted))
            assert row["effect"].value == pytest.approx(100 * (high - low)) and row["evidence"] == f"{low:.3f} and {high:.3f}"
    assert judged([planted], ["example"])["verdict"].item() == "unjudged"
    (claim,) = claims_of(example)

    def fails(runs: object) -> Finding:
        raise KeyError("lost")

    monkeypatch.setattr("example_paper.claims.CLAIMS", (replace(claim, test=fails), claim))
    first, second = judged([], ["example"])["evidence"]
    assert first == f"{BROKEN} (KeyError: 'lost')" and second.startswith("one of the two models has no run")
    lost = replace(example, claims="example_paper.claims:NOWHERE", makers="example_paper.nowhere:MAKERS")
    refused(SentvizError, "Makers of Example cannot be loaded", lost.load, "makers", {})
    monkeypatch.setitem(papers(), "example", lost)
    assert judged([], ["example"])["evidence"].item().startswith("Claims of Example cannot be loaded")


def test_a_foreign_paper_is_written(example: Paper, planted: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.papers.studies.export_paper.find_browser", lambda: None)
    manifest = export_paper("example", tmp_path / "out", [planted])
    items = {item["id"]: item for item in manifest["files"]}
    assert {name: item["state"] for name, item in items.items()} == dict.fromkeys(("accuracies", "sizes", "items", "claims"), "written")
    assert len(items["accuracies"]["parts"]) == 2
    assert items["accuracies"]["parts"][0]["columns"] == {"model": "model", "paper": "printed", "ours": "value"}
    assert [(item["item"], item["state"], item["link"]) for item in manifest["items"]] == [
        ("Table 1", "live", "paper-example?part=width"),
        ("Table 2", "live", "paper-example?part=items"),
        ("Claim, section 2", "live", "paper-example?claim=example-wider"),
        ("Figure 1", "not shown", ""),
    ]
    assert manifest["answers"] == ["1 of its 2 models are here."] and list(manifest["runs"]) == ["sst2/example-wide"]
    numbers = pd.read_csv(tmp_path / "out" / "accuracies.csv", encoding="utf-8-sig").set_index("model")
    value = planted.metrics()["test"]["accuracy"]["value"]
    assert numbers["printed"].tolist() == [0.75, 0.8] and numbers.loc["example-wide", "value"] == pytest.approx(value)
    tex, page = ((tmp_path / "out" / f"accuracies.{suffix}").read_text(encoding="utf-8") for suffix in ("tex", "html"))
    for text in (tex, page):
        assert f"{100 * value:.1f} [" in text and "75.0" in text and "ours" in text
    (bare_folder := example.folder.parent / "bare" / "printed").mkdir(parents=True)
    shutil.copy(example.printed_tables()["accuracies"], bare_folder)
    bare = makers(replace(example, folder=bare_folder.parent))
    assert list(bare) == ["accuracies", "accuracy-sst2", "claims"]
    table, drawn = bare["accuracy-sst2"]([planted])
    assert isinstance(table, Table) and isinstance(drawn, Figure) and table.frame["printed"].tolist() == [0.75, 0.8]
    assert table.frame.set_index("model").loc["example-wide", "value"] == pytest.approx(planted.metrics()["test"]["accuracy"]["value"])


def test_what_a_paper_does_not_have_and_what_is_broken_is_named(example: Paper) -> None:
    refused(InputError, "Example has no table 'none'; it has accuracy, sizes", make_table, example, "none", [])
    refused(InputError, "`sentviz study example --dataset sst2` trains them", make_table, example, "sizes", [])
    help_texts = {
        command: " ".join(CliRunner().invoke(main, [command, "--help"]).output.split()) for command in ("study", "paper", "train")
    }
    assert "example a small and a wide model: sst2" in help_texts["study"] and "Wider models are *better*" in help_texts["paper"]
    assert "example-small, example-wide" in help_texts["train"] and "-near" in help_texts["train"]
    assert all("RuntimeError: it was never finished" in text for text in help_texts.values()) and "broken" not in papers()
    assert problems() == ["The paper 'broken' of the package broken cannot be loaded: RuntimeError: it was never finished."]
    with pytest.raises(InputError, match=r"There is no paper 'broken'; there are ndt.*it was never finished"):
        export_paper("broken", Path("nowhere"), [])


def test_columns_say_how_a_table_is_written_and_how_wide_it_is() -> None:
    rows = [
        ("x", "a", 0.5, 0.4, 0.6, "better", 1000),
        ("x", "b", 0.25, np.nan, np.nan, "worse", 20),
        ("y", "a", -0.125, -0.25, 0.0, "odd", 3),
    ]
    frame = pd.DataFrame(rows, columns=["data", "model", "value", "low", "high", "verdict", "n"])
    columns = (Column("verdict", words=VERDICTS), Column("value", "points", "{:+.1f}", ("low", "high"), percent=True), Column("n"))
    assert Table("t", "T", frame, "", columns).written().to_dict("list") == {
        "verdict": ["▲ better", "▼ worse", "odd"],
        "points": ["+50.0 [+40.0, +60.0]", "+25.0", "−12.5 [−25.0, +0.0]"],
        "n": ["1,000", "20", "3"],
    }
    assert Table("t", "T", frame, "", columns[1:], groups="data").written().to_dict("list") == {
        "model": ["a", "b"],
        "x, points": ["+50.0 [+40.0, +60.0]", "+25.0"],
        "x, n": ["1,000", "20"],
        "y, points": ["−12.5 [−25.0, +0.0]", "–"],
        "y, n": ["3", "–"],
    }

    def page() -> None:
        import pandas as pd

        from app.blocks.table import show_table
        from sentviz.io.table import Column, Table

        short = [f"V{i}" for i in range(1, 10)]
        for key, longest, width in (("long", "V10 (longer input)", None), ("longer", 90 * "w", None), ("own", "V10 (longer input)", 90)):
            frame = pd.DataFrame({"model": [*short, longest], "value": 0.5})
            show_table(Table(key, key, frame, "", [Column("model", width=width), Column("value")]), key)
        show_table(Table("n", "n", pd.DataFrame({"n": [1, 2]}), ""), "n")

    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception
    *firsts, number = (json.loads(table.proto.columns) for table in app.dataframe)
    assert all(first["model"]["pinned"] for first in firsts) and "pinned" not in number["n"] and "width" not in firsts[0]["value"]
    widths = [first["model"]["width"] for first in firsts]
    assert 7 * len("V10 (longer input)") < widths[0] < 10 * len("V10 (longer input)") and widths[1:] == [320, 90]


@pytest.mark.exhaustive
def test_the_app_shows_a_foreign_paper(site: Path, example: Paper, trained: Run, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "SENTVIZ_RUNS": str(tmp_path / "runs")}
    command = [sys.executable, "-c", PAGES, os.path.relpath(site / "scripted" / "page.py", ROOT / "app")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    pages = json.loads(done.stdout.splitlines()[-1])
    assert "Wider models are *better*" in pages["claims"]["words"] and "only the comparison counts" in pages["claims"]["words"]
    assert pages["claims"]["claims"] == pages["claims.py"]["claims"] == [["– A wide model is better on SST-2"]]
    assert pages["items"]["links"] == ["paper-example?part=width", "paper-example?part=items", "paper-example?claim=example-wider"]
    assert [table["model"] for table in pages["items"]["tables"]] == [["example-wide"]]
    assert pages["width"]["tables"][0]["printed"] == [75.0, 80.0] and re.search(r"The study reads \d+ runs", pages["width"]["words"])
    assert "broken" in pages["claims.py"]["words"] and "A page of its own." in pages["page.py"]["words"]


# ---- errors of one paper leave the other papers unchanged


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"name": "ndt"}, "its name 'ndt' is NDT's already"),
        ({"name": "Made up"}, "may have only lower-case letters"),
        ({"short": "NDT"}, "its heading 'NDT' is NDT's already"),
        ({"presets": {"vanilla": Preset()}}, "its preset 'vanilla' is NDT's already"),
        ({"presets": {"hardmax-d77": Preset()}}, "its preset 'hardmax-d77' is Hardmax transformer's already"),
        ({"injections": {"all": {"lexicon": "add"}}}, "its injection 'all' is Sentiment-Fused Attention's already"),
        ({"injections": {"near": {"width": 3}}}, "its injection 'near' may set only lexicon, lexicon_heads, lexicon_scaled"),
        ({"additions": {"gated": {"gate": True}}}, "its addition 'gated' is SentiFormer's already"),
        ({"studies": {"ndt": None}}, "its study 'ndt' is NDT's already"),
        ({"page": Page("x", icon="star")}, "icon 'star' does not"),
        ({"page": Page("x", script=Path("nowhere.py"))}, "nowhere.py does not exist"),
        ({"page": Page("x", sections=(Section("claims", "Mine", (TextBlock("x"),)),))}, "its page has two parts 'claims'"),
        ({"page": Page("x", sections=(Section("mine", "Mine"),))}, "its part 'mine' has no blocks"),
    ],
)
def test_what_would_take_anothers_place_is_left_out(example: Paper, changes: dict[str, object], fault: str) -> None:
    built_in = list(registry.built_in().values())
    assert registry._wrong(example, built_in) == ""
    assert fault in registry._wrong(replace(example, **changes), built_in)  # type: ignore[arg-type]
    assert "is neither a package with a file paper.toml nor a sentviz.runs.registry.Paper" in registry._wrong(changes, built_in)
