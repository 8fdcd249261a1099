"""The claims of the SentiFormer paper: tested on its own tables, by arithmetic, by measurements without runs, and on the available runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sentviz.analysis.claim import Board, Effect, Finding, Verdict, decide, equivalent, not_testable, settled
from sentviz.analysis.evaluation import wilson
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.data.parts_of_speech import TAGS
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, p_value, percent, signed
from sentviz.papers.sentiformer import measured, printed_tables, separation, text_claims, throughput
from sentviz.papers.sentiformer.answer import NEAR, SOLVED
from sentviz.papers.sentiformer.study import (
    BASELINES,
    COMPARED,
    DATASETS,
    MODELS,
    READINGS,
    WHOLE,
    ablations,
    against_baselines,
    configurations,
    gated,
    gates_over_seeds,
    rates_of_readings,
    readings,
)
from sentviz.papers.studies.compare_configurations import in_points, seeded
from sentviz.papers.studies.judging import every_better, inside_margin, needed, seeds_in_words
from sentviz.papers.studies.rates import chosen, epochs_in_words, stopped_early, with_rates
from sentviz.runs.presets import without_training
from sentviz.runs.store import Run

Lengths = Callable[["pd.DataFrame"], "pd.Series[bool]"]  # selects the measured sequences that a statement is about
BERT = "BERT-base"
BERT_PARAMETERS = 110e6  # the paper's number, section I
PARAMETERS = 22e6
OUR_VOCABULARY = 8_000  # entries in the recipe for SST-5
MOST = 0.6  # above any accuracy published for five classes of SST, pre-trained models included
STATE = 32  # numbers in the GRU's state
CHANCE = 0.55  # share of balanced sequences; a lower share is no better than chance
LITTLE = 0.005  # difference of accuracies; a smaller one does not count
ON_CPU = "one thread of a CPU; the claim is about a V100"
GATES = "means over a test split, with 95 % intervals for other texts and other seeds"
OVER_SEEDS = f"a t test for other rows and other seeds, with {SPREAD_IN_WORDS}; p after Holm"
BOARD = Board(DATASETS)
printed = partial(BOARD.claim, against="its own tables", kind="printed")
measured_here = partial(BOARD.claim, against="simulated runs", kind="tested")
of_speed = partial(
    measured_here, where="section VI-B", section="speed", figure="time-by-length", how="measured in turn on one thread of a CPU"
)
of_theory = partial(measured_here, where="proposition 2", section="theory",
    how="trained again on random sequences; Wilson interval of the share of right predictions")  # fmt: skip
on_runs = partial(BOARD.claim, against="runs here", kind="tested", how=OVER_SEEDS)
of_accuracy = partial(on_runs, where="table I", section="results", figure="sentiformer-accuracy")
of_parts = partial(on_runs, where="table II", section="parts", figure="sentiformer-parts")
of_gates = partial(on_runs, where="section IV-B", section="gates", how=GATES)


def _printed(model: str) -> dict[str, float]:
    """Return the printed accuracies of a model in percent, by column of table I."""
    table = printed_tables.table("accuracy").set_index("model").drop(columns="preset").astype(float)
    return {str(column): value for column, value in table.T[model].to_dict().items()}


def _printed_ablations() -> dict[str, float]:
    """Return the accuracies of table II in percent, by preset."""
    table = printed_tables.table("ablation")
    return dict(zip(table["preset"], table["sst5_accuracy_pct"].astype(float), strict=True))


# ---- the paper's own tables


@printed("bec68d", "SentiFormer matches or exceeds BERT-base on three of four data sets", "It matches BERT-base on three of four sets",
    where="section V-C", section="results")  # fmt: skip
def judge_bert() -> Finding:
    own, bert = _printed("SentiFormer"), _printed(BERT)
    above = [column for column in own if own[column] >= bert[column]]
    numbers = ", ".join(f"{column} {own[column]} compared with {bert[column]}" for column in own)
    return settled(len(above) >= 3, f"{len(above)} of {len(own)}: {numbers}; one run each, no intervals")


@printed({"tweeteval_sentiment": "2f9890"}, "{} is its clearest win", "Twitter is its clearest win", where="section V-C", section="results")
def judge_clearest_win() -> Finding:
    own, bert = _printed("SentiFormer"), _printed(BERT)
    gains = {column: round(own[column] - bert[column], 1) for column in own}
    rest = [value for column, value in gains.items() if column != "twitter"]
    numbers = ", ".join(f"{column} {signed(value, 1)}" for column, value in gains.items())
    verdict = decide(gains["twitter"] > max(rest), gains["twitter"] < max(rest))
    return Finding(verdict, f"reported gains over BERT-base in points, with one decimal: {numbers}")


@printed({"sst5_trees": "92ffa1"}, "Aware positions add 1.6 points of accuracy, gates 1.2", "Aware positions add 1.6 points, gates 1.2",
    where="section V-D", section="parts")  # fmt: skip
def judge_printed_parts() -> Finding:
    printed = _printed_ablations()
    losses = {name: round(printed[WHOLE] - printed[name], 1) for name in ("sentiformer-sinusoid", "sentiformer-no-gate")}
    numbers = ", ".join(f"{MODELS[name]} {value:.1f} points less" for name, value in losses.items())
    return settled(losses == {"sentiformer-sinusoid": 1.6, "sentiformer-no-gate": 1.2}, f"recomputed from table II: {numbers}")


@printed({"sst5_trees": "bf9ff0"}, "Full attention recovers 0.2 points", where="section V-D", section="parts")
def judge_printed_window() -> Finding:
    printed = _printed_ablations()
    full, windowed = printed["sentiformer-full"], printed[WHOLE]
    gain = round(full - windowed, 1)
    return settled(gain > 0, f"table II: {full} without the window and {windowed} with the window, {signed(gain, 1)} points")


@printed("be7335", "It has one fifth of BERT-base's parameters", "A fifth of BERT-base's parameters", where="abstract", section="speed")
def judge_fifth() -> Finding:
    ratio = BERT_PARAMETERS / PARAMETERS
    return settled(4.5 <= ratio <= 5.5, f"{BERT_PARAMETERS / 1e6:.0f} M to {PARAMETERS / 1e6:.0f} M is {ratio:.1f} to 1")


@printed("95371f", "At k = 128, s = 2 and n = 2048 the window is over 100 times as fast in theory", "The window is over 100 times as fast",
    where="section III-D", section="speed", figure="time-by-length")  # fmt: skip
def judge_theoretical_speed() -> Finding:
    n, near, far = 2048, 128, 2
    return settled(
        n / (near + far) > 100,
        f"n / (k + s) = {n} / ({near} + {far}) = {n / (near + far):.1f}; for the model's own window of 64 and four globals {n / 68:.1f};"
        " “over 100” needs full attention over more than 13,000 tokens",
    )


@printed("37f933", "It has about 22 M parameters", where="section IV-C", section="speed")
def judge_size() -> Finding:
    """Return the vocabulary size that the printed number of parameters implies. The claim cannot be tested: that size is not printed."""
    d, wide, layers = 256, 1024, 6
    blocks = layers * (4 * d * d + 4 * d + 2 * d * wide + wide + d + 4 * d + d)
    rest = blocks + len(TAGS) * d + 3 + 5 * d + 5
    vocabulary = (PARAMETERS - rest) / d
    evidence = f"the reported layers have {blocks / 1e6:.1f} M parameters; the rest needs a vocabulary of {vocabulary:,.0f},"
    ours = (rest + OUR_VOCABULARY * d) / 1e6
    return not_testable(
        f"{evidence} which the paper does not report; ours has {ours:.1f} M with a vocabulary of {OUR_VOCABULARY:,} on SST-5"
    )


# ---- measurements without runs


def _as_trained(rows: pd.DataFrame) -> pd.Series[bool]:
    """Select sequences as long as in training, with SentiFormer's positions."""
    return (rows["length"] <= rows["longest"]) & (rows["positions"] == "aware")


