"""Cost of training everything again: sums of the training times that the shipped runs recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from docsite.papers import shipped
from docsite.text import plain, table
from sentviz.papers.studies.runner import plan
from sentviz.runs.registry import studies
from sentviz.runs.store import Run


def costs() -> str:
    """Return the costs of the studies, and of the runs that belong to no study, as Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    left, rows = list(shipped()), []
    everything = _hours(left)
    for name, (_, study) in studies().items():
        for dataset in study.datasets:
            group = [run for run in left if _of(run, dataset, study.models, study.variants)]
            left = [run for run in left if run not in group]
            if group:
                seeds = 1 + max(int(run.config["recipe"]["seed"]) for run in group)
                command = f"sentviz study {name} --dataset {dataset}" + (f" --seeds {seeds}" if seeds > 1 else "")
                rows.append([f"`{command}`", str(len(plan(name, dataset, seeds))), *_numbers(group)])
    for dataset in sorted({run.config["data"]["name"] for run in left}):
        group = [run for run in left if run.config["data"]["name"] == dataset]
        names = sorted({run.configuration for run in group})
        rows.append([f"`sentviz train {dataset}` with {plain(', '.join(names))}", str(len(group)), *_numbers(group)])
    rows.append(["**all**", "", *(f"**{number}**" for number in _numbers(list(shipped())))])
    machines = sorted({re.sub(r" (?:CPU )?thread.*", " thread", run.config["hardware"]) for run in shipped()})
    yield f"The {len(shipped())} runs in the repository took {everything:.1f} hours of training ({plain('; '.join(machines))}).\n"
    yield table(["command", "configurations", "installed runs", "hours", "longest run, minutes"], rows, right=(1, 2, 3, 4))


def _of(run: Run, dataset: str, models: Sequence[str], variants: Sequence[str]) -> bool:
    recipe = run.config["recipe"]
    return run.config["data"]["name"] == dataset and run.config["preset"] in models and (recipe.get("variant") or "") in variants


def _numbers(of: Sequence[Run]) -> list[str]:
    return [str(len(of)), f"{_hours(of):.1f}", f"{max(run.config['seconds'] for run in of) / 60:.0f}"]


def _hours(of: Sequence[Run]) -> float:
    return float(sum(run.config["seconds"] for run in of)) / 3600
