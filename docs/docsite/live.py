"""Pages of the site that a reader can move, made when it is built: the linked sentence, the hardmax player, figures of the findings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from plotly.offline import get_plotlyjs

from docsite.gallery import examples
from sentviz.analysis.maps.silenced import silenced
from sentviz.browser import canvas
from sentviz.browser.canvas import canvas_html, scene_of
from sentviz.browser.particles import animation_html, scene_of_review
from sentviz.export.files import as_page
from sentviz.figures.colours import THEMES
from sentviz.figures.figure import Figure
from sentviz.figures.particles import Scene
from sentviz.gallery import Sentence, make
from sentviz.models.hardmax import HardmaxModel
from sentviz.models.loading import load
from sentviz.papers.studies.findings import Picture, article
from sentviz.runs.store import find

RUN, HARDMAX = "english/ndt-unit-2", "imdb/hardmax-d2"  # runs with the stored examples shown
SCRIPT = "plotly.min.js"  # one for all figures


def live() -> Iterator[tuple[str, str]]:
    """Yield names and contents of the files: every page for light and for dark pages, and the script of the figures."""
    linked, moving, hardmax_run = sentence(), hardmax(), find(HARDMAX)
    about = make("verdict", Sentence.of(find(RUN), linked.trace)).source
    for theme in THEMES:
        yield f"live-{theme}.html", canvas_html(linked, about=about, theme=theme)
        yield f"hardmax-{theme}.html", animation_html(moving, about=f"{hardmax_run.name}, digest {hardmax_run.digest}", theme=theme)
    yield SCRIPT, get_plotlyjs()
    for name in (part.figure for part in article() if isinstance(part, Picture)):
        for theme in THEMES:
            yield f"figure-{name}-{theme}.html", as_page(_drawn(name, theme), "", script=SCRIPT).decode()


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