def _beyond_order(rows: pd.DataFrame) -> pd.Series[bool]:
    """Select sequences longer than a Markov model's order."""
    return rows["length"] > rows["order"]


def _beyond_state(rows: pd.DataFrame) -> pd.Series[bool]:
    """Select sequences with more words than the GRU's state has numbers."""
    return rows["length"] - 1 > STATE


@of_speed("6d8d6f", "It reads 5.3 times as many texts a second as BERT-base", "It reads 5.3 times as much as BERT-base", model="BERT-base")
@of_speed("626b7a", "It reads 3.6 times as many as DistilBERT", "It reads 3.6 times as much as DistilBERT", model="DistilBERT")
def judge_speed(*, model: str) -> Finding:
    """Return how many times faster than another model SentiFormer is on a CPU. The claim is about a V100, so this does not decide it."""
    frame = throughput.SPEEDS.read()
    rows = needed(frame[(frame["model"] == model) & (frame["threads"] == 1)], "a measurement of speed is not installed")
    (row,) = rows.to_dict("records")
    printed = throughput.printed_times()[model]
    speed = f"{number(row['times'], 1, ends=(row['low'], row['high']))} times as many texts per second, reported {printed:.1f}"
    effect = Effect(row["times"], row["low"], row["high"], "×", printed, f"texts per second relative to {model}, compared with the paper")
    return not_testable(f"{speed}; {row['tokens']} tokens, {row['batch']} at a time, {ON_CPU}", effect)


