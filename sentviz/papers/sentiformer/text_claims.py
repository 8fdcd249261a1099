"""SentiFormer's claims about texts and theory: which words matter, neutral and long texts, its example, definition 1, proposition 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sentviz.analysis.claim import Board, Effect, Finding, decide, not_testable, p_of_interval, settled
from sentviz.analysis.evaluation import Floats, wilson
from sentviz.io.lazy import torch
from sentviz.io.numbers import percent
from sentviz.papers.sentiformer import measured, printed_tables
from sentviz.papers.sentiformer.study import COMPARED, DATASETS, WHOLE, against_baselines, configurations, not_trained, with_weights
from sentviz.papers.studies.compare_configurations import in_points
from sentviz.papers.studies.judging import needed, seeds_in_words
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.rates import chosen, epochs_in_words, with_rates
from sentviz.runs.presets import without_training
from sentviz.runs.store import Run

HALF = 0.5  # share of errors from which "most" errors are meant
SAME = 1e-5  # relative difference from which two computations of a head differ
BOARD = Board(DATASETS)
of_carriers = partial(BOARD.claim, against="data sets", kind="tested", where="section IV-A", section="carriers")
proved = partial(BOARD.claim, against="simulated runs", kind="theorem", section="theory")
on_runs = partial(BOARD.claim, against="runs here", kind="tested", where="section V-E", section="results")
counted = partial(on_runs, kind="counted", reads=DATASETS)


def _share(row: Mapping[Any, Any]) -> str:
    return percent(row["value"], ends=(row["low"], row["high"]))


def _difference(row: Mapping[Any, Any]) -> str:
    return in_points({**row, "difference": row["value"]})


# ---- counted in the data sets


@of_carriers({"sst5_trees": "b1d2a6", "imdb": "c40f71", "yelp_polarity": "5e7d03", "tweeteval_sentiment": "8f21c9"},
    "On {} sentiment words at the beginning or end of a text carry more weight", "Sentiment words at the ends carry more",
    how="agreement of lexicon words with the label, by place in the text; 95 % intervals for other texts")  # fmt: skip
def judge_ends(dataset: str) -> Finding:
    frame = measured.PLACES.read()
    rows = frame[(frame["dataset"] == dataset) & (frame["place"] == measured.ENDS_MINUS_MIDDLE)].to_dict("records")
    needed(rows, measured.PLACES.missing)
    (row,) = rows
    evidence = (
        f"sentiment words in the first and the last tenth of a text agree with its label {_difference(row)} more often than those"
        f" between them; {row['words']:,.0f} words of {row['n']:,} test texts"
    )
    effect = Effect.from_share_difference(row["value"], row["low"], row["high"], "agreement with the label, ends minus middle")
    return Finding(decide(row["low"] > 0, row["high"] < 0), evidence, effect=effect)


@of_carriers({"sst5_trees": "27e4b8", "imdb": "d9035c", "yelp_polarity": "64a1ef", "tweeteval_sentiment": "0bc852"},
    "On {} adjectives and adverbs are the primary carriers of polarity", "Adjectives and adverbs carry polarity",
    how="parts of speech of the words of a polarity lexicon, compared with the most frequent other one")  # fmt: skip
def judge_speech(dataset: str) -> Finding:
    frame = measured.SPEECH.read()
    rows = needed({row["tag"]: row for row in frame[frame["dataset"] == dataset].to_dict("records")}, measured.SPEECH.missing)
    own = rows.pop(measured.CARRIERS)
    rival = max((row for tag, row in rows.items() if tag not in ("ADJ", "ADV")), key=lambda row: row["value"])
    evidence = (
        f"{_share(own)} of the sentiment words are adjectives or adverbs, {_share(rival)} {rival['tag']}; {own['n']:,} test texts,"
        f" words of {own['lexicon'].removeprefix('lexicon_en_').upper()}"
    )
    effect = Effect.from_share(own["value"], own["low"], own["high"], rival["value"], f"compared with {rival['tag']}")
    apart, half = own["value"] - rival["value"], (own["high"] - own["low"] + rival["high"] - rival["low"]) / 2
    p = p_of_interval(apart, apart - half, apart + half, 0.0)  # both intervals are added, because they must not overlap
    return Finding(decide(own["low"] > rival["high"], own["high"] < rival["low"]), evidence, effect=effect, p=p)


# ---- measured or proved without runs


@proved("a37d14", "A document of 10,000 tokens fits in memory without truncation", "10,000 tokens fit in memory", where="section VI-B",
    section="speed", kind="counted", how="the highest memory of a process, weights included")  # fmt: skip
def judge_memory() -> Finding:
    """Test whether a text of 10,000 tokens fits in the memory of a V100. Bytes, unlike seconds, do not depend on the machine."""
    frame = measured.MEMORY.read()
    rows = frame[frame["tokens"] == measured.PROMISED].set_index(["of", "attention"])["mib"]
    if ("prediction", "sparse") not in rows.index:
        return not_testable(measured.MEMORY.missing)
    numbers = "; ".join(
        f"a {of} takes {rows[of, 'sparse']:,.0f} MiB with the window and {rows[of, 'full']:,.0f} MiB with full attention"
        for of in measured.WORK
        if (of, "sparse") in rows.index and (of, "full") in rows.index
    )
    need = float(rows["prediction", "sparse"])
    effect = Effect(
        need, unit="MiB", null=measured.CARD, of=f"one prediction for {measured.PROMISED:,} tokens, compared with a V100's memory"
    )
    remark = f"one text of {measured.PROMISED:,} tokens, 32-bit numbers; a V100 has {measured.CARD:,} MiB or twice that"
    return settled(need < measured.CARD, f"{numbers}; {remark}", effect)


def head_by_definition(q: Floats, k: Floats, v: Floats) -> Floats:
    """Return definition 1 for every token: values (n, d) weighted by exp(q_i . k_j / sqrt d) over its sum. Shapes (n, d)."""
    kernel = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
    return np.asarray(kernel @ v / kernel.sum(axis=1, keepdims=True))


@proved("e58b60", "Self-attention is a learnable kernel smoother", "Attention is a kernel smoother", where="definition 1",
    how="a head of our attention compared with the formula, on random numbers")  # fmt: skip
def judge_kernel(lambdas: Sequence[float] = (1.0,), tokens: int = 24, width: int = 32) -> Finding:
    """Test whether a head of our attention gives the kernel averages of definition 1, for random queries, keys and values.

    Args:
        lambdas: weights of the components; a second component makes another function of the head.
    """

    from sentviz.models.attention import ScoreModifiers, attend

    rng = np.random.default_rng(0)
    q, k = (rng.normal(size=(len(lambdas), tokens, width)) for _ in range(2))
    v = rng.normal(size=(tokens, width))
    queries, keys = (torch.from_numpy(x)[None, :, None] for x in (q, k))  # (batch, component, head, token, number)
    values, weights = torch.from_numpy(v)[None, None], torch.tensor(lambdas, dtype=torch.float64)
    output = attend(queries, keys, values, weights, width**-0.5, ScoreModifiers(None, ()))
    head = output.detach().numpy()[0, 0]
    expected = head_by_definition(q[0], k[0], v)
    apart = float(np.linalg.norm(head - expected) / np.linalg.norm(expected))
    evidence = f"a head of random queries, keys and values differs from the definition by {apart:.1g} of its length; {tokens} tokens"
    remark = "the paper's own gate multiplies the kernel by a number for each key, and its window sets the kernel to 0"
    return settled(apart < SAME, f"{evidence}; {remark}")


@proved("19c6f3", "A transformer can approximate any sentiment function of bounded length", "It can represent any sentiment function",
    where="proposition 1")  # fmt: skip
def judge_universal() -> Finding:
    """Return what proposition 1 needs. No run can test it: it says that some model exists, without a bound on its size."""
    return not_testable(
        "a proof of existence: no run can refute it. It needs a largest length, so that there are finitely many texts, and positions that"
        " let one layer copy the complete text to [CLS]; it gives no bound on layers, heads or width"
    )


# ---- runs


@on_runs({"sst5_trees": "73ad05", "tweeteval_sentiment": "f06e2d"}, "On {} most of its remaining errors are on neutral texts",
    "Most errors are on neutral texts",
    how="share of the errors on rows with a neutral label, with intervals for other rows and other seeds")  # fmt: skip
def judge_neutral_errors(dataset: str, runs: Sequence[Run]) -> Finding:
    """Return the share of our errors on texts with a neutral label, over seeds. The claim is about the errors of the paper's own model."""
    seeds = configurations(runs, dataset).get(WHOLE, [])
    parts = needed([part for run in seeds if (part := _neutral_errors(run))], f"a SentiFormer of {DATASETS[dataset]} is not installed")
    row = combined([part for part, _ in parts])
    rows = parts[0][1]
    evidence = f"{_share(row)} of the errors are on neutral texts, which are {percent(rows)} of all texts"
    effect = Effect.from_share(row["value"], row["low"], row["high"], HALF, "errors on neutral texts")
    return not_testable(
        f"the sentence is about the errors that the paper's own model has left. In ours {evidence}; {seeds_in_words(len(parts))}", effect
    )


