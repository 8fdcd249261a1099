"""The command that answers over HTTP."""

from __future__ import annotations

import click

from sentviz.cli.terminal import command, main


@main.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; this machine alone unless told.")
@click.option("--port", type=click.IntRange(1, 65535), default=8600, show_default=True)
@click.option("--allow", multiple=True, metavar="NAME", help="A name by which others may call it. Several times.")
@command
def serve(runs: tuple[str, ...], host: str, port: int, allow: tuple[str, ...]) -> None:
    """Predict, trace and explain over HTTP: all runs at hand, or the RUNs named. The address itself shows how it is asked."""
    from sentviz.serving.http import LOCAL, application

    if host not in LOCAL and not allow:
        raise click.UsageError(f"{host} is heard by others; name with --allow by which names they may call it.")
    app = application(runs, (*LOCAL, *allow))
    import uvicorn

    from sentviz.serving.connections import SETTINGS

    click.echo(f"http://{host}:{port} (Ctrl-C ends it)")
    uvicorn.run(app, host=host, port=port, **SETTINGS)
