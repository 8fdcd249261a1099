"""Does NDT beat DT and the matched vanilla? Comparisons of all configurations with a baseline, and an answer per data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.papers.ndt.study import CONTROL, DATASETS, NDTS, ROWS, best_ndt, configurations, tested
from sentviz.papers.studies.compare_configurations import Comparison, compared, mixed
from sentviz.papers.studies.results import values
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

BASES = {CONTROL: "vanilla-matched", "diff": "DT", "vanilla": "vanilla"}
_SAID = {"better": "beats", "worse": "is worse than", "cannot be told": "cannot be told from"}


def against(runs: Iterable[Run], dataset: str, base: str, split: str = "test") -> pd.DataFrame:
    """`compared` of the NDT study's configurations on a data set."""
    return compared(configurations(runs, dataset), base, split)


@dataclass(frozen=True)
class Answer:
    """Does NDT beat DT and the matched vanilla on a data set? The configuration was chosen on validation."""

    dataset: str
    model: str
    accuracy: float
    comparisons: dict[str, Comparison]
    chosen_of: int  # number of NDT configurations available
    rows: str = ""  # kind of test rows if the data set has several kinds, else ""

    @property
    def short(self) -> str:
        """Answer in words, without numbers."""
        words = {base: self.comparisons[base].word() for base in ("diff", CONTROL) if base in self.comparisons}
        if len(set(words.values())) == 1 and len(words) == 2:
            word = words[CONTROL]
            phrase = f"{_SAID[word]} {BASES['diff']} {'or' if word == 'cannot be told' else 'and'} {BASES[CONTROL]}"
        else:
            phrase = " and ".join(f"{_SAID[word]} {BASES[base]}" for base, word in words.items())
        lost = [BASES[base] for base in ("diff", CONTROL) if base not in words]
        rest = f"no run of {' or '.join(lost)} is installed" if lost else ""
        title = ", on ".join(filter(None, (DATASETS[self.dataset], self.rows)))
        return f"{title}: " + "; ".join(filter(None, (f"NDT {phrase}" if phrase else "", rest)))

    @property
    def numbers(self) -> str:
        """Numbers behind the short answer: model, accuracies, differences in points, seeds and number of rows."""
        against = [
            f"{BASES[base]} ({percent(each.accuracies[1], 2)}) {each.points}{'' if each.seeds == self.seeds else f', {each.compared}'}"
            for base, each in self.comparisons.items()
        ]
        if not against:
            return f"{self.model}, {percent(self.accuracy, 2)}; no baseline is installed to compare with."
        each = next(iter(self.comparisons.values()))
        few = "" if self.chosen_of == len(NDTS) else f" {self.chosen_of} of {len(NDTS)} NDT configurations are installed."
        how = f"{each.compared.capitalize()}, n = {each.n:,}.{few}"
        return f"{self.model}, {percent(self.accuracy, 2)}, compared with {'; '.join(against)}. {how}"

    @property
    def sentence(self) -> str:
        """The answer in one sentence with its numbers."""
        return f"{self.short}: {self.numbers}"

    @property
    def seeds(self) -> tuple[int, int]:
        """Number of seeds of the NDT and of the baseline in the first comparison; (0, 0) if there is no comparison."""
        return next((comparison.seeds for comparison in self.comparisons.values()), (0, 0))

    @property
    def word(self) -> Literal["yes", "no", "cannot be told"]:
        """Verdict: "yes" if NDT beats both DT and the matched vanilla, "no" if it is worse than either, else "cannot be told"."""
        words = [self.comparisons[base].word() if base in self.comparisons else "cannot be told" for base in ("diff", CONTROL)]
        if "worse" in words:
            return "no"
        return "yes" if words == ["better", "better"] else "cannot be told"


def answer(runs: Iterable[Run], dataset: str, split: str = "test") -> Answer | None:
    """Return the study's answer on a split of a data set; None if the best NDT was not tested on the split.

    The best NDT is chosen by validation among all runs of the data set, so it is the same on every split.
    """
    every = list(runs)
    by_model = tested(every, dataset, split)
    best = [run for run in best_ndt(every, dataset) if run in by_model.get(run.configuration, ())]
    if not best:
        return None
    noise = seed_noise(by_model.values(), split)
    by_base = {base: mixed(best, by_model[base], split, noise) for base in BASES if base in by_model}
    model = best[0].configuration
    accuracy = fmean(values(best, split=split))
    return Answer(dataset, model, accuracy, by_base, sum(name in NDTS for name in by_model), ROWS.get(dataset, {}).get(split, ""))


def answers_by_rows(runs: Iterable[Run], dataset: str) -> list[Answer]:
    """Return the answer on each kind of test rows of a data set, strictest first.

    The order is "no", "cannot be told", "yes"; equal verdicts are sorted by the number of baselines that NDT beats, lowest first.
    """
    every = list(runs)
    by_split = [answer(every, dataset, split) for split in ROWS.get(dataset, {"test": ""})]

    def strict(item: Answer) -> tuple[int, int]:
        beaten = [base for base in ("diff", CONTROL) if base in item.comparisons and item.comparisons[base].word() == "better"]
        return ("no", "cannot be told", "yes").index(item.word), len(beaten)

    return sorted((item for item in by_split if item), key=strict)


def answers(runs: Iterable[Run]) -> list[str]:
    """Return whether NDT beats DT and the matched vanilla, one sentence per data set and kind of test rows."""
    every = list(runs)
    return [answer.sentence for dataset in DATASETS for answer in answers_by_rows(every, dataset)]
