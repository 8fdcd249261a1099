"""The NDT paper's claims, each with a test and a verdict: its sentences against its own tables, and against the runs here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sentviz.runs import Run
from sentviz.studies import printed
from sentviz.studies.stats import holm, paired, verdict

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CLAIMS", "Claim", "Finding", "judged"]

Verdict = Literal["holds", "does not hold", "cannot be told"]


@dataclass(frozen=True)
class Finding:
    """What came out, and what it rests on."""

    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A statement in our words, where the paper makes it, what it is held against, and the test."""

    statement: str
    where: str
    against: Literal["its own tables", "runs here"]
    test: Callable[[Sequence[Run]], Finding]


def _accuracies(dataset: str) -> tuple[float, list[float]]:
    """Printed accuracies in percent: DT's, and those of the 12 NDT variants."""
    frame = printed.table("ndt_classification")
    rows = frame[frame["dataset"] == dataset].to_dict("records")
    dt = next(float(row["accuracy_pct"]) for row in rows if row["family"] == "diff")
    return dt, [float(row["accuracy_pct"]) for row in rows if row["family"] == "ndt"]


def _beats(dataset: str, said: int) -> Callable[[Sequence[Run]], Finding]:
    def test(_: Sequence[Run]) -> Finding:
        dt, ndt = _accuracies(dataset)
        found = sum(value > dt for value in ndt)
        return Finding("holds" if found == said else "does not hold", f"the table has {found} of {len(ndt)} above DT's {dt:.2f}")

    return test


def _spreads(_: Sequence[Run]) -> Finding:
    twitter, imdb = (max(ndt) - min(ndt) for ndt in (_accuracies("twitter_financial")[1], _accuracies("imdb")[1]))
    found: Verdict = "holds" if twitter < imdb else "does not hold"
    return Finding(found, f"NDT's spread is {twitter:.2f} on Twitter and {imdb:.2f} on IMDB")


def _yelp(_: Sequence[Run]) -> Finding:
    ndt = _accuracies("yelp")[1]
    spread = max(ndt) - min(ndt)
    return Finding("holds" if spread < 0.6 else "does not hold", f"from {min(ndt):.2f} to {max(ndt):.2f}: {spread:.2f} points")


def _falls(_: Sequence[Run]) -> Finding:
    frame = printed.table("ndt_lambdas").sort_values("component")
    rows = [group["lambda"].abs().to_numpy() for _, group in frame.groupby(["dataset", "model", "layer"]) if len(group) > 1]
    kept = sum(bool((np.diff(row) < 0).all()) for row in rows)
    return Finding(
        "holds" if kept == len(rows) else "does not hold", f"by size, in {kept} of {len(rows)} printed rows with several lambdas"
    )


def _negative(_: Sequence[Run]) -> Finding:
    frame = printed.table("ndt_lambdas")
    values = frame[frame["constraint"] == "[-1,1]"]
    positive = values[values["lambda"] >= 0]
    where = ", ".join(f"{row['dataset']} layer {row['layer']}" for row in positive.to_dict("records")) or "nowhere"
    return Finding(
        "holds" if positive.empty else "does not hold", f"{len(positive)} of {len(values)} printed values are not negative: {where}"
    )


def _grows(_: Sequence[Run]) -> Finding:
    frame = printed.table("ndt_lambdas")
    frame = frame[frame["constraint"].isin(["[0,inf)", "(-inf,inf)"])]
    wide = frame.pivot_table(index=["dataset", "model", "component"], columns="layer", values="lambda")
    kept = int((wide[2] > wide[1]).sum())
    return Finding("holds" if kept == len(wide) else "does not hold", f"in {kept} of {len(wide)} printed pairs of the unbounded variants")