@of_speed("f24943", "Full attention takes about three times as long to train", "Full attention trains three times as long",
    where="section V-D", figure="")  # fmt: skip
def judge_training_time() -> Finding:
    """Return how much slower a training step with full attention is on a CPU. The claim is about a V100, so this does not decide it."""
    frame = throughput.STEPS.read()
    rows = needed(frame[frame["threads"] == 1].sort_values("tokens"), "a measurement of training is not installed")
    times = "; ".join(f"{number(row['times'], ends=(row['low'], row['high']))} at {row['tokens']}" for row in rows.to_dict("records"))
    batch, most = rows["batch"].iloc[0], rows.sort_values("times").iloc[-1].to_dict()
    effect = Effect(most["times"], most["low"], most["high"], "×", 3, f"the slowest training step, {most['tokens']} tokens")
    return not_testable(
        f"time of a training step of {batch} texts relative to sparse attention, by tokens per text: {times}; texts of SST-5 are cut"
        f" to {throughput.TRAINED[0]} tokens here; {ON_CPU}",
        effect,
    )


@of_theory("ac2225", "A transformer of one layer and two heads can decide “first not, last good”",
    "One layer, two heads find first and last word", model="transformer", lengths=_as_trained, if_learned="holds", if_chance="open",
    subject="trained with SentiFormer's positions, tested on lengths of training, it gets")  # fmt: skip
@of_theory("acaba4", "No Markov model of order k can decide it for more than k words", "No Markov model of order k can decide it",
    model="last ", lengths=_beyond_order, if_learned="fails", if_chance="holds", subject="orders 1 to 6 get")  # fmt: skip
@of_theory("867d53", "No RNN whose state has fewer than n − 1 numbers can decide it", "No RNN with a small state can decide it",
    where="section VI-A", model="GRU", lengths=_beyond_state, if_learned="fails", if_chance="open",
    subject="on 48 and 64 words, longer than in training, a GRU with 32 numbers gets")  # fmt: skip
def judge_proposition(*, model: str, lengths: Lengths, if_learned: Verdict, if_chance: Verdict, subject: str) -> Finding:
    """Return `if_learned` if a model is right in nearly all sequences, over all seeds and positions; `if_chance` if it is near chance.

    Args:
        model: beginning of the measured models' names.
        subject: beginning of the evidence.
    """
    frame = separation.MEASURED.read()
    rows = frame[frame["model"].str.startswith(model)]
    rows = rows[lengths(rows)]
    right, n = int(rows["right"].sum()), int(rows["n"].sum())
    if not n:
        return not_testable("a measurement of Proposition 2 is not installed")
    share, (low, high) = right / n, map(float, wilson(right, n))
    verdict: Verdict = if_learned if low > SOLVED else if_chance if high < CHANCE else "open"
    evidence = f"{subject} {percent(share, ends=(low, high))} of {n:,} sequences right; {int(rows['seed'].nunique())} seeds"
    limit = SOLVED if share > (SOLVED + CHANCE) / 2 else CHANCE
    return Finding(
        verdict, evidence, effect=Effect.from_share(share, low, high, limit, f"sequences right, compared with {percent(limit, 0)}")
    )


# ---- runs


def _model(preset: str) -> str:
    """Return the name of SentiFormer, complete or without a part."""
    return MODELS[preset] if preset == WHOLE else f"{MODELS[WHOLE]} {MODELS[preset]}"


def _whole(dataset: str, runs: Sequence[Run]) -> str:
    """Return the preset of the complete model at the learning rate that validation chose."""
    return chosen(configurations(runs, dataset), WHOLE)


@of_accuracy({"sst5_trees": "e2b22a"}, "The reported SST-5 accuracies are those of five classes",
    "Its SST-5 accuracies are those of five classes",
    how="whether the interval for five or for two classes is nearer to the reported value", reads=READINGS)  # fmt: skip
