"""A newcomer's machine, without data sets, network or a cache: every page, part of a page and command, with one run of each kind."""

import shlex
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from app.focus import choices
from sentviz.analysis.embeddings.projection import METHODS
from sentviz.cli import main
from sentviz.data.datasets import datasets, info
from sentviz.runs.catalog import language, reads_pairs
from sentviz.runs.registry import built_in, find_paper, papers
from sentviz.runs.store import Run, runs
from tests.fresh import FAULTS
from tests.kit import DEFAULT, ROOT, opened, sane

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not (ROOT / "checkpoints" / "english").is_dir(), reason="checkpoints/ is not here"),
]
SENTENCE = "Not a bad film, for once."


def kind(run: Run) -> tuple[Any, ...]:
    """Return the properties by which pages and commands distinguish runs."""
    has = run.capabilities
    model = type(run.shape), has.components > 1, has.gate, has.lexicon, reads_pairs(run), language(run), len(run.labels) > 2
    return *model, run.has_weights, bool(run.epochs), bool(run.measured)


@cache
def of_each_kind() -> tuple[str, ...]:
    """Return the first run of each kind and the default run; empty without checkpoints."""
    if not (ROOT / "checkpoints" / "english").is_dir():
        return ()
    first = {kind(run): name for name, run in reversed(runs().items()) if isinstance(run, Run)}
    return tuple(sorted({*first.values(), DEFAULT}))


def parts(page: str, **fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a page as it opens, and with every value of each field."""
    yield page, {}
    yield from ((page, {field: value}) for field, values in fields.items() for value in values)


def views(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every page that shows a run, with its parts."""
    row = str(run.frame("test.parquet")["id"].iloc[0])
    alike = (name for name, each in runs().items() if isinstance(each, Run) and name != run.name and each.labels == run.labels)
    over, beside = choices("over"), (next(alike, ""),)
    yield from parts("explore", text=(SENTENCE,), row=(row,), large=choices("large"))
    yield from parts("attention", look=choices("look"), specials=("show", "hide"), row=(row,))
    yield from parts("compare", versus=beside, row=(row,), over=over)
    yield from parts("hardmax", lab=("review", "playground", "leaders"))
    view, slices = ("matrix", "curves", "calibration"), ("cell=1,0", "lasso=nonsense")
    yield from parts("confusion", view=view, over=over, versus=beside, slice=slices)
    yield from parts("behaviour", capability=("names",))
    yield from parts("words", words=choices("words"), stops=("drop", "keep"), over=over)
    yield from parts("embeddings", method=tuple(METHODS), dims=("2", "3"), sample=("stored", "all"), over=over, depth=("0",))
    yield from parts("cls", text=(SENTENCE,))
    yield from parts("scalars", scale=choices("scale"))
    yield from parts("curves", axis=("epoch", "step"), seeds=("lines", "bands"), travel=("joint", "aligned"))
    yield from parts("runs", shelf=("sets", "phenomena", "errors"))
    yield from ((page, {}) for page in ("explanations", "components"))


def check(many: Iterator[tuple[str, dict[str, str]]]) -> None:
    """Open pages; fail with those that have a fault."""
    wrong = {}
    for page, query in many:
        try:
            sane(opened(page, **query))
        except (AssertionError, RuntimeError) as error:
            wrong[page, str(query)] = str(error)[:400]
    assert not wrong, "\n".join(f"{where}: {message}" for where, message in wrong.items())


@pytest.mark.parametrize("name", of_each_kind())
def test_every_part_of_every_page_of_a_run(newcomer: Path, name: str) -> None:
    run = runs()[name]
    assert isinstance(run, Run)
    check((page, {"run": name} | query) for page, query in views(run))


@pytest.mark.parametrize("paper", built_in())
def test_every_part_of_a_papers_page(newcomer: Path, paper: str) -> None:
    page, studies = find_paper(paper).page, find_paper(paper).studies.values()
    sets = {dataset for study in studies for dataset in study.datasets} or {""}
    check((page.url, {"run": "", "part": part} | ({"study": of} if of else {})) for part, of in product(page.parts, sets))


def test_every_page_of_no_run(newcomer: Path) -> None:
    fields = {"paper": ("all", *papers()), "verdict": ("holds", "fails", "open", "unjudged")}
    check((page, {"run": ""} | query) for each in (parts("claims", **fields), parts("glossary"), parts("colours")) for page, query in each)
    app = opened("data", run="")
    for name in datasets()["name"]:
        app.session_state["data-chosen"] = name
        assert ("is not on this machine" in sane(app.run())) == (not info(name).maker)


def test_what_a_page_cannot_fetch_it_says(newcomer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_ALLOW_DOWNLOAD", "1")
    app = opened("confusion", run="sst2/ndt-unit-2")
    assert "rows are not on this machine." in sane(app)
    app.button(key="again-sst2").click().run()
    for thread in [thread for thread in threading.enumerate() if thread.name == info("sst2").title]:
        thread.join(30)
    assert "cannot be written" in sane(app.run()) and app.button(key="again-sst2")


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
