"""Judge what 7ess-Xin says of its versions, its training and its words: the research question, loss curves, clouds and importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean

from sentviz.analysis.claim import Board, Finding, decide, not_testable, settled, strictest_finding
from sentviz.analysis.evaluation import Floats
from sentviz.io.numbers import percent, signed
from sentviz.papers.sevenessxin import measured, printed_tables
from sentviz.papers.sevenessxin.study import at_equal_epochs, configurations
from sentviz.papers.sevenessxin.versions import ROPE, VERSIONS
from sentviz.papers.studies.judging import needed, seeds_in_words
from sentviz.papers.studies.results import values
from sentviz.runs.store import Run

CEILING = 0.8  # accuracy at which Sentiment140 is said to plateau
LITTLE = 0.01  # difference of accuracies that is modest or marginal
NEGLIGIBLE = 1e-4  # growth of the number of parameters that counts as none
PROMINENT = 50  # most frequent words of a cell; a cloud draws up to 200
FIRST, SECOND = "", f"-{ROPE}"
PHASES = {FIRST: "phase 1", SECOND: "phase 2"}
ON = printed_tables.DATASET
MISSING = f"the runs are not installed: {printed_tables.train()}"
BOARD = Board({ON: "Sentiment140"})
printed = partial(BOARD.claim, against="its own tables", kind="printed")
counted = partial(BOARD.claim, against="runs here", kind="counted")
of_clouds = partial(counted, where="section IV-D2, figure 8", section="clouds", how="ranks by frequency in a cell of the matrix")


def _printed(column: str = "accuracy") -> dict[str, float]:
    """Return a column of table II (0 to 1) by preset."""
    return {str(row["model"]): float(row[column]) for row in printed_tables.table("results").to_dict("records")}


def _points(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {signed(100 * value)}" for name, value in values.items())


# ---- the paper's own tables


@printed({ON: "c7a1e0"}, "From scratch it passes 80 %", where="section I, table II", section="results")
def judge_ceiling() -> Finding:
    accuracies = _printed()
    below = [printed_tables.title(name) for name, value in accuracies.items() if value < CEILING]
    every = all(value >= CEILING for name, value in accuracies.items() if not name.startswith("7ess-v5"))
    evidence = f"{len(accuracies) - len(below)} of {len(accuracies)} accuracies are {percent(CEILING, 0)} or more"
    return settled(every, f"{evidence}, all but {' and '.join(below) or 'none'}; one run each, no intervals")


@printed({ON: "5b90f4"}, "V4 is the most robust light version", where="section III-C4, table II", section="results")
def judge_robust() -> Finding:
    """Test whether V4 leads the light versions, V1, V4 and V5, in accuracy and in the gap between validation and test F1, in each phase."""
    accuracies, test, validation = _printed(), _printed("f1_positive"), _printed("validation_f1")
    parts = {}
    for phase, words in PHASES.items():
        gaps = {name: abs(validation[name] - test[name]) for name in (f"{version}{phase}" for version in ("7ess-v1", "7ess-v4", "7ess-v5"))}
        v4, v1 = f"7ess-v4{phase}", f"7ess-v1{phase}"
        leads = [accuracies[v4] >= accuracies[v1], gaps[v4] == min(gaps.values())]
        below = [name for name in accuracies if name.endswith(SECOND) == bool(phase) and accuracies[name] < accuracies[v4]]
        numbers = (
            f"{printed_tables.title(v4)} has {accuracies[v4]:.4f} and {printed_tables.title(v1)} {accuracies[v1]:.4f}; only"
            f" {' and '.join(map(printed_tables.title, below)) or 'none'} has less; validation F1 is {gaps[v4]:.4f} from test F1 for V4"
            f" and {gaps[v1]:.4f} for V1"
        )
        parts[words] = Finding(decide(all(leads), not any(leads)), numbers)
    return strictest_finding(parts).noting("the paper does not say what it means by robust")


@printed({ON: "e13d68"}, "V2 and V7 gain a little over V1", where="section IV-A, table II", section="results")
def judge_modest_gains() -> Finding:
    return _in_each_phase("7ess-v1", ("7ess-v2", "7ess-v7"), 0.0, LITTLE)


@printed({ON: "08f6ab"}, "V3 is behind V1 and then recovers", where="section IV-A, table II", section="results")
def judge_wider() -> Finding:
    accuracies = _printed()
    differences = {phase: accuracies[f"7ess-v3{phase}"] - accuracies[f"7ess-v1{phase}"] for phase in (FIRST, SECOND)}
    numbers = _points({"with sinusoids": differences[FIRST], "with RoPE": differences[SECOND]})
    return settled(
        differences[FIRST] < 0 <= differences[SECOND], f"points of V3 against V1 in table II: {numbers}; one run each, no intervals"
    )


@printed({ON: "d46c21"}, "V7 to V10 add little to V6", where="section IV-A, table II", section="results")
def judge_beyond() -> Finding:
    return _in_each_phase("7ess-v6", VERSIONS[6:], -LITTLE, LITTLE)


@printed({ON: "9a25be"}, "The second phase hardly changes V5", where="section IV-C1, table II", section="phases")
def judge_few_rope() -> Finding:
    return _all_between({f"7ess-v5{SECOND}": "7ess-v5"}, -LITTLE / 2, LITTLE / 2, "V5 with sinusoids")


def _in_each_phase(base: str, compared: Sequence[str], low: float, high: float) -> Finding:
    """Test whether versions differ from another one by `low` to `high`, in each phase of table II: a part each."""
    return strictest_finding(
        {
            words: _all_between(
                {f"{version}{phase}": f"{base}{phase}" for version in compared}, low, high, printed_tables.title(f"{base}{phase}")
            )
            for phase, words in PHASES.items()
        }
    )


def _all_between(pairs: Mapping[str, str], low: float, high: float, base: str) -> Finding:
    accuracies = _printed()
    differences = {printed_tables.title(name): accuracies[name] - accuracies[base_name] for name, base_name in pairs.items()}
    evidence = f"points of accuracy against {base} in table II: {_points(differences)}; one run each, no intervals"
    return settled(all(low < round(value, 4) < high for value in differences.values()), evidence)


# ---- runs


@counted({ON: "2f81d7"}, "From scratch it passes 80 %", where="section I", section="results")
def judge_ceiling_here(runs: Sequence[Run]) -> Finding:
    """Return our largest accuracy. It does not decide: our versions learn from a twelfth of the paper's tweets."""
    by_model = needed(configurations(runs), MISSING)
    best = {name: fmean(values(seeds)) for name, seeds in by_model.items()}
    name = max(best, key=best.__getitem__)
    return not_testable(
        f"the largest accuracy here is {percent(best[name])} ({printed_tables.title(name)}), from a twelfth of the paper's tweets; its data"
        " is not available"
    )


