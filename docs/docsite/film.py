"""The README's moving picture: a training run, epoch by epoch, as the app's page Through training writes it."""

from __future__ import annotations

from pathlib import Path

from sentviz.analysis.epochs import epoch_series, examples
from sentviz.browser.film import Film
from sentviz.export.animation import film_gif
from sentviz.runs.store import find

FILM = Path(__file__).parents[1] / "pages" / "assets" / "through-training.gif"
RUN = "sst2/ndt-unit-2-epochs"


def film() -> bytes:
    """Return the film, a GIF file as bytes."""
    run = find(RUN)
    seen = epoch_series(run)
    traces, _ = examples(run)
    by_epoch = {epoch: trace for epoch, trace in traces.items() if epoch in seen.epochs}
    content = Film(f"{run.name} through training", seen, by_epoch, run.history(), run.capabilities.scalars, layer=1)
    return film_gif(content, width=880, height=400)
