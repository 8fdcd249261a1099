"""The study of Sentiment-Fused Attention: its runs, their gains over the baseline, and what the paper prints beside them.

The paper fine-tunes five pretrained encoders. Ours are one small encoder trained from scratch and, for each data set whose runs on a base
are installed, one pretrained encoder with an adapter. Their numbers stand beside the printed ones and never replace them. Settings are
compared within one encoder only. Accuracies and gains are shares (0 to 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from sentviz.analysis.maps.compare import difference
from sentviz.analysis.maps.heads import FILE
from sentviz.charts.subjects import Sentence
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, signed
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import compared, compared_frame, in_points, mixed
from sentviz.papers.studies.results import values
from sentviz.runs.intervention import Edit
from sentviz.runs.registry import read_paper
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

ROUNDING = 1e-7  # largest rounding error of a weight in single precision
FOLDER = Path(__file__).parent / "printed"
MODELS = read_paper(Path(__file__).parent).studies["fused"].models
PRINTED = "nsmc"  # the data set that the paper's gains are of
DATASETS = {"nsmc": "NSMC", "sst2": "SST-2"}  # ours: the paper has NSMC only
ENCODERS = ("ko-electra", "kr-electra", "kc-electra", "xlm-roberta-base", "kr-bert")
BASE, XIA, CHOSEN = "cls", "cls-xia", "cls-last-scaled"  # the last is what the paper takes to the out-of-domain tasks
WHOLE_WORDS = f"{CHOSEN}-whole-words"
SETTINGS = {
    "cls": "Baseline",
    "cls-xia": "Xia et al., product",
    "cls-all": "All heads",
    "cls-all-scaled": "All heads ÷ √d",
    "cls-last": "Last head",
    "cls-last-scaled": "Last head ÷ √d",
}
SCRATCH = "cls"  # encoder trained from scratch; the names of its settings are those of `SETTINGS`
PRETRAINED = {"nsmc": "e5", "sst2": "minilm", "klue_nli": "e5", "korean_hate_speech": "e5", "question_pair": "e5"}  # data set -> base
FROM_CLS = {"e5": "e5-from-cls"}  # base whose classifier reads the mean of all tokens -> the same base, whose classifier reads [CLS]
ENCODER_TITLES = {SCRATCH: "from scratch", "e5": "multilingual E5", "e5-from-cls": "multilingual E5 that reads [CLS]", "minilm": "MiniLM"}
INJECTED = tuple(model for model in SETTINGS if model not in (BASE, XIA))
KINDS = {"McNemar": "one seed", "over seeds": "over seeds"}
_PRINTED = {
    "baseline": "cls",
    "xia2021_hadamard": "cls-xia",
    "all_heads": "cls-all",
    "all_heads_scaled": "cls-all-scaled",
    "last_head": "cls-last",
    "last_head_scaled": "cls-last-scaled",
}


@dataclass(frozen=True)
class Task:
    """One of the paper's out-of-domain tasks, with the data set of our runs."""

    title: str
    printed: str  # name in the printed table; "" if the paper has no such test
    dataset: str  # data set of our runs; "" if we have no training pairs of the task
    split: str = "test"


TASKS = (
    Task("KorNLI", "KorNLI", "klue_nli", "kornli_xnli"),
    Task("KLUE-NLI", "", "klue_nli"),
    Task("PAWS", "PAWS", ""),
    Task("Hate speech", "Hate-Speech", "korean_hate_speech"),
    Task("Question pairs", "Question-Pair", "question_pair"),
)


# ---- what the paper prints


Reading = Literal["means", "labels"]
READINGS: dict[Reading, str] = {  # two ways to name the four injected rows of table 1, whose labels are damaged
    "means": "rows named by the means of table 2",
    "labels": "rows named by the damaged labels of table 1",
}
BY_LABELS = {"cls-all": "cls-all-scaled", "cls-all-scaled": "cls-all", "cls-last": "cls-last-scaled", "cls-last-scaled": "cls-last"}


