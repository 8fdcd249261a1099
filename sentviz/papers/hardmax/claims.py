"""The hardmax paper's claims (arXiv 2407.01602): the theorem on simulated runs, the classifier on the runs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sentviz.claim import Claim, Finding
from sentviz.errors import SentvizError
from sentviz.runs import Run
from sentviz.studies.stats import paired

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLAIMS", "PUBLIC", "beside", "frequent_leaders", "trained"]

PUBLIC = {2: 0.791, 4: 0.823, 8: 0.851, 16: 0.882}  # best test accuracy of the authors' public code by d
SIMULATED = 60
MISSING = Finding("cannot be told", "the runs are not here")
DISTANCE, CONFIDENCE, TOP = 2.0, 0.95, 15


def trained(runs: Sequence[Run]) -> dict[int, Run]:
    """The softmax-trained hardmax runs by d."""
    return {run.shape.width: run for run in runs if run.configuration == f"hardmax-d{run.shape.width}"}


def beside(runs: Sequence[Run]) -> pd.DataFrame:
    """Accuracy by d with its interval beside the public code's: d, value, low, high, n, public, run; only runs that are here."""
    import pandas as pd

    rows = []
    for d, run in sorted(trained(runs).items()):
        test = run.metrics()["test"]
        rows.append({"d": d, **test["accuracy"], "n": test["n"], "public": PUBLIC.get(d, np.nan), "run": run.name})
    return pd.DataFrame(rows, columns=["d", "value", "low", "high", "n", "public", "run"])


def _theorem(_: Sequence[Run]) -> Finding:
    """Random tokens, matrices and steps in 2 to 4 dimensions, each continued to its limit."""
    from sentviz.hardmax import simulate
    from sentviz.hardmax.polytope import theory

    rng = np.random.default_rng(0)
    held, broken, open_, worst = 0, 0, 0, 0.0
    for _i in range(SIMULATED):
        d = int(rng.integers(2, 5))
        root = rng.normal(size=(d, d))
        run = simulate(rng.normal(size=(int(rng.integers(3, 40)), d)), root @ root.T + 0.1 * np.eye(d), float(rng.uniform(0.2, 3)))
        for statement in theory(run):
            held, broken, open_ = held + (statement.holds is True), broken + (statement.holds is False), open_ + (statement.holds is None)
            if statement.holds is not None and np.isfinite(statement.error):
                worst = max(worst, statement.error)
    found = f"{held} statements hold, {broken} fail, {open_} have nothing to check over {SIMULATED} random runs in 2 to 4 dimensions"
    return Finding("holds" if broken == 0 and held else "does not hold", f"{found}; largest relative error {worst:.1g}")


def _enough(runs: Sequence[Run]) -> Finding:
    from sentviz.testset.leaders import FILE, per_layer

    run = trained(runs).get(2)
    if run is None or FILE not in run.config["files"]:
        return MISSING
    table = per_layer(run.frame(FILE))
    last = table[(table["measure"] == "at leaders") & (table["layer"] == table["layer"].max())].iloc[0]
    said = (
        f"after {int(last['layer'])} layers {last['mean']:.1%} of a review's words stand at a leader (5 % of reviews: {last['q05']:.1%} or"
    )
    return Finding("holds" if last["q05"] >= 0.95 else "does not hold", f"{said} fewer), d = 2, n = {int(last['n']):,}")


def frequent_leaders(runs: Sequence[Run], distance: float) -> tuple[pd.DataFrame, float] | None:
    """The most frequent leaders of each class, and the distance asked for (below 0 a share of their reach); None where nothing is here."""
    from sentviz.models.loading import load
    from sentviz.testset.leaders import FILE, frequent, leading

    run = trained(runs).get(2)
    if run is None or FILE not in run.config["files"]:
        return None
    model = load(run)
    vocabulary, weight = model.vocabulary, model.decision[0]  # type: ignore[attr-defined]
    frame = run.frame(FILE)
    if distance <= 0:
        words = leading(frame, vocabulary)
        distance = -distance * float((words.loc[words["leads"] > 0, "score"].abs() / np.linalg.norm(weight)).max())
    return frequent(frame, vocabulary, weight, distance=distance, confidence=CONFIDENCE, top=TOP), distance


def _sentiment(distance: float) -> Callable[[Sequence[Run]], Finding]:
    """Whether the most frequent leaders stand in a polarity lexicon on the side of their class."""

    def test(runs: Sequence[Run]) -> Finding:
        from sentviz.lexicon import LEXICONS, Lexicon

        found = frequent_leaders(runs, distance)
        if found is None:
            return MISSING
        rows, least = found
        sides: dict[str, float] = {}
        for name in LEXICONS["en"][:2]:
            try:
                lexicon = Lexicon.load(name)
            except SentvizError:
                continue
            sides = {term: float(w[0] - w[2]) for term, w in zip(lexicon.terms, lexicon.weights, strict=True)} | sides
        if not sides:
            return Finding("cannot be told", "no English polarity lexicon is on this machine")
        said, good, total = [], 0, 0
        for label, part in rows.groupby("label"):
            wanted = 1 if label == "positive" else -1
            fit = [word for word in part["word"] if sides.get(word, 0) * wanted > 0]
            good, total = good + len(fit), total + len(part)
            said.append(f"{label}: {len(fit)} of {len(part)} ({', '.join(part['word'][:4])})")
        if not total:
            return Finding("does not hold", f"no leader of a correct review of {CONFIDENCE:.0%} lies {least:.2g} from the line")
        text = f"leaders {least:.2g} or more from the line that VADER or the Opinion Lexicon puts on their side — {'; '.join(said)}"
        return Finding("holds" if good > total / 2 and len(said) == 2 else "does not hold", text + "; d = 2, one seed")

    return test


def _grows(runs: Sequence[Run]) -> Finding:
    here = sorted(trained(runs).items())
    if len(here) < 2:
        return MISSING
    said, grew = [], 0
    for (low, first), (high, second) in pairwise(here):
        pair = paired(second, first)
        said.append(f"d {low} to {high}: {pair.difference:+.2%} [{pair.low:+.2%}, {pair.high:+.2%}]".replace("-", "−"))
        grew += pair.low > 0
    evidence = f"{'; '.join(said)}, n = {pair.n:,}; these runs grow at {grew} of {len(said)} steps, but with one seed each"
    return Finding("cannot be told", f"{evidence} chance in training is unknown")


def _public(runs: Sequence[Run]) -> Finding:
    table = beside(runs)
    if table.empty:
        return MISSING
    said = [f"d {row['d']}: {row['value']:.1%} (public code {row['public']:.1%})" for row in table.to_dict("records")]
    reached = bool((table["high"] >= table["public"]).all())
    return Finding("holds" if reached else "does not hold", "; ".join(said) + "; the public numbers are best test accuracies")


CLAIMS = (
    Claim("The theorem: leaders exist, tokens cluster on a polytope's boundary, leaders at its vertices", "theorem",
          "simulated runs", _theorem),
    Claim("Eight layers are enough to come near the clustered state", "training and results", "runs here", _enough),
    Claim("The most frequent leaders 2 or more from the line convey sentiment", "training and results", "runs here", _sentiment(DISTANCE)),
    Claim("The most frequent leaders in the outer two thirds of the leaders' reach convey sentiment", "ours, in our embedding's scale",
          "runs here", _sentiment(-1 / 3)),
    Claim("Accuracy grows with the dimension of the embedding", "public code", "runs here", _grows),
    Claim("The public code's accuracies are reached", "public code", "runs here", _public),
)  # fmt: skip
