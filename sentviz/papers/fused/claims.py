"""The claims of Sentiment-Fused Attention: against its own tables, on simulated attention, on data sets and on the runs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import Claim, Effect, Finding, Reference, Verdict, alike, not_testable
from sentviz.analysis.evaluation import holm
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import BASE, CHOSEN, DATASETS, INJECTED, SETTINGS, XIA, configurations
from sentviz.papers.studies.against import compared, in_points, minus, seeded
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Test = Callable[[Sequence[Run]], Finding]
MISSING = not_testable("the runs are not here")
HALF = (0.4, 0.6)  # what "about half" and "around 50 %" are taken to mean
SAME = 0.1  # a relative change within which attention is taken to stay the same
SIMULATED = 60
ROWS = 50_000  # of NSMC's test split
LEVEL = 0.05


def _told(right: bool, evidence: str) -> Finding:
    return Finding("holds" if right else "fails", evidence)


def _wide() -> pd.DataFrame:
    """Printed gains in points: settings down, encoders across."""
    frame = fused.printed_gains()
    return 100 * frame.pivot(index="model", columns="encoder", values="value")[list(fused.ENCODERS)]


# ---- the paper against its own tables


def _table_gains(_: Sequence[Run]) -> Finding:
    gains = _wide().loc[list(INJECTED)].to_numpy()
    unpaired = 196 * float(np.sqrt(2 * 0.09 * 0.91 / ROWS))
    said = f"{(gains > 0).sum()} of {gains.size} printed numbers are above the baseline, {(gains > unpaired).sum()} by more than the"
    said += f" {unpaired:.2f} points that chance over {ROWS:,} rows allows two unpaired runs of 91 %; one run each"
    return _told(bool((gains > 0).all()), said)


def _table_xia(_: Sequence[Run]) -> Finding:
    gains = _wide()
    above = (gains.loc[list(INJECTED)] > gains.loc[XIA]).to_numpy()
    return _told(bool(above.all()), f"{above.sum()} of {above.size} printed numbers are above Xia et al.'s")


def _table_opposite(_: Sequence[Run]) -> Finding:
    xia = dict(zip(fused.ENCODERS, _wide().loc[XIA], strict=True))
    gained = [f"{name} gains {value:+.2f}" for name, value in xia.items() if value >= 0]
    said = f"it loses in {len(xia) - len(gained)} of {len(xia)} encoders"
    return _told(not gained, "; ".join([said, *gained]))


def _table_half(_: Sequence[Run]) -> Finding:
    part = _wide().loc[list(INJECTED), ["ko-electra", "kr-electra", "kc-electra"]].to_numpy()
    return _told(bool((part > 0.5).all()), f"{(part > 0.5).sum()} of {part.size} gains are above 0.5; the least is {part.min():+.2f}")


def _table_extremes(_: Sequence[Run]) -> Finding:
    gains = _wide().loc[list(INJECTED)].to_numpy()
    most, least = ([fused.ENCODERS[i] for i in side(axis=1)] for side in (gains.argmax, gains.argmin))
    right = set(most) == {"xlm-roberta-base"} and set(least) == {"kr-bert"}
    counts = f"xlm-roberta-base gains most in {most.count('xlm-roberta-base')}, kr-bert least in {least.count('kr-bert')}"
    return _told(right, f"{counts} of {len(gains)} settings")


def _table_sentences(_: Sequence[Run]) -> Finding:
    more = _wide().loc[list(INJECTED)].mean() * ROWS / 100
    inside = (more >= 250) & (more <= 500)
    said = ", ".join(f"{name} {value:.0f}" for name, value in more.items())
    return _told(bool(inside.all()), f"mean gain over the four settings in answers of {ROWS:,}: {said}")


def _table_best(_: Sequence[Run]) -> Finding:
    frame = fused.printed_accuracies()
    best = frame.iloc[int(frame["value"].to_numpy().argmax())]
    mean = float(_wide().loc[best["model"]].mean())
    said = f"the row that holds {best['value']:.2%} ({best['encoder']}) gains {mean:.3f} on average, which table 2 prints for"
    said += f" “{SETTINGS[best['model']]}”; table 1's row labels, lost in our copy, are restored by these means, which fit one order only"
    return _told(best["model"] == "cls-last", said)


def _table_mean(_: Sequence[Run]) -> Finding:
    table = fused.statistics()
    best = table["model"].iloc[int(table["mean"].to_numpy().argmax())]
    said = ", ".join(f"{SETTINGS[row['model']]} {row['mean']:.3f}" for row in table.to_dict("records"))
    return _told(best == "cls-last", f"mean gains recomputed from table 1: {said}")


def _table_spread(_: Sequence[Run]) -> Finding:
    table = fused.statistics()
    least = table["model"].iloc[int(table["deviation"].to_numpy().argmin())]
    said = ", ".join(f"{SETTINGS[row['model']]} {row['deviation']:.3f}" for row in table.to_dict("records"))
    return _told(least == CHOSEN, f"standard deviation of the gains over five encoders, recomputed: {said}")


def _table_stable(_: Sequence[Run]) -> Finding:
    """Pitman-Morgan: two paired samples have equal variances where their sum and difference are uncorrelated."""
    from scipy.stats import pearsonr

    gains = _wide()
    own = gains.loc[CHOSEN].to_numpy()
    others = {model: gains.loc[model].to_numpy() for model in INJECTED if model != CHOSEN}
    found = {model: pearsonr(other + own, other - own) for model, other in others.items()}  # above 0: the other one spreads wider
    adjusted = holm({model: float(one.pvalue) for model, one in found.items()})
    said = ", ".join(f"{SETTINGS[model]} p = {p:.2g}" for model, p in adjusted.items())
    sides = {model: int(np.sign(one.statistic)) * (adjusted[model] <= LEVEL) for model, one in found.items()}
    evidence = f"equal spreads against each other setting (Pitman–Morgan, five encoders, after Holm): {said}"
    return Finding(_least(list(sides.values())), evidence)


def _least(sides: Sequence[int]) -> Verdict:
    """Of spreads compared with all others: 1 the other is wider, -1 narrower, 0 cannot be told."""
    return "fails" if min(sides) < 0 else "holds" if min(sides) > 0 else "open"


def _table_columns(_: Sequence[Run]) -> Finding:
    table = fused.statistics()
    straight, swapped = (
        bool(np.allclose(table[["deviation", "variance"]], table[columns], atol=0.0015))
        for columns in (["printed_sigma", "printed_sigma_squared"], ["printed_sigma_squared", "printed_sigma"])
    )
    row = table.iloc[0]
    example = f"{SETTINGS[row['model']]}: printed σ {row['printed_sigma']:.3f}, recomputed {row['deviation']:.3f}"
    rest = f"printed σ² {row['printed_sigma_squared']:.3f}, recomputed {row['variance']:.3f}"
    return _told(straight, f"{'the two columns are swapped' if swapped else 'they do not fit'}; {example}; {rest} (divisor n − 1)")


def _table_counts(_: Sequence[Run]) -> Finding:
    gains = fused.printed_tasks()["value"].to_numpy()
    counts = int((gains > 0).sum()), int((gains < 0).sum()), int((gains == 0).sum())
    return _told(counts == (13, 5, 2), f"recounted: {counts[0]} of {len(gains)} rise, {counts[1]} fall, {counts[2]} stay")


def _table_falls(_: Sequence[Run]) -> Finding:
    frame = fused.printed_tasks()
    falls = frame[frame["value"] < 0]["encoder"].value_counts()
    said = ", ".join(f"{name} {count}" for name, count in falls.items())
    return _told(set(falls.index) == {"kr-electra", "kc-electra"}, f"falls by encoder: {said}")


# ---- what needs no run


def simulated(seed: int = 0, trials: int = SIMULATED) -> tuple[Floats, Floats]:
    """(trials,) largest change of a weight in the row of a neutral first token, and towards it, when σ / √d is added to random scores."""
    rng, width = np.random.default_rng(seed), 16
    own, towards = np.empty(trials), np.empty(trials)
    for k in range(trials):
        n = int(rng.integers(5, 40))
        polarity = rng.dirichlet([1, 1, 1], size=n)
        polarity[rng.random(n) < 0.5] = 1 / 3
        polarity[0] = 1 / 3
        polarity[1] = 0.8, 0.1, 0.1
        scores = rng.normal(size=(n, width)) @ rng.normal(size=(width, n)) / np.sqrt(width)
        change = _softmax(scores + polarity @ polarity.T / np.sqrt(width)) - _softmax(scores)
        own[k], towards[k] = np.abs(change[0]).max(), np.abs(change[1:, 0]).max()
    return own, towards


def _softmax(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _fixed(_: Sequence[Run]) -> Finding:
    own, towards = simulated()
    said = f"largest change of a weight over {len(own)} random cases: {own.max():.0e} in the row of [CLS]"
    return _told(bool(own.max() < 1e-12), f"{said}, {towards.max():.2g} towards it")


def _untouched(_: Sequence[Run]) -> Finding:
    own, towards = simulated()
    said = f"with the same Q and K it is the other way round: over {len(own)} random cases the others' weights on [CLS] move by up to"
    return Finding("fails" if towards.min() > own.max() else "holds", f"{said} {towards.max():.2g}, its own row by {own.max():.0e}")


def _covered(_: Sequence[Run]) -> Finding:
    frame = coverage.measured()
    rows = {row["lexicon"]: row for row in frame[frame["dataset"] == "nsmc"].to_dict("records")}
    if (knu := rows.get("lexicon_ko_knu")) is None:
        return not_testable("coverage was not measured")
    shares = ", ".join(f"{coverage.LEXICON_TITLES[name]} {row['neutral']:.1%}" for name, row in rows.items())
    said = f"{shares} of {knu['tokens']:,} tokens (judged by KNU, the lexicon of the runs here); the most frequent of the others by KNU:"
    return _told(HALF[0] <= knu["neutral"] <= HALF[1], f"{said} {knu['frequent']}")


def _even(_: Sequence[Run]) -> Finding:
    frame = coverage.measured()
    rows = frame[(frame["lexicon"] == "lexicon_ko_knu") & frame["dataset"].isin(coverage.PAPER)]
    if len(rows) < len(coverage.PAPER):
        return not_testable("coverage was not measured on all five tasks")
    said = ", ".join(f"{coverage.TITLES[row['dataset']]} {row['neutral']:.1%}" for row in rows.to_dict("records"))
    return _told(bool(rows["neutral"].between(*HALF).all()), f"by KNU: {said}")


# ---- the runs here


def _all_better(frame: pd.DataFrame, against: str) -> Finding:
    """Whether each of the four settings beats what `frame` compares them with."""
    rows = frame[frame["model"].isin(INJECTED)]
    if rows.empty:
        return MISSING
    said = "; ".join(f"{SETTINGS[row['model']]} {in_points(row)}, p = {row['adjusted']:.2g}" for row in rows.to_dict("records"))
    seeds = "for other seeds as well" if (rows["test"] == "over seeds").all() else "one seed each"
    evidence = f"in points over {against}, p after Holm: {said}; {seeds}, n = {int(rows['n'].max()):,}"
    words = set(rows["verdict"])
    least = rows.sort_values("difference").iloc[0].to_dict()
    effect = Effect.from_comparison(least, f"{SETTINGS[least['model']]}, the least of them")
    if "worse" in words:
        return Finding("fails", evidence, effect=effect)
    missing = f"; {len(INJECTED) - len(rows)} settings are not here" if len(rows) < len(INJECTED) else ""
    verdict: Verdict = "holds" if words == {"better"} and not missing else seeded("open", rows["test"])
    return Finding(verdict, evidence + missing, effect=effect)


def _gains(dataset: str) -> Test:
    return lambda runs: _all_better(fused.gains(runs, dataset), "the baseline")


def _beats_xia(dataset: str) -> Test:
    def test(runs: Sequence[Run]) -> Finding:
        every = configurations(runs, dataset)
        here = {model: seeds for model, seeds in every.items() if model != BASE}
        return _all_better(compared(here, XIA, noise=seed_noise(every.values())), "Xia et al.'s product")

    return test


def _steady(dataset: str) -> Test:
    """Whether its accuracies lie closest together over seeds: F tests of the variances against every other setting, after Holm."""

    def test(runs: Sequence[Run]) -> Finding:
        from scipy.stats import f

        here = {model: seeds for model, seeds in configurations(runs, dataset).items() if len(seeds) > 1 and model != BASE}
        spreads = {model: fused.spread(seeds) for model, seeds in here.items()}
        said = ", ".join(f"{SETTINGS[model]} {100 * value:.2f} points over {len(here[model])} seeds" for model, value in spreads.items())
        if CHOSEN not in spreads or len(spreads) == 1:
            return not_testable(f"only {said}" if said else "no setting has several seeds here")
        own, raw, wider = max(spreads.pop(CHOSEN), 1e-9), {}, {}
        for model, other in spreads.items():
            ratio = (max(other, 1e-9) / own) ** 2
            law = f(len(here[model]) - 1, len(here[CHOSEN]) - 1)
            raw[model], wider[model] = min(1.0, 2 * float(min(law.sf(ratio), law.cdf(ratio)))), ratio > 1
        adjusted = holm(raw)
        sides = [(1 if wider[model] else -1) * (p <= LEVEL) for model, p in adjusted.items()]
        found = _least(sides)
        if found == "holds" and len(sides) < len(INJECTED) - 1:
            found = "open"
        return Finding(found, f"{said}; smallest p after Holm {min(adjusted.values()):.2g} (F tests of equal spread)")

    return test


def _tasks(runs: Sequence[Run]) -> Finding:
    frame = fused.out_of_domain(runs)
    if frame.empty:
        return MISSING
    said = "; ".join(f"{row['task']} {in_points(row)}, p = {row['adjusted']:.2g}" for row in frame.to_dict("records"))
    counts = frame["verdict"].value_counts()
    better, worse = int(counts.get("better", 0)), int(counts.get("worse", 0))
    found: Verdict = "holds" if 2 * better > len(frame) else "fails" if 2 * worse >= len(frame) else "open"
    return Finding(seeded(found, frame["test"]), f"{better} of {len(frame)} gain, {worse} lose, in points, p after Holm: {said}")


def _deviation(dataset: str, measure: str, *, changes: bool) -> Test:
    """Whether a deviation about [CLS] changes, or stays within a tenth, layer by layer over seeds (Welch's t-test, Holm over layers)."""

    def test(runs: Sequence[Run]) -> Finding:
        from sentviz.analysis.maps.heads import FILE

        here = configurations(runs, dataset)
        base, fused_ = (
            np.array([_by_layer(run, measure) for run in here.get(model, []) if FILE in run.config["files"]]) for model in (BASE, CHOSEN)
        )
        if not len(base) or not len(fused_):
            return not_testable("the heads of these runs are not measured here")
        relative = fused_.mean(axis=0) / base.mean(axis=0) - 1
        said = "change by layer " + minus(", ".join(f"{100 * value:+.0f}%" for value in relative))
        seeds = f"{len(base)} against {len(fused_)} seeds"
        if min(len(base), len(fused_)) < 2:
            return not_testable(f"{said}; {seeds}: what another seed changes is not known")
        raw, spans = welch(fused_, base)
        p = holm({str(layer): float(value) for layer, value in enumerate(raw)})
        spans = spans / base.mean(axis=0)
        most = int(np.abs(relative).argmax())
        low, high = (100 * float(side) for side in spans[:, most])
        effect = Effect(100 * float(relative[most]), low, high, "%", of=f"change in layer {most + 1}, the largest")
        evidence = f"{said}; smallest p after Holm over {len(p)} layers {min(p.values()):.2g}; {seeds}"
        if min(p.values()) <= LEVEL and not (np.abs(spans) <= SAME).all():
            return Finding("holds" if changes else "fails", evidence, effect=effect)
        same = bool((np.abs(spans) <= SAME).all())
        return Finding("open" if not same else "fails" if changes else "holds", evidence, effect=effect)

    return test


def welch(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Welch's test of (S, L) against (T, L): p (L,), and the 95 % interval (2, L) of the difference of means."""
    from scipy.stats import t

    part = [side.var(axis=0, ddof=1) / len(side) for side in (a, b)]
    error = np.maximum(np.sqrt(part[0] + part[1]), 1e-12)
    freedom = error**4 / np.maximum(part[0] ** 2 / (len(a) - 1) + part[1] ** 2 / (len(b) - 1), 1e-48)
    difference = a.mean(axis=0) - b.mean(axis=0)
    half = t.ppf(0.975, freedom) * error
    return 2 * t.sf(np.abs(difference) / error, freedom), np.stack([difference - half, difference + half])


def _by_layer(run: Run, measure: str) -> Floats:
    from sentviz.analysis.maps.heads import FILE

    frame = run.frame(FILE)
    rows = frame[(frame["head"] < 0) & (frame["measure"] == measure)].sort_values("layer")
    return rows["value"].to_numpy(np.float64)


def _row(
    short: str, against: Reference, *said: tuple[str, str, str, Test], how: str = "", shows: str = "results", figure: str = ""
) -> tuple[Claim, ...]:
    return alike(short, against, DATASETS, *said, how=how, shows=shows, figure=figure)


def _each(
    short: str, statement: str, where: str, test: Callable[[str], Test], *, how: str, shows: str = "results", figure: str = "gains"
) -> tuple[Claim, ...]:
    """A claim about runs, once per data set, whose title is put into the statement."""
    said = [(dataset, statement.format(title), where, test(dataset)) for dataset, title in DATASETS.items()]
    return _row(short, "runs here", *said, how=how, shows=shows, figure=figure)


PRINT: Reference = "its own tables"
OVER_SEEDS = "t tests for other rows and other seeds, chance in training pooled over all settings; p after Holm over the four settings"
LAYERS = "Welch's t test of the means over seeds, layer by layer, p after Holm"

CLAIMS = (
    *_row("Every setting gains, with every encoder", PRINT,
          ("nsmc", "Every setting gains over the baseline with every encoder", "section 5.1", _table_gains), figure="gains"),
    *_row("Every setting beats Xia et al.'s product", PRINT,
          ("nsmc", "Every setting is better than Xia et al.'s product with every encoder", "section 5.1", _table_xia), figure="gains"),
    *_row("Xia et al.'s product loses", PRINT,
          ("nsmc", "Xia et al.'s product does the opposite: it loses against the baseline", "section 5.1", _table_opposite),
          figure="gains"),
    *_row("ELECTRAs gain more than 0.5 points", PRINT,
          ("nsmc", "The three ELECTRA encoders gain more than 0.5 points in every setting", "section 5.1", _table_half), figure="gains"),
    *_row("xlm-roberta gains most, kr-bert least", PRINT,
          ("nsmc", "xlm-roberta-base gains most and kr-bert least", "section 5.1", _table_extremes), figure="gains"),
    *_row("Gains mean 250 to 500 more right answers", PRINT,
          ("nsmc", "The gains mean 250 to almost 500 more right answers on average", "section 5.1", _table_sentences)),
    *_row("The best, 92.65, is the unscaled last head's", PRINT,
          ("nsmc", "The best accuracy, 92.65, is the unscaled last head's", "section 5.1", _table_best)),
    *_row("Unscaled last head: largest mean gain", PRINT,
          ("nsmc", "The unscaled last head has the largest mean gain", "section 5.2", _table_mean), shows="statistics"),
    *_row("Last head ÷ √d: smallest spread of gains", PRINT,
          ("nsmc", "Last head ÷ √d has the smallest spread of gains", "section 5.2", _table_spread), shows="statistics"),
    *_row("So it is more stable than the others", PRINT,
          ("nsmc", "So it is more stable than the other settings", "section 5.2", _table_stable), shows="statistics",
          how="the Pitman–Morgan test of equal spreads of paired gains, p after Holm"),
    *_row("Table 2's columns are σ and σ²", PRINT,
          ("nsmc", "Table 2 prints standard deviation and variance under σ and σ²", "table 2", _table_columns), shows="statistics"),
    *_row("Out of domain 13 rise, 5 fall, 2 stay", PRINT,
          ("", "Out of domain 13 of 20 cases rise, 5 fall and 2 stay", "section 5.2", _table_counts), shows="tasks",
          figure="gains-out-of-domain"),
    *_row("Only kr-electra and kc-electra fall", PRINT,
          ("", "Only kr-electra and kc-electra fall", "section 5.2", _table_falls), shows="tasks", figure="gains-out-of-domain"),
    *_row("σ cannot move the row of [CLS]", "simulated runs",
          ("", "σ cannot move the row of a neutral [CLS] while Q and K stay as they are", "ours", _fixed), shows="cls"),
    *_row("Attention towards [CLS] hardly moves", "simulated runs",
          ("", "[CLS] has no polarity, so attention towards it hardly moves while its own does", "section 6", _untouched), shows="cls"),
    *_row("About half of the tokens stay neutral", "data sets",
          ("nsmc", "About half of NSMC's tokens stay neutral", "section 4.5, figure 4", _covered), shows="coverage", figure="coverage"),
    *_row("That share hardly differs between tasks", "data sets",
          ("", "The share hardly differs between the five tasks", "section 4.5, figure 4", _even), shows="coverage", figure="coverage"),
    *_each("Every setting gains over the baseline", "Every setting gains over the baseline on {}", "section 5.1", _gains, how=OVER_SEEDS),
    *_each("Every setting beats Xia et al.'s product", "Every setting is better than Xia et al.'s product on {}", "section 5.1", _beats_xia,
           how=OVER_SEEDS),
    *_each("Last head ÷ √d varies least over seeds",
           "Last head ÷ √d varies least on {} (paper: over encoders, here: over seeds)", "section 5.2", _steady,
           how="F tests of equal variances over seeds, p after Holm"),
    *_each("It changes how unevenly [CLS] looks", "On {} the injection changes how unevenly [CLS] looks at the others",
           "section 6, figure 5", lambda dataset: _deviation(dataset, "from_cls", changes=True), how=LAYERS, shows="cls",
           figure="cls-lines"),
    *_each("It leaves attention towards [CLS]", "On {} it leaves the others' attention towards [CLS] as it was, within a tenth",
           "section 6, figure 5", lambda dataset: _deviation(dataset, "to_cls", changes=False), how=LAYERS, shows="cls",
           figure="cls-lines"),
    Claim("Out of domain the injection gains in most tasks", "section 5.2", "runs here", _tasks, "Out of domain it gains in most tasks",
          data=tuple(task.dataset for task in fused.TASKS if task.dataset), how=OVER_SEEDS.replace("the four settings", "the tasks"),
          shows="tasks", figure="gains-out-of-domain"),
)  # fmt: skip