def printed_accuracies(reading: Reading = "means") -> pd.DataFrame:
    """Table 1: model, encoder, value.

    What is left of the row labels, and the sentence of section 5.1 on 92.65, fit another order of its rows than the means of table 2 do.
    """
    long = _long("nsmc_accuracy", "injection")
    return long if reading == "means" else long.assign(model=long["model"].replace(BY_LABELS))


def printed_gains(reading: Reading = "means") -> pd.DataFrame:
    """The five settings of table 1 against its baseline: model, encoder, value."""
    long = printed_accuracies(reading)
    base = long[long["model"] == BASE].set_index("encoder")["value"]
    injected = long[long["model"] != BASE].reset_index(drop=True)
    return injected.assign(value=(injected["value"] - injected["encoder"].map(base)).round(6))


def printed_tasks() -> pd.DataFrame:
    """Table 3: task, encoder, baseline, injected, value (the gain)."""
    long = _long("out_of_domain", "variant", "task")
    wide = long.pivot(index=["task", "encoder"], columns="model", values="value").reset_index()
    wide = wide.rename(columns={BASE: "baseline", CHOSEN: "injected"}).rename_axis(columns=None)
    return wide.assign(value=(wide["injected"] - wide["baseline"]).round(6))[["task", "encoder", "baseline", "injected", "value"]]


def published_accuracies() -> pd.DataFrame:
    """Accuracies that are published for pretrained Korean encoders: task, encoder (the paper's, or NaN), model, value, metric, source."""
    frame = pd.read_csv(FOLDER / "published.csv")
    return frame.assign(value=(frame["value"].astype(float) / 100).round(6))


def published() -> pd.DataFrame:
    """Return each baseline of tables 1 and 3 beside the published number of the same encoder and task that is nearest to it.

    Columns: task, encoder, baseline, published, metric, model, source (NaN without a published number), and equal (to two decimals).
    """
    first = printed_accuracies()
    first = first[first["model"] == BASE].assign(task="NSMC").rename(columns={"value": "baseline"})
    rows = pd.concat([first, printed_tasks()])[["task", "encoder", "baseline"]].reset_index(drop=True)
    both = rows.reset_index().merge(published_accuracies().rename(columns={"value": "published"}), on=["task", "encoder"], how="left")
    both["apart"] = (both["published"] - both["baseline"]).abs()
    nearest = both.sort_values("apart", kind="stable").drop_duplicates("index").sort_values("index")
    nearest["equal"] = nearest["apart"] < 0.00005
    return nearest[["task", "encoder", "baseline", "published", "metric", "model", "source", "equal"]].reset_index(drop=True)


def statistics(reading: Reading = "means") -> pd.DataFrame:
    """Table 2, in points: model, mean, deviation (divisor n - 1), variance, printed_mean, printed_sigma, printed_sigma_squared, n."""
    table = pd.read_csv(FOLDER / "gain_statistics.csv").assign(model=lambda frame: frame["injection"].map(_PRINTED))
    table = table.set_index("model")
    rows = []
    for model, part in printed_gains(reading).groupby("model"):
        if model in table.index:
            points = 100 * part["value"].to_numpy(float)
            reported = table.loc[model, ["mean_gain_points", "printed_sigma", "printed_sigma_squared"]]
            rows.append((model, points.mean(), points.std(ddof=1), points.var(ddof=1), *map(float, reported), len(points)))
    columns = ["model", "mean", "deviation", "variance", "printed_mean", "printed_sigma", "printed_sigma_squared", "n"]
    return pd.DataFrame(rows, columns=columns).set_index("model").loc[list(INJECTED)].reset_index()


def _long(name: str, column: str, *keys: str) -> pd.DataFrame:
    frame = pd.read_csv(FOLDER / f"{name}.csv")
    frame["model"] = frame[column].map(_PRINTED)
    long = frame.melt([*keys, "model"], list(ENCODERS), "encoder", "value")
    return long.assign(value=(long["value"].astype(float) / 100).round(6))


# ---- what the runs here measure


