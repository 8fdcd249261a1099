"""Does NDT beat DT and the matched vanilla? Every configuration against one, and the study's question answered per data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sentviz.papers.ndt.study import CONTROL, DATASETS, NDTS, ROWS, best_ndt, configurations, tested
from sentviz.papers.studies.against import Comparison, compared, mixed
from sentviz.papers.studies.seeds import seed_noise
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

BASES = {CONTROL: "the matched vanilla", "diff": "DT", "vanilla": "vanilla"}
_SAID = {"better": "beats", "worse": "is behind", "cannot be told": "cannot be told from"}


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
    chosen_of: int  # NDT configurations here
    rows: str = ""  # which, of data sets with several kinds

    @property
    def short(self) -> str:
        """In words, without numbers."""
        words = {base: self.comparisons[base].word() for base in ("diff", CONTROL) if base in self.comparisons}
        if len(set(words.values())) == 1 and len(words) == 2:
            word = words[CONTROL]
            said = f"{_SAID[word]} {BASES['diff']} {'or' if word == 'cannot be told' else 'and'} {BASES[CONTROL]}"
        else:
            said = " and ".join(f"{_SAID[word]} {BASES[base]}" for base, word in words.items())
        lost = [BASES[base] for base in ("diff", CONTROL) if base not in words]
        rest = f"no run of {' or '.join(lost)} here" if lost else ""
        title = ", on ".join(filter(None, (DATASETS[self.dataset], self.rows)))
        return f"{title}: " + "; ".join(filter(None, (f"NDT {said}" if said else "", rest)))

    @property
    def numbers(self) -> str:
        """What the short answer rests on."""
        against = [
            f"{BASES[base]} ({one.accuracies[1]:.2%}) {one.points}{'' if one.seeds == self.seeds else f', {one.compared}'}"
            for base, one in self.comparisons.items()
        ]
        if not against:
            return f"{self.model}, {self.accuracy:.2%}; nothing here to hold it against."
        one = next(iter(self.comparisons.values()))
        few = "" if self.chosen_of == len(NDTS) else f" {self.chosen_of} of {len(NDTS)} NDT configurations are here."
        return f"{self.model}, {self.accuracy:.2%}, against {'; '.join(against)}. {one.compared.capitalize()}, n = {one.n:,}.{few}"

    @property
    def sentence(self) -> str:
        """The answer in one sentence with its numbers."""
        return f"{self.short}: {self.numbers}"

    @property
    def seeds(self) -> tuple[int, int]:
        """Of the first comparison."""
        return next((one.seeds for one in self.comparisons.values()), (0, 0))

    @property
    def word(self) -> Literal["yes", "no", "cannot be told"]:
        """On the whole question: yes if better than both, no if worse than one, else it cannot be told."""
        words = [self.comparisons[base].word() if base in self.comparisons else "cannot be told" for base in ("diff", CONTROL)]
        if "worse" in words:
            return "no"
        return "yes" if words == ["better", "better"] else "cannot be told"


def answer(runs: Iterable[Run], dataset: str, split: str = "test") -> Answer | None:
    """The study's question on a split of a data set; None without an NDT run that was tested on it."""
    those = tested(runs, dataset, split)
    best = best_ndt((run for seeds in those.values() for run in seeds), dataset)
    if not best:
        return None
    noise = seed_noise(those.values(), split)
    found = {base: mixed(best, those[base], split, noise) for base in BASES if base in those}
    model = best[0].configuration
    accuracy = sum(run.metrics()[split]["accuracy"]["value"] for run in best) / len(best)
    return Answer(dataset, model, accuracy, found, sum(name in NDTS for name in those), ROWS.get(dataset, {}).get(split, ""))


def answers_by_rows(runs: Iterable[Run], dataset: str) -> list[Answer]:
    """The same on each kind of test rows that a data set has, strictest first: by the answer, then by how many of both it beats."""
    here = list(runs)
    found = [answer(here, dataset, split) for split in ROWS.get(dataset, {"test": ""})]

    def strict(one: Answer) -> tuple[int, int]:
        beaten = [base for base in ("diff", CONTROL) if base in one.comparisons and one.comparisons[base].word() == "better"]
        return ("no", "cannot be told", "yes").index(one.word), len(beaten)

    return sorted((one for one in found if one), key=strict)


def answers(runs: Iterable[Run]) -> list[str]:
    """Return whether NDT beats DT and the matched vanilla, one sentence per data set and kind of test rows."""
    every = list(runs)
    return [answer.sentence for dataset in DATASETS for answer in answers_by_rows(every, dataset)]
