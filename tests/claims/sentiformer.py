"""The claims of the SentiFormer paper on rewritten tables, planted measurements, models that answer as they are told, and made-up runs."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from sentviz.papers.sentiformer import measured, printed_tables
from sentviz.papers.sentiformer.study import DATASETS
from sentviz.runs.store import Run
from tests.claims.table import Numbers, Row, Table, World, nothing, patched, planted, runs, stub_run

TABLE = Table("sentiformer")
CLAIMS = "sentviz.papers.sentiformer.claims"
TEXTS = "sentviz.papers.sentiformer.text_claims"
LOADED = "sentviz.models.loading.load"

# ---- its own tables, rewritten


def table_1(*own: float) -> Numbers:
    """SentiFormer's accuracies on SST-5, IMDb, Yelp and Twitter, where BERT-base has 70."""

    def numbers(world: World) -> None:
        frame, columns = printed_tables.table("accuracy").copy(), ["sst5", "imdb", "yelp_polarity", "twitter"]
        frame[columns] = frame[columns].astype(float)
        frame.loc[frame["model"] == "BERT-base", columns] = 70.0
        frame.loc[frame["model"] == "SentiFormer", columns] = own
        world.patch.setattr(printed_tables, "table", lambda name: frame.copy())

    return numbers


def table_2(*values: float) -> Numbers:
    """The accuracies of the whole and of each ablation."""
    frame = printed_tables.table("ablation").assign(sst5_accuracy_pct=values)
    return patched({"sentviz.papers.sentiformer.printed_tables.table": lambda name: frame.copy()})


TABLE.of("SentiFormer matches or exceeds BERT-base", holds=[table_1(70, 70, 70, 60), table_1(60, 71, 70, 72), table_1(*[70] * 4)],
         fails=[(nothing, "2 of 4"), table_1(71, 71, 69, 69), table_1(*[69] * 4)])  # fmt: skip
TABLE.of("Twitter is its clearest win", holds=[table_1(71, 72, 73, 74), table_1(60, 60, 60, 61)],
         fails=[table_1(71, 75, 73, 74), table_1(71, 72, 75, 74)], open=[(nothing, "sst5 +0.5", "twitter +0.5")])  # fmt: skip
TABLE.of("Aware positions add 1.6 points", holds=[nothing, table_2(90, 88.4, 88.8, 90, 90)],
         fails=[table_2(90, 88.3, 88.8, 90, 90), table_2(90, 88.4, 88.9, 90, 90)])  # fmt: skip
TABLE.of("Full attention recovers 0.2 points", holds=[table_2(90, 88, 88, 90.2, 90), table_2(90, 88, 88, 90.1, 90)],
         fails=[(nothing, "\u22120.2"), table_2(90, 88, 88, 90, 91), table_2(90, 88, 88, 89.8, 90)])  # fmt: skip
TABLE.of("It has one fifth of BERT-base's parameters", holds=[nothing], never=["fails"])
TABLE.of("At k = 128, s = 2 and n = 2048", fails=[(nothing, f"{2048 / 130:.1f}", f"{2048 / 68:.1f}")], never=["holds"])
TABLE.of("It has about 22 M parameters", unjudged=[nothing], never=["holds", "fails"])

# ---- measured without runs


def speeds(model: str, low: float, high: float, threads: int = 1) -> Numbers:
    """Plant how much faster SentiFormer is; another model and more threads, which are not read, would say otherwise."""
    row = {"model": model, "threads": threads, "times": (low + high) / 2, "low": low, "high": high, "tokens": 128, "batch": 128}
    misleading = [row | {"model": "another", "low": 1, "high": 99}, row | {"threads": 2, "low": 1, "high": 99}]
    return planted("sentiformer.throughput.SPEEDS", [*misleading, row])


def steps(threads: int = 1) -> Numbers:
    rows = [{"tokens": tokens, "batch": 32, "threads": each, "times": (low + high) / 2, "low": low, "high": high}
            for tokens, each, low, high in ((64, threads, 0.9, 1.1), (512, threads, 2.8, 3.4), (64, 2, 0.1, 9.0))]  # fmt: skip
    return planted("sentiformer.throughput.STEPS", rows)