def encoders(runs: Iterable[Run], *datasets: str) -> list[str]:
    """Return our encoders on some data sets; a claim's verdict is that of the first.

    A base is listed if a baseline run and an injected run on it are installed. It stands before the encoder from scratch if it has the
    same settings, with several seeds wherever the other has several, because a smaller set of runs decides less.
    """
    every = list(runs)
    complete: dict[str, bool] = {}
    for name in datasets:
        base = PRETRAINED.get(name, SCRATCH)
        scratch, based = configurations(every, name), configurations(every, name, base)
        if base != SCRATCH and {BASE} < based.keys():
            enough = all(len(based.get(setting, ())) >= min(2, len(seeds)) for setting, seeds in scratch.items())
            complete[base] = complete.get(base, True) and enough
    return [*(base for base in complete if complete[base]), SCRATCH, *(base for base in complete if not complete[base])]


def encoders_on_cls(runs: Iterable[Run], dataset: str) -> list[str]:
    """Return our encoders for claims on [CLS]: those of `encoders`, each in its version that reads [CLS] if that is installed."""
    every = list(runs)
    reading = {base: name for base, name in FROM_CLS.items() if BASE in configurations(every, dataset, name)}
    return [reading.get(encoder, encoder) for encoder in encoders(every, dataset)]


def configurations(runs: Iterable[Run], dataset: str, encoder: str = SCRATCH) -> dict[str, list[Run]]:
    """Return the study's runs of a data set and an encoder by setting, in the paper's order, seeds in order.

    A setting has one name for all encoders: "cls-xia" is the key of the runs `cls-xia`, `e5-xia` and `minilm-xia`.
    """
    names = {encoder + setting.removeprefix(BASE): setting for setting in MODELS}
    return {names[name]: seeds for name, seeds in compare_configurations.configurations(runs, dataset, tuple(names)).items()}


def reads_mean(runs: Iterable[Run], dataset: str, encoder: str) -> str:
    """Return why an encoder cannot be judged on [CLS]: its classifier reads the mean of all tokens; "" if it reads [CLS]."""
    by_setting = configurations(runs, dataset, encoder)
    if not any(not run.capabilities.cls for seeds in by_setting.values() for run in seeds):
        return ""
    return f"the classifier of {ENCODER_TITLES[encoder]} reads the mean of all tokens, but section 6 is about a [CLS] that is read"


def gains(runs: Iterable[Run], dataset: str, encoder: str = SCRATCH) -> pd.DataFrame:
    """Return every setting against the baseline of the same encoder on the same test rows, as `compared` does, with two more columns.

    kind: "over seeds", or "one seed" if no setting has two, because chance in training is then unknown. spread: the standard deviation of
    the setting's accuracy over seeds, NaN for one.
    """
    by_setting = configurations(runs, dataset, encoder)
    frame = compared(by_setting, BASE)
    spreads = [spread(by_setting[model]) if len(by_setting[model]) > 1 else np.nan for model in frame["model"]]
    return frame.assign(kind=frame["test"].map(KINDS), spread=np.array(spreads, dtype=float))


def statistics_here(runs: Iterable[Run]) -> pd.DataFrame:
    """Return mean and standard deviation (divisor n - 1) of our gains on NSMC over our encoders, in points: model, ours, ours_deviation,
    encoders; NaN where there are fewer than two.
    """
    every = list(runs)
    frames = [gains(every, PRINTED, encoder).set_index("model")["difference"] for encoder in encoders(every, PRINTED)]
    rows = []
    for model in INJECTED:
        points = [100 * float(frame[model]) for frame in frames if model in frame.index]
        spread = float(np.std(points, ddof=1)) if len(points) > 1 else np.nan
        rows.append((model, float(np.mean(points)) if points else np.nan, spread, float(len(points))))
    return pd.DataFrame(rows, columns=["model", "ours", "ours_deviation", "encoders"])


def task_encoders(runs: Iterable[Run]) -> list[str]:
    """Return our encoders on the out-of-domain tasks, as `encoders` does."""
    return encoders(runs, *(task.dataset for task in TASKS))


