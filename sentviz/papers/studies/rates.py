"""Trainings of compared models: which learning rates and numbers of epochs were tried, which validation prefers, what a finding says.

A variant that changes the learning rate or the number of epochs alone, as in `cnn-fast`, is another training of the same model. A model
that still learned when its training ended, faster than its rival, loses no comparison for good; neither does a model whose training stopped
before the rule of its own paper, nor one that was not tried in each training of its rival.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from sentviz.analysis.claim import Finding, Verdict
from sentviz.analysis.evaluation import not_learned
from sentviz.io.numbers import percent
from sentviz.papers.studies.compare_configurations import configurations
from sentviz.runs.convergence import LEAST_FALL, late_loss, patience
from sentviz.runs.presets import TRAINING_ENDINGS, VARIANT_SETTINGS, without_training
from sentviz.runs.store import Run

ENDINGS = ("", *TRAINING_ENDINGS)
LONGER = tuple(ending for ending in TRAINING_ENDINGS if "epochs" in VARIANT_SETTINGS[ending[1:]])


def tried(by_preset: Mapping[str, Sequence[Run]], model: str) -> dict[str, str]:
    """Return the presets of a model that have runs, by the ending for their training; "" is the recipe's."""
    return {ending: name for ending in ENDINGS if (name := f"{model}{ending}") in by_preset}


def chosen(by_preset: Mapping[str, Sequence[Run]], model: str) -> str:
    """Return the preset of a model whose training has the smallest validation loss; "" if the model has no run.

    The loss is the mean over the seeds that every training has; over all seeds if there is no such seed.
    """
    losses = {name: {_seed(run): float(run.config["best"]["loss"]) for run in by_preset[name]} for name in tried(by_preset, model).values()}
    common = set.intersection(*map(set, losses.values())) if losses else set()
    used = {name: [loss for seed, loss in of.items() if seed in common or not common] for name, of in losses.items()}
    return min(used, key=lambda name: sum(used[name]) / len(used[name]), default="")


def _seed(run: Run) -> int:
    return int(run.config["recipe"].get("seed", 0))


def only_tried_for(by_preset: Mapping[str, Sequence[Run]], model: str, rival: str) -> bool:
    """Return whether a model learned in a training, at a learning rate or with epochs, that its rival did not get."""
    learned = {ending for ending, name in tried(by_preset, model).items() if not not_learned(by_preset[name])}
    return bool(learned - tried(by_preset, rival).keys())


def late_fall(runs: Sequence[Run]) -> float:
    """Return by which share of itself the validation loss fell over the last evaluation interval, the mean over seeds.

    It is negative if the loss rose, and NaN if a run has fewer than two evaluations.
    """
    return sum(late_loss(run).fall for run in runs) / len(runs)


def stopped_early(runs: Sequence[Run]) -> int:
    """Return the epochs without a smaller validation loss that the paper of a preset waits for, if a run stopped before; else 0."""
    return max((patience(run) for run in runs if late_loss(run).waited < patience(run)), default=0)


def still_learning(by_preset: Mapping[str, Sequence[Run]], preset: str, rival: str, title: Callable[[str], str] = str) -> str:
    """Return the numbers that show that a preset was not trained to its end; "" if it was.

    It still learned when its training ended, faster than its rival, or the training stopped before the rule of its own paper.
    """
    own, of_rival = late_fall(by_preset[preset]), late_fall(by_preset[rival])
    epochs = f"{title(without_training(preset))} had {_epochs(by_preset[preset])} epoch{'s' * (_epochs(by_preset[preset]) != 1)}"
    if math.isnan(own):
        return f"{epochs} and fewer than two evaluations, so it is unknown whether it still learned"
    if own < LEAST_FALL or own <= of_rival:
        waits = stopped_early(by_preset[preset])
        return f"{epochs}, and the paper waits until {waits} epochs bring no smaller validation loss" if waits else ""
    against = "" if math.isnan(of_rival) else f", that of {title(without_training(rival))} by {percent(max(0.0, of_rival))}"
    return f"{epochs}, and its validation loss still fell by {percent(own)} in the last evaluation interval{against}"


def epochs_in_words(runs: Iterable[Run], dataset: str, presets: Sequence[str], title: Callable[[str], str] = str) -> str:
    """Return how many epochs each preset was trained for, for example "epochs: 2 (A), 1 (B and C)"."""
    by_preset = configurations(runs, dataset, presets)
    by_number: dict[int, list[str]] = {}
    for preset, seeds in by_preset.items():
        by_number.setdefault(_epochs(seeds), []).append(title(without_training(preset)))
    return f"epochs: {', '.join(f'{number} ({_joined(names)})' for number, names in by_number.items())}" if by_number else ""


