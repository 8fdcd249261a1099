"""The hardmax paper's claims (arXiv 2407.01602): the theorem on simulated runs, the classifier on the runs here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.claim import Claim, Effect, Finding, Verdict, not_testable
from sentviz.analysis.evaluation import holm
from sentviz.analysis.testset.leaders import NEAR
from sentviz.errors import SentvizError
from sentviz.papers.hardmax import nearness
from sentviz.papers.hardmax.study import DATASET, PUBLIC, beside, surveyed, trained
from sentviz.papers.studies.against import mixed, seeded
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

SIMULATED = 60
MISSING = not_testable("the runs are not here")
DISTANCE, CONFIDENCE, TOP = 2.0, 0.95, 15


def _agreed(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several seeds asked one by one."""
    return verdicts[0] if len(set(verdicts)) == 1 else "open"


def _seeds(number: int) -> str:
    return "one seed" if number == 1 else f"{number} seeds"


def _theorem(_: Sequence[Run]) -> Finding:
    """Random tokens, matrices and steps in 2 to 4 dimensions, each continued to its limit."""
    from sentviz.models.clustering import simulate
    from sentviz.models.clustering.polytope import theory

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
    verdict: Verdict = "fails" if broken else "holds" if held else "open"
    return Finding(verdict, f"{found}; largest relative error {worst:.1g}")


def _enough(runs: Sequence[Run]) -> Finding:
    """After the last layer 19 of 20 reviews have so many words so near a leader."""
    from sentviz.analysis.testset.leaders import FILE, per_layer

    here = surveyed(runs)
    if not here:
        return MISSING
    verdicts, said = list[Verdict](), []
    for run in here:
        table = per_layer(run.frame(FILE))
        last = table[(table["measure"] == "at leaders") & (table["layer"] == table["layer"].max())].iloc[0]
        verdicts.append("holds" if last["q05"] >= nearness.WANTED else "fails")
        said.append(f"{last['mean']:.1%} of a review's words ({last['q05']:.1%} or more in 19 of 20 reviews)")
    near = f"after {int(last['layer'])} layers {'; '.join(said)} stand at a leader, taken to mean within {NEAR:.0%} of the largest norm"
    return Finding(_agreed(verdicts), f"{near}{_elsewhere(here)}; d = 2, {_seeds(len(here))}, n = {int(last['n']):,}")


def _elsewhere(here: Sequence[Run]) -> str:
    """What a stricter nearness would make of it, where it was measured."""
    table = nearness.table()
    rows = table[table["digest"].isin([run.digest for run in here])]
    enough = rows.groupby("nearness")["q05"].min().loc[lambda low: low >= nearness.WANTED].index
    if rows.empty:
        return ""
    least = f"down to {min(enough):.2%}" if len(enough) else f"not even within {rows['nearness'].max():.0%}"
    return f"; where near is less, {nearness.WANTED:.0%} of the words do in 19 of 20 reviews {least}"


def frequent_leaders(run: Run, distance: float) -> tuple[pd.DataFrame, float]:
    """The most frequent leaders of each class, and the distance asked for (below 0 a share of their reach).

    Args:
        run: one of `surveyed`.
    """
    from sentviz.analysis.testset.leaders import FILE, frequent, leading
    from sentviz.models.loading import load

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
        here = surveyed(runs)
        if not here:
            return MISSING
        sides = _sides()
        if not sides:
            return not_testable("no English polarity lexicon is on this machine")
        found = [_fitting(*frequent_leaders(run, distance), sides) for run in here]
        said = "; ".join(one.evidence for one in found)
        return Finding(_agreed([one.verdict for one in found]), f"{said}; d = 2, {_seeds(len(here))}")

    return test


def _sides() -> dict[str, float]:
    """Each word's positive minus negative polarity in VADER, else in the Opinion Lexicon."""
    from sentviz.data.lexicon import LEXICONS, Lexicon

    sides: dict[str, float] = {}
    for name in LEXICONS["en"][:2]:
        try:
            lexicon = Lexicon.load(name)
        except SentvizError:
            continue
        sides = {term: float(w[0] - w[2]) for term, w in zip(lexicon.terms, lexicon.weights, strict=True)} | sides
    return sides