def out_of_domain(runs: Iterable[Run], encoder: str = SCRATCH) -> pd.DataFrame:
    """Return the paper's best setting against the baseline on every task that has runs of both, with Holm's correction over the tasks.

    Columns: task (title), dataset, split, baseline, injected (mean accuracies), difference, low, high, p, adjusted, verdict, seeds,
    base_seeds, n, test.
    """
    comparisons, every = {}, list(runs)
    for task in TASKS:
        by_setting = configurations(every, task.dataset, encoder)
        base, chosen = ([run for run in by_setting.get(model, []) if task.split in run.metrics()] for model in (BASE, CHOSEN))
        if base and chosen:
            comparisons[task] = mixed(chosen, base, task.split)
    frame = compared_frame({task.title: comparison for task, comparison in comparisons.items()})
    tasks = pd.DataFrame([(task.title, task.dataset, task.split) for task in comparisons], columns=["task", "dataset", "split"])
    renamed = frame.drop(columns="name").rename(columns={"base": "baseline", "accuracy": "injected"})
    columns = ["baseline", "injected", "difference", "low", "high", "p", "adjusted", "verdict", "seeds", "base_seeds", "n", "test"]
    return tasks.join(renamed[columns])


def heads_by_setting(runs: Iterable[Run], dataset: str, encoder: str = SCRATCH) -> tuple[dict[str, pd.DataFrame], list[Run]]:
    """Return head measures of the baseline and of the paper's best setting for `sentviz.charts.heads.layer_lines`, and the runs.

    Several seeds are averaged; low and high are then their least and largest value.
    """

    frames: dict[str, pd.DataFrame] = {}
    sources: list[Run] = []
    for model in (BASE, CHOSEN):
        seeds = [run for run in configurations(runs, dataset, encoder).get(model, []) if FILE in run.files]
        if not seeds:
            continue
        sources += seeds
        together = pd.concat([run.frame(FILE) for run in seeds])
        by = together.groupby(["layer", "head", "measure"], sort=False, as_index=False)
        frame = by.agg(value=("value", "mean"), low=("value", "min"), high=("value", "max"), n=("n", "max"))
        frames[SETTINGS[model]] = frame if len(seeds) > 1 else seeds[0].frame(FILE)
    return frames, sources


@dataclass(frozen=True)
class Answer:
    """Does the injection help on a data set? `rows`: one comparison with the baseline per setting of the paper's four that has runs."""

    dataset: str
    baseline: float | None  # mean accuracy
    rows: pd.DataFrame
    encoder: str = SCRATCH
    several: bool = False  # True if the data set has answers of several encoders, so that this one names its encoder

    @property
    def word(self) -> Literal["yes", "no", "cannot be told"]:
        """Yes if every setting is here and better, no if none is better and most are worse."""
        worse = int((self.rows["verdict"] == "worse").sum())
        if len(self.rows) == len(INJECTED) and set(self.rows["verdict"]) == {"better"}:
            return "yes"
        return "no" if 2 * worse > len(INJECTED) and "better" not in set(self.rows["verdict"]) else "cannot be told"

    @property
    def short(self) -> str:
        """Answer in words, without accuracies."""
        title = DATASETS[self.dataset] + (f", {ENCODER_TITLES[self.encoder]}" if self.several else "")
        if self.baseline is None:
            return f"{title}: no baseline is installed"
        if self.rows.empty:
            return f"{title}: no injected run is installed"
        counts, total = Counter(self.rows["verdict"]), len(INJECTED)
        words = {
            "better": ("gains", "gain"),
            "worse": ("loses", "lose"),
            "cannot be told": ("has no significant difference", "have no significant difference"),
        }
        parts = [(counts[word], forms[counts[word] > 1]) for word, forms in words.items() if word in counts]
        if (missing := total - len(self.rows)) > 0:
            parts.append((missing, "has no run" if missing == 1 else "have no run"))
        if len(parts) == 1:
            return f"{title}: all {total} settings {parts[0][1]}"
        return f"{title}: of {total} settings {', '.join(f'{count} {form}' for count, form in parts)}"

    @property
    def numbers(self) -> str:
        """Numbers behind the short answer."""
        if self.baseline is None or self.rows.empty:
            return f"`{command(self.dataset, self.encoder)}` trains the missing runs."
        gains = []
        for row in self.rows.to_dict("records"):
            several = f"{row['seeds']} against {row['base_seeds']} seeds" if row["test"] == "over seeds" else "one seed each"
            gains.append(f"{SETTINGS[row['model']]} {in_points(row)}, {several}")
        sentence = f"Baseline {percent(self.baseline, 2)}; gains: {'; '.join(gains)}. n = {int(self.rows['n'].max()):,}."
        return " ".join(filter(None, (sentence, self.beside_print)))

    @property
    def beside_print(self) -> str:
        """Sentence on how many intervals lie below the paper's mean gain; "" without rows or on a data set other than `PRINTED`."""
        if self.dataset != PRINTED or self.rows.empty:
            return ""
        means = statistics().set_index("model")["mean"]
        wanted = means[self.rows["model"]].to_numpy(float)
        below = int((100 * self.rows["high"].to_numpy(float) < wanted).sum())
        how = "all" if below == len(self.rows) else f"{below} of {len(self.rows)}"
        gains = f"{signed(means.min())} to {signed(means.max())} points for pretrained encoders"
        return f"The paper's mean gains, {gains}, are above {how} of these intervals."

    @property
    def sentence(self) -> str:
        """Short answer followed by its numbers."""
        return f"{self.short}. {self.numbers}"


