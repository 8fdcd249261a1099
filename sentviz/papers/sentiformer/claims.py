"""The claims of the SentiFormer paper: tested on its own tables, by arithmetic, by measurements without runs, and on the available runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sentviz.analysis.claim import Effect, Finding, Reference, Row, Verdict, board, decide, equivalent, not_testable, p_of_margin, settled
from sentviz.analysis.evaluation import wilson
from sentviz.analysis.seeds import SPREAD_IN_WORDS
from sentviz.data.parts_of_speech import TAGS
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, p_value, percent, signed
from sentviz.papers.sentiformer import measured, printed_tables, separation, throughput
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
    worded,
)
from sentviz.papers.sentiformer.text_claims import ROWS as TEXT_ROWS
from sentviz.papers.studies.compare_configurations import in_points, p_of_all, seeded
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


def _missing(what: str) -> Finding:
    """Return the finding of a test that lacks runs or a measurement."""
    return not_testable(f"{what} is not installed")


def _printed(model: str) -> dict[str, float]:
    """Return the printed accuracies of a model in percent, by column of table I."""
    table = printed_tables.table("accuracy").set_index("model").drop(columns="preset").astype(float)
    return {str(column): value for column, value in table.T[model].to_dict().items()}


def _printed_ablations() -> dict[str, float]:
    """Return the accuracies of table II in percent, by preset."""
    table = printed_tables.table("ablation")
    return dict(zip(table["preset"], table["sst5_accuracy_pct"].astype(float), strict=True))


# ---- the paper's own tables


def judge_bert(*_: object) -> Finding:
    """Test whether SentiFormer is at least as accurate as BERT-base on three data sets of table I."""
    own, bert = _printed("SentiFormer"), _printed(BERT)
    above = [column for column in own if own[column] >= bert[column]]
    numbers = ", ".join(f"{column} {own[column]} compared with {bert[column]}" for column in own)
    return settled(len(above) >= 3, f"{len(above)} of {len(own)}: {numbers}; one run each, no intervals")


def judge_clearest_win(*_: object) -> Finding:
    """Test whether the printed gain over BERT-base is largest on Twitter; a gain that is equally large elsewhere leaves it open."""
    own, bert = _printed("SentiFormer"), _printed(BERT)
    gains = {column: round(own[column] - bert[column], 1) for column in own}
    rest = [value for column, value in gains.items() if column != "twitter"]
    numbers = ", ".join(f"{column} {signed(value, 1)}" for column, value in gains.items())
    verdict = decide(gains["twitter"] > max(rest), gains["twitter"] < max(rest))
    return Finding(verdict, f"reported gains over BERT-base in points, with one decimal: {numbers}")


def judge_printed_parts(*_: object) -> Finding:
    """Test whether table II gives the losses that the text names, 1.6 and 1.2 points."""
    printed = _printed_ablations()
    losses = {name: round(printed[WHOLE] - printed[name], 1) for name in ("sentiformer-sinusoid", "sentiformer-no-gate")}
    numbers = ", ".join(f"{MODELS[name]} {value:.1f} points less" for name, value in losses.items())
    return settled(losses == {"sentiformer-sinusoid": 1.6, "sentiformer-no-gate": 1.2}, f"recomputed from table II: {numbers}")


def judge_printed_window(*_: object) -> Finding:
    """Test whether full attention is better than the window in table II."""
    printed = _printed_ablations()
    full, windowed = printed["sentiformer-full"], printed[WHOLE]
    gain = round(full - windowed, 1)
    return settled(gain > 0, f"table II: {full} without the window and {windowed} with the window, {signed(gain, 1)} points")


def judge_fifth(*_: object) -> Finding:
    """Test whether BERT-base has about five times as many parameters."""
    ratio = BERT_PARAMETERS / PARAMETERS
    return settled(4.5 <= ratio <= 5.5, f"{BERT_PARAMETERS / 1e6:.0f} M to {PARAMETERS / 1e6:.0f} M is {ratio:.1f} to 1")


def judge_theoretical_speed(*_: object) -> Finding:
    """Test whether n / (k + s) is above 100 for the numbers that the paper gives."""
    n, near, far = 2048, 128, 2
    return settled(
        n / (near + far) > 100,
        f"n / (k + s) = {n} / ({near} + {far}) = {n / (near + far):.1f}; for the model's own window of 64 and four globals {n / 68:.1f};"
        " “over 100” needs full attention over more than 13,000 tokens",
    )


def judge_size(*_: object) -> Finding:
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


def judge_proposition(
    _dataset: str, _runs: Sequence[Run], *, model: str, lengths: Lengths, if_learned: Verdict, if_chance: Verdict, subject: str
) -> Finding:
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
        return _missing("a measurement of Proposition 2")
    share, (low, high) = right / n, map(float, wilson(right, n))
    verdict: Verdict = if_learned if low > SOLVED else if_chance if high < CHANCE else "open"
    evidence = f"{subject} {percent(share, ends=(low, high))} of {n:,} sequences right; {int(rows['seed'].nunique())} seeds"
    limit = SOLVED if share > (SOLVED + CHANCE) / 2 else CHANCE
    return Finding(
        verdict, evidence, effect=Effect.from_share(share, low, high, limit, f"sequences right, compared with {percent(limit, 0)}")
    )


def judge_speed(_dataset: str, _runs: Sequence[Run], *, model: str) -> Finding:
    """Return how many times faster than another model SentiFormer is on a CPU. The claim is about a V100, so this does not decide it."""
    frame = throughput.SPEEDS.read()
    rows = frame[(frame["model"] == model) & (frame["threads"] == 1)]
    if rows.empty:
        return _missing("a measurement of speed")
    (row,) = rows.to_dict("records")
    printed = throughput.printed_times()[model]
    speed = f"{number(row['times'], 1, ends=(row['low'], row['high']))} times as many texts per second, reported {printed:.1f}"
    effect = Effect(row["times"], row["low"], row["high"], "×", printed, f"texts per second relative to {model}, compared with the paper")
    return not_testable(f"{speed}; {row['tokens']} tokens, {row['batch']} at a time, {ON_CPU}", effect)


def judge_training_time(*_: object) -> Finding:
    """Return how much slower a training step with full attention is on a CPU. The claim is about a V100, so this does not decide it."""
    frame = throughput.STEPS.read()
    rows = frame[frame["threads"] == 1].sort_values("tokens")
    if rows.empty:
        return _missing("a measurement of training")
    times = "; ".join(f"{number(row['times'], ends=(row['low'], row['high']))} at {row['tokens']}" for row in rows.to_dict("records"))
    batch, most = rows["batch"].iloc[0], rows.sort_values("times").iloc[-1].to_dict()
    effect = Effect(most["times"], most["low"], most["high"], "×", 3, f"the slowest training step, {most['tokens']} tokens")
    return not_testable(
        f"time of a training step of {batch} texts relative to sparse attention, by tokens per text: {times}; texts of SST-5 are cut"
        f" to {throughput.TRAINED[0]} tokens here; {ON_CPU}",
        effect,
    )


# ---- runs


def _model(preset: str) -> str:
    """Return the name of SentiFormer, complete or without a part."""
    return MODELS[preset] if preset == WHOLE else f"{MODELS[WHOLE]} {MODELS[preset]}"


def _whole(dataset: str, runs: Sequence[Run]) -> str:
    """Return the preset of the complete model at the learning rate that validation chose."""
    return chosen(configurations(runs, dataset), WHOLE)


def judge_classes(_: str, runs: Sequence[Run]) -> Finding:
    """Return whether the printed SST-5 accuracies are nearer to ours of five classes or of two, for each model.

    The claim is about the paper's own trainings, so ours do not decide it.
    """
    results = readings(runs)
    if not results:
        return _missing("a model trained on both versions of the labels")
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


def judge_baselines(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether SentiFormer beats both baselines, after Holm. A better baseline refutes the claim."""
    pairs = against_baselines(runs, dataset)
    if len(pairs) < len(BASELINES):
        return _missing(f"SentiFormer or a baseline of {DATASETS[dataset]}")
    numbers = "; ".join(pair.numbers for pair in pairs)
    verdict = seeded(worded([pair.word for pair in pairs]), [pair.comparison.test for pair in pairs])
    least = min(pairs, key=lambda pair: pair.comparison.difference)
    effect = least.comparison.effect(f"{MODELS[WHOLE]} minus {COMPARED[without_training(least.baseline)]}")
    p = p_of_all(verdict, ((pair.adjusted, pair.word) for pair in pairs))
    finding = Finding(verdict, f"{MODELS[WHOLE]} minus {numbers}", effect=effect, p=p)
    baselines = [pair.baseline for pair in pairs]
    finding = finding.noting(epochs_in_words(runs, dataset, [pairs[0].own, *baselines], COMPARED.__getitem__))
    return with_rates(finding, runs, dataset, [pairs[0].own], baselines, COMPARED.__getitem__)


