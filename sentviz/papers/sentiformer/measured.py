"""Read what experiments measured of SentiFormer, apart from its speed (`throughput`) and Proposition 2 (`separation`)."""

from __future__ import annotations

from pathlib import Path

from sentviz.analysis.evaluation import wilson
from sentviz.io.lazy import np, pd
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.stored import Stored

FOLDER = Path(__file__).parent / "measured"
COMMAND = "python -m experiments sentiformer"
PLACES = Stored(
    FOLDER / "places.csv",
    ("dataset", "place", "value", "low", "high", "words", "n", "lexicon"),
    "The agreement of sentiment words by place is",
    f"{COMMAND} carriers",
    ("dataset", "place", "lexicon"),
)
SPEECH = Stored(
    FOLDER / "speech.csv",
    ("dataset", "tag", "value", "low", "high", "words", "n", "lexicon", "tagger"),
    "The parts of speech of sentiment words are",
    f"{COMMAND} carriers",
    ("dataset", "tag", "lexicon", "tagger"),
)
ENDS_MINUS_MIDDLE, CARRIERS = "ends minus middle", "adjectives and adverbs"  # a place of `PLACES` and a tag of `SPEECH`
LEADS = Stored(
    FOLDER / "lengths.csv",
    ("dataset", "own", "baseline", "seed", "part", "shortest", "longest", "n", "value", "low", "high"),
    "The lead by length is",
    f"{COMMAND} lengths",
    ("dataset", "own", "baseline", "part"),
)
QUARTERS, LONG_MINUS_SHORT = ("1", "2", "3", "4"), "4 minus 1"  # parts of `LEADS`, the shortest texts first
MEMORY = Stored(
    FOLDER / "memory.csv",
    ("of", "attention", "tokens", "mib", "hardware", "torch"),
    "The memory of a long text is",
    f"{COMMAND} memory",
    ("of", "attention", "hardware", "torch"),
)
WORK = ("prediction", "training step")  # values of the column `of`
PROMISED = 10_000  # tokens that the paper says fit in memory
CARD = 16 * 1024  # MiB of the smaller V100; the paper does not say which one it has
LEXICON_GATES = Stored(
    FOLDER / "lexicon_gates.csv",
    ("lexicon", "n", "opened", "changed", "accuracy", "difference", "low", "high", "run"),
    "The effect of gates that a lexicon opens is",
    f"{COMMAND} lexicon_gates sst5_trees/sentiformer",
    ("lexicon", "run"),
)
REACH = Stored(
    FOLDER / "reach.csv",
    ("dataset", "split", "n", "median", "longest", "within", "beyond", "run"),
    "The reach of the window is",
    f"{COMMAND} reach",
    ("dataset", "split", "run"),
)
COMPRESSED = Stored(
    FOLDER / "compressed.csv",
    ("way", "amount", "mib", "right", "n", "dataset", "seed", "run"),
    "The accuracy of a smaller SentiFormer is",
    f"{COMMAND} smaller compress FOLDER",
    ("way", "dataset", "run"),
)
ROWS = Stored(
    FOLDER / "rows.csv",
    ("rows", "value", "low", "high", "n", "seed", "run"),
    "The accuracy by number of training rows is",
    f"{COMMAND} smaller rows FOLDER",
    ("run",),
)


def records(rows: pd.DataFrame) -> list[dict[str, float]]:
    """Return value, low and high of each row."""
    return [dict(zip(("value", "low", "high"), each, strict=True)) for each in rows[["value", "low", "high"]].to_numpy(float).tolist()]


def sizes() -> pd.DataFrame:
    """Return mean accuracies by size in MiB over seeds, as `sentviz.charts.learning.learning_curve` draws them."""
    frame = COMPRESSED.require()
    records = []
    for (way, _), each in frame.groupby(["way", "amount"], sort=False):
        low, high = wilson(each["right"], each["n"])
        spans = [
            dict(zip(("value", "low", "high"), span, strict=True))
            for span in np.column_stack([each["right"] / each["n"], low, high]).tolist()
        ]
        point = {"rows": float(each["mib"].mean()), **combined(spans), "n": int(each["n"].iloc[0]), "seeds": len(each)}
        records += [{"preset": line} | point for line in (("quantised", "pruned") if way == "none" else (way,))]
    return pd.DataFrame(records).assign(printed=float("nan"))