def remark(runs: Iterable[Run], dataset: str, presets: Sequence[str], title: Callable[[str], str] = str) -> str:
    """Return in words: different learning rates and epochs of presets, rates not searched, trainings that validation does not prefer.

    Args:
        title: name of a model in the remark.
    """
    by_preset = _of_all_trainings(runs, dataset, presets)
    names = {preset: title(without_training(preset)) for preset in presets if preset in by_preset}
    best = {preset: chosen(by_preset, without_training(preset)) for preset in names}
    unsearched = [name for preset, name in names.items() if len(tried(by_preset, without_training(preset)).keys() - set(LONGER)) == 1]
    rates = _by_rate({name: _rate(by_preset[preset]) for preset, name in names.items()})
    better = {name: _training(by_preset[best[preset]]) for preset, name in names.items() if best[preset] != preset}
    longer = [f"{names[preset]} had {_epochs(by_preset[preset])} epochs" for preset in names if _is_longer(preset)]
    usual = {_epochs(by_preset[preset]) for preset in names if not _is_longer(preset)}
    longer += [f"the others {_joined([str(each) for each in sorted(usual)])}"] if longer and usual else []
    which = f"{len(unsearched)} of {len(names)} models" if len(unsearched) > 3 else _joined(unsearched)
    several, values = len(rates) > 1, _joined([f"{rate:g}{f' ({models})' * (len(rates) > 1)}" for rate, models in rates.items()])
    if unsearched and len(unsearched) == len(names):
        words = [f"the learning rate{'s' * several}, {values}, {'were' if several else 'was'} not searched"]
    elif unsearched:
        words = [f"the learning rates are {values}"] * several + [f"the learning rate of {which} was not searched"]
    else:
        words = [f"the learning rates, {values}, were chosen by validation"] * several
    words += [_joined(longer)] if longer else []
    return "; ".join(words + [f"validation prefers {training} for {name}" for name, training in better.items()])


def with_rates(
    finding: Finding, runs: Iterable[Run], dataset: str, better: Sequence[str], rivals: Sequence[str], title: Callable[[str], str] = str
) -> Finding:
    """Return a finding on "`better` over `rivals`", presets of a data set, with `remark`.

    A claim that is decided is left open if validation prefers another training for a preset, if a preset of the winning side had a
    training, at another learning rate or with more epochs, that one of the losing side did not have, or if one of the losing side was not
    trained to its end (`still_learning`).
    """
    if finding.verdict == "unjudged" and finding.effect is None:
        return finding
    every = list(runs)
    by_preset = _of_all_trainings(every, dataset, (*better, *rivals))
    better, rivals = ([preset for preset in side if preset in by_preset] for side in (better, rivals))
    best = all(chosen(by_preset, without_training(preset)) == preset for preset in (*better, *rivals))
    finding = finding.noting(remark(every, dataset, (*better, *rivals), title))
    sides: dict[Verdict, tuple[Sequence[str], Sequence[str]]] = {"holds": (better, rivals), "fails": (rivals, better)}
    for verdict, (winners, losers) in sides.items():
        pairs = [(winner, loser) for winner in winners for loser in losers]
        unfair = any(only_tried_for(by_preset, without_training(winner), without_training(loser)) for winner, loser in pairs)
        late = next(filter(None, (still_learning(by_preset, loser, winner, title) for winner, loser in pairs)), "")
        if finding.verdict == verdict and (unfair or late or not best):
            return finding.noting(late).doubted(verdict)
    return finding


def _of_all_trainings(runs: Iterable[Run], dataset: str, presets: Sequence[str]) -> dict[str, list[Run]]:
    """Return the runs of presets, and of other trainings of the same models."""
    models = dict.fromkeys(map(without_training, presets))
    return configurations(runs, dataset, [f"{model}{ending}" for model in models for ending in ENDINGS])


def _rate(runs: Sequence[Run]) -> float:
    return float(runs[0].config["recipe"].get("learning_rate", 0))


def _is_longer(preset: str) -> bool:
    return preset.endswith(LONGER)


def _epochs(runs: Sequence[Run]) -> int:
    return int(runs[0].config["recipe"].get("epochs", 0))


def _training(runs: Sequence[Run]) -> str:
    """Return what distinguishes a training: its epochs if the variant changes them, else its learning rate."""
    return f"{_epochs(runs)} epochs" if _is_longer(runs[0].configuration) else f"learning rate {_rate(runs):g}"


def _by_rate(rates: Mapping[str, float]) -> dict[float, str]:
    """Return the models of each learning rate in words, from the rate of each model; the largest group are "the others"."""
    by_rate = {rate: [name for name in rates if rates[name] == rate] for rate in sorted(set(rates.values()))}
    most = max(map(len, by_rate.values()), default=0)
    return {rate: "the others" if most == len(names) > 3 else _joined(names) for rate, names in by_rate.items()}


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