def judge_part(dataset: str, runs: Sequence[Run], *, variant: str) -> Finding:
    """Test whether the model is worse without a part, after Holm over all parts."""
    frame = ablations(runs, dataset).set_index("model")
    if variant not in frame.index:
        return _missing(f"a pair of runs of {DATASETS[dataset]}")
    row: dict[Any, Any] = frame.loc[variant].to_dict()
    verdict = seeded(decide(str(row["verdict"]) == "worse", str(row["verdict"]) == "better"), [str(row["test"])])
    seeds = f"{row['seeds']} against {row['base_seeds']} seeds" if row["test"] == "over seeds" else "one seed each; other seeds are unknown"
    printed = f"reported {signed(100 * row['printed'], 1)}"
    evidence = f"{in_points(row)} {MODELS[variant]} ({printed}), {p_value(row['adjusted'], 'p after Holm')}"
    effect = Effect.from_comparison(row, f"{MODELS[variant]}, minus the complete model")
    finding = Finding(verdict, f"{evidence}; {seeds}, n = {row['n']:,}", effect=effect, p=float(row["adjusted"]))
    return with_rates(finding, runs, dataset, [_whole(dataset, runs)], [str(row["preset"])], _model)


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
    gain, low, high = float(row["difference"]), float(row["low"]), float(row["high"])
    inside, p = equivalent(low, high, LITTLE), p_of_margin(gain, low, high, LITTLE)
    finding = Finding(decide(inside is True, inside is False and gain > 0), evidence, effect=effect, p=p)
    return with_rates(finding, runs, dataset, [_whole(dataset, runs)], [str(row["preset"])], _model)


