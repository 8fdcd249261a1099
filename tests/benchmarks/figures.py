"""Milliseconds that each figure takes once its numbers are read, also beside another checkout, and those of a chart of 10,000 points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROUNDS = 5
LONG = 3.0  # seconds from which a figure is drawn only once
POINTS = 10_000
RUNS = ("english/ndt-unit-2", "sst2/ndt-unit-2-epochs", "sst2/cls-last-scaled-gated-aware", "imdb/hardmax-d2", "english/minilm")
OPTIONS = {
    "difference": {"versus": "english/minilm"},
    "agreement": {"versus": ("english/mpnet",)},
    "comparison": {"versus": ("english/mpnet",)},
    "weak-slices": {"over": "demo"},
}


def drawn() -> dict[str, float]:
    """Return the milliseconds of each figure, the best of five, of the first run that has what it needs. A checkout of an earlier version can
    run it, too.
    """
    try:
        from sentviz.charts import gallery
    except ImportError:  # a checkout of an earlier version
        from sentviz import gallery
    make, calls = gallery.make, []

    def watched(figure: str, subject: Any, **options: Any) -> Any:
        calls.append((figure, subject, options))
        return make(figure, subject, **options)

    gallery.make, times = watched, {}
    for name, spec in gallery.FIGURES.items():
        for run in RUNS if spec.of.OF_RUN else spec.names[:1]:
            try:
                gallery.draw(run, name, **OPTIONS.get(name, {}))
            except Exception:  # noqa: BLE001, S112 - the next run may have it; a figure without any run is left out
                continue
            figure, subject, options = calls[-1]
            seconds = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                make(figure, subject, **options).plot.to_dict()
                seconds.append(time.perf_counter() - start)
                if seconds[0] > LONG:
                    break
            times[name] = 1e3 * min(seconds)
            break
    return times


def figures() -> None:
    """Print the times of each figure; with the folder of another checkout as the next argument, the ratios to the times there, measured at
    the same time.
    """
    running = [_in_checkout(root) for root in (Path.cwd(), *(Path(each).resolve() for each in sys.argv[2:3]))]
    here, *there = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
    for name, time_here in sorted(here.items(), key=lambda item: -item[1]):
        ratio = f"{time_here / there[0][name]:8.2f} x" if there and name in there[0] else ""
        print(f"{name:<28}{time_here:>10.1f} ms{ratio}")  # noqa: T201
    print(f"{'a chart of 10,000 points':<28}{_of_many_points():>10.1f} ms")  # noqa: T201


def _in_checkout(root: Path) -> subprocess.Popen[str]:
    code = f"import json, runpy\nprint(json.dumps(runpy.run_path({str(Path(__file__).resolve())!r})['drawn']()))"
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.Popen([sys.executable, "-c", code], cwd=root, env=environment, stdout=subprocess.PIPE, text=True)


def _of_many_points() -> float:
    import numpy as np
    import pandas as pd

    from sentviz.charts.chart import Axis, Chart, points
    from sentviz.charts.look import Look

    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(POINTS, 2)), columns=["x", "y"]).assign(series=random.integers(0, 4, POINTS).astype(str))
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        Chart("Points", [points(frame, "x", "y", by="series", hover="{series}: {x:.2f}")], Axis("x"), Axis("y")).draw(
            Look("light", 860)
        ).to_dict()
        seconds.append(time.perf_counter() - start)
    return 1e3 * min(seconds)
