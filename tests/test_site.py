"""The documentation site: built without a warning, whole, without a request to anywhere; its gallery shows what the runs give."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from docsite.film import FILM
from docsite.gallery import PICTURES, digest, examples, records
from docsite.tour import TOUR

from sentviz.charts.colours import THEMES
from sentviz.charts.gallery import FIGURES
from sentviz.export.record import Record
from tests.docs import DOCS, ROOT

pytestmark = pytest.mark.exhaustive
FREE = {"canonical", "alternate", "prev", "next", "edit"}  # links that a browser does not fetch


def pages(site: Path) -> Iterator[Path]:
    """Return the pages of the site, without pictures that are pages themselves."""
    return (path for path in site.rglob("*.html") if path.parent.name != "assets")


@cache
def tags(path: Path) -> list[tuple[str, dict[str, str]]]:
    parser, read = HTMLParser(), list[tuple[str, dict[str, str]]]()
    parser.handle_starttag = lambda tag, attributes: read.append((tag, {name: value or "" for name, value in attributes}))  # type: ignore[method-assign]
    parser.feed(path.read_text(encoding="utf-8"))
    return read


def loads(path: Path) -> list[str]:
    """Return the addresses that a page loads."""
    used = [attributes.get(name, "") for _, attributes in tags(path) for name in ("src", "srcset", "data")]
    links = [attributes for tag, attributes in tags(path) if tag == "link"]
    return [address for address in (*used, *(each["href"] for each in links if not FREE & set(each.get("rel", "").split()))) if address]


def anchors(path: Path) -> set[str]:
    return {attributes.get(name, "") for _, attributes in tags(path) for name in ("id", "name")}


def outside(address: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", address.strip(), re.IGNORECASE))


def test_the_site_is_whole_and_fetches_nothing_from_elsewhere(tmp_path: Path) -> None:
    place = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", DOCS / "mkdocs.yml", "-d", place]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=place.parent, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stderr
    site = place
    assert len([*pages(site)]) >= 20
    for path in pages(site):
        for address in loads(path):
            assert not outside(address), f"{path.name} loads {address}"
            if not address.startswith("data:"):
                folder = site if path.name == "404.html" else path.parent
                assert folder.joinpath(unquote(re.split("[?#]", address)[0]).lstrip("/")).exists(), f"{path.name} loads {address}"
    for sheet in site.rglob("*.css"):
        assert not [url for url in re.findall(r"url\(([^)]*)\)", sheet.read_text(encoding="utf-8")) if outside(url.strip("\"'"))]
    for path in (site / "assets").glob("*.html"):  # the live pictures: their policy forbids every request
        assert "default-src 'none'" in path.read_text(encoding="utf-8")
    broken = []
    for path in pages(site):
        for address in [each["href"] for tag, each in tags(path) if tag == "a" and "href" in each] if path.name != "404.html" else []:
            if outside(address) or address.startswith(("mailto:", "data:")):
                continue
            where, _, anchor = address.partition("#")
            target = (path.parent / unquote(where)).resolve() if where else path
            if not target.exists() or (anchor and target.suffix == ".html" and unquote(anchor) not in anchors(target)):
                broken.append(f"{path.name}: {address}")
    assert not broken
    for path in pages(site):
        assert all(each.get("alt") for tag, each in tags(path) if tag == "img"), f"{path.name} has a picture without words"
    text = (site / "gallery.html").read_text(encoding="utf-8")
    assert set(examples()) == set(records()) == set(FIGURES) <= anchors(site / "gallery.html")
    for example in examples().values():
        assert all(f"gallery/{example.picture(theme).name}#only-{theme}" in text for theme in THEMES)
    assert re.sub(r"<[^>]+>", "", text).count("from sentviz import draw") == len(FIGURES)


def test_pictures_are_those_of_their_records() -> None:
    for name, known in records().items():
        record, example = Record.read(known["record"]), examples()[name]
        assert (digest(example.picture("light")), digest(example.picture("dark"))) == (record.picture, known["dark"])
        assert record.call == example.call or str(record.call) == str(example.call)
    there = {path.name for path in PICTURES.iterdir()}
    assert there == {example.picture(theme).name for example in examples().values() for theme in THEMES} | {"records.json"}
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < 7.5e6
    assert FILM.stat().st_size < 2e6 and TOUR.stat().st_size < 3e6
