"""Pages of the site that a reader can move, made when it is built: the linked sentence, the hardmax player, figures of the findings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from plotly.offline import get_plotlyjs

from docsite.gallery import examples
from sentviz.analysis.maps.layers import silenced
from sentviz.browser import canvas
from sentviz.browser.canvas import canvas_html, scene_of
from sentviz.browser.particles import animation_html
from sentviz.charts.colours import THEMES
from sentviz.charts.figure import Figure
from sentviz.charts.gallery import make
from sentviz.charts.scene import Scene, scene_of_review
from sentviz.charts.subjects import Sentence
from sentviz.errors import DataMissingError, RunError
from sentviz.export.files import as_page
from sentviz.models.hardmax import HardmaxModel
from sentviz.models.loading import load
from sentviz.papers.studies.findings import Picture, article
from sentviz.runs.store import find
from sentviz.serving.live import pinned
from sentviz.serving.live.page import content, document, files

RUN, HARDMAX = "english/ndt-unit-2", "imdb/hardmax-d2"  # runs with the stored examples shown
SCRIPT = "plotly.min.js"  # one for all figures


def live() -> Iterator[tuple[str, str]]:
    """Yield names and contents of the files: every page for light and for dark pages, and the script of the figures."""
    linked, moving, hardmax_run = sentence(), hardmax(), find(HARDMAX)
    about = make("verdict", Sentence.of(find(RUN), linked.trace)).source
    for theme in THEMES:
        yield f"live-{theme}.html", canvas_html(linked, about=about, theme=theme)
        yield f"hardmax-{theme}.html", animation_html(moving, about=f"{hardmax_run.name}, digest {hardmax_run.digest}", theme=theme)
    yield from computing()[0].items()
    yield SCRIPT, get_plotlyjs()
    for name in (part.figure for part in article() if isinstance(part, Picture)):
        for theme in THEMES:
            yield f"figure-{name}-{theme}.html", as_page(_drawn(name, theme), "", script=SCRIPT).decode()


@cache
def computing() -> tuple[dict[str, str], str]:
    """Return the pages that compute by name, for light and for dark pages, or no page and the reason."""
    run = find(RUN)
    try:
        runtime, tokenizers = (files(package) for package in (pinned.RUNTIME, pinned.TOKENIZERS))
        models = [content(run, run.example().text, int8=False)]
    except (DataMissingError, RunError) as error:
        return {}, str(error)
    written = {theme: document(models, run.example().text, runtime, tokenizers, int8=False, theme=theme) for theme in THEMES}
    return {f"type-{theme}.html": page for theme, page in written.items()}, ""


def typed(to_assets: str) -> str:
    """Return the HTML of the linked picture: the recorded one, until the page that computes has been loaded. On phones a button loads it.

    Args:
        to_assets: the way from the page to the folder of the files.
    """
    pages, why = computing()
    frames = "".join(
        f'<iframe class="live linked only-{theme}" src="{to_assets}/live-{theme}.html" data-theme="{theme}"'
        ' title="A sentence, its words, heads, maps and answer, linked" loading="lazy"></iframe>'
        for theme in THEMES
    )
    if not pages:
        return f"{frames}\n\nThis picture is recorded, because the site was built without the page that computes: {why}"
    size = len(pages["type-light.html"]) / 1e6
    button = f'<button class="md-button" hidden>Type a sentence here ({size:.0f} MB)</button>'
    return f'<div class="typed" data-assets="{to_assets}">{frames}{button}</div>'


def explorable(name: str) -> str:
    """Return the HTML that loads a figure's page when a reader opens it. Earlier, hidden texts have no width and would cover each other."""
    high = _drawn(name, "light").plot.layout.height + 50  # the page's margins
    frames = "".join(
        f'<iframe class="live only-{theme}" style="height: {high}px" data-src="assets/figure-{name}-{theme}.html"'
        ' title="The figure, to point at" loading="lazy"></iframe>'
        for theme in THEMES
    )
    load = "for (const frame of this.querySelectorAll('iframe')) frame.src ||= frame.dataset.src"
    return f'<details class="explore" ontoggle="{load}"><summary>Point at the figure to read its numbers</summary>{frames}</details>'


@cache
def _drawn(name: str, theme: str) -> Figure:
    return examples()[name].drawn(theme=theme)


def sentence() -> canvas.Scene:
    """The example of a run with its linked words, heads, maps and answer."""
    run = find(RUN)
    trace = run.example()
    return scene_of(trace, run.capabilities, heads=silenced(load(run), trace))


def hardmax() -> Scene:
    """The example of a hardmax run on its way through the layers."""
    run = find(HARDMAX)
    model = HardmaxModel.of(run)
    review = model.follow(run.config["recipe"]["example"])
    return scene_of_review(run, model, review)
