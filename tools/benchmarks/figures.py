"""Milliseconds that each figure takes once its numbers are read, also beside another checkout, and those of a chart of 10,000 points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROUNDS = 5
LONG = 1.0  # seconds from which a figure is drawn only once
POINTS = 10_000
RUNS = ("english/ndt-unit-2", "sst2/ndt-unit-2-epochs", "sst2/cls-last-scaled", "sst5_trees/sentiformer", "imdb/hardmax-d2")
OPTIONS = {
    "difference": {"versus": "english/minilm"},
    "agreement": {"versus": ("english/ndt-symmetric-2",)},
    "comparison": {"versus": ("sst2/ndt-symmetric-2",)},
    "weak-slices": {"over": "demo"},
}


def answer() -> None:
    """Print the milliseconds of each figure that standard input names, the best of five, or null if no run has what it needs.

    A checkout of an earlier version can run this, too.
    """
    try:
        from sentviz.charts import gallery
    except ImportError:
        from sentviz import gallery
    make, calls = gallery.make, []

    def watched(figure: str, subject: Any, **options: Any) -> Any:
        calls.append((figure, subject, options))
        return make(figure, subject, **options)

    gallery.make = watched
    print(json.dumps(list(gallery.FIGURES)), flush=True)  # noqa: T201
    for name in map(str.strip, sys.stdin):
        spec, best = gallery.FIGURES.get(name), None
        for run in () if spec is None else RUNS if spec.of.OF_RUN else spec.names[:1]:
            try:
                gallery.draw(run, name, **OPTIONS.get(name, {}))
            except Exception:  # the next run may have it
                continue
            best = min(_seconds(lambda: make(calls[-1][0], calls[-1][1], **calls[-1][2])))
            break
        print(json.dumps(best and 1e3 * best), flush=True)  # noqa: T201


def _seconds(draw: Any) -> Iterator[float]:
    for _ in range(ROUNDS):
        start = time.perf_counter()
        draw().plot.to_dict()
        yield (last := time.perf_counter() - start)
        if last > LONG:
            return


def figures() -> None:
    """Print the time of each figure; with the folder of another checkout as the next argument, the ratio to the time there, measured right
    after it. Figures of studies read all runs of their checkout.
    """
    roots = [Path.cwd(), *(Path(each).resolve() for each in sys.argv[2:3])]
    running = [_in_checkout(root) for root in roots]
    names, *_ = [json.loads(next(_lines(process))) for process in running]
    for name in names:
        now, *before = [_asked(process, name) for process in running]
        ratio = f"{now / before[0]:8.2f} x" if now and before and before[0] else ""
        print(f"{name:<28}" + (f"{now:>10.1f} ms{ratio}" if now else "      none"), flush=True)  # noqa: T201
    print(f"{'a chart of 10,000 points':<28}{_of_many_points():>10.1f} ms")  # noqa: T201


def _in_checkout(root: Path) -> subprocess.Popen[str]:
    code = f"import runpy; runpy.run_path({str(Path(__file__).resolve())!r})['answer']()"
    environment = os.environ | {"PYTHONPATH": str(root)}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], cwd=root, env=environment, stdin=pipe, stdout=pipe, text=True)


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return iter(process.stdout.readline, "")


def _asked(process: subprocess.Popen[str], name: str) -> float | None:
    assert process.stdin is not None
    print(name, file=process.stdin, flush=True)
    milliseconds: float | None = json.loads(next(_lines(process)))
    return milliseconds


def _of_many_points() -> float:
    import numpy as np
    import pandas as pd

    from sentviz.charts.chart import Axis, Chart, points
    from sentviz.charts.look import Look

    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(POINTS, 2)), columns=["x", "y"]).assign(series=random.integers(0, 4, POINTS).astype(str))
    chart = Chart("Points", [points(frame, "x", "y", by="series", hover="{series}: {x:.2f}")], Axis("x"), Axis("y"))
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        chart.draw(Look("light", 860)).to_dict()
        seconds.append(time.perf_counter() - start)
    return 1e3 * min(seconds)