def judge_classes(runs: Sequence[Run]) -> Finding:
    """Return whether the printed SST-5 accuracies are nearer to ours of five classes or of two, for each model.

    The claim is about the paper's own trainings, so ours do not decide it.
    """
    results = needed(readings(runs), "a model trained on both versions of the labels is not installed")
    first, nearer = results[0], [result.nearer for result in results]
    numbers = "; ".join(result.numbers for result in results)
    high = (
        f"the reported number is above {percent(MOST, 0)}, which no published model reaches for five classes; "
        if first.printed > MOST
        else ""
    )
    effect = Effect.from_share(*first.five, first.printed, f"{first.model} with five classes, compared with the paper")
    seen = f"of {len(nearer)} models, {nearer.count('two')} are nearer to ours of two classes and {nearer.count('five')} to ours of five; "
    return not_testable(f"the claim is about the paper's own trainings; {high}{seen}{numbers}", effect).noting(
        rates_of_readings(runs, results)
    )


@of_accuracy(
    {"sst5_trees": "ca109f", "sst5_trees_binary": "795e4e", "imdb": "4262b0", "yelp_polarity": "70dcf3", "tweeteval_sentiment": "566e87"},
    "SentiFormer beats the BiLSTM and the CNN on {}", "It beats the BiLSTM and the CNN")  # fmt: skip