def _neutral_errors(run: Run) -> tuple[dict[str, Any], float] | None:
    """Return the share of a run's errors on neutral rows with a Wilson interval, and the share of neutral rows; None without errors."""
    counts = np.array(run.metrics()["test"]["confusion"])
    neutral, wrong = run.labels.index("neutral"), counts.sum() - np.trace(counts)
    if not wrong:
        return None
    of_neutral = int(counts[neutral].sum() - counts[neutral, neutral])
    low, high = map(float, wilson(of_neutral, wrong))
    return {"value": of_neutral / wrong, "low": low, "high": high}, float(counts[neutral].sum() / counts.sum())


@on_runs({"sst5_trees": "48b7c1", "sst5_trees_binary": "3ce95a", "yelp_polarity": "91f0d7", "tweeteval_sentiment": "ad5243"},
    "On {} its lead over the BiLSTM and the CNN is larger on long texts", "Its lead grows on long texts", where="section VIII",
    section="carriers",
    how="lead on the longest minus the shortest quarter of the test texts, with intervals for other texts and other seeds")  # fmt: skip
def judge_long_texts(dataset: str, runs: Sequence[Run]) -> Finding:
    """Test whether the lead over both baselines is larger on the longest quarter of the texts than on the shortest, over seeds.

    The claim stays open where a model still learned when its training ended, faster than its rival.
    """
    by_preset, frame = configurations(runs, dataset), measured.LEADS.read()
    needed(against_baselines(runs, dataset), f"SentiFormer or a baseline of {DATASETS[dataset]} is not installed")
    own = chosen(by_preset, WHOLE)
    rows = frame[(frame["dataset"] == dataset) & (frame["part"] == measured.LONG_MINUS_SHORT) & (frame["own"] == own)]
    needed(rows, measured.LEADS.missing)
    leads = {name: (combined(measured.records(each)), len(each)) for name, each in rows.groupby("baseline", sort=False)}
    numbers = "; ".join(f"{COMPARED[without_training(str(name))]} {_difference(row)}" for name, (row, _) in leads.items())
    ends = frame[(frame["dataset"] == dataset) & frame["part"].isin([measured.QUARTERS[0], measured.QUARTERS[-1]])]
    short, long = ends.groupby("part")["longest"].max().iloc[0], ends.groupby("part")["shortest"].min().iloc[-1]
    evidence = f"lead on the quarter of texts of {long} words and more, minus that on the quarter of up to {short} words: {numbers}"
    _, least = min(leads.items(), key=lambda entry: entry[1][0]["value"])
    ends_of_least = least[0]["value"], least[0]["low"], least[0]["high"]
    effect = Effect.from_share_difference(*ends_of_least, of="lead on long texts minus on short ones")
    seeds = min(number for _, number in leads.values())
    if seeds < 2:
        return not_testable(f"{evidence}; {seeds_in_words(seeds)}", effect)
    low, high = ([row[end] for row, _ in leads.values()] for end in ("low", "high"))
    late = not_trained(runs, dataset)
    verdict = "open" if late else decide(min(low) > 0, min(high) < 0)
    finding = Finding(verdict, f"{late and f'{late}; '}{evidence}; {seeds} seeds", effect=effect)
    finding = finding.noting(epochs_in_words(runs, dataset, [own, *map(str, leads)], COMPARED.__getitem__))
    return with_rates(finding, runs, dataset, [own], list(map(str, leads)), COMPARED.__getitem__)


