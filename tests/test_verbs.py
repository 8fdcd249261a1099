"""Each verb is one function: its command, its request over HTTP, its tool for agents and Python give the same answer."""

import asyncio
import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz import api
from sentviz.cli import main
from sentviz.cli.commands import command_of
from sentviz.errors import InputError
from sentviz.io.arguments import Arg, Say, arguments, bind
from sentviz.io.numbers import plain
from sentviz.runs.store import find
from sentviz.verbs import PLACES, VERBS, OptionError
from sentviz.verbs.door import Outcome, Verb
from sentviz.verbs.sources import Source
from tests.kit import refused
from tests.stored import compare, summary

RUN, TEXT = "toy/ndt-unit-2", "a warm song"
ASKED: dict[str, dict[str, Any]] = {"predict": {"run": RUN, "texts": [TEXT, "a dull soup"]}, "trace": {"run": RUN, "text": TEXT}}
ASKED |= {"explain": {"run": RUN, "text": TEXT, "method": "exact"}, "patch": {"run": RUN, "first": TEXT, "second": "a dull song"}}
ASKED |= {"catalog": {}, "verdict": {"words": "ndt"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(autouse=True)
def shelf(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_RUNS", str(tiny_runs))


@dataclass(frozen=True)
class Corner:
    """A group of two arguments."""

    left: Annotated[int, Arg("Left end.", least=0)] = 0
    right: Annotated[str, Arg("Right end.", name="end")] = ""


class Drawing(Outcome):
    """A result that is written."""

    SAVES = (".csv", ".md")

    def save(self, path: Path) -> str:
        return f"Written: {path.name}."


def draw(
    shape: Annotated[str, Arg("Shape.")],
    colours: Annotated[tuple[str, ...], Arg("Colours.")] = (),
    *,
    corner: Corner = Corner(),
    is_filled: Annotated[bool, Arg("Fill it.")] = True,
    style: Annotated[Literal["thin", "thick"], Arg("Line.")] = "thin",
    at: Annotated[tuple[str, float] | None, Arg("Place.")] = None,
    notes: Annotated[object, Arg("Notes.")] = None,
    say: Say | None = None,
) -> Drawing:
    """Draw a shape.

    More about it.
    """
    assert say is not None
    say("At once.")
    if shape == "stop":
        raise KeyboardInterrupt
    text, numbers = f"{shape} {colours} {corner} {is_filled} {style} {at} {notes}", {"left": corner.left}
    return Drawing((text,), [{"é": 1.5}, 2] if shape == "box" else numbers, ("A remark.",), shape != "bad")


DRAW = Verb(draw, "Rows", remote=False, stores=False, resumes=True, synopsis="")
SAID = "! At once.\n! A remark.\n"


@pytest.mark.parametrize(
    ("typed", "code", "printed"),
    [
        ("box", 0, f"{SAID}box () Corner(left=0, right='') True thin None None\n"),
        ("bad a b --left 2 --end b --no-is-filled", 1, f"{SAID}bad ('a', 'b') Corner(left=2, right='b') False thin None None\n"),
        ("x --at left 2.5 --style thick --notes a.json", 0, "x () Corner(left=0, right='') True thick ('left', 2.5) {'a': 1}\n"),
        ("box --json", 0, SAID + '{"é": 1.5}\n2\n'),
        ("x --json -o a.md", 0, SAID + '{"left": 0}\nWritten: a.md.\n'),
        ("x -o A.CSV", 0, f"{SAID}x () Corner(left=0, right='') True thin None None\nWritten: A.CSV.\n"),
        ("x -o a.pdf", 2, "Error: The result is written as .csv or .md, not as a.pdf.\n"),
        ("x --code --at a 2", 0, "from sentviz import api\n\nresult = api.draw('x', at=('a', 2.0))\nprint(result.text())\n"),
        ("stop", 130, "! At once.\n\nTo continue, run the command again.\n\nStopped.\n"),
        ("", 2, "Error: Missing argument 'SHAPE'.\n"),
        ("x --notes none.json", 2, "There is no file none.json.\n"),
        ("x --left -1", 2, "is not in the range x>=0.\n"),
        ("x --style round", 2, "is not one of 'thin', 'thick'.\n"),
    ],
)
def test_a_command_is_made_of_its_verb(typed: str, code: int, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text('{"a": 1}')
    done = CliRunner().invoke(command_of(DRAW), typed.split())
    assert done.exit_code == code and done.output.endswith(printed), done.output


def test_a_signature_is_read_once_and_is_a_command() -> None:
    read = {each.name: each for each in arguments(draw)}
    assert list(read) == ["shape", "colours", "left", "end", "is_filled", "style", "at", "notes"]
    assert [each.name for each in read.values() if each.positional] == ["shape", "colours"]
    assert read["shape"].required and read["colours"].many and read["style"].choices == ("thin", "thick")
    assert bind(draw, {"shape": "box", "left": 3, "end": "b"})["corner"] == Corner(3, "b")
    assert "is_filled" not in bind(draw, {"shape": "box"})
    assert all(getattr(api, name) is verb.function and verb.place in PLACES for name, verb in VERBS.items())
    lines = CliRunner().invoke(main, ["--help"]).output.splitlines()
    assert [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")] == ["Options", *PLACES, "Servers"]
    assert len(lines) <= 60 and all(f" {name}" in "\n".join(lines) for name in main.commands)


def test_the_lines_of_python_do_what_the_command_does() -> None:
    for words in [
        ("explain", RUN, TEXT, "--method", "exact", "--target", "negative"),
        ("predict", RUN, TEXT, 'it\'s "good"'),
        ("export", RUN, "confusion"),
    ]:
        code, done = (CliRunner().invoke(main, [*words, *more]) for more in (("--code",), ()))
        assert code.exit_code == done.exit_code == 0, code.output + done.output
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code.output, {})
        assert printed.getvalue() == done.stdout
        typed = ["reasons", "--model", "mine:model", "--data", "a.csv", "-o", "out.csv", "--code"]
        lines = CliRunner().invoke(main, typed).output
        assert "from pathlib import Path" in lines and "out=Path('out.csv')" in lines and "model='mine:model'" in lines, lines
    done = CliRunner().invoke(main, ["export", RUN, "strip", "--text", "--list", "--json"])
    assert done.exit_code == 0 and "--list" in done.output, done.output


def rounded(value: Any) -> Any:
    """Return numbers with four decimals: batches of another size may differ in the last digits."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def typed(verb: Verb, values: dict[str, Any]) -> list[str]:
    words = []
    for each in verb.arguments:
        value = values.get(each.name)
        parts = value if isinstance(value, list) else [] if value is None else [value]
        words += [str(part) for part in parts] if each.positional else [word for part in parts for word in (f"--{each.name}", str(part))]
    return words


@pytest.fixture(scope="module")
def doors(tiny_runs: Path) -> Iterator[Any]:
    """Return a client over HTTP and the server for agents, of two runs."""
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    pytest.importorskip("mcp", reason="the extra serve is not installed")
    from fastapi.testclient import TestClient

    from sentviz.doors.agents import server
    from sentviz.doors.http import application

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_RUNS", str(tiny_runs))
        runs = [RUN, "toy/vanilla-matched"]
        with TestClient(application(runs), base_url="http://localhost", raise_server_exceptions=False) as http:
            yield http, server(runs)


def tell(agents: Any, name: str, values: Any) -> Any:
    from mcp import Client

    async def ask() -> Any:
        async with Client(agents) as client:
            return await client.call_tool(name, values)

    return asyncio.run(ask())


@pytest.mark.parametrize("name", ASKED)
def test_every_door_gives_the_same_answer(name: str, doors: Any) -> None:
    (http, agents), verb, values = doors, VERBS[name], ASKED[name]
    call = bind(verb.function, {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    wanted = json.loads(json.dumps(plain(verb.function(**call).json())))
    done = CliRunner().invoke(main, [name, *typed(verb, values), "--json"])
    assert rounded(json.loads(done.stdout)) == rounded(wanted)
    answer = http.post(f"/{name}", json=values)
    assert answer.status_code == 200, answer.text
    answered = tell(agents, name, values)
    assert not answered.is_error and json.loads(answered.content[0].text) == answered.structured_content
    about = {"run": RUN, "digest": find(RUN).digest} if "run" in values else {}
    if name == "catalog":
        wanted["rows"] = [row for row in wanted["rows"] if row["run"] in (RUN, "toy/vanilla-matched")]
    for numbers in (answer.json(), answered.structured_content):
        assert rounded(numbers) == rounded(about | wanted)


def test_strangers_cannot_name_files_or_packages(doors: Any) -> None:
    http, agents = doors
    schemas = http.get("/openapi.json").json()["components"]["schemas"]
    for verb in [verb for verb in VERBS.values() if verb.remote]:
        local = {"model", "data", "out", "files", *(each.name for each in verb.arguments if each.about.local)}
        assert not local & set(schemas[f"{verb.name.capitalize()}Request"]["properties"])
    assert not {"train", "score", "report", "live", "verify", "reasons", "export"} & set(schemas)
    for values in ({"run": "toy/none", "text": TEXT}, {"run": "../toy", "text": TEXT}, {"run": RUN, "text": TEXT, "model": "os:system"}):
        assert http.post("/explain", json=values).status_code in (404, 422) and tell(agents, "explain", values).is_error
    assert "no run" in tell(agents, "compare", {"sources": [RUN, "/etc/passwd"]}).content[0].text
    assert "no tool" in tell(agents, "train", {}).content[0].text


def test_sources_take_what_is_stored(request: pytest.FixtureRequest) -> None:
    every = {
        each.__name__: [{**vars(argument), "default": None} for argument in arguments(each)]
        for each in (api.StoredRun, Source, api.SourceOfRows)
    }
    now = {name: summary(repr(each)) for name, each in every.items()}
    of = [api.StoredRun.of(RUN), Source.of(RUN), api.SourceOfRows.of(Source(RUN, model="m:o", classes="a,b"))]
    compare("outputs.json", "sources", now | {"of": summary([str(each) for each in of])}, request)


@settings(max_examples=20, deadline=None)
@given(name=st.sampled_from([name for name, verb in VERBS.items() if verb.remote]), values=JSON)
def test_whatever_is_asked_gets_one_sentence_or_a_request(name: str, values: Any) -> None:
    asking = pytest.importorskip("sentviz.doors.asking", reason="the extra serve is not installed")
    try:
        asking.checked(VERBS[name], values)
    except InputError as error:
        assert 0 < len(str(error)) < 400 and "\n" not in str(error)


def test_a_source_is_a_name_a_run_or_a_model_and_a_result_draws_itself(tiny_model: Any) -> None:
    by_name, by_run, by_model = (api.predict(of, (TEXT,)).json() for of in (RUN, find(RUN), tiny_model))
    assert by_name == by_run == by_model
    explained = api.explain(tiny_model, TEXT)
    assert api.export(RUN, "confusion").frame.equals(api.export(RUN, "confusion").chart().frame)
    assert explained.frame["token"].tolist() == list(explained.trace.tokens) and explained.chart().frame is not None
    assert api.SourceOfRows.of(Source(RUN, model="")).run == RUN and api.StoredRun.of(api.SourceOfRows(RUN)).run == RUN
    refused(OptionError, "Give a RUN", Source().answers)
    refused(OptionError, "a RUN has its own", Source(RUN, classes="a,b").answers)
    for result, figure in (
        (api.compare((RUN, "toy/vanilla-matched")), "comparison"),
        (api.patch(RUN, TEXT, "a cold song"), "patch"),
        (api.labels(RUN), "label-errors"),
    ):
        assert figure in result.chart().name
    refused(InputError, "`sentviz figures` lists", api.verdict("ndt").chart)
