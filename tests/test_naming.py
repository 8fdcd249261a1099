"""Plain names of runs: every shipped run has its own, and the groups of a choice hold each run once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sentviz.io.numbers import percent
from sentviz.runs import naming, releases
from sentviz.runs.naming import BEST, OWN, PAPERS, grouped, plain_name
from sentviz.runs.store import SHIPPED, Run, runs


@pytest.fixture(scope="module")
def shipped() -> dict[str, Run]:
    """Return the shipped runs by name."""
    return {name: run for name, run in runs([SHIPPED]).items() if isinstance(run, Run)}


def test_every_shipped_run_has_its_own_name(shipped: dict[str, Run]) -> None:
    names = {name: plain_name(run) for name, run in shipped.items()}
    assert len(set(names.values())) == len(names)
    assert not [name for name, plain in names.items() if "/" in plain or name.rpartition("/")[2] in plain.split(", ")[0].split()]


def test_a_name_says_language_system_size_and_accuracy(shipped: dict[str, Run]) -> None:
    """A mixture is judged on the sentences of SST-2 in its test split, other runs on the official test if the run has one."""
    assert plain_name(shipped["imdb/vanilla"]) == "Transformer, IMDb 85\u00a0%"
    run = shipped["english/ndt-unit-2"]
    rows = run.frame("test.parquet")
    rows = rows[rows["id"].str.startswith("sst2/")]
    right = ((rows["positive"] > rows["negative"]) == rows["label"]).mean()
    assert plain_name(run) == f"English, NDT [0,1], 2 components, 2 layers, {percent(right, 0)} of SST-2"
    official = shipped["sst2/ndt-free-2-s1"].metrics()["official_test"]["accuracy"]["value"]
    assert plain_name(shipped["sst2/ndt-free-2-s1"]) == f"NDT (−∞,∞), 2 components, seed 1, SST-2 {percent(official, 0)}"
    assert plain_name(shipped["nsmc/cls-xia"]).startswith("Korean, small BERT, lexicon multiplied, NSMC ")


def changed(run: Run, folder: Path, **changes: object) -> Run:
    """Return a copy of a run with a changed configuration."""
    place = shutil.copytree(run.folder, folder / "english" / "copy")
    config = json.loads((place / "config.json").read_text(encoding="utf-8")) | changes
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return Run.open(place)


def test_studies_on_bases_are_of_papers(shipped: dict[str, Run]) -> None:
    names = ("nsmc/e5", "sst2/minilm-epochs")
    assert [plain_name(shipped[name]) for name in names] == ["Korean, E5, NSMC 84\u00a0%", "MiniLM, with epochs, SST-2 86\u00a0%"]
    assert plain_name(shipped["korean/e5"]) == "Korean, E5, 12 layers, 88\u00a0% of NSMC"
    assert set(names) <= set(grouped({name: shipped[name] for name in ("english/minilm", "korean/e5", *names)})[PAPERS])


def test_groups_hold_every_run_once(shipped: dict[str, Run], tmp_path: Path) -> None:
    """A run that does not ship is the visitor's, also under a shipped name."""
    recipe = shipped["imdb/vanilla"].config["recipe"] | {"base": "minilm", "seed": 2}
    own = changed(shipped["imdb/vanilla"], tmp_path, created="2020-01-01", preset="minilm-ndt-free-2", recipe=recipe)
    assert plain_name(own).startswith("MiniLM, NDT (−∞,∞), 2 components, seed 2, ")
    weighty = {name: run for name, run in shipped.items() if run.has_weights and name in releases.index()}
    groups = grouped(weighty | {"english/copy": own})
    assert list(groups) == [BEST, PAPERS, OWN] and groups[OWN] == ["english/copy"]
    assert sorted(name for members in groups.values() for name in members) == sorted([*weighty, "english/copy"])
    spoken = [naming.language(weighty[name]) for name in groups[BEST]]
    assert spoken == sorted(spoken) and groups[BEST][0] == naming.best_run(weighty.values())
    assert groups[PAPERS] == sorted(groups[PAPERS]) and "sst2/vanilla" in groups[PAPERS]
    assert grouped({}) == {}
