"""Check every item of every paper: ``python -m tools.items [PAPER ...]``.

The quick part reads the lists: each place, run, claim, table and figure exists, each claim of a board is an item, and each printed number
in a table is in the paper's files or computed from them (`tools.printed`). ``--open`` also opens each place in the app. ``--draw``
draws what is live from the shipped runs and writes it. Each fault is a line, and the exit status is 1 if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import pandas as pd

from app.focus import FIELDS
from sentviz.errors import SentvizError
from sentviz.io.glossary import glossary
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.export_paper import export_paper
from sentviz.papers.studies.items import makers, paper_faults
from sentviz.runs.catalog import study_runs
from sentviz.runs.items import DRAWN, Item
from sentviz.runs.registry import Paper, built_in, find_paper
from sentviz.runs.store import SHIPPED, Run
from tools.inventory import page_settings
from tools.printed import number_faults

ROOT = Path(__file__).resolve().parents[1]
OURS = ("ours", "our ", "public code")  # beginnings of the places of claims that the paper does not make


@cache
def shipped() -> tuple[Run, ...]:
    """Return the runs in the repository that studies read."""
    return tuple(run for run in study_runs([SHIPPED]).runs if run.folder.is_relative_to(SHIPPED.resolve()))


# ---- what is listed


def listed_faults(paper: Paper) -> Iterator[str]:
    """Yield what is wrong with a paper's list."""
    yield from paper_faults(paper)
    claims, able = {claim.id: claim for claim in claims_of(paper)}, makers(paper)
    linked = {*FIELDS, *page_settings(ROOT)}
    for item in paper.items():
        yield from (f"{item.id}: there is no claim {name}" for name in item.claims if name not in claims)
        yield from (f"{item.id}: no page reads {name} of its link" for name in item.query if name not in linked)
        if item.page == "glossary" and item.query.get("find") not in glossary():
            yield f"{item.id}: the glossary has no term {item.query.get('find')}"
        if "run" in item.query and not (SHIPPED / item.query["run"]).is_dir():
            yield f"{item.id}: no run {item.query['run']} is shipped"
        if item.kind in DRAWN and item.state == "live" and item.made_by not in able:
            yield f"{item.id}: nothing draws it for the exported folder"
    named = {name for item in paper.items() for name in item.claims}
    left = [claim for claim in claims.values() if claim.id not in named and not claim.where.startswith(OURS)]
    yield from (f"claim {claim.id}, {claim.statement}: no item names it" for claim in left)


# ---- what is drawn, written and opened


def drawn_faults(paper: Paper, runs: Sequence[Run], folder: Path) -> Iterator[str]:
    """Yield each live table and figure of which no file is written from these runs."""
    manifest = export_paper(paper.name, folder, runs)
    written = {entry["id"]: entry for entry in manifest["files"]}
    for item in paper.items():
        if item.state != "live" or item.kind not in DRAWN:
            continue
        entry = written.get(item.made_by, {"state": "nothing draws it", "parts": []})
        if entry["state"] != "written":
            yield f"{item.id}: {entry.get('reason', entry['state'])}"
        files = [folder / name for part in entry["parts"] for name in part["files"]]
        yield from (f"{item.id}: {path.name} is missing or empty" for path in files if not path.is_file() or not path.stat().st_size)
    rows = pd.read_csv(folder / "items.csv", encoding="utf-8-sig", keep_default_na=False)
    if rows["link"].tolist() != [item.link(paper.name, paper.page.url) for item in paper.items()]:
        yield "the exported list has other links"


def opened_faults(paper: Paper) -> Iterator[str]:
    """Yield each place that fails to open in the app, shows an error, or does not know a part of its link."""
    from tests.kit import navigation, started

    for link, items in _by_link(paper).items():
        address, _, _ = link.partition("?")
        app = started()
        app._registered_pages = navigation()
        for name, value in items[0].query.items() or [("claim", link.rpartition("=")[2])]:
            app.query_params[name] = value
        app._page_hash = next(key for key, info in app._registered_pages.items() if info["url_pathname"] == address)
        app.run()
        messages = [*(error.message for error in app.exception), *(error.value for error in app.error)]
        messages += [note.value for note in app.info if "which is not available" in str(note.value)]
        yield from (f"{', '.join(item.id for item in items)}: {link} says: {text}" for text in messages)


def _by_link(paper: Paper) -> dict[str, list[Item]]:
    links: dict[str, list[Item]] = {}
    for item in paper.items():
        if link := item.link(paper.name, paper.page.url):
            links.setdefault(link, []).append(item)
    return links


def addresses() -> dict[str, str]:
    """Return the app's own pages: titles by address, without the pages of papers."""
    from tests.kit import navigation

    of_papers = {paper.page.url for paper in built_in().values()}
    pages = {info["url_pathname"]: info["page_name"] for info in navigation().values()}
    return {address: title for address, title in pages.items() if address not in of_papers}


@click.command(help=__doc__)
@click.argument("names", metavar="PAPER", nargs=-1)
@click.option("--open", "opens", is_flag=True, help="Open each place in the app.")
@click.option("--draw", "draws", is_flag=True, help="Draw and write what is live from the shipped runs.")
def main(names: Sequence[str], *, opens: bool, draws: bool) -> None:
    """Print the faults of the lists of items."""
    faults = 0
    for paper in map(find_paper, names or built_in()):
        lines = [*listed_faults(paper), *number_faults(paper, shipped())]
        lines += opened_faults(paper) if opens else []
        if draws:
            with TemporaryDirectory() as folder:
                lines += drawn_faults(paper, shipped(), Path(folder))
        states = pd.Series([item.state for item in paper.items()]).value_counts()
        click.echo(f"{paper.short}: {', '.join(f'{count} {state}' for state, count in states.items())}, {len(lines)} faults")
        click.echo("".join(f"  {line}\n" for line in lines), nl=False)
        faults += len(lines)
    if faults:
        raise SystemExit(1)


if __name__ == "__main__":
    try:
        main()
    except SentvizError as error:
        raise SystemExit(str(error)) from None
