"""All commands share how they run in processes of their own, earlier forms, progress and errors; some open servers."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, nullcontext
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from sentviz.cli import main, process
from sentviz.cli import serve as servers
from sentviz.cli.commands import command_of
from sentviz.cli.terminal import command, listener, progress
from sentviz.errors import InputError, SentvizError
from sentviz.io import files
from sentviz.verbs import VERBS
from sentviz.verbs.door import OptionError
from tests.stored import compare, summary

REPORTS = r"print('\x1e{\"done\": 1, \"total\": 2}', 'starts', '\x1e{\"rows\": [3]}', sep='\n', flush=True); "


@pytest.mark.parametrize(
    ("script", "heard", "printed"),
    [
        (REPORTS, 2, ""),
        (r"print('Error: not\n this'); print('Error: It is\n  wrong.\n'); sys.exit(1)", 0, "It is wrong."),
        ("sys.exit(5)", 0, "sentviz train ended with exit status 5."),
        ("sys.stderr.buffer.write(b'\\xff \\xc3\\xa9'); sys.exit(1)", 0, "\ufffd é"),
        ("[print(i) for i in range(300)]; sys.exit(1)", 0, " ".join(map(str, range(100, 300)))),
        ("sys.stdin.read()", 0, "check"),
        (REPORTS + "sys.stdin.read()", 1, "hear"),
        (REPORTS + "time.sleep(60)", 2, "ending"),
    ],
)
def test_a_process_is_heard_and_stopped(script: str, heard: int, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reports, started, plain = list[Any](), list[Any](), subprocess.Popen

    def popen(words: list[str], **options: Any) -> Any:
        started.extend([words, options["env"], plain([sys.executable, "-S", "-c", f"import sys, time; {script}"], **options)])
        return started[-1]

    def stops(by: str, *report: Any) -> None:
        reports.extend(report)
        if by == printed or (by == "check" and printed == "ending" and heard == len(reports)):
            raise KeyboardInterrupt(printed)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(process, "LISTEN", 0.01)
    if printed == "ending":
        monkeypatch.setattr(process, "ENDING", 0.01)
    with pytest.raises((SentvizError, KeyboardInterrupt)) if printed else nullcontext(SimpleNamespace(value="")) as caught:
        process.run_apart(["train", "x"], partial(stops, "hear"), partial(stops, "check"))
    assert str(caught.value) == printed and reports == [{"done": 1, "total": 2}, {"rows": [3]}][:heard]
    words, environment, child = started
    assert words == [sys.executable, "-m", "sentviz.cli.process", "train", "x"] and environment == os.environ | {"PYTHONUTF8": "1"}
    assert child.poll() == {"ending": -signal.SIGKILL, "check": 0, "hear": 0}.get(printed, child.returncode) and child.stdout.closed


def test_the_process_ends_when_its_input_is_closed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ended, niced, parts, options = threading.Event(), list[int](), [b"", b"x"], dict[str, Any]()

    def run(**values: Any) -> None:
        options.update(values)
        assert ended.wait(5) and not parts

    monkeypatch.setattr(process, "os", SimpleNamespace(nice=niced.append, read=lambda handle, most: parts.pop()))
    monkeypatch.setattr(process._thread, "interrupt_main", ended.set)
    monkeypatch.setattr("sentviz.cli.main", run)
    process._main()
    assert niced == [5] and options["prog_name"] == "sentviz" and options.keys() == {"prog_name", "obj"}
    with click.Context(click.Command("x"), obj=options["obj"]):
        assert listener() is options["obj"]
        with progress("Rows") as report:
            report(1, 3)
    assert capsys.readouterr().out == '\x1e{"done": 1, "total": 3}\n'


EARLIER = {
    "export a/b --list x": "figures a/b x",
    "export --paper=ndt=2 -o x": "paper ndt=2 -o x",
    "export a/b --onnx -o x": "onnx a/b -o x",
    "explain a/b --data a.csv -o x": "reasons a/b --data a.csv -o x",
    "explain --data=a.csv -o x": "reasons --data=a.csv -o x",
    **{form: form for form in ("export a/b strip --text --list", "explain a/b --list", "predict a/b --data x", "predict --data")},
}


def test_earlier_forms_are_those_of_now() -> None:
    for earlier, now in EARLIER.items():
        name, answered, rest = main.resolve_command(click.Context(main), earlier.split())  # type: ignore[attr-defined]
        assert [name, *rest] == now.split() and answered is main.commands[name]


@pytest.mark.parametrize("tty", [True, False])
def test_progress_is_a_bar_until_all_is_counted(tty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    log, errors = list[Any](), StringIO()

    @contextmanager
    def bar(**options: Any) -> Any:
        log.append(options)
        yield (drawn := SimpleNamespace(length=0, pos=0, update=log.append))
        log.append(drawn.length)

    monkeypatch.setattr(click, "progressbar", bar)
    monkeypatch.setattr(errors, "isatty", lambda: tty, raising=False)
    monkeypatch.setattr(sys, "stderr", errors)
    with progress("Rows") as report:
        for done, total in ((1, 4), (5, 5), (1, 2)):
            report(done, total)
    options = {"label": "Rows", "file": errors, "hidden": not tty}
    assert log == [{"length": 4, **options}, 1, 5, 5, {"length": 2, **options}, 1, 2]


@pytest.mark.parametrize(
    ("error", "code", "printed"),
    [
        (OptionError("Give a RUN."), 2, "\nError: Give a RUN.\n"),
        (InputError("It is empty."), 1, "Error: It is empty.\n"),
        (KeyboardInterrupt(), 130, "\nStopped.\n"),
        (signal.SIGTERM, 143, "\nStopped.\n"),
        (BrokenPipeError(), 0, ""),
        (OSError(28, "No space left", "a.csv"), 1, "Error: a.csv cannot be used (No space left).\n"),
        (OSError("odd"), 1, "Error: The disk cannot be used (odd).\n"),
    ],
)
def test_errors_are_sentences_and_exit_codes(error: Any, code: int, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def fail() -> None:
        if isinstance(error, signal.Signals):
            signal.raise_signal(error)
        raise error

    out = sys.stdout
    with pytest.raises(SystemExit) as ended:
        click.Command("x", callback=command(fail)).main([])
    assert ended.value.code == code and (sys.stdout is None) == (code == 0)
    sys.stdout = out
    assert capsys.readouterr().err.endswith(printed)
    assert signal.getsignal(signal.SIGTERM) is before


SERVED = """app
app --port 9 --no-browser --model m:o --classes a,b --x=1
serve a b --mcp
serve a --host localhost --port 5
serve --host 0.0.0.0
serve --host ::1 --allow x --allow y
points OUT --port 3
points OUT
points OUT/none
points OUT/file"""


def test_commands_and_servers_are_as_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    log, now, folder, own = list[Any](), dict[str, Any](), files.place("app"), ("app", "serve", "points")
    for command_ in [command_of(verb) for verb in VERBS.values()]:
        now[str(command_.name)] = summary(command_.to_info_dict(click.Context(main)))
    for name in (*own, "export", "patch", "train"):
        now[f"{name} --help"] = summary(CliRunner().invoke(main, [name, "--help"], terminal_width=100).output)

    def noted(name: str, answer: Any = None) -> Any:
        return lambda *words, **more: log.append((name, [word for word in words if not callable(word)], more)) or answer

    def ends(**_: object) -> None:
        raise KeyboardInterrupt

    points = SimpleNamespace(server_port=7, serve_forever=noted("forever"))
    for name, names in {
        "anyio": {"run": noted("anyio")},
        "uvicorn": {"Config": noted("config"), "Server": lambda config: SimpleNamespace(run=ends)},
        "sentviz.doors.agents": {"serve": "agent"},
        "sentviz.doors.connections": {"SETTINGS": {"one": 1}},
        "sentviz.doors.http": {"LOCAL": ("localhost",), "application": noted("application", "an application")},
        "sentviz.serving.corpus.output": {"Scored": str},
        "sentviz.serving.corpus.plane": {"plane": noted("plane", [0] * 1234), "server": noted("server", nullcontext(points))},
    }.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**names))  # type: ignore[arg-type]
    monkeypatch.setattr(servers.socket, "create_server", noted("socket", nullcontext()))
    monkeypatch.setattr(servers, "own_model", noted("model"))
    monkeypatch.setattr(servers.runpy, "run_module", lambda *words, **more: log.append((words, more, sys.argv, sys.path[0])))
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in (files.APP_MODEL, files.APP_CLASSES):
        monkeypatch.setenv(name, "none")
    (tmp_path / "file").touch()
    for typed in SERVED.splitlines():
        log.clear()
        done = CliRunner().invoke(main, typed.replace("OUT", str(tmp_path)).split())
        answer = f"{done.exit_code} {done.output} {log} {os.environ[files.APP_MODEL]} {os.environ[files.APP_CLASSES]}"
        now[typed] = summary(answer.replace(str(tmp_path), "").replace(str(folder.parent), ""))
    compare("outputs.json", "commands", now, request)
