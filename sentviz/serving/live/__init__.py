"""Pages that compute: one file with models, their tokenizers and the linked picture, which needs no server and no network."""

from __future__ import annotations

from sentviz.errors import RunError
from sentviz.runs.store import Run


def check(run: Run) -> None:
    """Check that a live page can prepare the inputs of a run, and has something to draw, without loading it.

    Raises:
        RunError: it reads what a page cannot give it, or has no maps.
    """
    has = run.capabilities
    reads = {"parts of speech": has.tags, "pairs of texts": has.pairs, "padding": has.padded}
    if unknown := [name for name, is_read in reads.items() if is_read]:
        raise RunError(f"{run.name} reads {unknown[0]}, which a live page cannot prepare.")
    if not has.maps:
        raise RunError(f"{run.name} has no attention maps, so there is no picture for a live page.")
