"""Every configuration of a study, trained with the same budget; resumable, and one failure does not stop the rest.

Shipped runs without weights can be checked by training them again (`checked`): do they give the answers that are stored?
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sentviz.errors import InputError, RunError, SentvizError
from sentviz.io.files import writing
from sentviz.io.lazy import pd
from sentviz.papers.studies.compare_configurations import configurations
from sentviz.papers.studies.timing import threads
from sentviz.runs.registry import problems, studies
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe, finished

PATIENCE = 60.0  # seconds that processes have to write their resume points


@dataclass
class Outcome:
    """Result of a study: names of the trained, the skipped and the failed runs."""

    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # existed already
    failed: dict[str, str] = field(default_factory=dict)  # name -> last line of its output, or its exit code


def plan(study: str, dataset: str, seeds: int = 1, models: Sequence[str] = ()) -> list[Recipe]:
    """The recipes of a study on a data set, seed by seed, so that a study cut short has whole seeds.

    Args:
        models: presets in place of the study's own.
    """
    if study not in studies():
        raise InputError(" ".join([f"There is no study {study!r}; there are {', '.join(studies())}.", *problems()]))
    _, planned = studies()[study]
    if dataset not in planned.datasets:
        raise InputError(f"The study {study} has no data set {dataset!r}; it has {', '.join(planned.datasets)}.")
    if seeds < 1:
        raise InputError("A study needs at least one seed.")
    return [
        Recipe.read(source(study, dataset), model=model, seed=seed, variant=variant)
        for seed in range(seeds)
        for model in models or planned.models
        for variant in planned.variants
    ]


def source(study: str, dataset: str) -> str:
    """The name of the recipe that a study trains by on a data set."""
    return f"{studies()[study][0].name}_{dataset}"


def training(source: str) -> Callable[[Recipe, Path], list[str]]:
    """The command that trains a recipe, one of `source` with another model, seed or variant, in a process of its own."""

    def command(recipe: Recipe, root: Path) -> list[str]:
        chosen = [source, "--model", recipe.model, "--seed", str(recipe.seed)]
        chosen += ["--variant", recipe.variant] if recipe.variant else []
        return [sys.executable, "-m", "sentviz", "train", *chosen, "--out", str(root), "--threads", "1", "--quiet"]

    return command


def run_study(
    recipes: Sequence[Recipe],
    root: Path,
    *,
    command: Callable[[Recipe, Path], list[str]],
    jobs: int = 1,
    poll: float = 0.5,
    quiet: bool = False,
) -> Outcome:
    """Train what is missing, `jobs` one-thread processes at a time; each resumes where it stopped.

    Ctrl-C ends the running ones once they have left their resume points.

    Args:
        command: what trains a recipe in a folder, as `training` gives it.
    Raises:
        RunError: something else is in the place of one of the runs.
    """
    from tqdm import tqdm

    outcome = Outcome()
    waiting: list[Recipe] = []
    for recipe in recipes:
        if finished(recipe, root):
            outcome.skipped.append(recipe.name)
        else:
            waiting.append(recipe)
    running: dict[str, tuple[subprocess.Popen[str], Path]] = {}
    with tqdm(total=len(recipes), initial=len(outcome.skipped), unit="run", disable=quiet) as bar:
        try:
            while waiting or running:
                while waiting and len(running) < max(1, jobs):
                    recipe = waiting.pop(0)
                    running[recipe.name] = _start(recipe, root, command)
                    bar.set_postfix_str(", ".join(running))
                time.sleep(poll)
                for name in [name for name, (process, _) in running.items() if process.poll() is not None]:
                    process, log = running.pop(name)
                    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                    log.unlink(missing_ok=True)
                    if process.returncode == 0:
                        outcome.done.append(name)
                    else:
                        outcome.failed[name] = lines[-1] if lines else f"exit code {process.returncode}"
                    bar.update()
        finally:
            try:
                _end([process for process, _ in running.values()])
            finally:
                for _, log in running.values():
                    log.unlink(missing_ok=True)
    return outcome


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End processes, which the terminal may have interrupted already, and give them time to save before they are ended by force.

    By SIGTERM: a child of a process that was started in the background, as by nohup, does not hear SIGINT.
    """
    until = time.monotonic() + PATIENCE
    try:
        for process in processes:
            if sys.platform != "win32":  # there the terminal alone can interrupt
                process.send_signal(signal.SIGTERM)
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
    finally:
        for process in processes:
            process.kill()
            process.wait()


