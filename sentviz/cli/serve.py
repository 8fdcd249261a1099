"""Commands that open the app, answer requests over HTTP, and write a page that computes without a server."""

from __future__ import annotations

import os
import runpy
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from sentviz.cli.rows_options import own_model, own_model_options
from sentviz.cli.terminal import command, main, progress_bar
from sentviz.errors import InputError
from sentviz.io.numbers import percent

if TYPE_CHECKING:
    from sentviz.charts.colours import Theme


@main.command("app", context_settings={"ignore_unknown_options": True})
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Port; if it is in use, the next free one.")
@click.option("--browser/--no-browser", default=True, help="Open the app in the browser, or only start it.")
@own_model_options
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
@command
def serve(runs: tuple[str, ...], host: str, port: int, allow: tuple[str, ...]) -> None:
    """Serve predictions, traces and explanations over HTTP, for the named RUNs or all that have weights. The address opened in a
    browser shows how to send requests.
    """
    from sentviz.serving.http import LOCAL, application

    if host not in LOCAL and not allow:
        raise click.UsageError(f"{host} is reachable from other machines. Add --allow NAME for each host name that they may use.")
    app = application(runs, (*LOCAL, *allow))
    import uvicorn

    from sentviz.serving.connections import SETTINGS

    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{host}:{port} cannot be served ({reason}). Stop the program that uses it, or choose another --port.") from error
    click.echo(f"Serving at http://{host}:{port}. Press Ctrl-C to stop.")
    with listening, suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(app, **SETTINGS)).run(sockets=[listening])


@main.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("live.html"), show_default=True, help="The page.")
@click.option("--text", default="", help="Sentence that is shown first; default: the run's example.")
@click.option("--int8", is_flag=True, help="Compute in 8 bits: a quarter of the size, other rounding.")
@click.option("--theme", type=click.Choice(["light", "dark"]), help="Colours; default: those that the reader's system prefers.")
@command
def live(runs: tuple[str, ...], out: Path, text: str, int8: bool, theme: str | None) -> None:
    """Write RUN as one HTML page that answers what is typed, without a server and without a network (extra: onnx).

    Several RUNs answer the same sentence side by side. Whoever has the page has the models. Without a wheel that has it, onnxruntime-web
    (33 MB) is fetched from the npm registry on first use.
    """
    from sentviz.serving.live.page import live_page

    with progress_bar("Fetching packages") as report:
        done = live_page(runs, out, text=text, int8=int8, theme=cast("Theme | None", theme), progress=report)
    click.echo(f"{out}: {done['bytes'] / 1e6:.1f} MB. Open it in a browser; it needs no network.")
    for model in done["models"]:
        if "same" in (cost := model["cost"]):
            click.echo(f"In 8 bits {model['run']} predicts the same class for {percent(cost['same'])} of {cost['n']:,} test rows.")