def command(dataset: str, encoder: str = SCRATCH) -> str:
    """Return the command that trains runs of an encoder on a data set."""
    if encoder == SCRATCH:
        return f"sentviz study fused --dataset {dataset}"
    return f"sentviz train fused_{dataset}_{encoder} --model {encoder}-last-scaled"


def answer(runs: Iterable[Run], dataset: str, encoder: str = SCRATCH) -> Answer:
    """Return the study's answer on a data set by the runs of one encoder."""
    every = list(runs)
    base = configurations(every, dataset, encoder).get(BASE)
    mean = None if base is None else float(np.mean(values(base)))
    frame = gains(every, dataset, encoder).set_index("model")
    rows = frame.loc[[model for model in INJECTED if model in frame.index]].reset_index()
    return Answer(dataset, mean, rows, encoder, several=len(encoders(every, dataset)) > 1)


def answers(runs: Sequence[Run]) -> list[str]:
    """Return whether the injection helps, one sentence per data set and encoder that has a baseline."""
    by_encoder = [answer(runs, dataset, encoder) for dataset in DATASETS for encoder in encoders(runs, dataset)]
    return [each.sentence for each in by_encoder if each.baseline is not None]


def readable(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of the paper's best setting that have weights, English first."""
    return [run for dataset in ("sst2", "nsmc") for run in configurations(runs, dataset).get(CHOSEN, []) if run.has_weights]


def has_readable(of: Studied) -> bool:
    """Return whether a run of the paper's best setting has weights."""
    return bool(readable(of.runs))


def example(of: Studied) -> Sentence:
    """Return the example of the first readable run."""
    return Sentence(readable(of.runs)[0])


def last_head(of: Studied) -> dict[str, int]:
    """Return the last head of the first readable run, as an option of a figure."""
    return {"head": readable(of.runs)[0].capabilities.heads - 1}


def change_in_words(of: Studied) -> str:
    """Return how much the lexicon changes the weights of the last head in layer 1, on the example of the first readable run."""
    sentence = example(of)
    change = difference(sentence.new_trace(Edit("term", name="lexicon", to=0.0)), sentence.fresh)
    assert change.attention is not None
    head = len(change.head_ids) - 1
    moved = np.abs(change.attention[0, head])
    own = float(moved[0].max())
    rows = f"row of [CLS] **{own if own > ROUNDING else 0:.2g}**, column of [CLS] **{moved[1:, 0].max():.2g}**"
    return (
        f"Layer 1, head {head + 1}: the same weights, the same Q and K, with σ and without. Largest change of a weight: {rows},"
        f" elsewhere **{moved[1:, 1:].max():.2g}**. Rows of neutral tokens do not change."
    )


def spread(seeds: Sequence[Run]) -> float:
    """Standard deviation of test accuracy over seeds (divisor S - 1)."""
    return float(np.std(values(seeds), ddof=1))