def collect(recipes: Sequence[Recipe], root: Path) -> pd.DataFrame:
    """One row per finished run and split: run, model, seed, split, n and each metric with its interval."""
    rows = []
    for recipe in recipes:
        try:
            run = Run.open(root / recipe.name, recipe.name)
            metrics = run.metrics()
        except RunError:
            continue
        for split in ("test", "official_test"):
            values = {k: v for k, v in metrics.get(split, {}).items() if isinstance(v, dict)}
            if values:
                row = {"run": run.name, "model": recipe.configuration, "seed": recipe.seed, "split": split, "n": metrics[split]["n"]}
                row |= {name: value["value"] for name, value in values.items()}
                row |= {f"{name}_{side}": value[side] for name, value in values.items() for side in ("low", "high")}
                rows.append(row)
    return pd.DataFrame(rows)


def _start(recipe: Recipe, root: Path, command: Callable[[Recipe, Path], list[str]]) -> tuple[subprocess.Popen[str], Path]:
    log = root / recipe.dataset / f".{recipe.name.split('/')[1]}.tmp-log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as out:
        return subprocess.Popen(command(recipe, root), stdout=out, stderr=subprocess.STDOUT, text=True), log


def light(run: Run, folder: Path) -> None:
    """A copy of a run without its weights and what belongs to them: history, predictions, measurements, those of its epochs too.

    Raises:
        SentvizError: a file of the run is damaged.
    """
    import json
    import shutil

    heavy = {"model.safetensors", "tokenizer.json", "tagger.json.gz", "embeddings.safetensors", "example.safetensors"}
    heavy |= {f"epochs/{epoch}.safetensors" for epoch in run.epochs}
    light_files = {file: digest for file, digest in run.config["files"].items() if file not in heavy}
    if not light_files:
        raise SentvizError(f"{run.name} has nothing to keep.")
    with writing(folder) as fresh:
        for file in light_files:
            (fresh / file).parent.mkdir(exist_ok=True)
            shutil.copyfile(run.path(file), fresh / file)
        text = json.dumps(run.config | {"files": light_files}, indent=1, ensure_ascii=False)
        (fresh / "config.json").write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Checked:
    """A run's stored answers beside those of the same recipe trained again, over every split it was tested on."""

    name: str
    n: int  # rows
    differ: int  # rows with another answer
    largest: float  # difference of a probability


def drawn(runs: Iterable[Run], study: str, dataset: str, count: int, *, seed: int = 0, models: Sequence[str] = ()) -> list[Run]:
    """Some of a study's runs without weights, drawn at random.

    Args:
        models: presets in place of the study's own.
    """
    if count < 1:
        raise InputError("A check needs at least one run.")
    _, planned = studies()[study]
    names = [f"{model}-{variant}" if variant else model for model in models or planned.models for variant in planned.variants]
    able = [run for seeds in configurations(runs, dataset, names).values() for run in seeds if not run.has_weights]
    if not able:
        raise InputError(f"The study {study} on {dataset} has no installed run without weights. Only such runs need this check.")
    return random.Random(seed).sample(able, min(count, len(able)))


def checked(run: Run, out: Path) -> Checked:
    """Train a run's own recipe again, in a folder, with one thread as it was, and compare.

    Raises:
        SentvizError: it cannot be trained here, or the two were tested on other rows.
    """
    from sentviz.training import train

    with threads(1):
        return beside(run, train(Recipe.of(run.config["recipe"]), out, progress=False))


def beside(stored: Run, fresh: Run) -> Checked:
    """The answers of two runs, row by row.

    Raises:
        RunError: they were tested on other rows, or have other classes.
    """
    if stored.labels != fresh.labels:
        raise RunError(f"{stored.name} has other classes than its recipe on this machine.")
    stored_shares, fresh_shares = (_answers(run) for run in (stored, fresh))
    if not stored_shares.index.sort_values().equals(fresh_shares.index.sort_values()):
        raise RunError(f"{stored.name} was tested on other rows than its recipe on this machine.")
    a, b = stored_shares.to_numpy(float), fresh_shares.loc[stored_shares.index].to_numpy(float)
    return Checked(stored.name, len(a), int((a.argmax(axis=1) != b.argmax(axis=1)).sum()), float(abs(a - b).max()))


def _answers(run: Run) -> pd.DataFrame:
    """Probabilities by split and id."""
    return run.frame("test.parquet").set_index(["split", "id"])[list(run.labels)]
