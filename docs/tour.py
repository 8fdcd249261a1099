"""Picture the README's tour anew from a running app: `python docs/tour.py http://localhost:8501`. Needs Chrome or Chromium."""

from __future__ import annotations

import click
from docsite.tour import TOUR, tour

from sentviz.io.files import replacing


@click.command()
@click.argument("address")
def main(address: str) -> None:
    """Write the tour of the app at ADDRESS."""
    with replacing(TOUR) as part:
        part.write_bytes(tour(address))
    click.echo(f"{TOUR.name}: {TOUR.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
