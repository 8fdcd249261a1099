"""The NDT paper: its question answered, then every printed table and figure beside the runs here."""

from __future__ import annotations

from app import shell
from app.views.papers.ndt import answer, compare, cost, items, lambdas, panels, results
from app.views.papers.shared import picked, studied

PARTS = {
    "results": results.show,
    "compare": compare.show,
    "panels": panels.show,
    "lambda": lambdas.show,
    "cost": cost.show,
    "items": items.show,
}

shell.intro(
    "What “NDT: Non-Differential Transformer” (arXiv 2603.20704) prints beside what the runs here measure, with 95% intervals.",
    "The paper gives neither seeds nor intervals nor settings; ours are one set for all models of a data set, said in each run.",
)
runs = studied()
dataset = answer.show(runs)
TITLES = {"items": "Every item"}
PARTS[picked("Part", "part", {name: TITLES.get(name, name.capitalize()) for name in PARTS})](runs, dataset)
