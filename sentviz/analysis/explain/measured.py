"""What was measured of the runs that ship after they were sealed: newer explanations, and the smallest edits that flip an answer.

`python -m sentviz.analysis.explain.measured faithfulness RUN ...` and `... flips RUN ...` measure anew; what ships is in `measured/`, of
faithfulness what the run's own table lacks, on the same rows. They hold numbers, no texts. A row is of the run
whose config.json has the digest.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.explain import SCORES, available, explained, score
from sentviz.analysis.explain.faithfulness import FILE, over_split, sampled
from sentviz.analysis.explain.flip import smallest_flip
from sentviz.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sentviz.models.model import Model, Progress
    from sentviz.runs.store import Run

HERE = Path(__file__).with_name("measured")
SAMPLE, SEED = 200, 0
TIMED, FLIPPED = 30, 100  # texts of the sample that are timed, and whose smallest edit is searched
ASKED = ("removal", "units", "received", "rollout", "gradient")  # of a run without a table of its own
RESAMPLES = 2_000


def faithfulness_of(run: Run) -> pd.DataFrame:
    """Every explanation that was measured of a run: its own table, and what was measured beside it; empty where there is neither.

    Frame:
        as `sentviz.analysis.explain.faithfulness.over_split`.
    """
    import pandas as pd

    own = [run.frame(FILE)] if FILE in run.config["files"] else []
    return pd.concat([*own, _of("faithfulness", run)], ignore_index=True)


def flips_of(run: Run) -> pd.DataFrame:
    """What was measured of a run's smallest edits, as `flips_over` has it; empty where nothing was."""
    return _of("flips", run)


def flips_over(
    model: Model,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    sample: int = FLIPPED,
    seed: int = SEED,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """The smallest edit of each text of a seeded sample, that of `over_split`.

    Frame:
        metric, value, low, high (95 % percentile bootstrap over texts), n, seed. found: share of texts with an edit that flips; one: with
        one of a single word; random: of random edits of as many words, the share that flips; passes and milliseconds: of the search and
        the random edits, a text.
    """
    import pandas as pd

    rows = []
    for i, trace in enumerate(sampled(model, texts, pairs, sample=sample, seed=seed)):
        begin = time.perf_counter()
        flip = smallest_flip(model, trace, seed=seed + i)
        took = 1e3 * (time.perf_counter() - begin)
        chance = flip.random / flip.drawn if flip.drawn else np.nan
        rows.append((bool(flip.edits), len(flip.edits) == 1, chance, flip.passes + flip.drawn, took))
        if progress is not None:
            progress(i + 1, sample)
    named = zip(("found", "one", "random", "passes", "milliseconds"), zip(*rows, strict=True), strict=True)
    return pd.DataFrame([{"metric": metric, **_spread(column, seed)} for metric, column in named if not np.isnan(column).all()])


def times_over(
    model: Model, texts: Sequence[str], pairs: Sequence[str] | None = None, *, sample: int = TIMED, seed: int = SEED
) -> pd.DataFrame:
    """Milliseconds of each method beyond those of the text's trace, over the same sample.

    Frame:
        as that of `over_split`, with the metric milliseconds.
    """
    import pandas as pd

    times: dict[str, list[float]] = {}
    for trace in sampled(model, texts, pairs, sample=sample, seed=seed):
        for name in available(trace, asking=True):
            begin = time.perf_counter()
            try:
                score(explained(model, trace, [name]), name)
            except InputError:
                continue
            times.setdefault(name, []).append(1e3 * (time.perf_counter() - begin))
    return pd.DataFrame([{"method": name, "metric": "milliseconds", **_spread(took, seed)} for name, took in times.items()])


def _spread(column: Sequence[float], seed: int) -> dict[str, float]:
    """Mean and interval of what is known."""
    from sentviz.analysis.evaluation import interval

    values = np.array(column, dtype=float)
    values = values[~np.isnan(values)]
    draws = np.random.default_rng(seed).multinomial(len(values), np.full(len(values), 1 / len(values)), size=RESAMPLES) @ values
    return {**interval(float(values.mean()), draws / len(values)), "n": len(values), "seed": seed}


@cache
def _table(name: str) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(HERE / f"{name}.csv", dtype={"digest": str})


def _of(name: str, run: Run) -> pd.DataFrame:
    table = _table(name)
    return table[(table["run"] == run.name) & (table["digest"] == run.digest)].drop(columns=["run", "digest"]).reset_index(drop=True)


def _newer(run: Run, model: Model, texts: Sequence[str], pairs: Sequence[str] | None) -> pd.DataFrame:
    """The explanations that a run's own table lacks, on its rows, and the times of all."""
    import click
    import pandas as pd

    own = run.frame(FILE) if FILE in run.config["files"] else None
    lacking = [name for name in SCORES if own is None or name not in set(own["method"])]
    made = over_split(model, texts, [name for name in lacking if name in ASKED], pairs=pairs, sample=SAMPLE, seed=SEED)
    if own is not None:
        off = made.drop_duplicates("metric").set_index("metric")["random"] - own.drop_duplicates("metric").set_index("metric")["random"]
        click.echo(f"{run.name}: random explanations are off by {off.abs().max():.0e} from those of its own table")
        made = made[made["method"] != "random"]
    return pd.concat([made, times_over(model, texts, pairs)], ignore_index=True)


def _main() -> None:
    import sys

    import click
    import pandas as pd

    from sentviz.data.datasets import load_split
    from sentviz.models.loading import load
    from sentviz.runs.store import find

    file, *names = sys.argv[1:]
    for name in names:
        run = find(name)
        model, rows = load(run), load_split(run.config["data"]["name"], "test").frame
        texts, pairs = rows["text"].tolist(), rows["text_pair"].tolist() if "text_pair" in rows else None
        made = _newer(run, model, texts, pairs) if file == "faithfulness" else flips_over(model, texts, pairs)
        kept = _table(file)[_table(file)["run"] != run.name] if (HERE / f"{file}.csv").is_file() else pd.DataFrame()
        pd.concat([kept, made.assign(run=run.name, digest=run.digest)]).to_csv(HERE / f"{file}.csv", index=False)
        _table.cache_clear()
        click.echo(f"{run.name}\n{made.to_string()}")


if __name__ == "__main__":
    _main()