@counted("5fd386", "In its example head 1 weighs “Great” and “broken”, head 2 links “broken” to “again”",
    "Head 1 sees Great and broken, head 2 again", section="gates", how="attention of the first layer to the paper's sentence")  # fmt: skip
def judge_example_heads(runs: Sequence[Run]) -> Finding:
    """Return what heads 1 and 2 of the first layer see in the paper's sentence. The number of a head has no meaning in another training."""
    from sentviz.models.loading import load

    models = needed(with_weights(runs), "a SentiFormer with weights is not installed")
    trace = load(models[0]).trace(printed_tables.SARCASTIC)
    tokens = [token.strip("Ġ ").casefold() for token in trace.tokens]
    first, second = trace.map(0, 0)[0], trace.map(0, 1)
    order = np.argsort(-first).tolist()
    places = {word: next((i for i, token in enumerate(tokens) if token.startswith(word)), -1) for word in ("great", "broken", "again")}
    ranks = [f"“{word}” rank {order.index(places[word]) + 1}" for word in ("great", "broken") if places[word] >= 0]
    linked = float(second[places["broken"], places["again"]]) if min(places["broken"], places["again"]) >= 0 else float("nan")
    return not_testable(
        f"{models[0].name}, layer 1: in head 1 [CLS] gives {' and '.join(ranks)} of {len(tokens)} tokens; in head 2 “broken” gives “again”"
        f" {percent(linked)}, equal weights would give {percent(1 / len(tokens))}; one seed, the paper names no layer, and the number of a"
        " head is arbitrary in another training"
    )


@counted("834d6d", "It predicts negative for the paper's sarcastic sentence", "Its sarcastic sentence is predicted negative",
    section="failures", how="the prediction of every SentiFormer with weights")  # fmt: skip
def judge_sarcasm(runs: Sequence[Run]) -> Finding:
    """Return what every SentiFormer with weights predicts for the paper's sarcastic sentence. The paper speaks of its own model."""
    from sentviz.models.loading import load

    models = needed(with_weights(runs), "a SentiFormer with weights is not installed")
    predictions = [(run.name, str(load(run).predict([printed_tables.SARCASTIC])["label"].iloc[0])) for run in models]
    return not_testable(f"the paper speaks of its own model; of ours, {', '.join(f'{name} says {label}' for name, label in predictions)}")