ON_CPU = "the claim is about a V100"
for statement, model, times in (("It reads 5.3 times", "BERT-base", 8000 / 1500), ("It reads 3.6 times", "DistilBERT", 8000 / 2200)):
    parts = [(speeds(model, times * low, times * high), ON_CPU) for low, high in ((1.01, 1.2), (0.7, 0.99), (0.9, 1.1))]
    TABLE.of(statement, never=["holds", "fails", "open"], unjudged=[*parts, (speeds(model, 4, 5, threads=2), "not installed")])
TABLE.of("Full attention takes about three times as long", never=["holds", "fails", "open"],
         unjudged=[(steps(), ON_CPU, "at 64", "at 512"), (steps(threads=2), "not installed")])  # fmt: skip


def proposition(right: int, *, also: Mapping[str, Any] | None = None, **row: Any) -> Numbers:
    """Plant how many of 1,000 sequences a model gets right; rows that the statement does not cover would turn the verdict."""
    usual = {"positions": "aware", "longest": 24, "seed": 0, "order": 0, "length": 8, "n": 1000}
    own, misleading_row = usual | row, {"model": "last 1 word" if row["model"] == "GRU" else "GRU", "length": 48, "right": 1000 - right}
    misleading = [own | also | {"right": 1000 - right}] if also else []
    return planted("sentiformer.separation.MEASURED", [*([own | {"right": right}] if right else []), *misleading, usual | misleading_row])


OF_CHANCE = {  # statement -> measured rows, each with rows that are not read, and the verdicts at 500, 999 and 700 of 1,000
    "A transformer of one layer and two heads": (
        [({"model": "transformer, 1 layer, 2 heads"}, {"length": 32}), ({"model": "transformer", "length": 24}, {"positions": "learned"})],
        ("open", "holds", "open")),
    "No Markov model of order k": (
        [({"model": "last 2 words", "order": 2, "length": 8}, {"length": 2}), ({"model": "last 2 words", "order": 2, "length": 3},
         {"length": 1})],
        ("holds", "fails", "open")),
    "No RNN whose state": ([({"model": "GRU", "length": 48}, {"length": 32})], ("open", "fails", "open")),
}  # fmt: skip
for statement, (each, verdicts) in OF_CHANCE.items():  # a network that does not learn the rule proves nothing about networks
    for row, beside in each:
        for right, verdict in zip((500, 999, 700), verdicts, strict=True):
            TABLE.of(statement, **{verdict: [proposition(right, also=beside, **row)]})
        TABLE.of(statement, unjudged=[(proposition(0, also=beside, **row), "not installed")])
TABLE.of("A transformer of one layer and two heads", never=["fails"])
TABLE.of("No RNN whose state", never=["holds"])
ROW: dict[str, Any] = {"words": 900, "n": 90, "lexicon": "lexicon_en_vader", "tagger": "english-1"}
SPANS = {"holds": (0.01, 0.05), "fails": (-0.05, -0.01), "open": (-0.02, 0.03)}


