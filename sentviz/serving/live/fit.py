"""Check whether a live page can hold a run, without loading it."""

from __future__ import annotations

from sentviz.errors import RunError
from sentviz.runs.store import Run


def check(run: Run) -> None:
    """Check that a page can prepare the inputs of a run, and has something to draw.

    Raises:
        RunError: it reads what a page cannot give it, or has no maps.
    """
    has = run.capabilities
    reads = {"parts of speech": has.tags, "pairs of texts": has.pairs, "padding": has.padded}
    if unknown := [name for name, is_read in reads.items() if is_read]:
        raise RunError(f"{run.name} reads {unknown[0]}, which a live page cannot prepare.")
    if not has.maps:
        raise RunError(f"{run.name} has no attention maps, so there is no picture for a live page.")
