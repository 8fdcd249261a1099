"""Commands that open the app, answer requests over HTTP, and write a page that computes without a server."""

from __future__ import annotations

import os
import runpy
import socket
import sys
from contextlib import suppress
from pathlib import Path

import click

from sentviz.cli.terminal import command, main, progress
from sentviz.errors import InputError
from sentviz.verbs.sources import own_model


@main.command("app", context_settings={"ignore_unknown_options": True})
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Port; if it is in use, the next free one.")
@click.option("--browser/--no-browser", default=True, help="Open the app in the browser, or only start it.")
@click.option("--model", "model_name", default="", metavar="MODULE:OBJECT|FOLDER", help="Your own model, which the app opens.")
@click.option("--classes", default="", help="Class names of --model in their order, for example negative,positive.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[STREAMLIT OPTION]...")
@command
def app(port: int, browser: bool, model_name: str, classes: str, options: tuple[str, ...]) -> None:
    """Open the app, reachable from this machine only. Options of `streamlit run` are passed on.

    With --model, the app opens with a model of your own code, without a run.
    """
    from sentviz.io.files import APP_CLASSES, APP_MODEL, place

    if model_name:
        own_model(model_name, classes)  # what is wrong with it is said here, not on a page
        os.environ |= {APP_MODEL: model_name, APP_CLASSES: classes}
    folder = place("app")
    sys.path.insert(0, str(folder.parent))
    chosen = [f"--server.port={port}", f"--server.headless={str(not browser).lower()}"]
    sys.argv = ["streamlit", "run", str(folder / "main.py"), *chosen, *options]
    runpy.run_module("streamlit", run_name="__main__")


@main.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; by default this machine only.")
@click.option("--port", type=click.IntRange(1, 65535), default=8600, show_default=True, help="Port to listen on.")
@click.option("--allow", multiple=True, metavar="NAME", help="Host name that requests may use. May be repeated.")
@click.option("--mcp", is_flag=True, help="Serve an agent instead, by the Model Context Protocol on standard input and output.")
@command
def serve(runs: tuple[str, ...], host: str, port: int, allow: tuple[str, ...], mcp: bool) -> None:
    """Serve the verbs that only read over HTTP, for the named RUNs or all that have weights.

    The address opened in a browser shows how to send requests. With --mcp, an agent gets the same as tools.
    """
    if mcp:
        import anyio

        from sentviz.doors.agents import serve as serve_agent

        anyio.run(serve_agent, runs)
        return
    from sentviz.doors.http import LOCAL, application

    if host not in LOCAL and not allow:
        raise click.UsageError(f"{host} is reachable from other machines. Add --allow NAME for each host name that they may use.")
    app = application(runs, (*LOCAL, *allow))
    import uvicorn

    from sentviz.doors.connections import SETTINGS

    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{host}:{port} cannot be served ({reason}). Stop the program that uses it, or choose another --port.") from error
    click.echo(f"Serving at http://{host}:{port}. Press Ctrl-C to stop.")
    with listening, suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(app, **SETTINGS)).run(sockets=[listening])


@main.command()
@click.argument("out", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Port on this machine; 0 = any free port.")
@command
def points(out: Path, port: int) -> None:
    """Show the rows of OUT, which `sentviz score --vectors` wrote, as points in a browser. A view shows a sample of its points."""
    from sentviz.serving.corpus.output import Scored
    from sentviz.serving.corpus.plane import plane, server

    scored = Scored(out)
    with progress("Parts") as report_progress:
        places = plane(scored, report_progress)
    with server(places, scored, port) as serving:
        click.echo(f"{len(places):,} points at http://127.0.0.1:{serving.server_port}. Press Ctrl-C to stop.")
        serving.serve_forever()
