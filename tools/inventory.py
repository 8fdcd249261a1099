"""List everything that sentviz offers, as JSON: ``python -m tools.inventory > before.json``.

``python -m tools.inventory --beside before.json`` compares that list with the present one and prints each difference. A change of the
structure alone must leave no difference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
Part = dict[str, object]


def pages() -> Part:
    """Return the title of each page of the navigation by its address."""
    from streamlit.testing.v1 import AppTest

    script = next(path for path in (ROOT / "app" / "navigation.py", ROOT / "app" / "navigation.py") if path.is_file())
    app = AppTest.from_file(str(script), default_timeout=240).run()
    if app.exception:
        raise click.ClickException(str(app.exception))
    return {info["url_pathname"]: info["page_name"] for info in app._registered_pages.values()}


def sections() -> Part:
    """Return the parts of each paper's page."""
    from sentviz.runs.registry import papers

    return {name: list(paper.page.parts) for name, paper in papers().items()}


def link() -> Part:
    """Return the names that a link may carry: fields of the shared focus, and names that a widget of one page binds."""
    from app.focus import FIELDS

    return dict.fromkeys(sorted({name for name, field in FIELDS.items() if field.read} | page_settings(ROOT)))


def page_settings(root: Path) -> set[str]:
    """Return the names of the settings of single pages in a checkout."""
    setting = r'\b(?:setting\([^"]*"\w[^"]*",\s*|page_value\()"(\w+)"'
    return {name for path in (root / "app").rglob("*.py") for name in re.findall(setting, path.read_text("utf-8"))}


def figures() -> Part:
    """Return the options of each registered figure with their defaults."""
    from sentviz.charts.gallery import FIGURES

    return {name: {option.name: repr(option.default) for option in spec.options.values()} for name, spec in sorted(FIGURES.items())}


def commands() -> Part:
    """Return the options and arguments of each command."""
    from sentviz.cli import main

    def below(command: click.Command, name: str) -> Iterator[tuple[str, object]]:
        yield name, sorted("/".join([*each.opts, *each.secondary_opts]) for each in command.params)
        if isinstance(command, click.Group):
            for child, inner in command.commands.items():
                yield from below(inner, f"{name} {child}")

    return dict(below(main, "sentviz"))


def claims() -> Part:
    """Return statement and stored verdict of each claim by its key."""
    from sentviz.analysis.claim import VERDICT_WORDS
    from sentviz.papers.studies.claims import claims_of
    from sentviz.papers.studies.verdicts import FILE
    from sentviz.runs.registry import papers

    stored = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        key: [claim.statement, VERDICT_WORDS.get(stored.get(name, {}).get("found", {}).get(key, {}).get("verdict"))]
        for name, paper in papers().items()
        for claim in claims_of(paper)
        for key in [claim.key(name)]
    }


def routes() -> Part:
    """Return the methods of each route of `sentviz serve`."""
    from sentviz.doors.http import application

    return {path: sorted(methods) for path, methods in application().openapi()["paths"].items()}


def items() -> Part:
    """Return link and state of each item of each paper."""
    from sentviz.runs.registry import papers

    return {
        f"{name}/{item.id}": [item.link(name, paper.page.url), item.state] for name, paper in papers().items() for item in paper.items()
    }


def models() -> Part:
    """Return presets, variants, recipes, shipped runs and formats of exported figures."""
    from sentviz.export.files import FORMATS
    from sentviz.runs.presets import VARIANTS, presets
    from sentviz.runs.store import SHIPPED
    from sentviz.training.recipe import recipes

    shipped = sorted(path.parent.relative_to(SHIPPED).as_posix() for path in SHIPPED.rglob("config.json"))
    return {"presets": list(presets()), "variants": list(VARIANTS), "recipes": sorted(recipes()), "runs": shipped, "formats": list(FORMATS)}


def public() -> Part:
    """Return the names of the package `sentviz`."""
    import sentviz

    return dict.fromkeys(sentviz.__all__)


PARTS: tuple[Callable[[], Part], ...] = (pages, sections, link, figures, commands, claims, routes, items, models, public)


def differences(before: dict[str, Part], after: dict[str, Part]) -> list[str]:
    """Return a line for each entry that is in one list only, or differs."""
    lines = []
    for part in sorted(before.keys() | after.keys()):
        old, new = before.get(part, {}), after.get(part, {})
        lines += [f"- {part}: {name}" for name in old if name not in new]
        lines += [f"+ {part}: {name}" for name in new if name not in old]
        lines += [f"~ {part}: {name}: {old[name]} -> {new[name]}" for name in old if name in new and old[name] != new[name]]
    return lines


@click.command(help=__doc__)
@click.option("--beside", type=click.File(encoding="utf-8"), help="A list that was written before.")
def main(beside: click.utils.LazyFile | None) -> None:
    """Print the list, or how it differs."""
    present = json.loads(json.dumps({part.__name__: part() for part in PARTS}))
    if beside is None:
        click.echo(json.dumps(present, indent=1, ensure_ascii=False))
        return
    lines = differences(json.loads(beside.read()), present)
    click.echo("\n".join(lines) or "Nothing differs.")
    if lines:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
