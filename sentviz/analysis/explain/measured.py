"""Measurements of shipped runs that are stored outside the runs: faithfulness of newer explanations, smallest edits, and falls by chance.

`python -m sentviz.analysis.explain.measured faithfulness RUN ...`, `... flips RUN ...` and `... chance RUN ...` measure again. The shipped
tables are in the folder `measured`. The table of faithfulness holds what a run's own table lacks, on the same rows. The tables hold numbers
and no texts. Each row names the digest of its run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.evaluation import interval
from sentviz.analysis.explain import SCORES, explained, score, usual
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.analysis.explain.faithfulness import FILE, over_split, sampled
from sentviz.analysis.explain.headline import chance_over_examples
from sentviz.analysis.explain.stored import FOLDER, has_rows, read_measured, rows_of
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent
from sentviz.io.spreadsheet import store_csv
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentviz.models.model import Model

SAMPLE, SEED = 200, 0
TIMED_TEXTS, FLIP_TEXTS = 30, 100  # texts of the sample for the times, and for the smallest edits
MAX_WORDS = 30  # in a text whose smallest edit is searched, its second text included
EVERY = 10**7  # passes, more than any text has plausible edits
LARGE, FLIP_TEXTS_OF_LARGE = 50e6, 30  # parameters of a slow model, and texts of its sample for the smallest edits
DEFAULT_METHODS = ("removal", "units", "received", "rollout", "gradient")  # methods measured for a run without a table
RESAMPLES = 2_000


def faithfulness_of(run: Run) -> pd.DataFrame:
    """Return the faithfulness of all measured explanations of a run: its own table and the shipped rows; empty if there is neither.

    Frame:
        as for `sentviz.analysis.explain.faithfulness.over_split`.
    """
    own = [run.frame(FILE)] if FILE in run.files else []
    return pd.concat([*own, rows_of("faithfulness", run)], ignore_index=True)


def has_faithfulness(run: Run) -> bool:
    """Return whether the faithfulness of some explanations of a run is measured."""
    return FILE in run.files or has_rows("faithfulness", run)


def flips_of(run: Run) -> pd.DataFrame:
    """Return the shipped measurements of a run's smallest edits, as `flips_over` returns them; empty if there are none."""
    return rows_of("flips", run)


def best_rival(run: Run) -> str:
    """Return the method with the highest comprehensiveness after word removal; "" if none is measured."""
    rivals = _rivals(run)
    return "" if rivals.empty else f"Highest after word removal: {rivals['method'].iloc[0]}"


def rivals_in_words(run: Run) -> str:
    """Return the comprehensiveness of the best rival of word removal, and whether the others are worse."""
    rivals = _rivals(run)
    if rivals.empty:
        return ""
    best = rivals.iloc[0]
    near = int((rivals["high"].iloc[1:] >= best["low"]).sum())
    overlap = "the interval of one other overlaps" if near == 1 else f"the intervals of {near} others overlap"
    return f"Comprehensiveness {number(best['value'], ends=(best['low'], best['high']))}; " + (
        f"{overlap} with it, so the difference is not significant." if near else "no other interval overlaps with it."
    )


def _rivals(run: Run) -> pd.DataFrame:
    """Return the comprehensiveness of each method but random explanations and word removal, by title, the highest first."""
    frame = faithfulness_of(run).query("metric == 'comprehensiveness' and method not in ('random', 'removal')")
    return frame.assign(method=frame["method"].map(_title)).sort_values("value", ascending=False)


def times_in_words(run: Run) -> str:
    """Return the time of each method per sentence, the fastest first; "" if it is not measured."""
    times = faithfulness_of(run).query("metric == 'milliseconds'").sort_values("value")
    if times.empty:
        return ""
    costs = " · ".join(f"{_title(row['method'])} {row['value']:.0f}" for row in times.to_dict("records"))
    return f"Milliseconds in addition to the prediction, mean of {int(times['n'].max())} sentences on the machine that measured: {costs}."


def _title(name: str) -> str:
    return SCORES[name].title if name in SCORES else name


def flips_in_words(run: Run) -> str:
    """Return in how many texts a small edit changes the predicted class; "" if it is not measured."""
    flips = {row["metric"]: row for row in flips_of(run).to_dict("records")}
    if not flips:
        return ""
    shares = {metric: percent(row["value"], 0, ends=(row["low"], row["high"])) for metric, row in flips.items()}
    cost = f"{flips['passes']['value']:.0f} edited texts, {flips['milliseconds']['value'] / 1e3:.1f} s per text"
    sentences = [
        f"Found for {shares['found']} of {flips['found']['n']} test texts of at most {MAX_WORDS} words; one word is enough for"
        f" {shares['one']} ({cost})."
    ]
    if "equal" in shares:
        sentences += [f"For {shares['equal']} the search finds an edit of one word if there is one: all plausible ones were tried as well."]
    if "known" in shares and flips["known"]["value"] < 1:
        sentences += [
            f"For {shares['known']} the search is certain whether one word is enough: it found such an edit or tried every plausible one."
        ]
    if "random" in shares:
        sentences += [f"{shares['random']} of random edits of as many words also change the predicted class."]
    return " ".join(sentences)


