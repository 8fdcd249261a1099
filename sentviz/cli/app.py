"""The command that opens the app."""

from __future__ import annotations

import runpy
import sys

import click

from sentviz.cli.terminal import command, main


@main.command("app", context_settings={"ignore_unknown_options": True})
@click.option("--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="The next free one where it is taken.")
@click.option("--browser/--no-browser", default=True, help="Whether to open it in the browser.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[STREAMLIT OPTION]...")
@command
def app(port: int, browser: bool, options: tuple[str, ...]) -> None:
    """Open the app, for this machine alone. Options of `streamlit run` are passed on."""
    from sentviz.io.paths import place

    folder = place("app")
    sys.path.insert(0, str(folder.parent))
    chosen = [f"--server.port={port}", f"--server.headless={str(not browser).lower()}"]
    sys.argv = ["streamlit", "run", str(folder / "main.py"), *chosen, *options]
    runpy.run_module("streamlit", run_name="__main__")