def judge_baselines(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether SentiFormer beats both baselines, after Holm. A better baseline refutes the claim."""
    pairs = against_baselines(runs, dataset)
    needed(pairs, f"SentiFormer or a baseline of {DATASETS[dataset]} is not installed", least=len(BASELINES))
    numbers = "; ".join(pair.numbers for pair in pairs)
    verdict, p = every_better(*zip(*((pair.adjusted, pair.word, pair.comparison.test) for pair in pairs), strict=True))
    least = min(pairs, key=lambda pair: pair.comparison.difference)
    effect = least.comparison.effect(f"{MODELS[WHOLE]} minus {COMPARED[without_training(least.baseline)]}")
    finding = Finding(verdict, f"{MODELS[WHOLE]} minus {numbers}", effect=effect, p=p)
    baselines = [pair.baseline for pair in pairs]
    finding = finding.noting(epochs_in_words(runs, dataset, [pairs[0].own, *baselines], COMPARED.__getitem__))
    return with_rates(finding, runs, dataset, [pairs[0].own], baselines, COMPARED.__getitem__)


@of_parts(
    {"sst5_trees": "3f0862", "sst5_trees_binary": "972fe5"}, "It is worse without aware positions on {}", variant="sentiformer-sinusoid"
)
@of_parts({"sst5_trees": "418db8", "sst5_trees_binary": "729e61"}, "It is worse without gates on {}", variant="sentiformer-no-gate")
@of_parts({"sst5_trees": "dd45d4", "sst5_trees_binary": "6d4bb7"}, "It is worse without layer norm on {}", variant="sentiformer-no-norm")
def judge_part(dataset: str, runs: Sequence[Run], *, variant: str) -> Finding:
    frame = ablations(runs, dataset).set_index("model")
    if variant not in frame.index:
        return not_testable(f"a pair of runs of {DATASETS[dataset]} is not installed")
    row: dict[Any, Any] = frame.loc[variant].to_dict()
    verdict = seeded(decide(str(row["verdict"]) == "worse", str(row["verdict"]) == "better"), [str(row["test"])])
    seeds = f"{row['seeds']} against {row['base_seeds']} seeds" if row["test"] == "over seeds" else "one seed each; other seeds are unknown"
    printed = f"reported {signed(100 * row['printed'], 1)}"
    evidence = f"{in_points(row)} {MODELS[variant]} ({printed}), {p_value(row['adjusted'], 'p after Holm')}"
    effect = Effect.from_comparison(row, f"{MODELS[variant]}, minus the complete model")
    finding = Finding(verdict, f"{evidence}; {seeds}, n = {row['n']:,}", effect=effect, p=float(row["adjusted"]))
    return with_rates(finding, runs, dataset, [_whole(dataset, runs)], [str(row["preset"])], _model)


@of_parts({"sst5_trees": "98efff", "sst5_trees_binary": "c41d07"}, "Full attention brings no gain on {}", where="section V-D",
    how=f"an interval for other rows and other seeds inside {100 * LITTLE:g} points on either side")  # fmt: skip
def judge_window(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether full attention gains nothing over the window: the difference is inside half a point on either side.

    A gain of more than half a point refutes the claim. A loss of more says that the window itself helps, so it leaves the claim open.
    """
    frame = ablations(runs, dataset).set_index("model")
    share = measured.REACH.read().set_index("dataset")["beyond"].get(dataset)
    remark = "" if share is None else f"only {percent(share)} of the test sentences are longer than the window"
    if "sentiformer-full" not in frame.index:
        return not_testable("; ".join(filter(None, ("a pair of runs is not installed", remark))))
    row: dict[Any, Any] = frame.loc["sentiformer-full"].to_dict()
    evidence = "; ".join(filter(None, (f"{in_points(row)} without it, the margin is {100 * LITTLE:g}", remark)))
    effect = Effect.from_comparison(row, "without the window, minus with it")
    if row["test"] != "over seeds":
        return not_testable(evidence, effect)
    gain = float(row["difference"])
    (inside,), p = inside_margin([(gain, float(row["low"]), float(row["high"]))], LITTLE)
    finding = Finding(decide(inside is True, inside is False and gain > 0), evidence, effect=effect, p=p)
    return with_rates(finding, runs, dataset, [_whole(dataset, runs)], [str(row["preset"])], _model)


@of_gates(
    {"sst5_trees": "699980", "sst5_trees_binary": "89e8c9", "imdb": "eda23a", "yelp_polarity": "033d86", "tweeteval_sentiment": "2d7a72"},
    "On {} “the” and “is” learn gates close to zero", "Gates of “the” and “is” are near zero")  # fmt: skip
def judge_gates_near_zero(dataset: str, runs: Sequence[Run]) -> Finding:
    measured_runs = gated(runs, dataset)
    frame = gates_over_seeds(measured_runs)
    words = frame[(frame["kind"] == "word") & frame["name"].isin(["the", "is"]) & (frame["layer"] < 0)]
    needed(words, f"a SentiFormer of {DATASETS[dataset]} with its gates measured is not installed", least=2)
    means = ", ".join(f"“{row['name']}” {_mean(row)}" for row in words.to_dict("records"))
    most = words.sort_values("value").iloc[-1].to_dict()
    effect = Effect(most["value"], most["low"], most["high"], "", NEAR, f"mean gate of “{most['name']}”; near zero means below {NEAR}")
    evidence = f"mean gate over layers: {means}; near zero means below {NEAR}; {_training(words, measured_runs)}"
    if words["seeds"].min() <= 1:
        return not_testable(evidence, effect)
    near = [equivalent(float(low), float(high), NEAR) for low, high in zip(words["low"], words["high"], strict=True)]
    return Finding(decide(all(near), False in near), evidence, effect=effect)


@of_gates(
    {"sst5_trees": "0a5800", "sst5_trees_binary": "159180", "imdb": "2451ff", "yelp_polarity": "6f0a8d", "tweeteval_sentiment": "748370"},
    "On {} the gates shut function words more than words of sentiment", "Gates shut function words more")  # fmt: skip
def judge_gates_of_function_words(dataset: str, runs: Sequence[Run]) -> Finding:
    measured_runs = gated(runs, dataset)
    frame = gates_over_seeds(measured_runs)
    rows = frame[(frame["kind"] == "difference") & (frame["against"] == "polar words") & (frame["layer"] < 0)]
    needed(rows, f"a SentiFormer of {DATASETS[dataset]} with its gates measured is not installed")
    (row,) = rows.to_dict("records")
    effect = Effect(row["value"], row["low"], row["high"], "", of="mean gate of function words minus that of polar words")
    evidence = f"mean gate of function words minus that of polar words {_mean(row, signed)}; {_training(rows, measured_runs)}"
    if row["seeds"] <= 1:
        return not_testable(evidence, effect)
    return Finding(decide(row["high"] < 0, row["low"] > 0), evidence, effect=effect)


def _mean(row: Mapping[Any, Any], write: Callable[..., str] = number) -> str:
    """Return a mean with its interval; `write` is `signed` for a difference."""
    return write(row["value"], ends=(row["low"], row["high"]))


def _training(rows: pd.DataFrame, runs: Iterable[Run]) -> str:
    """Return the smallest number of seeds of rows that were measured of runs, their epochs, and their training if it is another one."""
    seeds, every = int(rows["seeds"].min()), list(runs)
    trainings = [MODELS[preset] for preset in sorted({run.configuration for run in every} - {WHOLE})]
    epochs = " or ".join(map(str, sorted({int(run.config["recipe"].get("epochs", 0)) for run in every})))
    ends = f", and the paper waits until {waits} bring no smaller validation loss" if (waits := stopped_early(every)) else ""
    trained = f"trained for {epochs} epoch{'s' * (epochs != '1')}{ends}"
    return "; ".join([seeds_in_words(seeds), *[trained] * bool(every), *trainings])


CLAIMS = (*BOARD, *text_claims.BOARD)