def flips_over(
    model: Model,
    texts: Sequence[str],
    pairs: Sequence[str] | None = None,
    *,
    sample: int = FLIP_TEXTS,
    seed: int = SEED,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Search the smallest edit of each text of a seeded sample of the texts with at most MAX_WORDS words.

    Frame:
        metric, value, low, high (95 % percentile bootstrap over texts), n, seed. The metrics: found: share of texts with an edit that flips
        the prediction; one: share with an edit of one word; known: share of which it is known whether one word is enough, because such an
        edit was found or all plausible ones were tried; equal: share in which the search finds an edit of one word if there is a plausible
        one, by trying all of them; random: share of random edits of as many words that flip; passes and
        milliseconds: per text, of the search and the random edits.
    """
    short = [i for i, text in enumerate(texts) if len(f"{text} {pairs[i] if pairs else ''}".split()) <= MAX_WORDS]
    texts, pairs = [texts[i] for i in short], [pairs[i] for i in short] if pairs else None
    rows = []
    for i, trace in enumerate(sampled(model, texts, pairs, sample=sample, seed=seed)):
        begin = time.perf_counter()
        flip = smallest_flip(model, trace, seed=seed + i)
        took = 1e3 * (time.perf_counter() - begin)
        chance = flip.random / flip.drawn if flip.drawn else np.nan
        is_single = len(flip.edits) == 1
        is_known = is_single or flip.complete
        is_equal = is_known or not smallest_flip(model, trace, most=1, passes=EVERY, drawn=0).edits
        rows.append((bool(flip.edits), is_single, is_known, is_equal, chance, flip.passes + flip.drawn, took))
        if progress is not None:
            progress(i + 1, sample)
    named = zip(("found", "one", "known", "equal", "random", "passes", "milliseconds"), zip(*rows, strict=True), strict=True)
    return pd.DataFrame([{"metric": metric, **_spread(column, seed)} for metric, column in named if not np.isnan(column).all()])


def times_over(
    model: Model, texts: Sequence[str], pairs: Sequence[str] | None = None, *, sample: int = TIMED_TEXTS, seed: int = SEED
) -> pd.DataFrame:
    """Measure the time of each method in milliseconds, without the trace of the text, over the same sample.

    Frame:
        as for `over_split`, with the metric milliseconds.
    """
    times: dict[str, list[float]] = {}
    for trace in sampled(model, texts, pairs, sample=sample, seed=seed):
        for name in usual(model, trace):
            begin = time.perf_counter()
            try:
                score(explained(model, trace, [name]), name)
            except InputError:
                continue
            times.setdefault(name, []).append(1e3 * (time.perf_counter() - begin))
    return pd.DataFrame([{"method": name, "metric": "milliseconds", **_spread(took, seed)} for name, took in times.items()])


def _spread(column: Sequence[float], seed: int) -> dict[str, float]:
    """Return mean and interval of the values that are not NaN."""
    values = np.array(column, dtype=float)
    values = values[~np.isnan(values)]
    draws = np.random.default_rng(seed).multinomial(len(values), np.full(len(values), 1 / len(values)), size=RESAMPLES) @ values
    return {**interval(float(values.mean()), draws / len(values)), "n": len(values), "seed": seed}


def _measure_missing(run: Run, model: Model, texts: Sequence[str], pairs: Sequence[str] | None) -> pd.DataFrame:
    """Measure the explanations that a run's own table lacks, on its rows, and the times of all methods."""
    import click

    own = run.frame(FILE) if FILE in run.files else None
    missing = [name for name in SCORES if own is None or name not in set(own["method"])]
    table = over_split(model, texts, [name for name in missing if name in DEFAULT_METHODS], pairs=pairs, sample=SAMPLE, seed=SEED)
    if own is not None:
        off = table.drop_duplicates("metric").set_index("metric")["random"] - own.drop_duplicates("metric").set_index("metric")["random"]
        click.echo(f"{run.name}: random explanations differ by {off.abs().max():.0e} at most from its stored table")
        table = table[table["method"] != "random"]
    return pd.concat([table, times_over(model, texts, pairs)], ignore_index=True)


def _main() -> None:
    import sys

    import click

    from sentviz.data.datasets import load_split
    from sentviz.models.loading import load
    from sentviz.runs.store import find

    file, *names = sys.argv[1:]
    for name in names:
        run = find(name)
        model = load(run)
        if file == "chance":
            table = pd.DataFrame(chance_over_examples(model, run).items(), columns=["size", "fall"]).round(6)
        else:
            rows = load_split(run.config["data"]["name"], "test").frame
            texts, pairs = rows["text"].tolist(), rows["text_pair"].tolist() if "text_pair" in rows else None
            if file == "faithfulness":
                table = _measure_missing(run, model, texts, pairs)
            else:
                large = run.config["parameters"] > LARGE
                table = flips_over(model, texts, pairs, sample=FLIP_TEXTS_OF_LARGE if large else FLIP_TEXTS)
        other_rows = read_measured(file)[read_measured(file)["run"] != run.name] if (FOLDER / f"{file}.csv").is_file() else pd.DataFrame()
        stored = pd.concat([other_rows, table.assign(run=run.name, digest=run.digest)])
        store_csv(FOLDER / f"{file}.csv", stored)
        read_measured.cache_clear()
        click.echo(f"{run.name}\n{table.to_string()}")


if __name__ == "__main__":
    _main()
