"""Five claims about causes, tested on stored measurements. The tests need neither torch nor data.

The printed numbers are those of a language model on SST (Tigges et al. 2024, BlackboxNLP 5): without one direction, the accuracy falls from
100 % to 62 %, at commas alone to 82 %. Here, the difference of means of each depth is set to its mean at this depth. That early layers are
lexical and late ones combine is printed of GPT-2 (arXiv 2512.06681). `experiments.general.claim_runs` measures the last three claims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sentviz.analysis.causal.direction_tables import PRINTED, has_directions, lost_everywhere
from sentviz.analysis.claim import Effect, Finding, decide, not_testable
from sentviz.analysis.explain.claims import claim_on_runs, effect_of, with_ends
from sentviz.analysis.explain.stored import has_table, rows_of
from sentviz.io.numbers import percent
from sentviz.runs.store import Run

NDT_RUNS = ("english/ndt-unit-2", "sst2/ndt-unit-2", "sst2/ndt-free-2", "sst2/ndt-free-3", "twitter_financial/ndt-unit-2")
EPOCH_RUNS = ("sst2/minilm-epochs", "nsmc/e5-epochs", "sst2/ndt-unit-2-epochs")
CAUSES = "causes"  # shipped measurements of `experiments.general.claim_runs`
HALF, QUARTER = 0.5, 0.25


def more_than(run: Run, *, place: str, least: float) -> Finding:
    """Compare the share of the accuracy above chance that is lost without the direction at a place with a least share."""
    row, random = lost_everywhere(run, place), lost_everywhere(run, "all", "random")
    if not row:
        return not_testable(f"no text has {place}")
    evidence = (
        f"{_percent(row)} of the accuracy above chance is lost (n = {row['n']:.0f}); without random directions {_percent(random)};"
        f" print {percent(PRINTED[place], 0)}"
    )
    effect = Effect.from_share(row["value"], row["low"], row["high"], least)
    return Finding(decide(row["low"] > least, row["high"] < least), evidence, effect=effect)


def layers_apart(run: Run) -> Finding:
    """Compare the mean layer that acts on a negation with the mean layer that acts on an adjective: "holds" if it is later."""
    row, centres = _row(run, "centre", "apart"), [_row(run, "centre", kind)["value"] for kind in ("adjective", "negation")]
    evidence = (
        f"on the way from the first layer (0) to the last (1), an exchanged adjective acts at {centres[0]:.2f} and a negation at"
        f" {centres[1]:.2f}; apart {with_ends(row)} (n = {row['n']:.0f} pairs of each)"
    )
    return Finding(decide(row["low"] > 0, row["high"] < 0), evidence, effect=effect_of(row, "share of the layers"))


def second_is_negative(run: Run) -> Finding:
    """Ask whether the second component moves the prediction away from the sentence that it is brought from: "holds" if it does."""
    first, second = (_row(run, "component", "adjective", depth) for depth in (1, 2))
    evidence = f"A2 brings {_percent(second)} of the difference, A1 {_percent(first)} (n = {second['n']:.0f} pairs)"
    return Finding(
        decide(second["high"] < 0, second["low"] > 0),
        evidence,
        effect=Effect.from_share(second["value"], second["low"], second["high"], 0.0),
    )


def direction_is_ahead(run: Run) -> Finding:
    """Compare what separation and accuracy have reached of their rise after the first epoch: "holds" if separation is ahead."""
    epoch = min(run.epochs)
    row, separated, accuracy = (_row(run, "epoch", name, epoch) for name in ("ahead", "separated", "accuracy"))
    evidence = (
        f"after epoch {epoch}, {_percent(separated)} of the rows lie on their side of the direction, and {_percent(accuracy)} are predicted"
        f" right; of their rises, separation is {with_ends(row)} ahead (n = {row['n']:.0f})"
    )
    return Finding(decide(row["low"] > 0, row["high"] < 0), evidence, effect=effect_of(row, "share of the rise"))


def _row(run: Run, measure: str, name: str, depth: int = -1) -> dict[Any, Any]:
    table = rows_of(CAUSES, run)
    rows = table[(table["measure"] == measure) & (table["name"] == name) & (table["depth"] == depth)]
    return rows.to_dict("records")[0]


def _measured(measure: str) -> Callable[[Run], bool]:
    return lambda run: has_table(CAUSES) and bool((rows_of(CAUSES, run)["measure"] == measure).any())


def _percent(row: dict[str, float]) -> str:
    return percent(row["value"], 0, (row["low"], row["high"]))


CLAIMS = (
    claim_on_runs(
        "direction",
        "Removing one direction takes more than half of the accuracy above chance",
        partial(more_than, place="all", least=HALF),
        "share of the accuracy above 50 % that is lost without the difference of means at all tokens of every depth",
        has=has_directions,
    ),
    claim_on_runs(
        "punctuation",
        "Removing it at punctuation alone takes at least a quarter of the accuracy above chance",
        partial(more_than, place="punctuation", least=QUARTER),
        "the same at punctuation marks only",
        has=has_directions,
    ),
    claim_on_runs(
        "layers",
        "Early layers are lexical, late ones combine",
        layers_apart,
        "mean layer whose heads and feed-forward networks lose the difference of minimal pairs, for a negation minus an adjective",
        has=_measured("centre"),
    ),
    claim_on_runs(
        "component",
        "NDT's second component carries the negative share",
        second_is_negative,
        "share of the difference of minimal pairs (another adjective) that the outputs of A2 bring over, sum over layers",
        names=NDT_RUNS,
        has=_measured("component"),
    ),
    claim_on_runs(
        "epochs",
        "Fine-tuning builds the direction before accuracy rises",
        direction_is_ahead,
        "after the first stored epoch, the share of rows on their side of the direction and the accuracy, each as a share of its rise"
        " from 50 % to the last epoch",
        names=EPOCH_RUNS,
        has=_measured("epoch"),
    ),
)
"""Our claims about causes."""