@counted({ON: "b603c5"}, "The second phase adds no parameters", where="abstract", section="phases")
def judge_parameters(runs: Sequence[Run]) -> Finding:
    by_model = configurations(runs)
    sizes = {name: int(seeds[0].config["parameters"]) for name, seeds in by_model.items()}
    growth = needed(
        {name: sizes[f"{name}{SECOND}"] / sizes[name] for name in VERSIONS if {name, f"{name}{SECOND}"} <= sizes.keys()}, MISSING
    )
    version = max(growth, key=growth.__getitem__)
    before, after = sizes[version], sizes[f"{version}{SECOND}"]
    numbers = f"{before:,} with sinusoids, {after:,} with RoPE and QK-norm, whose temperature is one number a layer"
    evidence = f"{printed_tables.title(version)}: {numbers}"
    return settled(growth[version] - 1 < NEGLIGIBLE, f"{evidence}; the largest growth of {len(growth)} versions")


@counted({ON: "74ed19"}, "V3 has the higher validation loss", where="section IV-C, figure 3", section="training")
def judge_loss_of_wider(runs: Sequence[Run]) -> Finding:
    """Return where V3's validation loss is above those of V1 and V2 in the second phase. Figure 3 is of the paper's own trainings."""
    losses = {name: _losses(configurations(runs).get(f"{name}{SECOND}", [])) for name in ("7ess-v1", "7ess-v2", "7ess-v3")}
    if not all(len(curves) for curves in losses.values()):
        return not_testable(MISSING)
    wide, narrow = losses["7ess-v3"], [*losses["7ess-v1"], *losses["7ess-v2"]]
    looks = min(map(len, [*wide, *narrow]))
    higher = sum(min(curve[i] for curve in wide) > max(curve[i] for curve in narrow) for i in range(looks))
    lower = sum(max(curve[i] for curve in wide) < min(curve[i] for curve in narrow) for i in range(looks))
    seeds = "V3 has one seed" if len(wide) == 1 else f"{len(wide)} seeds of V3"
    return not_testable(
        "figure 3 is of the paper's own trainings, and ours last less than one of its 10 epochs. In ours V3's loss is above that of every"
        f" seed of V1 and V2 at {higher} of {looks} evaluations, and below all at {lower}; {seeds}"
    )


