"""A newcomer's machine from end to end: every command, with one run of each kind. Left to .ci/full."""

from __future__ import annotations

import shlex
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
SERVERS = {"app", "serve", "points"}  # tests/test_served.py starts the servers
OF_A_RUN = """
evaluate RUN; faithfulness RUN; specialise RUN; heads RUN; gates RUN; leaders RUN; words RUN; epochs RUN; card RUN; labels RUN
directions RUN; referee RUN; behave RUN --cases 1 -o /proc/x.json; live RUN --text '' -o /proc/x.html; figures RUN; onnx RUN -o /proc/x
judge RUN; judge RUN none.json; judge RUN texts.txt --text TEXT; patch RUN TEXT; patch RUN TEXT TEXT
compare RUN; compare RUN sst2/vanilla; compare RUN sst2/vanilla -o /proc/x.html; compare RUN none.csv; compare RUN nothing --data none.csv
predict RUN TEXT; predict RUN TEXT ' '; predict RUN ''; trace RUN TEXT; trace RUN TEXT --maps --layer 9; trace RUN TEXT --pair TEXT
weak RUN; weak RUN --among nonsense; explain RUN TEXT; explain RUN TEXT --pair TEXT; explain RUN ''
reasons RUN; reasons RUN --data none.csv -o out.csv; reasons RUN --data texts.txt -o out.parquet
report RUN TEXT -o report.html; report RUN TEXT -o report.html --picture; report RUN TEXT -o /proc/x.html
export RUN --list; export RUN strip; export RUN strip -o strip.csv; export RUN map -o map.csv; export RUN strip -o /proc/x.csv
export RUN --onnx -o /proc/x; score RUN none.csv -o out; score RUN texts.txt -o /proc/x; score RUN texts.txt -o out-NAME
"""
DATA, STUDIES = (*datasets()["name"], "nothing"), [(n, each) for paper in built_in().values() for n, each in paper.studies.items()]
OTHERS = f"""
base list; base add /no/such mine; base add no/such mine; data list; data add none.csv; data add texts.txt; data remove nothing; data where
{"; ".join(f"{command} {name}" for command in ("data get", "data verify", "train") for name in DATA)}
train sst2 --hub ./no; train sst2 --hub no/such; runs list; runs get {DEFAULT}; runs get sst2/vanilla; runs get --all; runs get no/such
runs pack /proc/x {DEFAULT}; runs pack out no/such; catalog; paper ndt -o /proc/x; paper nothing -o out; verdict; verdict lambda
verdict 'nothing of the kind'; verify none.png; verify texts.txt; calibrate no/such; calibrate no/such --intercept
adopt /no/such --dataset sst2; adopt no/such --dataset sst2; adopt x --dataset nothing
{"; ".join(f"study {name} --dataset {each}" for name, study in STUDIES for each in (*study.datasets, "nothing"))}
"""


def typed(text: str, **names: str) -> list[list[str]]:
    """Return the commands of a text, one or more a line, with some words replaced."""
    commands = [shlex.split(command) for line in text.strip().split("\n") for command in line.split("; ")]
    return [[names.get(word, word).replace("NAME", names.get("NAME", "NAME")) for word in command] for command in commands]


def commands(group: click.Group = main, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return every command as it is typed."""
    for name, each in group.commands.items():
        yield from commands(each, (*before, name)) if isinstance(each, click.Group) else [(*before, name)]


def test_every_command_is_walked() -> None:
    walked = [tuple(command) for command in (*typed(OF_A_RUN), *typed(OTHERS))]
    assert not [each for each in commands() if each[0] not in SERVERS and not any(command[: len(each)] == each for command in walked)]


def fault(words: Sequence[str]) -> str:
    """Return the fault of a command's end, which must be an answer or one sentence; empty if there is no fault."""
    done = CliRunner().invoke(main, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{words}: {done.exception!r}"
    if faults := [fault for fault in FAULTS if fault in done.output]:
        return f"{words} says {faults}: {done.output[-1000:]}"
    *_, last = ["", *done.output.strip().splitlines()]
    well = not done.exit_code or (done.exit_code in (1, 2) and 20 < len(last) < 1000)
    return "" if well else f"{words} ends with {done.exit_code} and {last!r}"


@pytest.mark.parametrize("name", (*of_each_kind(), ""))
def test_every_command_ends_in_an_answer_or_a_sentence(nothing_at_hand: Path, name: str) -> None:
    (nothing_at_hand / "texts.txt").write_text(f"{SENTENCE}\nA quiet delight.\n", encoding="utf-8")
    lines = typed(OF_A_RUN, RUN=name, TEXT=SENTENCE, NAME=name.replace("/", "-")) if name else typed(OTHERS)
    wrong = [*filter(None, map(fault, lines))]
    assert not wrong, "\n".join(wrong)
