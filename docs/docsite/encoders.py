"""Pretrained encoders, the runs on them with their accuracy, and what adapters cost."""

from __future__ import annotations

from docsite.papers import shipped
from docsite.text import plain, table
from sentviz.data.datasets import info
from sentviz.io.numbers import number
from sentviz.papers.studies.compare_configurations import mixed
from sentviz.runs.bases import bases
from sentviz.runs.store import SHIPPED, Run


def stored_bases() -> str:
    """Return a row for each base in the repository, as Markdown."""
    rows = []
    for name, base in bases(SHIPPED).items():
        settings = base.settings
        shape = f"{settings['layers']} layers of {settings['heads']} heads"
        rows.append([f"`{name}`", plain(base.card["source"]), shape, f"{base.card['bits']} bits a weight", plain(base.card["remark"])])
    return table(["base", "source", "shape", "stored as", "remark"], rows)


def encoders() -> str:
    """Return a row for each shipped run that trains a base without a paper's change, seed 0, as Markdown."""
    of = sorted((run for run in shipped() if _is_plain(run)), key=lambda run: run.name)
    return table(["run", "encoder", "what is trained", "texts seen", "test accuracy, %", "n"], map(_row, of), right=(3, 4, 5))


def adapter_costs() -> str:
    """Return the accuracy of adapters minus that of full fine-tuning, for each shipped run of the variant `full`, as Markdown."""
    lines = []
    for full in (run for run in shipped() if run.config["recipe"].get("variant") == "full"):
        data, preset = full.config["data"]["name"], full.config["recipe"]["model"]
        adapters = [run for run in shipped() if run.config["data"]["name"] == data and run.configuration == preset]
        split = "official_test" if "official_test" in full.metrics() else "test"
        lines.append(f"- `{preset}` on {plain(info(data).title)}: {plain(mixed(adapters, [full], split).numbers)}")
    return "\n".join(lines)


def taught() -> str:
    """Return the accuracy of each shipped run that a teacher taught minus that of its variant `labels`, as Markdown."""
    by_name = {run.name: run for run in shipped()}
    lines = []
    for run in by_name.values():
        if (alone := by_name.get(f"{run.name}-labels")) and run.config["recipe"].get("teacher"):
            teacher, _, digest = run.config["recipe"]["teacher"].partition("@")
            which = "" if digest == by_name[teacher].digest else "an earlier "
            lines.append(f"- `{run.name}`, taught by {which}`{teacher}`, minus `{alone.name}`: {plain(mixed([run], [alone]).numbers)}")
    return "\n".join(lines)


def _is_plain(run: Run) -> bool:
    recipe = run.config["recipe"]
    return bool(recipe.get("base")) and recipe["model"] == recipe["base"] and not recipe["seed"] and recipe.get("variant") in ("", "full")


def _row(run: Run) -> list[str]:
    recipe, metrics = run.config["recipe"], run.metrics()
    rank, upper = recipe["adapter_rank"], recipe["adapter_layers"]
    trained = f"changes of rank {rank}" if rank else "the matrices"
    test = metrics.get("official_test", metrics["test"])
    accuracy = test["accuracy"]
    interval = number(100 * accuracy["value"], 1, [100 * accuracy[end] for end in ("low", "high")])
    title = f"`{run.name}`, {plain(info(run.config['data']['name']).title)}"
    return [title, recipe["base"], f"{trained}, upper {upper} layers" if upper else trained, f"{_seen(run):,}", interval, f"{test['n']:,}"]


def _seen(run: Run) -> int:
    """Return the number of training rows that a run has read, repeated ones included."""
    recipe = run.config["recipe"]
    read: int = run.config["steps"] * recipe["batch_size"]
    return read if recipe["updates"] else min(read, recipe["epochs"] * run.config["data"]["splits"]["train"]["n"])