def span(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


def ends(data: str, low: float, high: float) -> Numbers:
    """Plant how much more often words at the ends agree with the label; another data set and a single tenth are not read."""
    row, opposite = ROW | {"dataset": data, "place": measured.ENDS_MINUS_MIDDLE}, span(-high, -low)
    rows = [row | opposite | {"dataset": "another"}, row | opposite | {"place": "1"}, row | span(low, high)]
    return planted("sentiformer.measured.PLACES", rows)


def speech(data: str, own: float) -> Numbers:
    """Plant the share of adjectives and adverbs, which are compared with the largest other share, not with a part of themselves."""
    parts = {measured.CARRIERS: own, "ADJ": 0.9, "NOUN": 0.4, "VERB": 0.1}
    rows = [ROW | {"dataset": data, "tag": tag} | span(share - 0.02, share + 0.02) for tag, share in parts.items()]
    return planted("sentiformer.measured.SPEECH", rows)


def memory(mib: float, tokens: int = 10_000) -> Numbers:
    row = {"of": "prediction", "attention": "sparse", "tokens": tokens, "mib": mib, "hardware": "", "torch": ""}
    return planted(
        "sentiformer.measured.MEMORY", [row, row | {"tokens": 512, "mib": 1e5 - mib}, row | {"attention": "full", "mib": 1e5 - mib}]
    )


for data, title in DATASETS.items():
    if data != "sst5_trees_binary":
        TABLE.of(f"On {title} sentiment words at the beginning", **{verdict: [ends(data, *each)] for verdict, each in SPANS.items()})
        TABLE.of(
            f"On {title} adjectives and adverbs", holds=[(speech(data, 0.6), "NOUN")], fails=[speech(data, 0.2)], open=[speech(data, 0.41)]
        )
TABLE.of(
    "A document of 10,000 tokens", holds=[memory(200)], fails=[memory(20_000)], unjudged=[(memory(200, tokens=9), measured.MEMORY.command)]
)


def attend(*inputs: Any) -> Any:
    return 2 * inputs[2][:, 0].new_ones(1, 1, 24, 32)


TABLE.of("Self-attention is a learnable kernel smoother", holds=[nothing], fails=[patched({"sentviz.models.attention.attend": attend})])
TABLE.of("A transformer can approximate any", unjudged=[nothing], never=["holds", "fails"])

# ---- made-up runs

FIVE = ("very negative", "negative", "neutral", "positive", "very positive")
THREE = ("negative", "neutral", "positive")


def against(data: str, own: int, lstm: int, cnn: int = 60, seeds: int = 3) -> Numbers:
    return runs(data, {"sentiformer": own, "bilstm": lstm, "cnn": cnn}, seeds)


def joined(*numbers: Numbers) -> Numbers:
    return lambda world: [run for each in numbers for run in each(world) or []]


for data, title in DATASETS.items():
    TABLE.of(
        f"SentiFormer beats the BiLSTM and the CNN on {title}", holds=[(against(data, 10, 60), "SentiFormer minus BiLSTM", "n = 200")],
        fails=[against(data, 60, 10)], open=[against(data, 30, 30)],
        unjudged=[runs(data, {"sentiformer": 10}, 3), against(data, 10, 70, 70, seeds=1), nothing],
    )  # fmt: skip
# Each side has the learning rate that validation chose, with the same freedom.
BEATS = "SentiFormer beats the BiLSTM and the CNN on SST-5"
plain, faster = against("sst5_trees", 30, 80, 80), runs("sst5_trees", {"cnn@fast": 5}, 3, validation=0.95)
slow_own = runs("sst5_trees", {"sentiformer@fast": 80}, 3, validation=0.3)
RATES = (
    "the learning rates are 0.0005 (SentiFormer and BiLSTM) and 0.001 (CNN); the learning rate of SentiFormer and BiLSTM was not searched"
)
base = runs("sst5_trees", {"cls": 4}, 1, base="minilm")  # a pretrained model is in no comparison
fast = [runs("sst5_trees", {f"{model}@fast": wrong}, 3, validation=validation)
        for model, wrong, validation in (("sentiformer", 10, 0.95), ("bilstm", 60, 0.92), ("cnn", 4, 0.5))]  # fmt: skip
CHOSEN = "the learning rates, 0.0005 (CNN) and 0.001 (SentiFormer and BiLSTM), were chosen by validation"
TABLE.of(
    BEATS, holds=[plain, (joined(against("sst5_trees", 80, 80, 80), *fast), "SentiFormer minus BiLSTM", CHOSEN)],
    open=[(joined(plain, faster), "(SentiFormer did not have every training of CNN)", RATES)],
    fails=[(joined(plain, faster, slow_own), "0.001 (CNN)"), joined(plain, faster, slow_own, base)],
)  # fmt: skip
PARTS = {
    "without aware positions": "sentiformer-sinusoid",
    "without gates": "sentiformer-no-gate",
    "without layer norm": "sentiformer-no-norm",
}
for data, title in list(DATASETS.items())[:2]:
    for words, variant in PARTS.items():
        cases = {"holds": (20, 70), "fails": (60, 5), "open": (20, 20)}
        TABLE.of(f"It is worse {words} on {title}", unjudged=[runs(data, {"sentiformer": 20}, 3), nothing], **{
            verdict: [runs(data, {"sentiformer": whole, variant: part}, 3)] for verdict, (whole, part) in cases.items()})  # fmt: skip
    full = [joined(runs(data, {"sentiformer": 60}, 3), runs(data, {"sentiformer-full": wrong}, 3, classes=("negative", "positive"),
    drift=0.1 + shift))
            for wrong, shift in ((60, 0), (5, 0), (100, 0), (64, 0))]  # fmt: skip
    TABLE.of(f"Full attention brings no gain on {title}", holds=[full[0]], fails=[full[1]], open=full[2:],
             unjudged=[(runs(data, {"sentiformer": 60, "sentiformer-full": 60}, 1), "without it"), nothing])  # fmt: skip


def gates(kind: str, low: float, high: float, seeds: int = 2) -> Numbers:
    """Put gates in place of those that are measured; single layers and other classes, which are not read, would turn the verdict."""
    columns = ["kind", "name", "against", "layer", "value", "low", "high", "seeds", "n"]
    numbers = ((low + high) / 2, low, high, seeds, 90)
    if kind == "word":
        rows = [("word", name, "", -1, *numbers) for name in ("the", "is")]
    else:
        places = (("polar words", 0, -low, -high, -low), ("nouns", -1, -low, -high, -low), ("polar words", -1, *numbers[:3]))
        rows = [("difference", "function words", against, layer, *rest, seeds, 90) for against, layer, *rest in places]
    frame = pd.DataFrame(rows, columns=columns)
    return patched({f"{CLAIMS}.gates_over_seeds": lambda runs: frame})


for title in DATASETS.values():
    near, less = f"On {title} “the” and “is” learn gates close to zero", f"On {title} the gates shut function words"
    TABLE.of(near, holds=[gates("word", 0, 0.05)], fails=[gates("word", 0.3, 0.5)], open=[gates("word", 0.05, 0.3)],
             unjudged=[gates("word", 0, 0.05, seeds=1), nothing])  # fmt: skip
    TABLE.of(less, holds=[gates("class", -0.2, -0.1)], fails=[gates("class", 0.1, 0.2)], open=[gates("class", -0.1, 0.1)],
             unjudged=[gates("class", -0.2, -0.1, seeds=1), nothing])  # fmt: skip
WAITS = "trained for 1 epoch, and the paper waits until 3 bring no smaller validation loss"
TABLE.of("On IMDb “the” and “is”", fails=[
    (runs("imdb", {"sentiformer@2-epochs": 10}, gates=True), "2 seeds; trained for 2 epochs; SentiFormer, two epochs"),
    (runs("imdb", {"sentiformer": 10}, gates=True, losses=(0.6, 0.5)), f"2 seeds; {WAITS}"),
])  # fmt: skip


def readings(*wrong: tuple[str, int, int]) -> Numbers:
    """Return runs of both readings of SST-5, by how many of 200 rows each model gets wrong of five and of two classes."""
    return joined(*(joined(runs("sst5_trees", {model: five}, 1, classes=FIVE), runs("sst5_trees_binary", {model: two}, 1))
                    for model, five, two in wrong))  # fmt: skip


NEARER = "{} are nearer to ours of two classes and {} to ours of five"
TABLE.of(
    "The reported SST-5 accuracies", never=["holds", "fails", "open"],
    unjudged=[(readings(("sentiformer", 100, 20)), NEARER.format(1, 0)), (readings(("sentiformer", 16, 80)), NEARER.format(0, 1)),
              (readings(("sentiformer", 16, 80), ("cnn", 30, 80)), "of 2 models"), nothing],
)  # fmt: skip


def errors(data: str, neutral: int, seeds: int = 3) -> Numbers:
    """Return runs with 60 errors, of which some are on neutral texts."""
    counts = [[100, 60 - neutral, 0], [neutral, 100, 0], [0, 0, 100]]
    metrics = {"test": {"confusion": counts, "accuracy": {"value": 0.8, "low": 0.7, "high": 0.9}}}

    def numbers(world: World) -> Sequence[Run]:
        planted_runs = world.runs(data, {"sentiformer": 10}, seeds, classes=THREE)
        world.of_files(planted_runs)
        world.patch.setattr(Run, "metrics", lambda run: metrics)
        return planted_runs

    return numbers


OWN = "the paper's own model"
for data in ("sst5_trees", "tweeteval_sentiment"):
    cases = [
        (errors(data, neutral), OWN, f"In ours {share}\u00a0% [", "3 seeds") for neutral, share in ((60, "100.0"), (0, "0.0"), (30, "50.0"))
    ]
    TABLE.of(f"On {DATASETS[data]} most of its remaining errors", never=["holds", "fails", "open"],
             unjudged=[*cases, (errors(data, 30, seeds=1), "one seed"), nothing])  # fmt: skip


def leads(data: str, low: float, high: float, seeds: int = 3, then: Numbers | None = None) -> Numbers:
    """Plant the lead on long texts minus that on short ones; quarters and other data sets, which are not read, would turn the verdict."""
    row = {"dataset": data, "own": "sentiformer", "shortest": 1, "longest": 90, "n": 100}
    rows = [row | span(low, high) | {"baseline": name, "seed": seed, "part": part} | ({"value": 0.0} if len(part) == 1 else {})
            for name in ("bilstm", "cnn") for seed in range(seeds) for part in ("1", "4", measured.LONG_MINUS_SHORT)]  # fmt: skip
    misleading = [each | span(-high, -low) | {"dataset": "another"} for each in rows]
    return planted("sentiformer.measured.LEADS", rows + misleading, then or against(data, 40, 40, 40))


def still_learning(data: str, late: str, losses: Sequence[float]) -> Numbers:
    return joined(*(runs(data, {model: wrong}, 3, losses=losses if model == late else (0.5,) * 4)
                    for model, wrong in (("sentiformer", 10), ("bilstm", 40), ("cnn", 40))))  # fmt: skip


FELL = "loss still fell by 20.0\u00a0%"
UNKNOWN = "BiLSTM had 1 epoch and fewer than two evaluations, so it is unknown whether it still learned"
LATE = [("sentiformer", (0.5, 0.4), FELL), ("cnn", (0.5, 0.4), FELL), ("bilstm", (0.5,), UNKNOWN)]
for data, title in DATASETS.items():
    if data != "imdb":
        rows: dict[str, Sequence[Row]] = {verdict: [leads(data, *each)] for verdict, each in SPANS.items()}
        TABLE.of(f"On {title} its lead over the BiLSTM", **rows, unjudged=[leads(data, 0.01, 0.05, seeds=1), nothing])
TABLE.of("On Yelp polarity its lead over the BiLSTM", open=[
    (leads("yelp_polarity", 0.04, 0.06, then=still_learning("yelp_polarity", late, losses)), why, "epochs: 1 (SentiFormer, BiLSTM and CNN)")
    for late, losses, why in LATE])  # fmt: skip


def answering(*labels: str) -> Numbers:
    """Put models in place of the installed ones, each of which gives every text one answer."""
    models = [stub_run(f"seed-{i}", label=label, config={"recipe": {"seed": i}}) for i, label in enumerate(labels)]
    answer = lambda run: SimpleNamespace(predict=lambda texts: pd.DataFrame({"label": [run.label] * len(texts)}))  # noqa: E731
    return patched({f"{TEXTS}.with_weights": lambda runs: models, LOADED: answer})


def looking(*tokens: str) -> Numbers:
    """Put a model in place of the installed ones: its first head weighs later tokens more, its second one links each token to the last."""
    n = len(tokens)
    first, second = np.tile(np.arange(n) / 10, (n, 1)), np.eye(n)[[n - 1] * n] * 0.25
    trace = SimpleNamespace(tokens=tokens, map=lambda layer, head: (first, second)[head])
    model = SimpleNamespace(trace=lambda text: trace)
    return patched({f"{TEXTS}.with_weights": lambda runs: [stub_run("a/b")], LOADED: lambda run: model})


ANSWERS = [(answering(*labels), *(f"seed-{i} says {label}" for i, label in enumerate(labels)))
           for labels in (["positive"], ["negative", "very negative"], ["positive", "negative"])]  # fmt: skip
TABLE.of("It predicts negative for the paper's sarcastic sentence", never=["holds", "fails"], unjudged=[*ANSWERS, nothing])
LOOK = (
    looking("<s>", "ĠGreat", "Ġbroken", "Ġagain"),
    "a/b, layer 1",
    "“great” rank 3 and “broken” rank 2 of 4 tokens",
    "“again” 25.0\u00a0%",
)
TABLE.of("In its example head 1 weighs", never=["holds", "fails"], unjudged=[LOOK, nothing])