def _losses(runs: Sequence[Run]) -> list[Floats]:
    """Return the validation losses of each run, in the order of its evaluations."""
    histories = (run.history() for run in runs)
    return [frame[frame["name"] == "validation_loss"].sort_values("step")["value"].to_numpy(float) for frame in histories]


@counted({ON: "a0c352"}, "After epoch 12 V6 overfits", where="section IV-C, figures 3, 4", section="training")
def judge_overfitting(runs: Sequence[Run]) -> Finding:
    """Return where the validation loss of V6's longest trainings is smallest. Six epochs do not reach the paper's epoch 12."""
    seeds = needed(at_equal_epochs(runs).get(f"7ess-v6{SECOND}", []), "no training of V6 with RoPE for several epochs is installed")
    numbers = []
    for run in seeds:
        frame = run.history()
        loss = frame[frame["name"] == "validation_loss"].sort_values("step").to_dict("records")
        least, last = min(loss, key=lambda row: row["value"]), loss[-1]
        numbers.append(
            f"smallest at epoch {least['epoch']:.1f} ({least['value']:.3f}), {last['value']:.3f} at epoch {last['epoch']:.0f}, its last"
        )
    seen = "one seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    return not_testable(
        f"V6 with RoPE on a twelfth of the tweets: its validation loss is {'; '.join(numbers)}; {seen}, and the paper's 12 epochs see"
        " twelve times the tweets"
    )


@of_clouds({ON: "3d7b96"}, "True positives: love, thank, lol", cells=("TP",))
@of_clouds({ON: "f8294e"}, "Negative answers: sad, miss, work, now, going", cells=("TN", "FN"))
def judge_cloud_words(runs: Sequence[Run], *, cells: Sequence[str]) -> Finding:
    """Return how many words that the paper names are among the most frequent of their cells, in every seed of V6 with RoPE."""
    needed(configurations(runs).get(f"7ess-v6{SECOND}", []), MISSING)
    frame = measured.CLOUD_WORDS.require()
    by_word = {(str(cell), str(word)): list(rows) for (cell, word), rows in frame.groupby(["cell", "word"])["rank"]}
    ranks = [by_word[cell, word] for cell in cells for word in measured.NAMED[cell]]
    inside = sum(all(0 < rank <= PROMINENT for rank in of_word) for of_word in ranks)
    numbers = "; ".join(
        f"{cell}: "
        + ", ".join(
            f"“{word}” {' '.join(str(rank) if rank else 'absent' for rank in by_word[cell, word])}" for word in measured.NAMED[cell]
        )
        for cell in cells
    )
    seeds = min(map(len, ranks))
    return not_testable(
        f"figure 8 is of the paper's own model. In ours {inside} of {len(ranks)} words are among the first {PROMINENT} of their cell in"
        f" every seed; ranks by frequency without WordCloud's stop words, one for each seed, {numbers};"
        f" {seeds_in_words(seeds)}"
    )


@counted({ON: "61be0d"}, "But and happy, happy and kidding peak", where="section IV-D3, figures 6, 7", section="importance")
def judge_peaks(runs: Sequence[Run]) -> Finding:
    """Return how much attention the words that figures 6 and 7 name get in layer 1. The figures are of the paper's own model."""
    from sentviz.models.loading import load

    models = needed(
        [run for run in configurations(runs).get(f"7ess-v6{SECOND}", []) if run.has_weights], "V6 with RoPE is not installed with weights"
    )
    numbers = []
    for run in models:
        for kind, words in printed_tables.PEAKS.items():
            trace = load(run).trace(printed_tables.SENTENCES[kind])
            weights = trace.map(0).mean(axis=0)
            tokens = [token.strip("Ġ ").casefold() for token in trace.tokens]
            order = sorted(range(len(tokens)), key=lambda place: -float(weights[place]))
            ranks = {word: min((order.index(i) + 1 for i, token in enumerate(tokens) if token == word), default=0) for word in words}
            places = ", ".join(f"“{word}” {rank or 'no single token'}" for word, rank in ranks.items())
            numbers.append(f"{run.name}, {kind}: ranks of {len(tokens)} tokens {places}; predicted {trace.label}")
    return not_testable(f"figures 6 and 7 are of the paper's own model. In ours, layer 1: {'; '.join(numbers)}")
