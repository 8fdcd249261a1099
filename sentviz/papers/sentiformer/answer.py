"""The paper's questions, each answered in a line from the installed runs."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.analysis.claim import Answer, Verdict
from sentviz.analysis.evaluation import not_learned_sentence
from sentviz.io.numbers import percent, signed
from sentviz.papers.sentiformer import separation, throughput
from sentviz.papers.sentiformer.study import (
    BASELINES,
    DATASETS,
    MODELS,
    READINGS,
    WHOLE,
    ablations,
    against_baselines,
    configurations,
    gated,
    gates_over_seeds,
    rates_in_words,
    rates_of_readings,
    readings,
)
from sentviz.papers.studies.compare_configurations import in_points, seeded
from sentviz.papers.studies.judging import every_better, seeds_in_words
from sentviz.runs.store import Run

_SAID = {"better": "beats", "worse": "is worse than", "cannot be told": "cannot be told from"}
SOLVED = 0.99  # accuracy on balanced sequences from which the task counts as solved
NEAR = 0.1  # largest mean gate that counts as close to zero
_ANSWER = {"holds": "yes", "fails": "no", "open": "cannot be told", "unjudged": "cannot be judged here"}


def answer_questions(runs: Sequence[Run]) -> list[Answer]:
    """Return the answers to the questions of a reader of the paper, the most important first."""
    return [_baselines(runs), _reading(runs), _parts(runs), _gates(runs), _speed(), _theory()]


def answers(runs: Sequence[Run]) -> list[str]:
    """Return the answers as sentences."""
    return [answer.sentence for answer in answer_questions(runs)]


def _baselines(runs: Sequence[Run]) -> Answer:
    question = "Does it beat a BiLSTM and a CNN?"
    by_dataset = {dataset: pairs for dataset in DATASETS if (pairs := against_baselines(runs, dataset))}
    if not by_dataset:
        return Answer(
            question,
            "unjudged",
            "No pair of runs is installed",
            "sentviz study sentiformer --dataset sst5_trees trains them.",
            "results",
        )
    words = {
        dataset: every_better(*zip(*((pair.adjusted, pair.word, pair.comparison.test) for pair in pairs), strict=True))[0]
        for dataset, pairs in by_dataset.items()
    }
    short = ", ".join(f"{DATASETS[dataset]}: {_ANSWER[word]}" for dataset, word in words.items())
    numbers = "; ".join(
        f"{DATASETS[dataset]}: {MODELS[WHOLE]} {', '.join(f'{_SAID[pair.word]} {pair.numbers}' for pair in pairs)},"
        f" {rates_in_words(runs, dataset, [WHOLE, *BASELINES])}"
        for dataset, pairs in by_dataset.items()
    )
    missing = [title for dataset, title in DATASETS.items() if dataset not in by_dataset]
    numbers += f". No pair of runs of {', '.join(missing)} is installed." if missing else "."
    verdicts = set(words.values())
    return Answer(question, verdicts.pop() if len(verdicts) == 1 else "open", short, numbers, "results")


def _reading(runs: Sequence[Run]) -> Answer:
    question = "Is the reported 92.3 on SST-5 an accuracy of five classes?"
    results = readings(runs)
    if not results:
        return Answer(question, "unjudged", "No model is installed for both versions of the labels", "", "results")
    nearer = {result.nearer for result in results}
    fit = "our models disagree" if len(nearer) > 1 else f"our runs of {nearer.pop()} classes fit better"
    short = f"It is about the paper's own trainings, and {fit}"
    numbers = "; ".join(result.numbers for result in results)
    return Answer(question, "unjudged", short, f"{numbers}; {rates_of_readings(runs, results)}.", "results")


def _parts(runs: Sequence[Run]) -> Answer:
    question = "Does each part of the model matter?"
    frames = {dataset: frame for dataset in READINGS if len(frame := ablations(runs, dataset))}
    if not frames:
        return Answer(
            question,
            "unjudged",
            "No ablation is installed",
            "sentviz study sentiformer-ablations --dataset sst5_trees trains them.",
            "parts",
        )
    dataset, frame = next(iter(frames.items()))
    word = {"worse": "matters", "better": "harms", "cannot be told": "cannot be told"}
    short = f"{DATASETS[dataset]}, " + ", ".join(f"{row['title']}: {word[row['verdict']]}" for row in frame.to_dict("records"))
    numbers = "; ".join(f"{row['title']} {in_points(row)} (reported {signed(100 * row['printed'], 1)})" for row in frame.to_dict("records"))
    seeds = "one seed each; other seeds are unknown" if (frame["test"] == "McNemar").all() else f"{int(frame['seeds'].min())} or more seeds"
    verdicts = set(frame["verdict"])
    verdict: Verdict = "holds" if verdicts == {"worse"} else "fails" if "better" in verdicts else "open"
    verdict = seeded(verdict, frame["test"])
    by_preset = configurations(runs, dataset)
    failed = not_learned_sentence(run for preset in frame["preset"] for run in by_preset[preset])
    return Answer(
        question,
        verdict,
        short,
        f"Difference from the complete model: {numbers}; {seeds}, n = {int(frame['n'].max()):,}.{f' {failed}' if failed else ''}",
        "parts",
    )


def _gates(runs: Sequence[Run]) -> Answer:
    question = "Do the gates shut function words?"
    by_dataset = {dataset: gates_over_seeds(measured_runs) for dataset in DATASETS if (measured_runs := gated(runs, dataset))}
    if not by_dataset:
        get = "sentviz gates sst5_trees/sentiformer measures them."
        return Answer(question, "unjudged", "No gates are measured", get, "gates")
    short, numbers, verdicts = [], [], set[Verdict]()
    for dataset, frame in by_dataset.items():
        means = {(row["kind"], row["name"], row["against"]): row for row in frame[frame["layer"] < 0].to_dict("records")}
        own, against = means["class", "function words", ""], means["difference", "function words", "polar words"]
        shut: Verdict = "holds" if own["high"] < NEAR else "fails" if own["low"] > NEAR else "open"
        verdicts.add(shut if own["seeds"] > 1 else "unjudged")
        lean = "lower than" if against["high"] < 0 else "higher than" if against["low"] > 0 else "not significantly different from"
        short.append(f"{DATASETS[dataset]}: {own['value']:.2f} on average, {lean} words of sentiment")
        span = signed(against["value"], 3, ends=(against["low"], against["high"]))
        seeds = seeds_in_words(int(own["seeds"]))
        numbers.append(f"{DATASETS[dataset]}: {span} compared with words of sentiment, {seeds}, n = {int(own['n']):,}")
    verdict = verdicts.pop() if len(verdicts) == 1 else "open"
    return Answer(question, verdict, "; ".join(short), f"0 is shut, 1 is open. {'; '.join(numbers)}.", "gates")


def _speed() -> Answer:
    question = "Is it 5.3 times as fast as BERT-base and 3.6 times as fast as DistilBERT?"
    frame = throughput.SPEEDS.read()
    rows = [row for row in frame[frame["threads"] == 1].to_dict("records") if row["model"] in ("BERT-base", "DistilBERT")]
    printed = throughput.printed_times()
    verdict: Verdict = "unjudged"  # the paper measured a V100
    short = ", ".join(f"{row['times']:.1f} × {row['model']}" for row in rows)
    spans = ", ".join(f"[{row['low']:.1f}, {row['high']:.1f}] (reported {printed[row['model']]:.1f})" for row in rows)
    curves = throughput.curves()
    long = curves[(curves["tokens"] == throughput.LONG) & (curves["of"] == "model")].to_dict("records")
    in_theory = [
        f"with {row['tokens']:,} tokens the window makes it {row['times']:.1f} × as fast; the paper's theory says above 100 ×"
        for row in long
    ]
    return Answer(question, verdict, f"{short}, on one thread of a CPU", "; ".join([spans, *in_theory]) + ".", "speed")


def _theory() -> Answer:
    question = "Can attention decide what no Markov model and no RNN can decide?"
    frame = separation.MEASURED.read()
    rows = {
        "transformer": frame[(frame["order"] == 0) & (frame["model"] != "GRU") & (frame["positions"] == "aware")],
        "GRU": frame[frame["model"] == "GRU"],
        "Markov models of fewer words": frame[(frame["order"] > 0) & (frame["length"] > frame["order"])],
    }
    inside = {name: each[each["length"] <= each["longest"]] for name, each in rows.items()}
    shares = {name: each["right"].sum() / each["n"].sum() for name, each in inside.items()}
    verdict: Verdict = "fails" if shares["GRU"] > SOLVED else "open"
    accuracies = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    n, seeds = int(inside["GRU"]["n"].sum()), int(frame["seed"].nunique())
    short = "Yes for Markov models; no for RNNs: a GRU can decide it, too" if verdict == "fails" else "It cannot be told"
    return Answer(
        question,
        verdict,
        short,
        f"Right predictions for sequences as long as in training: {accuracies}; {seeds} seeds, n = {n:,} for the GRU.",
        "theory",
    )
