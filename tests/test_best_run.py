"""Tests of the rule that chooses the run for a language: the order of the runs, and which runs it never chooses."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from app.focus import Focus
from sentviz.cli import main
from sentviz.runs import releases
from sentviz.runs.catalog import best_run, best_to_fetch, is_mixture
from sentviz.runs.configs import Capabilities
from sentviz.runs.releases import Packed


class Stub:
    """The parts of a run that the rule reads."""

    def __init__(self, name: str, dataset: str, accuracy: float, **changes: Any) -> None:
        self.name, self.config, self.accuracy = name, {"data": {"name": dataset}}, accuracy
        self.labels = changes.get("labels", ("negative", "positive"))
        self.has_weights = changes.get("weights", True)
        self.capabilities = Capabilities(2, 2, 1, maps=changes.get("maps", True))

    def metrics(self) -> dict[str, Any]:
        """Return the accuracy on the test split."""
        return {"test": {"accuracy": {"value": self.accuracy}}}


def best(spoken: str, *stubs: Stub) -> str:
    """Return the best of some stubs."""
    return best_run(stubs, spoken)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the index name a few runs, one of them on a base."""
    sizes = {"english/mpnet": 4, "english/ndt-unit-2": 3, "sst2/vanilla": 9, "korean/e5": 4, "nsmc/cls": 7, "question_pair/cls": 8}
    sizes |= {"english/cnn": 2, "sst5_trees/sentiformer": 5}
    needed = {"korean/e5": "bases/e5"}
    sizes |= {"bases/e5": 20}
    known = {name: Packed(name, "0" * 12, size * 1_000_000, "0" * 64, needed.get(name, "")) for name, size in sizes.items()}
    monkeypatch.setattr(releases, "index", lambda: known)


def test_the_best_knows_several_kinds_of_texts_then_is_right_most_often() -> None:
    """Mixtures come before runs of one data set, then accuracy decides; each language has its own runs."""
    today, teacher = Stub("english/ndt-unit-2", "english", 0.84), Stub("english/mpnet", "english_balanced", 0.92)
    single, korean = Stub("sst2/vanilla", "sst2", 0.99), Stub("nsmc/cls", "nsmc", 0.85)
    assert best("en", single, today, korean) == "english/ndt-unit-2"
    assert best("en", teacher, single, today, korean) == best("en", today, teacher) == "english/mpnet"
    assert best("en", single, korean) == "sst2/vanilla"
    assert best("ko", teacher, korean) == "nsmc/cls" and best("ko", korean, Stub("korean/e5", "korean", 0.8)) == "korean/e5"
    assert best("ko", teacher) == best("en") == ""


def test_some_runs_are_no_candidates() -> None:
    """Runs of visitors, without weights, without maps, of pairs, and of other classes never answer by default."""
    assert not best("en", Stub("mine/best", "english", 1.0))
    assert not best("en", Stub("english/mpnet", "english_balanced", 1.0, weights=False))
    assert not best("en", Stub("english/cnn", "english", 1.0, maps=False))
    assert not best("ko", Stub("question_pair/cls", "question_pair", 1.0))
    assert not best("en", Stub("sst5_trees/sentiformer", "sst5_trees", 1.0, labels=("objective", "subjective")))


def test_what_can_be_fetched_is_named_with_its_base() -> None:
    """The run of a mixture is named with the bytes of its base; without mixtures the largest run of single texts is."""
    assert is_mixture("korean") and not is_mixture("nsmc") and not is_mixture("nothing")
    assert best_to_fetch("ko") == ("korean/e5", 24_000_000) and best_to_fetch("en") == ("english/mpnet", 4_000_000)
    assert best_to_fetch("") == ("", 0)


def test_a_link_without_a_run_opens_the_default() -> None:
    """The default of the installation is in no link; another run is, also the one that was the default of earlier versions."""
    default, former = "english/mpnet", "english/ndt-unit-2"
    names = [former, default, "nsmc/cls"]
    focus, _ = Focus.parse({}, names, (), default)
    assert focus.run == default and "run" not in focus.query(default)
    for run in (former, "nsmc/cls"):
        query = focus.with_(run=run).query(default)
        assert query["run"] == run and Focus.parse(query, names, (), default)[0].run == run
    assert Focus.parse({}, names, ())[0].run == former and Focus.parse({}, [], ())[0].run == ""


def test_the_command_takes_a_sentence_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that `sentviz explain` names the command that fetches a run if none of the language is installed."""
    monkeypatch.setattr("sentviz.runs.store.runs", dict)
    done = CliRunner().invoke(main, ["explain", "나쁘지 않은 영화"])
    assert done.exit_code == 2 and "`sentviz runs get korean/e5` (24 MB) installs one." in done.output
