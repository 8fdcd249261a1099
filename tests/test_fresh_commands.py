"""A newcomer's machine from end to end: every command, with one run of each kind, and every figure. Left to .ci/full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.data.datasets import datasets
from sentviz.runs.registry import built_in
from tests.fresh import FAULTS
from tests.kit import DEFAULT, ROOT
from tests.test_fresh_pages import SENTENCE, of_each_kind

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not (ROOT / "checkpoints" / "english").is_dir(), reason="checkpoints/ is not here"),
]


def commands(group: click.Group = main, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return every command as it is typed."""
    for name, each in group.commands.items():
        if isinstance(each, click.Group):
            yield from commands(each, (*before, name))
        else:
            yield *before, name


SERVERS = {"app": "tests/test_served.py starts it", "serve": "tests/test_served.py starts it", "points": "it serves what score wrote"}
OF_A_RUN: dict[str, tuple[tuple[str, ...], ...]] = {  # options behind the run
    "evaluate": ((),),
    "faithfulness": ((),),
    "specialise": ((),),
    "heads": ((),),
    "gates": ((),),
    "leaders": ((),),
    "words": ((),),
    "epochs": ((),),
    "card": ((),),
    "labels": ((),),
    "directions": ((),),
    "referee": ((),),
    "behave": (("--cases", "1", "-o", "/proc/x.json"),),
    "judge": ((), ("none.json",), ("texts.txt", "--text", SENTENCE)),
    "patch": ((SENTENCE,), (SENTENCE, SENTENCE)),
    "live": (("--text", "", "-o", "/proc/x.html"),),
    "compare": ((), ("sst2/vanilla",), ("sst2/vanilla", "-o", "/proc/x.html"), ("none.csv",), ("nothing", "--data", "none.csv")),
    "predict": ((SENTENCE,), (SENTENCE, " "), ("",)),
    "trace": ((SENTENCE,), (SENTENCE, "--maps", "--layer", "9"), (SENTENCE, "--pair", SENTENCE)),
    "weak": ((), ("--among", "nonsense")),
    "reasons": ((), ("--data", "none.csv", "-o", "out.csv"), ("--data", "texts.txt", "-o", "out.parquet")),
    "explain": ((SENTENCE,), (SENTENCE, "--pair", SENTENCE), ("",)),
    "report": ((SENTENCE, "-o", "report.html"), (SENTENCE, "-o", "report.html", "--picture"), (SENTENCE, "-o", "/proc/x.html")),
    "export": (
        ("--list",),
        ("strip",),
        ("strip", "-o", "strip.csv"),
        ("map", "-o", "map.csv"),
        ("strip", "-o", "/proc/x.csv"),
        ("--onnx", "-o", "/proc/x"),
    ),
    "figures": ((),),
    "onnx": (("-o", "/proc/x"),),
    "score": (("none.csv", "-o", "out"), ("texts.txt", "-o", "/proc/x"), ("texts.txt", "-o", "out-{run}")),
}
OTHERS: dict[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("base", "list"): ((),),
    ("base", "add"): (("/no/such", "mine"), ("no/such", "mine")),
    ("data", "list"): ((),),
    ("data", "add"): (("none.csv",), ("texts.txt",)),
    ("data", "remove"): (("nothing",),),
    ("data", "where"): ((),),
    ("data", "get"): tuple((name,) for name in (*datasets()["name"], "nothing")),
    ("data", "verify"): tuple((name,) for name in (*datasets()["name"], "nothing")),
    ("runs", "list"): ((),),
    ("runs", "get"): ((DEFAULT,), ("sst2/vanilla",), ("--all",), ("no/such",)),
    ("runs", "pack"): (("/proc/x", DEFAULT), ("out", "no/such")),
    ("catalog",): ((),),
    ("paper",): (("ndt", "-o", "/proc/x"), ("nothing", "-o", "out")),
    ("verdict",): ((), ("lambda",), ("nothing of the kind",)),
    ("verify",): (("none.png",), ("texts.txt",)),
    ("train",): (*((name,) for name in (*datasets()["name"], "nothing")), ("sst2", "--hub", "./no"), ("sst2", "--hub", "no/such")),
    ("calibrate",): (("no/such",), ("no/such", "--intercept")),
    ("adopt",): (("/no/such", "--dataset", "sst2"), ("no/such", "--dataset", "sst2"), ("x", "--dataset", "nothing")),
    ("study",): tuple(
        (name, "--dataset", dataset)
        for paper in built_in().values()
        for name, study in paper.studies.items()
        for dataset in (*study.datasets, "nothing")
    ),
}


def test_every_command_is_walked() -> None:
    assert {*commands()} == {*OTHERS} | {(name,) for name in (*OF_A_RUN, *SERVERS)}


def fault(typed: Sequence[str]) -> str:
    """Return the fault of a command's end, which must be an answer or one sentence; empty if there is no fault."""
    done = CliRunner().invoke(main, typed)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{typed}: {done.exception!r}"
    if faults := [fault for fault in FAULTS if fault in done.output]:
        return f"{typed} says {faults}: {done.output[-1000:]}"
    if not done.exit_code:
        return ""
    *_, last = ["", *done.output.strip().splitlines()]
    return "" if done.exit_code in (1, 2) and 20 < len(last) < 1000 else f"{typed} ends with {done.exit_code} and {last!r}"


def walked(*all_typed: Sequence[str]) -> None:
    """Run commands, each of which must end well."""
    wrong = [*filter(None, map(fault, all_typed))]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def texts(nothing_at_hand: Path) -> None:
    """Write a file of texts into the working folder."""
    (nothing_at_hand / "texts.txt").write_text(f"{SENTENCE}\nA quiet delight.\n", encoding="utf-8")


@pytest.mark.parametrize("name", of_each_kind())
def test_every_command_of_a_run(texts: None, name: str) -> None:
    typed = [(command, more) for command, many in OF_A_RUN.items() for more in many]
    walked(*((command, name, *(part.replace("{run}", name.replace("/", "-")) for part in more)) for command, more in typed))


@pytest.mark.parametrize("command", OTHERS, ids=" ".join)
def test_every_other_command(texts: None, command: tuple[str, ...]) -> None:
    walked(*((*command, *more) for more in OTHERS[command]))
