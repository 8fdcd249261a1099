"""The claims of 7ess-Xin on rewritten tables, planted measurements, models that look as they are told, and made-up runs."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from sentviz.papers.sevenessxin import measured, printed_tables
from sentviz.papers.sevenessxin.claims import BEST
from sentviz.papers.sevenessxin.versions import ROPE, VERSIONS
from sentviz.runs.store import Run
from tests.claims.table import Numbers, Table, World, nothing, patched, planted, runs, stub_run

TABLE = Table("sevenessxin")
ON, OWN, HERE = printed_tables.DATASET, "its own tables", "runs here"
PRINTED = "sentviz.papers.sevenessxin.printed_tables"
CONFIGURATIONS = "sentviz.papers.sevenessxin.claims.configurations"
V1, V2, V6 = (f"7ess-v{number}-{ROPE}" for number in (1, 2, 6))

# ---- its own tables, rewritten


def tables(**rows: Sequence[tuple[str, float]]) -> Numbers:
    """Put accuracies in place of table II ("results") and the log ("log")."""
    frames = {name: pd.DataFrame(each, columns=["model", "accuracy"]) for name, each in rows.items()}
    return patched({f"{PRINTED}.table": lambda name: frames[name]})


def gaining(up: int, logged: int) -> Numbers:
    """Let some of the ten versions gain in the table, and some in the log."""
    each = {name: [(v, 0.8) for v in VERSIONS] + [(f"{v}-{ROPE}", 0.81 if i < number else 0.8) for i, v in enumerate(VERSIONS)]
            for name, number in (("results", up), ("log", logged))}  # fmt: skip
    return tables(**{name: [*rows, ("probe", 0.9)] for name, rows in each.items()})


def leading(table: float, log: float) -> Numbers:
    """V6 leads V1 in the table, and in the log."""
    return tables(**{name: [(BEST, 0.8 + lead), ("7ess-v1", 0.8), ("7ess-v2", 0.7)] for name, lead in (("results", table), ("log", log))})


def behind(first: float, second: float) -> Numbers:
    """V5 is behind V1 in each phase."""
    return tables(
        results=[(f"7ess-v{v}{phase}", 0.8 - lag * (v == 5)) for phase, lag in (("", first), (f"-{ROPE}", second)) for v in (1, 5)]
    )


def rewritten(accuracy: Callable[[str], float], **columns: Callable[[str], float]) -> Numbers:
    """Put numbers in table II, by preset."""

    def numbers(world: World) -> None:
        frame = printed_tables.table("results")
        for name, values in {"accuracy": accuracy, **columns}.items():
            frame[name] = [values(model) for model in frame["model"]]
        world.patch.setattr(printed_tables, "table", lambda name: frame.copy())

    return numbers


def with_one(changed: str, value: float) -> Numbers:
    usual = {"7ess-v1": 0.82, V1: 0.82, "7ess-v5": 0.775, "7ess-v5-rope": 0.775, "7ess-v3": 0.81} | {changed: value}
    return rewritten(lambda model: usual.get(model, 0.825))


def robust(accuracy: float, gap: float) -> Numbers:
    """V4 has an accuracy, where others have 82 %, and a gap between validation and test F1, where others have half a point."""
    return rewritten(lambda model: accuracy if model.startswith("7ess-v4") else 0.82, f1_positive=lambda model: 0.8,
                     validation_f1=lambda model: 0.8 + (gap if model.startswith("7ess-v4") else 0.005))  # fmt: skip


def matrix(accuracy: float) -> Numbers:
    """75 and 85 % of two classes of one size are right, 80 % in all."""
    row = pd.DataFrame([{"model": BEST, "accuracy": accuracy, "precision_positive": 0.77}])
    return patched({f"{PRINTED}.FIGURE_5": {"negative": 0.75, "positive": 0.85}, f"{PRINTED}.table": lambda name: row})


COUNTS = "{} of 10 versions of table II and in {} of 10 versions of the training log"
TABLE.of("RoPE and QK-norm gain", OWN, holds=[(nothing, "9 of 10", "8 of 9"), *((gaining(*n), COUNTS.format(*n)) for n in ((8, 10),
         (10, 8)))],
         fails=[(gaining(*each), COUNTS.format(*each)) for each in ((7, 10), (10, 7), (0, 0))])  # fmt: skip
TABLE.of("V6 with RoPE is the best", OWN, holds=[(leading(0.003, 0.01), "0.8000, 0.0030 less", "significant from about 0.0027")],
         fails=[leading(-0.01, 0.01), leading(0.01, -0.01)],
         open=[(nothing, "0.0018", "0.0007"), leading(0.0025, 0.01), (leading(0.01, 0.0025), "significant from about 0.0028")])  # fmt: skip
TABLE.of("A sixteenth of the tweets", OWN, holds=[(nothing, "V5 is 4.6 points", "V5 is 5.3 points"), behind(0.046, 0.053)],
         fails=[(behind(0.046, 0.062), "on phase 2 it does not hold: V5 is 6.2"), behind(0.001, 0.05)])  # fmt: skip
TABLE.of("The matrix of figure 5", OWN, holds=[matrix(0.8), matrix(0.804)],
         fails=[matrix(0.81), matrix(0.79), (nothing, f"{(0.738 + 0.853) / 2:.3f}", f"{0.853 / (0.853 + 0.262):.3f}")])  # fmt: skip
for statement, name, true, false in (
    ("From scratch it passes 80 %", "7ess-v9", 0.8, 0.79),
    ("V2 and V7 gain a little over V1", V1, 0.82, 0.83),
    ("V3 is behind V1 and then recovers", "7ess-v3-rope", 0.83, 0.81),
    ("V7 to V10 add little to V6", "7ess-v10-rope", 0.825, 0.85),
    ("The second phase hardly changes V5", "7ess-v5-rope", 0.773, 0.80),
):
    TABLE.of(statement, OWN, holds=[with_one(name, true)], fails=[with_one(name, false)])
TABLE.of(
    "V4 is the most robust", OWN, holds=[robust(0.83, 0.001)], fails=[robust(0.81, 0.009)], open=[robust(0.81, 0.001), robust(0.83, 0.009)]
)

# ---- made-up runs


def of(wrong: Mapping[str, int], seeds: int = 2, **options: Any) -> Numbers:
    return runs(ON, wrong, seeds, **options)


def phases(plain: int, rope: int, versions: int = len(VERSIONS), **more: int) -> Numbers:
    """Return versions in both phases, and V1 in each at equal epochs if its numbers are in `more`."""
    named = {"first": "7ess-v1@epochs", "second": f"{V1}@epochs"}
    wrong = {name: number for v in VERSIONS[:versions] for name, number in ((v, plain), (f"{v}-{ROPE}", rope))}
    return of(wrong | {named[name]: number for name, number in more.items()})


TABLE.of(
    "RoPE and QK-norm gain", HERE, holds=[phases(70, 10)], fails=[phases(10, 70)],
    open=[phases(30, 30), phases(70, 10, 5), (phases(70, 10, 5, first=20, second=40),
    "at equal epochs V1 (baseline) gains −10.00 points [")],
    unjudged=[(phases(70, 10, 2), "of 2 versions 2 gain significantly"), nothing],
)  # fmt: skip


def best(own: int, rivals: int, epochs: str = "") -> Numbers:
    """Return V6 and its rivals at equal updates, and at equal epochs all, with the orders exchanged, or V1 alone."""
    wrong = {f"{v}-{ROPE}": rivals for v in VERSIONS} | {BEST: own}
    if epochs == "reversed":
        wrong |= {f"{name}@epochs": rivals if name == BEST else own for name in wrong}
    elif epochs:
        wrong |= {f"{name}@epochs": number for name, number in wrong.items() if epochs == "all" or name in (BEST, V1)}
    return of(wrong)


ALONE = "no runs of equal epochs are installed: sentviz study sevenessxin-versions-epochs"
BOTH = "; at equal epochs, of 9 other versions of its phase"
TABLE.of(
    "V6 with RoPE is the best", HERE, holds=[(best(10, 70), ALONE), (best(10, 70, "all"), BOTH)],
    fails=[(best(70, 10), ALONE), (best(70, 10, "all"), BOTH), best(70, 10, "few")],
    open=[best(30, 30), best(10, 70, "reversed"), best(70, 10, "reversed"), best(10, 70, "few"),
          (of({BEST: 30, V2: 30, V1: 31}), "V2 RoPE gives the same predictions for every tweet")],
    unjudged=[nothing],
)  # fmt: skip


def tweets(few: int, every: int, few_epochs: int | None = None, all_epochs: int = 0) -> Numbers:
    """Return V1 with 5,000 and with all tweets, at equal updates and, if given, at equal epochs."""
    more = {} if few_epochs is None else {"7ess-v1@5k-epochs": few_epochs, "7ess-v1@epochs": all_epochs}
    return of({"7ess-v1@5k": few, "7ess-v1": every} | more)


AT_BOTH = ("5,000", "110,944", "at equal updates (", "at equal epochs (")
SIZES = {"7ess-v1@5k": 90, "7ess-v1@20k": 40, "7ess-v1@80k": 44, "7ess-v1": 40}
FLAT = ("from 20,000 tweets on, at equal updates: to 80,000 −2.00 points [", "to all +0.00 points [", "so no gain is shown there")
TABLE.of(
    "Fewer tweets to learn from", HERE, holds=[(tweets(70, 10, 70, 10), *AT_BOTH)], fails=[(tweets(10, 70, 10, 70), *AT_BOTH)],
    open=[(tweets(30, 30, 30, 30), *AT_BOTH), (tweets(70, 10), "no runs of equal epochs are installed: sentviz study sevenessxin-epochs"),
          tweets(70, 10, 10, 70), (of(SIZES), *FLAT), (of(SIZES | {"7ess-v1": 4}), "to all +18.00 points [")],
    unjudged=[of({"7ess-v1": 10}), nothing],
)  # fmt: skip


def sizes(base: int, larger: int) -> Numbers:
    return of(dict.fromkeys(("7ess-v1", "7ess-v6"), base) | dict.fromkeys(("7ess-v2", "7ess-v3", "7ess-v7", "7ess-v9"), larger))


alike = dict.fromkeys(("7ess-v1", "7ess-v2"), 20)
TABLE.of(  # alike answers, far ones, ones that 200 rows cannot tell from a point, and far ones at equal epochs alone
    "More depth, width and heads", HERE, holds=[sizes(20, 20), of(alike)], open=[sizes(20, 24)], unjudged=[nothing],
    fails=[sizes(20, 80), sizes(80, 20), (of(alike | {f"{V1}@epochs": 20, f"7ess-v7-{ROPE}@epochs": 80}),
    "V7 RoPE against V1 RoPE at equal epochs −30.00")],
)  # fmt: skip


def leaning(counts: list[list[int]], **seeds: int) -> Numbers:
    """Put runs with a confusion matrix in place of the installed ones."""
    run = stub_run("a/b", labels=("negative", "positive"), metrics=lambda: {"test": {"confusion": counts}})
    names = {"v6": BEST, "v1": "7ess-v1"}
    return patched({CONFIGURATIONS: lambda runs: {names[name]: [run] * number for name, number in seeds.items()}})


POSITIVE, NEGATIVE, EVEN = [[700, 300], [150, 850]], [[850, 150], [300, 700]], [[80, 20], [19, 81]]
TABLE.of("The model prefers the positive", HERE, holds=[leaning(POSITIVE, v6=2), (leaning(POSITIVE, v6=1, v1=2), "V1 (baseline)")],
         fails=[leaning(NEGATIVE, v6=2)], open=[leaning(EVEN, v6=2)], unjudged=[leaning(POSITIVE, v6=1), nothing])  # fmt: skip


def padding(low: float, high: float) -> Numbers:
    row = ["all", 200, (low + high) / 2, low, high, -0.01, -0.02, 0.001, 0.3, "a/b", "d"]
    return planted("sevenessxin.measured.PADDING", pd.DataFrame([row], columns=list(measured.PADDING.columns)))


MASKED = ("a/b was trained masked", "−1.00 points [−2.00, +0.10]", "so this is not its setting")
TABLE.of("A run that was trained masked", HERE, holds=[(padding(0.05, 0.07), *MASKED)], fails=[padding(0.001, 0.004)],
         unjudged=[planted("sevenessxin.measured.PADDING")])  # fmt: skip
TABLE.of("A run that was trained masked", HERE, open=[padding(0.005, 0.02)])
read = {pair: of(dict(zip(("7ess-v1", "7ess-v1-unmasked"), pair, strict=True)), 3) for pair in ((20, 20), (20, 80), (80, 20), (20, 24))}
TABLE.of("Trained with padding read", HERE, holds=[(read[20, 20], "90.0\u00a0%", "3 against 3 seeds")], fails=[read[20, 80], read[80, 20]],
         open=[read[20, 24]], unjudged=[of({"7ess-v1-unmasked": 20}, 3), nothing])  # fmt: skip
NEUTRAL = [["neutral", 90, 0.6, 0.5, 0.7, 0.3, 0.2, 0.4, "a/b", "d"], ["polar", 60, 0.6, 0.5, 0.7, 0.8, 0.7, 0.9, "a/b", "d"]]
shares = planted("sevenessxin.measured.NEUTRAL", pd.DataFrame(NEUTRAL, columns=list(measured.NEUTRAL.columns)))
TABLE.of("Neutral tweets with two labels", HERE, never=["holds", "fails"],
         unjudged=[(shares, "30.0\u00a0% [20.0, 40.0] of 90 neutral", "80.0\u00a0%"), planted("sevenessxin.measured.NEUTRAL")])  # fmt: skip

# ---- what ours do not decide

UNDECIDED = ("holds", "fails")
TABLE.of("From scratch it passes 80 %", HERE, never=UNDECIDED, unjudged=[of({"7ess-v1": 10}), of({"7ess-v1": 90}), nothing])


def sized(*numbers: int) -> Numbers:
    """Return V1 in both phases with these numbers of parameters."""
    every = [stub_run(f"{ON}/{name}", config={"parameters": number, "recipe": {"seed": 0}, "data": {"name": ON}},
    configuration=name, of_a_study=True)
             for name, number in zip(("7ess-v1", V1), numbers, strict=False)]  # fmt: skip
    return patched({"sentviz.analysis.claim.not_learned": lambda runs: {}}, lambda world: every)


TABLE.of("The second phase adds no parameters", HERE, holds=[sized(4_139_010, 4_139_013)], fails=[sized(4_139_010, 4_339_010)],
         unjudged=[sized(4_139_010), nothing])  # fmt: skip


def losses(*of_v3: float, count: int = 6) -> Numbers:
    """Return two seeds of V1, V2 and V3, which has two validation losses of its own."""

    def numbers(world: World) -> Sequence[Run]:
        planted_runs = world.runs(ON, {f"7ess-v{v}-{ROPE}": 10 for v in (1, 2, 3)})

        def history(run: Run) -> pd.DataFrame:
            values = of_v3 if "v3" in run.configuration else (0.6, 0.5)
            return pd.DataFrame({"name": "validation_loss", "step": [1, 2], "epoch": [0.5, 1.0], "value": values})

        world.patch.setattr(Run, "history", history)
        return planted_runs[:count]

    return numbers


HIGHER = "figure 3 is of the paper's own trainings", "at {} of 2 evaluations, and below all at {}; 2 seeds"
TABLE.of("V3 has the higher validation loss", HERE, never=UNDECIDED, unjudged=[
    *((losses(*each), HIGHER[0], HIGHER[1].format(*counts)) for each, counts in (((0.7, 0.6), (2, 0)), ((0.4, 0.3), (0, 2)), ((0.7, 0.3),
    (1, 1)))),
    (losses(0.7, 0.6, count=5), "V3 has one seed"), nothing])  # fmt: skip
TABLE.of("After epoch 12 V6 overfits", HERE, never=UNDECIDED,
         unjudged=[(of({f"{V6}@epochs": 10}, losses=(0.5, 0.4, 0.6)), "smallest at epoch 2.0 (0.400), 0.600 at epoch 3"),
         nothing])  # fmt: skip


def clouds(*ranks: int) -> Numbers:
    """Plant the rank of the named words in each seed; those of other cells, which are not read, would change the count."""
    rows = [{"cell": cell, "word": word, "rank": rank if cell == "TP" else 51 - min(rank, 50), "count": 1, "rows": 9, "run": f"seed {seed}"}
            for seed, rank in enumerate(ranks) for cell, words in measured.NAMED.items() for word in words]  # fmt: skip
    return planted("sevenessxin.measured.CLOUD_WORDS", rows, of({V6: 10}))


INSIDE = [(clouds(*ranks), f"In ours {inside} of 3 words") for ranks, inside in (((3, 50), 3), ((51, 0), 0), ((3, 51), 0), ((3,), 3))]
TABLE.of("True positives: love, thank, lol", HERE, never=UNDECIDED, unjudged=[*INSIDE, nothing])
TABLE.of("Negative answers: sad", HERE, never=UNDECIDED, unjudged=[(clouds(3, 2), "In ours 8 of 8 words", "FN: “work” 48 49"), nothing])


def looking(*weights: float) -> Numbers:
    """Return runs of V6 that give both named words a weight of their own, and the other words 0.1."""
    every = [stub_run(str(seed), config={"recipe": {"seed": seed}, "data": {"name": ON}},
    configuration=V6, of_a_study=True, has_weights=True, weight=weight)
             for seed, weight in enumerate(weights)]  # fmt: skip

    def load(run: Any) -> Any:
        def trace(text: str) -> Any:
            tokens = text.replace(",", "").lower().split()
            kind = next(kind for kind, sentence in printed_tables.SENTENCES.items() if sentence == text)
            row = np.array([run.weight if token in printed_tables.PEAKS[kind] else 0.1 for token in tokens])
            return SimpleNamespace(tokens=tokens, map=lambda layer: np.stack([row] * len(tokens)), label="positive")

        return SimpleNamespace(trace=trace)

    return patched({"sentviz.models.loading.load": load, "sentviz.analysis.claim.not_learned": lambda runs: {}}, lambda world: every)


PEAKS = "figures 6 and 7 are of the paper's own model", "“but” 1"
TABLE.of(
    "But and happy, happy and kidding peak", HERE, never=UNDECIDED, unjudged=[(looking(0.4), *PEAKS), (looking(0.0, 0.4), *PEAKS), nothing]
)