def _better(dataset: str, first: str, second: str) -> Callable[[Sequence[Run]], Finding]:
    """First beats second on the same test rows; `ndt` is every NDT run here, with Holm's correction over them."""

    def test(runs: Sequence[Run]) -> Finding:
        here = [run for run in runs if run.config["data"]["name"] == dataset and run.config["recipe"]["seed"] == 0]
        base = next((run for run in here if run.config["preset"] == second), None)
        those = [run for run in here if run.config["preset"].startswith("ndt-") if first == "ndt"]
        those = those or [run for run in here if run.config["preset"] == first]
        if base is None or not those:
            return Finding("cannot be told", "the runs are not here")
        pairs = {run.config["preset"]: paired(run, base) for run in those}
        adjusted = holm({name: pair.p for name, pair in pairs.items()})
        name, best = max(pairs.items(), key=lambda entry: entry[1].difference)
        said = f"{name} − {second}: {best.difference:+.2%} [{best.low:+.2%}, {best.high:+.2%}], n = {best.n:,}, McNemar p = {best.p:.2g}"
        if len(pairs) > 1:
            said += f", {adjusted[name]:.2g} after Holm over {len(pairs)} NDT runs"
        found = verdict(best.low, best.high)
        return Finding("cannot be told" if found == "holds" and adjusted[name] > 0.05 else found, said + ", one seed")

    return test


def _moves(dataset: str) -> Callable[[Sequence[Run]], Finding]:
    """Whether lambda's growth with depth is learned: the change from the start, not the start itself."""

    def test(runs: Sequence[Run]) -> Finding:
        changes = []
        for run in runs:
            config = run.config
            if config["data"]["name"] != dataset or config["model"]["mixing"] in ("none", "differential") or config["recipe"]["seed"]:
                continue
            frame = run.history().query("name == 'lambda'").sort_values("step")
            ends = frame.groupby(["layer", "component"])["value"].agg(lambda value: value.iloc[-1] - value.iloc[0])
            changes += [ends[1, c] - ends[0, c] for layer, c in ends.index if layer == 0]
        if not changes:
            return Finding("cannot be told", "the runs are not here")
        up = sum(change > 0 for change in changes)
        return Finding(
            "holds" if up == len(changes) else "does not hold",
            f"training moved layer 2's lambda further up than layer 1's in {up} of {len(changes)} pairs; the rest is the start",
        )

    return test


CLAIMS = (
    Claim("11 of 12 NDT variants are above DT on IMDB", "section IV-B1", "its own tables", _beats("imdb", 11)),
    Claim("6 of 12 NDT variants are above DT on SST-2", "section IV-C1", "its own tables", _beats("sst2", 6)),
    Claim("8 of 12 NDT variants are above DT on Twitter", "section IV-E1", "its own tables", _beats("twitter_financial", 8)),
    Claim("NDT's spread on Twitter is narrower than on IMDB", "section IV-E1", "its own tables", _spreads),
    Claim("On Yelp all NDT variants lie within 0.6 points", "section IV-D1", "its own tables", _yelp),
    Claim("Unbounded lambdas grow from layer 1 to layer 2", "section IV-B2", "its own tables", _grows),
    Claim("Lambda falls with the component index in every configuration", "sections IV-B2 to IV-D2", "its own tables", _falls),
    Claim("Under [-1,1] all lambdas are negative", "sections IV-B2, IV-D2; IV-C2 names the exception", "its own tables", _negative),
    Claim("The best NDT beats vanilla on SST-2", "section IV-C1", "runs here", _better("sst2", "ndt", "vanilla")),
    Claim("The best NDT beats DT on SST-2", "section IV-C1", "runs here", _better("sst2", "ndt", "diff")),
    Claim("DT beats vanilla on SST-2", "table III", "runs here", _better("sst2", "diff", "vanilla")),
    Claim("Not the wider block: NDT beats vanilla-matched on SST-2", "ours", "runs here", _better("sst2", "ndt", "vanilla-matched")),
    Claim("NDT [0,1] with two maps beats vanilla-matched on IMDB", "ours", "runs here", _better("imdb", "ndt", "vanilla-matched")),
    Claim("The best NDT beats vanilla on Twitter", "section IV-E1", "runs here", _better("twitter_financial", "ndt", "vanilla")),
    Claim("The best NDT beats DT on Twitter", "section IV-E1", "runs here", _better("twitter_financial", "ndt", "diff")),
    Claim("Training itself makes lambda grow with depth on SST-2", "section IV-B2", "runs here", _moves("sst2")),
)  # fmt: skip


def judged(runs: Iterable[Run]) -> pd.DataFrame:
    """Every claim with its verdict: claim, where, against, verdict, evidence."""
    import pandas as pd

    here = list(runs)
    rows = []
    for claim in CLAIMS:
        finding = claim.test(here)
        rows.append((claim.statement, claim.where, claim.against, finding.verdict, finding.evidence))
    return pd.DataFrame(rows, columns=["claim", "where", "against", "verdict", "evidence"])
