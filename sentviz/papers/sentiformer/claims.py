"""The claims of the SentiFormer paper: against its own tables, by arithmetic, and on the runs here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sentviz.analysis.claim import Claim, Effect, Finding, Reference, Verdict, alike, not_testable
from sentviz.papers.sentiformer import prints, reach, separation, throughput
from sentviz.papers.sentiformer.answer import NEAR, SOLVED
from sentviz.papers.sentiformer.gates import gated, over_seeds
from sentviz.papers.sentiformer.presets import ABLATIONS, BASELINES
from sentviz.papers.sentiformer.study import (
    DATASETS,
    MODELS,
    READINGS,
    WHOLE,
    ablations,
    against_baselines,
    configurations,
    readings,
    worded,
)
from sentviz.papers.studies.against import in_points, seeded
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

Test = Callable[[Sequence[Run]], Finding]
Lengths = Callable[["pd.DataFrame"], "pd.Series[bool]"]  # which sequences are meant
BERT = "BERT-base"
BERT_PARAMETERS = 110e6  # as the paper counts them, section I
PARAMETERS = 22e6
MOST = 0.6  # above any accuracy published for five classes of SST, pre-trained models included


def _told(right: bool, evidence: str) -> Finding:
    return Finding("holds" if right else "fails", evidence)


def _missing(what: str) -> Finding:
    return not_testable(f"{what} is not here")


def _printed(model: str) -> dict[str, float]:
    """The printed accuracies of a model in percent, by column of table I."""
    table = prints.table("accuracy").set_index("model").drop(columns="preset").astype(float)
    return {str(column): value for column, value in table.T[model].to_dict().items()}


def _without() -> dict[str, float]:
    """Table II in percent by preset."""
    table = prints.table("ablation")
    return dict(zip(table["preset"], table["sst5_accuracy_pct"].astype(float), strict=True))


# ---- the paper against its own tables


def _table_bert(_: Sequence[Run]) -> Finding:
    own, theirs = _printed("SentiFormer"), _printed(BERT)
    above = [column for column in own if own[column] >= theirs[column]]
    said = ", ".join(f"{column} {own[column]} against {theirs[column]}" for column in own)
    return _told(len(above) >= 3, f"{len(above)} of {len(own)}: {said}; one run each, no intervals")


def _table_clearest(_: Sequence[Run]) -> Finding:
    own, theirs = _printed("SentiFormer"), _printed(BERT)
    gains = {column: round(own[column] - theirs[column], 1) for column in own}
    rest = [value for column, value in gains.items() if column != "twitter"]
    said = ", ".join(f"{column} {value:+.1f}" for column, value in gains.items()).replace("-", "−")
    return _told(gains["twitter"] > max(rest), f"printed gains over BERT-base in points: {said}")


def _table_parts(_: Sequence[Run]) -> Finding:
    printed = _without()
    losses = {name: round(printed[WHOLE] - printed[name], 1) for name in ("sentiformer-sinusoid", "sentiformer-no-gate")}
    said = ", ".join(f"{MODELS[name]} {value:.1f} points less" for name, value in losses.items())
    return _told(losses == {"sentiformer-sinusoid": 1.6, "sentiformer-no-gate": 1.2}, f"recomputed from table II: {said}")


def _table_recovers(_: Sequence[Run]) -> Finding:
    printed = _without()
    gain = round(printed["sentiformer-full"] - printed[WHOLE], 1)
    return _told(
        gain > 0,
        f"table II: {printed['sentiformer-full']} without the window against {printed[WHOLE]} with it, {gain:+.1f}".replace("-", "−"),
    )


def _fifth(_: Sequence[Run]) -> Finding:
    return _told(
        4.5 <= BERT_PARAMETERS / PARAMETERS <= 5.5,
        f"{BERT_PARAMETERS / 1e6:.0f} M to {PARAMETERS / 1e6:.0f} M is {BERT_PARAMETERS / PARAMETERS:.1f} to 1",
    )


def _hundred(_: Sequence[Run]) -> Finding:
    n, near, far = 2048, 128, 2
    return _told(
        n / (near + far) > 100,
        f"n / (k + s) = {n} / ({near} + {far}) = {n / (near + far):.1f}; for the model's own window of 64 and four globals {n / 68:.1f};"
        " full attention would have to see more than 13,000 tokens",
    )


def _size(_: Sequence[Run]) -> Finding:
    from sentviz.data.tags import TAGS

    d, wide, layers = 256, 1024, 6
    blocks = layers * (4 * d * d + 4 * d + 2 * d * wide + wide + d + 4 * d + d)
    rest = blocks + len(TAGS) * d + 3 + 5 * d + 5
    vocabulary = (PARAMETERS - rest) / d
    said = f"the printed layers hold {blocks / 1e6:.1f} M parameters; the rest would be a vocabulary of {vocabulary:,.0f},"
    return not_testable(f"{said} which is not printed")


# ---- what was measured without a run


def _trained(rows: pd.DataFrame) -> pd.Series[bool]:
    return (rows["length"] <= rows["longest"]) & (rows["positions"] == "aware")


def _unseen(rows: pd.DataFrame) -> pd.Series[bool]:
    return rows["length"] > rows["order"]


def _beyond_state(rows: pd.DataFrame) -> pd.Series[bool]:
    return rows["length"] - 1 > STATE


def _learned(model: str, asked: Lengths) -> tuple[float, float, float, int, int]:
    """Of a model of Proposition 2 over all seeds and positions: the share right with its interval, sequences, seeds."""
    from sentviz.analysis.evaluation import wilson

    frame = separation.measured()
    rows = frame[frame["model"].str.startswith(model)]
    rows = rows[asked(rows)]
    right, n = int(rows["right"].sum()), int(rows["n"].sum())
    low, high = wilson(right, n) if n else (0.0, 1.0)
    return right / n if n else 0.0, float(low), float(high), n, int(rows["seed"].nunique())


def _proposition(model: str, asked: Lengths, right: Verdict, wrong: Verdict, says: str) -> Test:
    """The verdict where a model is right in nearly all sequences, and where it is no better than chance."""

    def test(_: Sequence[Run]) -> Finding:
        share, low, high, n, seeds = _learned(model, asked)
        if not n:
            return _missing("a measurement of Proposition 2")
        verdict: Verdict = right if low > SOLVED else wrong if high < CHANCE else "open"
        said = f"{says} {share:.1%} [{low:.1%}, {high:.1%}] of {n:,} sequences right"
        return Finding(verdict, f"{said}; {seeds} seeds", effect=Effect.from_share(share, low, high, 0.5, "sequences right"))

    return test


def _speed(model: str) -> Test:
    def test(_: Sequence[Run]) -> Finding:
        frame = throughput.measured()
        rows = frame[(frame["model"] == model) & (frame["threads"] == 1)]
        if rows.empty:
            return _missing("a measurement of speed")
        (row,) = rows.to_dict("records")
        printed = throughput.printed_times()[model]
        verdict: Verdict = "holds" if row["low"] >= printed else "fails" if row["high"] < printed else "open"
        said = f"{row['times']:.1f} [{row['low']:.1f}, {row['high']:.1f}] times as many texts a second, printed {printed:.1f}"
        effect = Effect(row["times"], row["low"], row["high"], "×", printed, f"texts a second against {model}, the print beside it")
        rest = f"{row['tokens']} tokens, {row['batch']} at a time, one thread of a CPU, the print is of a V100"
        return Finding(verdict, f"{said}; {rest}", effect=effect)

    return test


def _slower(_: Sequence[Run]) -> Finding:
    frame = throughput.measured(throughput.STEPS)
    rows = frame[frame["threads"] == 1].sort_values("tokens")
    if rows.empty:
        return _missing("a measurement of training")
    verdict: Verdict = "fails" if (rows["high"] < TWICE).all() else "holds" if (rows["low"] >= TWICE).all() else "open"
    said = "; ".join(f"{row['times']:.2f} [{row['low']:.2f}, {row['high']:.2f}] at {row['tokens']}" for row in rows.to_dict("records"))
    batch, most = rows["batch"].iloc[0], rows.sort_values("times").iloc[-1].to_dict()
    of = f"a training step of {most['tokens']} tokens, the slowest; below {TWICE} it is not “roughly” three times"
    effect = Effect(most["times"], most["low"], most["high"], "×", TWICE, of)
    return Finding(
        verdict,
        f"a training step of {batch} texts takes this many times as long, by their tokens: {said}; at most {throughput.TRAINED[0]} tokens"
        " are read of SST-5 here; one thread of a CPU, the print is of a V100",
        effect=effect,
    )


# ---- the runs here


def _reading(runs: Sequence[Run]) -> Finding:
    found = readings(runs)
    if not found:
        return _missing("a model trained on both readings")
    nearer = [one.nearer for one in found]
    said = "; ".join(one.numbers for one in found)
    high = f"the printed number is above {MOST:.0%}, which no published model reaches for five classes; " if found[0].printed > MOST else ""
    first = found[0]
    effect = Effect.from_share(*first.five, first.printed, f"{first.model} of five classes, beside the print")
    verdict: Verdict = "fails" if "five" not in nearer else "holds" if "two" not in nearer else "open"
    return Finding(verdict, high + said, effect=effect)


def _baselines(dataset: str) -> Test:
    def test(runs: Sequence[Run]) -> Finding:
        found = against_baselines(runs, dataset)
        if len(found) < len(BASELINES):
            return _missing(f"SentiFormer or a baseline of {DATASETS[dataset]}")
        said = "; ".join(one.numbers for one in found)
        verdict = seeded(worded([one.word for one in found]), [one.comparison.test for one in found])
        least = min(found, key=lambda one: one.comparison.difference)
        one = least.comparison
        effect = Effect.from_share_difference(one.difference, one.low, one.high, f"{MODELS[least.own]} minus {MODELS[least.other]}")
        return Finding(verdict, f"{MODELS[found[0].own]} minus {said}", effect=effect)

    return test


def _part(name: str, dataset: str) -> Test:
    def test(runs: Sequence[Run]) -> Finding:
        frame = ablations(runs, dataset).set_index("model")
        if name not in frame.index:
            return _missing(f"a pair of runs of {DATASETS[dataset]}")
        row = frame.loc[name]
        verdicts: dict[str, Verdict] = {"worse": "holds", "better": "fails", "cannot be told": "open"}
        verdict = seeded(verdicts[str(row["verdict"])], [str(row["test"])])
        said = f"{in_points(row.to_dict())} points {MODELS[name]}"
        seeds = f"{row['seeds']} against {row['base_seeds']} seeds" if row["test"] == "over seeds" else "one seed each, others unknown"
        printed = f"printed {100 * row['printed']:+.1f}".replace("-", "−")
        effect = Effect.from_comparison(row.to_dict(), f"{MODELS[name]}, minus the whole")
        return Finding(verdict, f"{said} ({printed}), p after Holm {row['adjusted']:.2g}; {seeds}, n = {row['n']:,}", effect=effect)

    return test


def _window(runs: Sequence[Run]) -> Finding:
    frame = ablations(runs, "sst5_trees").set_index("model")
    share = reach.measured().set_index("dataset")["beyond"].get("sst5_trees")
    same = "" if share is None else f"the window leaves something out of only {share:.1%} of the test sentences"
    if "sentiformer-full" not in frame.index:
        return not_testable("; ".join(filter(None, ("a pair of runs is not here", same))))
    row = frame.loc["sentiformer-full"]
    said = f"{in_points(row.to_dict())} points without it"
    verdict = "fails" if row["verdict"] == "better" else "holds" if row["high"] < LITTLE else "open"
    verdict = verdict if row["test"] == "over seeds" else "unjudged"
    effect = Effect.from_comparison(row.to_dict(), "without the window, minus with it")
    return Finding(verdict, "; ".join(filter(None, (said, same))), effect=effect)  # type: ignore[arg-type]


STATE = 32  # numbers in the GRU's state
TWICE = 2  # below it a step is not "roughly" three times as long
CHANCE = 0.55  # a share of balanced sequences
LITTLE = 0.005  # a gain of less than half a point is none


def _near_zero(dataset: str) -> Test:
    def test(runs: Sequence[Run]) -> Finding:
        frame = over_seeds(gated(runs, dataset))
        words = frame[(frame["kind"] == "word") & frame["name"].isin(["the", "is"]) & (frame["layer"] < 0)]
        if len(words) < 2:
            return _missing(f"a SentiFormer of {DATASETS[dataset]} with its gates measured")
        said = ", ".join(f"“{row['name']}” {_mean(row)}" for row in words.to_dict("records"))
        verdict = "holds" if (words["high"] < NEAR).all() else "fails" if (words["low"] > NEAR).any() else "open"
        verdict = verdict if words["seeds"].min() > 1 else "unjudged"
        most = words.sort_values("value").iloc[-1].to_dict()
        effect = Effect(most["value"], most["low"], most["high"], "", NEAR, f"mean gate of “{most['name']}”; near zero is below {NEAR}")
        evidence = f"mean gate over layers: {said}; near zero: below {NEAR}; {_seeds(words)}"
        return Finding(verdict, evidence, effect=effect)  # type: ignore[arg-type]

    return test


def _shuts(dataset: str) -> Test:
    def test(runs: Sequence[Run]) -> Finding:
        frame = over_seeds(gated(runs, dataset))
        rows = frame[(frame["kind"] == "difference") & (frame["against"] == "polar words") & (frame["layer"] < 0)]
        if rows.empty:
            return _missing(f"a SentiFormer of {DATASETS[dataset]} with its gates measured")
        (row,) = rows.to_dict("records")
        verdict = "open" if row["low"] <= 0 <= row["high"] else "holds" if row["high"] < 0 else "fails"
        verdict = verdict if row["seeds"] > 1 else "unjudged"
        effect = Effect(row["value"], row["low"], row["high"], "", of="mean gate of function words minus that of polar words")
        evidence = f"mean gate of function words minus that of polar words {_mean(row, '+')}; {_seeds(rows)}"
        return Finding(verdict, evidence, effect=effect)  # type: ignore[arg-type]

    return test


def _mean(row: Mapping[Any, Any], sign: str = "") -> str:
    return f"{row['value']:{sign}.2f} [{row['low']:{sign}.2f}, {row['high']:{sign}.2f}]".replace("-", "−")


def _seeds(rows: pd.DataFrame) -> str:
    seeds = int(rows["seeds"].min())
    return f"{seeds} seeds" if seeds > 1 else "one seed, others unknown"


def _sarcasm(runs: Sequence[Run]) -> Finding:
    from sentviz.models.loading import load

    text = "Great, the Wi-Fi is broken again."
    able = [run for dataset in DATASETS for run in configurations(runs, dataset).get(WHOLE, []) if run.has_weights]
    if not able:
        return _missing("a SentiFormer with weights")
    answers = [(run.name, str(load(run).predict([text])["label"].iloc[0])) for run in able]
    wrong = [name for name, label in answers if "negative" not in label]
    said = ", ".join(f"{name} says {label}" for name, label in answers)
    return Finding("holds" if not wrong else "fails", said)


def _row(
    short: str, against: Reference, *said: tuple[str, str, str, Test], how: str = "", shows: str = "results", figure: str = ""
) -> tuple[Claim, ...]:
    return alike(short, against, DATASETS, *said, how=how, shows=shows, figure=figure)


def _each(
    short: str,
    statement: str,
    where: str,
    test: Callable[[str], Test],
    datasets: Iterable[str] = DATASETS,
    *,
    how: str,
    shows: str,
    figure: str = "",
) -> tuple[Claim, ...]:
    """A claim about runs, once per data set, whose title is put into the statement."""
    said = [(dataset, statement.format(DATASETS[dataset]), where, test(dataset)) for dataset in datasets]
    return _row(short, "runs here", *said, how=how, shows=shows, figure=figure)


PRINT: Reference = "its own tables"
MADE: Reference = "simulated runs"
OVER_SEEDS = "a t test for other rows and other seeds, chance in training pooled over all models of the data set; p after Holm"
GATES = "means over a test split, with 95% intervals for other texts and other seeds"
TIMED = "measured in turn on one thread of a CPU"
LEARNED = "learned anew from drawn sequences; a Wilson interval of the share right"

CLAIMS = (
    *_row("It matches BERT-base on three of four sets", PRINT,
          ("", "SentiFormer matches or exceeds BERT-base on three of four data sets", "section V-C", _table_bert)),
    *_row("Twitter is its clearest win", PRINT, ("tweeteval_sentiment", "Twitter is its clearest win", "section V-C", _table_clearest)),
    *_row("Aware positions are worth 1.6, gates 1.2", PRINT,
          ("sst5_trees", "Aware positions are worth 1.6 points, gates 1.2", "section V-D", _table_parts), shows="parts"),
    *_row("Full attention recovers 0.2 points", PRINT,
          ("sst5_trees", "Full attention recovers 0.2 points", "section V-D", _table_recovers), shows="parts"),
    *_row("A fifth of BERT-base's parameters", PRINT, ("", "It has one fifth of BERT-base's parameters", "abstract", _fifth),
          shows="speed"),
    *_row("The window is over 100 times as fast", PRINT,
          ("", "At k = 128, s = 2 and n = 2048 the window is over 100 times as fast in theory", "section III-D", _hundred), shows="speed",
          figure="time-by-length"),
    *_row("It has about 22 M parameters", PRINT, ("", "It has about 22 M parameters", "section IV-C", _size), shows="speed"),
    *_row("It reads 5.3 times as much as BERT-base", MADE,
          ("", "It reads 5.3 times as many texts a second as BERT-base", "section VI-B", _speed("BERT-base")), how=TIMED, shows="speed",
          figure="time-by-length"),
    *_row("It reads 3.6 times as much as DistilBERT", MADE,
          ("", "It reads 3.6 times as many as DistilBERT", "section VI-B", _speed("DistilBERT")), how=TIMED, shows="speed",
          figure="time-by-length"),
    *_row("Full attention trains three times as long", MADE,
          ("", "Full attention takes about three times as long to train", "section V-D", _slower), how=TIMED, shows="speed"),
    *_row(
        "One layer, two heads tell first and last word",
        MADE,
        (
            "",
            "A transformer of one layer and two heads can tell “first not, last good”",
            "proposition 2",
            _proposition(
                "transformer",
                _trained,
                "holds",
                "open",
                "learned in seconds, with SentiFormer's positions, as long as in training, it gets",
            ),
        ),
        how=LEARNED,
        shows="theory",
    ),
    *_row(
        "No Markov model of order k can",
        MADE,
        (
            "",
            "No Markov model of order k can in more than k words",
            "proposition 2",
            _proposition("last ", _unseen, "fails", "holds", "orders 1 to 6 get"),
        ),
        how=LEARNED,
        shows="theory",
    ),
    *_row(
        "Nor can an RNN of a small state",
        MADE,
        (
            "",
            "Nor can an RNN whose state has fewer than n − 1 numbers",
            "section VI-A",
            _proposition(
                "GRU", _beyond_state, "fails", "open", "of 48 and 64 words, more than it learned from, a GRU of 32 gets"
            ),
        ),
        how=LEARNED,
        shows="theory",
    ),
    *_row("Its SST-5 accuracies are of five classes", "runs here",
          ("sst5_trees", "The printed SST-5 accuracies are of five classes", "table I", _reading),
          how="which reading's interval lies nearer to the print", figure="sentiformer-accuracy"),
    *_each("It beats the BiLSTM and the CNN", "SentiFormer beats the BiLSTM and the CNN on {}", "table I", _baselines, how=OVER_SEEDS,
           shows="results", figure="sentiformer-accuracy"),
    *(
        claim
        for name in ABLATIONS
        if name != "sentiformer-full"
        for claim in _each(f"It is worse {MODELS[name]}", f"It is worse {MODELS[name]} on {{}}", "table II", partial(_part, name), READINGS,
                           how=OVER_SEEDS, shows="parts", figure="sentiformer-parts")
    ),
    *_row("Full attention brings no gain", "runs here", ("sst5_trees", "Full attention brings no gain on SST-5", "section V-D", _window),
          how=OVER_SEEDS, shows="parts", figure="sentiformer-parts"),
    *_each("Gates of “the” and “is” are near zero", "On {} “the” and “is” learn gates close to zero", "section IV-B", _near_zero, how=GATES,
           shows="gates"),
    *_each("Gates shut function words more", "On {} the gates shut function words more than words of sentiment", "section IV-B", _shuts,
           how=GATES, shows="gates"),
    Claim("It answers the paper's sarcastic sentence with negative", "section V-E", "runs here", _sarcasm,
          "It sees through its sarcastic sentence", data=tuple(DATASETS), how="every SentiFormer with weights is asked", shows="failures"),
)  # fmt: skip