def judge_gates_near_zero(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the mean gates of "the" and "is" are near zero, by intervals for other texts and seeds."""
    measured_runs = gated(runs, dataset)
    frame = gates_over_seeds(measured_runs)
    words = frame[(frame["kind"] == "word") & frame["name"].isin(["the", "is"]) & (frame["layer"] < 0)]
    if len(words) < 2:
        return _missing(f"a SentiFormer of {DATASETS[dataset]} with its gates measured")
    means = ", ".join(f"“{row['name']}” {_mean(row)}" for row in words.to_dict("records"))
    most = words.sort_values("value").iloc[-1].to_dict()
    effect = Effect(most["value"], most["low"], most["high"], "", NEAR, f"mean gate of “{most['name']}”; near zero means below {NEAR}")
    evidence = f"mean gate over layers: {means}; near zero means below {NEAR}; {_training(words, measured_runs)}"
    if words["seeds"].min() <= 1:
        return not_testable(evidence, effect)
    near = [equivalent(float(low), float(high), NEAR) for low, high in zip(words["low"], words["high"], strict=True)]
    return Finding(decide(all(near), False in near), evidence, effect=effect)


def judge_gates_of_function_words(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the mean gate of function words is lower than that of polar words."""
    measured_runs = gated(runs, dataset)
    frame = gates_over_seeds(measured_runs)
    rows = frame[(frame["kind"] == "difference") & (frame["against"] == "polar words") & (frame["layer"] < 0)]
    if rows.empty:
        return _missing(f"a SentiFormer of {DATASETS[dataset]} with its gates measured")
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
    return "; ".join([f"{seeds} seeds" if seeds > 1 else "one seed; other seeds are unknown", *[trained] * bool(every), *trainings])


ON_CPU = "one thread of a CPU; the claim is about a V100"
TABLES: Reference = "its own tables"
SIMULATED: Reference = "simulated runs"
RUNS: Reference = "runs here"
OVER_SEEDS = f"a t test for other rows and other seeds, with {SPREAD_IN_WORDS}; p after Holm"
GATES = "means over a test split, with 95 % intervals for other texts and other seeds"
TIMED = "measured in turn on one thread of a CPU"
LEARNED = "trained again on random sequences; Wilson interval of the share of right predictions"


def _part(variant: str, five_classes: str, two_classes: str) -> Row:
    """Return the row on the model without a part, with the ids of its claims on both readings of SST-5."""
    return Row(
        f"It is worse {MODELS[variant]}",
        f"It is worse {MODELS[variant]} on {{}}",
        RUNS,
        "tested",
        partial(judge_part, variant=variant),
        {"sst5_trees": (five_classes, "table II"), "sst5_trees_binary": (two_classes, "table II")},
        "parts",
        "sentiformer-parts",
        OVER_SEEDS,
    )


CLAIMS = board(
    DATASETS,
    Row("It matches BERT-base on three of four sets", "SentiFormer matches or exceeds BERT-base on three of four data sets",
        TABLES, "printed", judge_bert, {"": ("bec68d", "section V-C")}, "results"),
    Row("Twitter is its clearest win", "{} is its clearest win", TABLES, "printed", judge_clearest_win,
        {"tweeteval_sentiment": ("2f9890", "section V-C")}, "results"),
    Row("Aware positions add 1.6 points, gates 1.2", "Aware positions add 1.6 points of accuracy, gates 1.2", TABLES, "printed",
        judge_printed_parts, {"sst5_trees": ("92ffa1", "section V-D")}, "parts"),
    Row("Full attention recovers 0.2 points", "Full attention recovers 0.2 points", TABLES, "printed", judge_printed_window,
        {"sst5_trees": ("bf9ff0", "section V-D")}, "parts"),
    Row("A fifth of BERT-base's parameters", "It has one fifth of BERT-base's parameters", TABLES, "printed", judge_fifth,
        {"": ("be7335", "abstract")}, "speed"),
    Row("The window is over 100 times as fast", "At k = 128, s = 2 and n = 2048 the window is over 100 times as fast in theory",
        TABLES, "printed", judge_theoretical_speed, {"": ("95371f", "section III-D")}, "speed", "time-by-length"),
    Row("It has about 22 M parameters", "It has about 22 M parameters", TABLES, "printed", judge_size, {"": ("37f933", "section IV-C")},
        "speed"),
    Row("It reads 5.3 times as much as BERT-base", "It reads 5.3 times as many texts a second as BERT-base", SIMULATED, "tested",
        partial(judge_speed, model="BERT-base"), {"": ("6d8d6f", "section VI-B")}, "speed", "time-by-length", TIMED),
    Row("It reads 3.6 times as much as DistilBERT", "It reads 3.6 times as many as DistilBERT", SIMULATED, "tested",
        partial(judge_speed, model="DistilBERT"), {"": ("626b7a", "section VI-B")}, "speed", "time-by-length", TIMED),
    Row("Full attention trains three times as long", "Full attention takes about three times as long to train", SIMULATED, "tested",
        judge_training_time, {"": ("f24943", "section V-D")}, "speed", how=TIMED),
    Row("One layer, two heads find first and last word",
        "A transformer of one layer and two heads can decide “first not, last good”", SIMULATED, "tested",
        partial(judge_proposition, model="transformer", lengths=_as_trained, if_learned="holds", if_chance="open",
                subject="trained with SentiFormer's positions, tested on lengths of training, it gets"),
        {"": ("ac2225", "proposition 2")}, "theory", how=LEARNED),
    Row("No Markov model of order k can decide it", "No Markov model of order k can decide it for more than k words", SIMULATED, "tested",
        partial(judge_proposition, model="last ", lengths=_beyond_order, if_learned="fails", if_chance="holds",
                subject="orders 1 to 6 get"),
        {"": ("acaba4", "proposition 2")}, "theory", how=LEARNED),
    Row("No RNN with a small state can decide it", "No RNN whose state has fewer than n − 1 numbers can decide it", SIMULATED, "tested",
        partial(judge_proposition, model="GRU", lengths=_beyond_state, if_learned="fails", if_chance="open",
                subject="on 48 and 64 words, longer than in training, a GRU with 32 numbers gets"),
        {"": ("867d53", "section VI-A")}, "theory", how=LEARNED),
    Row("Its SST-5 accuracies are those of five classes", "The reported SST-5 accuracies are those of five classes", RUNS, "tested",
        judge_classes,
        {"sst5_trees": ("e2b22a", "table I")}, "results", "sentiformer-accuracy",
        "whether the interval for five or for two classes is nearer to the reported value", tuple(READINGS)),
    Row("It beats the BiLSTM and the CNN", "SentiFormer beats the BiLSTM and the CNN on {}", RUNS, "tested", judge_baselines,
        {"sst5_trees": ("ca109f", "table I"), "sst5_trees_binary": ("795e4e", "table I"), "imdb": ("4262b0", "table I"),
        "yelp_polarity": ("70dcf3", "table I"), "tweeteval_sentiment": ("566e87", "table I")}, "results", "sentiformer-accuracy",
        OVER_SEEDS),
    _part("sentiformer-sinusoid", "3f0862", "972fe5"),
    _part("sentiformer-no-gate", "418db8", "729e61"),
    _part("sentiformer-no-norm", "dd45d4", "6d4bb7"),
    Row("Full attention brings no gain", "Full attention brings no gain on {}", RUNS, "tested", judge_window,
        {"sst5_trees": ("98efff", "section V-D"), "sst5_trees_binary": ("c41d07", "section V-D")}, "parts", "sentiformer-parts",
        f"an interval for other rows and other seeds inside {100 * LITTLE:g} points on either side"),
    Row("Gates of “the” and “is” are near zero", "On {} “the” and “is” learn gates close to zero", RUNS, "tested", judge_gates_near_zero,
        {"sst5_trees": ("699980", "section IV-B"), "sst5_trees_binary": ("89e8c9", "section IV-B"),
        "imdb": ("eda23a", "section IV-B"), "yelp_polarity": ("033d86", "section IV-B"),
        "tweeteval_sentiment": ("2d7a72", "section IV-B")}, "gates", how=GATES),
    Row("Gates shut function words more", "On {} the gates shut function words more than words of sentiment", RUNS, "tested",
        judge_gates_of_function_words, {"sst5_trees": ("0a5800", "section IV-B"), "sst5_trees_binary": ("159180", "section IV-B"),
        "imdb": ("2451ff", "section IV-B"), "yelp_polarity": ("6f0a8d", "section IV-B"),
        "tweeteval_sentiment": ("748370", "section IV-B")}, "gates", how=GATES),
    *TEXT_ROWS,
)  # fmt: skip