def _fitting(rows: pd.DataFrame, least: float, sides: dict[str, float]) -> Finding:
    """Whether more than half of the leaders of both classes stand on the side of their class."""
    said, good = [], 0
    for label, part in rows.groupby("label"):
        wanted = 1 if label == "positive" else -1
        fit = [word for word in part["word"] if sides.get(word, 0) * wanted > 0]
        good += len(fit)
        said.append(f"{label}: {len(fit)} of {len(part)} ({', '.join(part['word'][:4])})")
    if rows.empty:
        return Finding("fails", f"no leader of a correct review of {CONFIDENCE:.0%} lies {least:.2g} from the line")
    text = f"leaders {least:.2g} or more from the line that VADER or the Opinion Lexicon puts on their side — {'; '.join(said)}"
    return Finding("holds" if good > len(rows) / 2 and len(said) == 2 else "fails", text)


def _grows(runs: Sequence[Run]) -> Finding:
    """Each dimension is better than the one below it, after Holm over these steps; refuted by one that is worse."""
    here = trained(runs)
    steps = list(pairwise(here))
    if not steps:
        return MISSING
    noise = seed_noise(here.values())
    found = {f"d {low} to {high}": mixed(here[high], here[low], noise=noise) for low, high in steps}
    adjusted = holm({step: one.p for step, one in found.items()})
    words = [one.word(adjusted[step]) for step, one in found.items()]
    said = "; ".join(f"{step}: {one.points}, {one.compared}, p after Holm {adjusted[step]:.2g}" for step, one in found.items())
    whole = set(words) == {"better"} and set(PUBLIC) <= set(here)
    verdict: Verdict = "fails" if "worse" in words else "holds" if whole else "open"
    n = max(one.n for one in found.values())
    step, least = min(found.items(), key=lambda entry: entry[1].difference)
    effect = Effect.from_share_difference(least.difference, least.low, least.high, f"{step}, the smallest step")
    return Finding(seeded(verdict, [one.test for one in found.values()]), f"points, {said}; n = {n:,}", effect=effect)


def _percent(row: Mapping[Any, Any]) -> str:
    return f"{row['value']:.1%} [{row['low']:.1%}, {row['high']:.1%}]"


def _public(runs: Sequence[Run]) -> Finding:
    """The public accuracy lies below every interval for other rows and other seeds; refuted where it lies above one."""
    table = beside(runs).dropna(subset="printed")
    if table.empty:
        return MISSING
    rest = "the public numbers are best test accuracies"
    widest = table.iloc[-1]
    effect = Effect.from_share(
        widest["value"], widest["low"], widest["high"], widest["printed"], f"{widest['model']}, beside the public code"
    )
    said = "; ".join(
        f"{row['model']}: {_percent(row)} (public code {row['printed']:.2%}), {_seeds(row['seeds'])}" for row in table.to_dict("records")
    )
    several = table[table["seeds"] > 1]
    if several.empty:
        return not_testable(f"{said}; {rest}, and what another seed changes is not known", effect)
    missed = bool((several["high"] < several["printed"]).any())
    reached = set(several["d"]) == set(PUBLIC) and bool((several["low"] >= several["printed"]).all())
    return Finding("fails" if missed else "holds" if reached else "open", f"{said}; {rest}", effect=effect)


def _reviewed(statement: str, where: str, test: Callable[[Sequence[Run]], Finding], short: str, how: str = "", figure: str = "") -> Claim:
    """A claim about the runs trained on reviews."""
    return Claim(statement, where, "runs here", test, short, "IMDb", (DATASET,), how, "pictures", figure)


LOOKED_UP = "looked up in VADER and the Opinion Lexicon"
CLAIMS = (
    Claim("The theorem: leaders exist, tokens cluster on a polytope's boundary, leaders at its vertices", "theorem",
          "simulated runs", _theorem, "Tokens cluster at leaders on a polytope", shows="pictures"),
    _reviewed("Eight layers are enough to come near the clustered state", "training and results", _enough,
              "Eight layers are enough to cluster", figure="hardmax-nearness"),
    _reviewed("The most frequent leaders 2 or more from the line convey sentiment", "training and results", _sentiment(DISTANCE),
              "Leaders far from the line (2) are polar words", LOOKED_UP),
    _reviewed("The most frequent leaders in the outer two thirds of the leaders' reach convey sentiment", "ours, in our embedding's scale",
              _sentiment(-1 / 3), "Leaders in the outer 2/3 are polar words", LOOKED_UP),
    _reviewed("Accuracy grows with the dimension of the embedding", "public code", _grows, "Accuracy grows with the dimension",
              "each dimension against the one below it, p after Holm over these steps", "hardmax-accuracy"),
    _reviewed("The public code's accuracies are reached", "public code", _public, "The public code's accuracies are reached",
              "intervals for other rows and other seeds beside the public numbers", "hardmax-accuracy"),
)  # fmt: skip
