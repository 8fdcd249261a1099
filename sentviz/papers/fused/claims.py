"""The claims of Sentiment-Fused Attention: tested on its own tables, on simulated attention, on data sets and on the available runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import LEVEL, Board, Effect, Finding, decide, equivalent, not_testable, p_of_margin, tried
from sentviz.analysis.evaluation import holm
from sentviz.analysis.maps.heads import FILE
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import p_value, percent, signed
from sentviz.papers.fused import formula_claims, printed_claims
from sentviz.papers.fused import study as fused
from sentviz.papers.fused.study import BASE, CHOSEN, DATASETS, ENCODER_TITLES, INJECTED, SCRATCH, SETTINGS, WHOLE_WORDS, XIA, configurations
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import compared, in_points, mixed, seeded
from sentviz.papers.studies.judging import NOT_INSTALLED, every_better, needed, over_parts
from sentviz.papers.studies.rates import with_rates
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

Floats = npt.NDArray[np.float64]
SAME = 0.1  # relative change within which attention stays the same
OVER_SEEDS = f"t tests for other rows and other seeds, with {SPREAD_IN_WORDS}; p after Holm over the four settings"
BOARD = Board(DATASETS)
tested = partial(BOARD.claim, against="runs here", kind="tested")
of_accuracy = partial(tested, where="section 5.1", section="results", figure="gains", how=OVER_SEEDS)
of_attention = partial(tested, where="section 6, figure 5", section="cls", figure="cls-lines",
    how="Welch's t test of the means over seeds, layer by layer, p after Holm")  # fmt: skip


def by_encoder(encoders: Callable[[Sequence[Run], str], Sequence[str]] = fused.encoders) -> Callable[..., Callable[..., Finding]]:
    """Return a decorator that judges a claim on the runs of each encoder, a part each (`over_parts`)."""

    def decorate(judge: Callable[..., Finding]) -> Callable[..., Finding]:
        @wraps(judge)
        def test(dataset: str, runs: Sequence[Run], **settings: object) -> Finding:
            titles = ENCODER_TITLES | {SCRATCH: "an encoder from scratch"}
            return over_parts({titles[name]: tried(partial(judge, dataset, runs, name, **settings)) for name in encoders(runs, dataset)})

        return test

    return decorate


def _presets(encoder: str, *settings: str) -> list[str]:
    """Return the names of the runs of settings on an encoder."""
    return [encoder + setting.removeprefix(BASE) for setting in settings]


def _all_better(frame: pd.DataFrame, runs: Sequence[Run], dataset: str, encoder: str, base: str, title: str) -> Finding:
    """Test whether each of the four settings beats the one that `frame` compares them with. A worse setting refutes the claim."""
    rows = needed(frame[frame["model"].isin(INJECTED)])
    numbers = "; ".join(f"{SETTINGS[row['model']]} {in_points(row)}, {p_value(row['adjusted'])}" for row in rows.to_dict("records"))
    seeds = "intervals cover other seeds" if (rows["test"] == "over seeds").all() else "one seed each"
    evidence = f"in points over {title}, p after Holm: {numbers}; {seeds}, n = {int(rows['n'].max()):,}"
    missing = len(INJECTED) - len(rows)
    if missing and "worse" not in set(rows["verdict"]):
        evidence += f"; {missing} settings have no run"
    least = rows.sort_values("difference").iloc[0].to_dict()
    effect = Effect.from_comparison(least, f"{SETTINGS[least['model']]}, the smallest difference")
    verdict, p = every_better(rows["adjusted"], rows["verdict"], rows["test"], complete=not missing)
    finding = Finding(verdict, evidence, effect=effect, p=p)
    return with_rates(finding, runs, dataset, _presets(encoder, *INJECTED), _presets(encoder, base))


@of_accuracy({"nsmc": "ec07d9", "sst2": "7abaf3"}, "Every setting gains over the baseline on {}")
@by_encoder()
def judge_gains(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    return _all_better(fused.gains(runs, dataset, encoder), runs, dataset, encoder, BASE, "the baseline")


@of_accuracy({"sst2": "1caf02"}, "With polarities of whole words only, and no emoticons, the last head ÷ √d gains over the baseline on {}",
    "It gains with whole words only, too", where="ours", how=f"t tests for other rows and other seeds, with {SPREAD_IN_WORDS}")  # fmt: skip
def judge_whole_words(dataset: str, runs: Sequence[Run]) -> Finding:
    by_model = compare_configurations.configurations(runs, dataset, (BASE, CHOSEN, WHOLE_WORDS))
    needed(by_model, f"the runs are not installed: `sentviz study fused-whole-words --dataset {dataset}` trains them", least=3)
    noise = seed_noise(by_model.values())
    gain, usual = (mixed(by_model[WHOLE_WORDS], by_model[model], noise=noise) for model in (BASE, CHOSEN))
    verdict = seeded(decide(gain.word() == "better", gain.word() == "worse"), [gain.test])
    evidence = f"against the baseline {gain.numbers}; against the same setting with pieces of words and emoticons {usual.numbers}"
    finding = Finding(verdict, evidence, effect=gain.effect("whole words"), p=gain.p)
    return with_rates(finding, runs, dataset, [WHOLE_WORDS], [BASE])


@of_accuracy({"nsmc": "60b5a9", "sst2": "bbbebf"}, "Every setting is better than Xia et al.'s product on {}",
    "Every setting beats Xia et al.'s product")  # fmt: skip
@by_encoder()
def judge_against_xia(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    by_model = configurations(runs, dataset, encoder)
    settings = {model: seeds for model, seeds in by_model.items() if model != BASE}
    frame = compared(settings, XIA, noise=seed_noise(by_model.values()))
    return _all_better(frame, runs, dataset, encoder, XIA, "Xia et al.'s product")


@of_accuracy({"nsmc": "b1bb17", "sst2": "5cc8b0"}, "Last head ÷ √d varies least on {} (paper: over encoders, here: over seeds)",
    "Last head ÷ √d varies least over seeds", where="section 5.2", how="F tests of equal variances over seeds, p after Holm")  # fmt: skip
@by_encoder()
def judge_spread_over_seeds(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    by_model = {model: seeds for model, seeds in configurations(runs, dataset, encoder).items() if len(seeds) > 1 and model != BASE}
    spreads = {model: fused.spread(seeds) for model, seeds in by_model.items()}
    numbers = ", ".join(f"{SETTINGS[model]} {100 * value:.2f} points over {len(by_model[model])} seeds" for model, value in spreads.items())
    if CHOSEN not in spreads or len(spreads) == 1:
        return not_testable(f"only {numbers}" if numbers else "no installed setting has several seeds")
    own, p_values, wider = max(spreads.pop(CHOSEN), 1e-9), {}, {}
    for model, spread in spreads.items():
        ratio = (max(spread, 1e-9) / own) ** 2
        law = stats.f(len(by_model[model]) - 1, len(by_model[CHOSEN]) - 1)
        p_values[model], wider[model] = min(1.0, 2 * float(min(law.sf(ratio), law.cdf(ratio)))), ratio > 1
    adjusted = holm(p_values)
    signs = [(1 if wider[model] else -1) * (p <= LEVEL) for model, p in adjusted.items()]
    verdict = decide(min(signs) > 0 and len(signs) == len(INJECTED) - 1, min(signs) < 0)
    p = max(adjusted.values()) if verdict == "holds" else min(adjusted.values())
    return Finding(verdict, f"{numbers}; {p_value(min(adjusted.values()), 'smallest p after Holm')} (F tests of equal spread)", p=p)


def _deviation(dataset: str, runs: Sequence[Run], encoder: str, measure: str, changes: bool) -> Finding:
    """Test whether a deviation about [CLS] changes, layer by layer over seeds (Welch's t test, Holm over layers).

    It cannot be judged on an encoder whose classifier does not read [CLS].

    Args:
        changes: whether the claim is that it changes; otherwise that every layer stays the same within a tenth. It is
            refuted by a layer whose change is more than a tenth (`equivalent`), but not by a smaller significant change.
    """
    if why := fused.reads_mean(runs, dataset, encoder):
        return not_testable(why)
    by_model = configurations(runs, dataset, encoder)
    base, injected = (
        np.array([_by_layer(run, measure) for run in by_model.get(model, []) if FILE in run.files]) for model in (BASE, CHOSEN)
    )
    if not len(base) or not len(injected):
        return not_testable("the heads of these runs are not measured")
    relative = injected.mean(axis=0) / base.mean(axis=0) - 1
    numbers = "change by layer " + ", ".join(percent(value, 0, write=signed) for value in relative)
    seeds = f"{len(base)} against {len(injected)} seeds"
    if min(len(base), len(injected)) < 2:
        return not_testable(f"{numbers}; {seeds}, so the effect of the seed is unknown")
    p_values, spans = welch(injected, base)
    adjusted = holm({str(layer): float(value) for layer, value in enumerate(p_values)})
    spans = spans / base.mean(axis=0)
    wider = welch(injected, base, 1 - LEVEL / len(relative))[1] / base.mean(axis=0)  # hold for all layers at once (Bonferroni)
    most = int(np.abs(relative).argmax())
    low, high = (100 * float(side) for side in spans[:, most])
    effect = Effect(100 * float(relative[most]), low, high, "%", of=f"largest change, in layer {most + 1}")
    evidence = f"{numbers}; over {len(adjusted)} layers {p_value(min(adjusted.values()), 'smallest p after Holm')}; {seeds}"
    same = all(equivalent(float(low), float(high), SAME) for low, high in spans.T)
    levels = [p_of_margin(float(change), float(low), float(high), SAME) for change, low, high in zip(relative, *spans, strict=True)]
    if changes:
        verdict = decide(min(adjusted.values()) <= LEVEL and not same, same)
        return Finding(verdict, evidence, effect=effect, p=max(levels) if same else min(adjusted.values()))
    beyond = [len(levels) * p for p, low, high in zip(levels, *wider, strict=True) if equivalent(low, high, SAME) is False]
    return Finding(decide(same, bool(beyond)), evidence, effect=effect, p=min(1.0, min(beyond)) if beyond else max(levels))


@of_attention({"nsmc": "b4e6d5", "sst2": "8aed0b"}, "On {} the injection changes how uneven the attention of [CLS] to the others is",
    "It changes how uneven [CLS] attention is", measure="from_cls", changes=True)  # fmt: skip
@of_attention({"nsmc": "0c4d75", "sst2": "6f3f59"}, "On {} it changes the others' attention to [CLS] by less than a tenth",
    "It does not change attention to [CLS]", measure="to_cls", changes=False)  # fmt: skip
@by_encoder(fused.encoders_on_cls)
def judge_deviation(dataset: str, runs: Sequence[Run], encoder: str, measure: str, changes: bool) -> Finding:
    return _deviation(dataset, runs, encoder, measure, changes)


@of_attention({"nsmc": "52b9f3", "sst2": "d86e1c"}, "On {} the shift of the attention of [CLS] comes with a gain",
    "The shift of [CLS] attention comes with a gain", where="section 6",
    how="the test of the gain and the test of the shift, p after Holm each")  # fmt: skip
@by_encoder(fused.encoders_on_cls)
def judge_cause(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    """Refute it by a gain without a shift, or a loss with one. A shift and a gain that come together do not prove a cause."""
    frame = fused.gains(runs, dataset, encoder)
    rows = frame[frame["model"] == CHOSEN].to_dict("records")
    shift = _deviation(dataset, runs, encoder, "from_cls", changes=True)
    if not rows or shift.verdict == "unjudged":
        return not_testable(shift.evidence) if rows else NOT_INSTALLED
    (gain,) = rows
    evidence = f"gain {in_points(gain)}, {p_value(gain['adjusted'], 'p after Holm')}; attention of [CLS]: {shift.evidence}"
    shifts, stays = shift.verdict == "holds", shift.verdict == "fails"
    better, worse = gain["verdict"] == "better", gain["verdict"] == "worse"
    verdict = decide(shifts and better, (stays and better) or (shifts and worse))
    p = None if shift.level is None else max(float(gain["adjusted"]), shift.level)
    return Finding(seeded(verdict, [gain["test"]]), evidence, effect=Effect.from_comparison(gain, SETTINGS[CHOSEN]), p=p)


@tested("a001af", "Out of domain the injection gains in most tasks", "Out of domain it gains in most tasks", where="section 5.2",
    section="tasks", figure="gains-out-of-domain", how=OVER_SEEDS.replace("the four settings", "the tasks"),
    reads=tuple(task.dataset for task in fused.TASKS if task.dataset))  # fmt: skip
@by_encoder(lambda runs, _: fused.task_encoders(runs))
def judge_tasks(dataset: str, runs: Sequence[Run], encoder: str) -> Finding:
    """Refute it if half of the tasks lose."""
    frame = needed(fused.out_of_domain(runs, encoder))
    numbers = "; ".join(f"{row['task']} {in_points(row)}, {p_value(row['adjusted'])}" for row in frame.to_dict("records"))
    counts = frame["verdict"].value_counts()
    better, worse = int(counts.get("better", 0)), int(counts.get("worse", 0))
    verdict = decide(2 * better > len(frame), 2 * worse >= len(frame))
    evidence = f"{better} of {len(frame)} gain, {worse} lose, p after Holm: {numbers}"
    decisive = frame.loc[frame["verdict"] == ("better" if verdict == "holds" else "worse"), "adjusted"]
    finding = Finding(seeded(verdict, frame["test"]), evidence, p=None if decisive.empty else float(decisive.max()))
    for task in frame["dataset"].unique():
        finding = with_rates(finding, runs, task, _presets(encoder, CHOSEN), _presets(encoder, BASE))
    return finding


def welch(a: Floats, b: Floats, coverage: float = 0.95) -> tuple[Floats, Floats]:
    """Compare the means of (S, L) and (T, L) values over seeds by Welch's t test.

    Returns:
        p (L,), and the intervals (2, L) of the differences of means.
    """
    part = [side.var(axis=0, ddof=1) / len(side) for side in (a, b)]
    error = np.maximum(np.sqrt(part[0] + part[1]), 1e-12)
    freedom = error**4 / np.maximum(part[0] ** 2 / (len(a) - 1) + part[1] ** 2 / (len(b) - 1), 1e-48)
    difference = a.mean(axis=0) - b.mean(axis=0)
    half = stats.t.ppf((1 + coverage) / 2, freedom) * error
    return 2 * stats.t.sf(np.abs(difference) / error, freedom), np.stack([difference - half, difference + half])


def _by_layer(run: Run, measure: str) -> Floats:
    """Return a run's stored measure of its heads, the mean over heads of each layer (L,)."""
    frame = run.frame(FILE)
    rows = frame[(frame["head"] < 0) & (frame["measure"] == measure)].sort_values("layer")
    return rows["value"].to_numpy(np.float64)


CLAIMS = (*printed_claims.BOARD, *formula_claims.BOARD, *BOARD)
