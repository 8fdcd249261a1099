"""The stored measurements of directions (`sentviz.analysis.causal.directions`), and what they say in words. Needs no torch.

`along` measures the words of the vocabulary along a direction, each read alone, beside a polarity lexicon: the lexicon that a model has
learned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.causal.directions import ROWS_OF_LEACE, WAYS, Directions, directions, too_few_for_leace
from sentviz.analysis.causal.probes import probe
from sentviz.analysis.causal.states import Texts, states
from sentviz.analysis.evaluation import bounds, row_draws, wilson
from sentviz.analysis.explain.stored import has_rows, has_table, rows_of
from sentviz.data import datasets
from sentviz.errors import DataMissingError, InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, stats
from sentviz.io.numbers import percent
from sentviz.io.table import Column, Table
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentviz.models.model import Model

LEXICONS = ("lexicon_en_vader", "lexicon_ko_knu")
MOST = 600  # words
LEAST = 20  # words of a lexicon for a rank correlation
RESAMPLES = 1_000
TABLE = "directions"  # shipped measurements, in the folder of `sentviz.analysis.explain.stored`
FILE = "directions.parquet"  # a file of a run that the user measured
BOARD = {"all": "all tokens", "function": "function words", "punctuation": "punctuation", "first": "first token"}
PRINTED = {"all": 0.76, "punctuation": 0.36}  # Tigges et al. 2024: share of the accuracy above 50 % that is lost, a language model on SST


def words_of(class_directions: Directions, most: int = MOST) -> list[str]:
    """Return words of the fitted and measured texts in lower case: those of the lexicons first, then the most frequent ones."""
    counts = Counter(
        word
        for texts in (class_directions.fitted, class_directions.measured)
        for text in texts.texts
        for word in re.findall(r"[^\W\d_]+", text.casefold())
    )
    polarity = polarities()
    return sorted(counts, key=lambda word: (word not in polarity, -counts[word], word))[:most]


def polarities() -> dict[str, float]:
    """Return the terms of the installed lexicons of `LEXICONS` with their polarity; the first lexicon decides."""

    polarity_of: dict[str, float] = {}
    for name in LEXICONS:
        try:
            frame = datasets.load_file(name, "lexicon")
        except DataMissingError:
            continue
        polarity = pd.to_numeric(frame["polarity"], errors="coerce")
        for term, value in zip(frame["term"].astype(str).str.casefold(), polarity, strict=True):
            if np.isfinite(value):
                polarity_of.setdefault(term, float(value))
    return polarity_of


def along(class_directions: Directions, depths: Sequence[int], words: Sequence[str] = (), way: str = "difference") -> pd.DataFrame:
    """Return words along a direction, each read as a text of its own.

    Args:
        words: by default those of `words_of`. A word that the model does not know is left out.
    Frame:
        depth, word, value (in half distances of the two means), polarity (of the lexicon; NaN without an entry).
    """
    wanted = list(dict.fromkeys(words or words_of(class_directions)))
    encoded = class_directions.model.encode_all(wanted) if class_directions.fitted.pairs is None else []
    known = [i for i, each in enumerate(encoded) if not (each.unknown & ~each.specials).any() and (~each.specials).any()]
    if not known:
        raise InputError(f"{class_directions.model.name} knows none of these words as a text of its own.")
    texts = Texts(tuple(wanted[i] for i in known), None, tuple(encoded[i] for i in known), np.zeros(len(known), dtype=np.int64))
    rows, _ = states(class_directions.model, texts)
    polarity = polarities()
    parts = []
    for depth in depths:
        u, fitted, side = class_directions.at(way, depth), class_directions.rows[depth], class_directions.fitted.side
        low, high = (float((fitted[side == each] @ u).mean()) for each in (0, 1))
        value = (rows[depth] @ u - (low + high) / 2) / max((high - low) / 2, 1e-12)
        parts.append(pd.DataFrame({"depth": depth, "word": texts.texts, "value": value}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(polarity=frame["word"].map(polarity).astype(float))


def correlations(frame: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return Spearman's rank correlation of value and polarity at each depth, over the words of the lexicons.

    Frame:
        measure ("words"), depth, name, place, value, low, high (bootstrap over words), n; empty with fewer than `LEAST` words.
    """
    table = []
    for depth, part in frame[frame["polarity"].notna()].groupby("depth"):
        if len(part) < LEAST or part["polarity"].nunique() < 2:
            continue
        ranks = np.stack([stats.rankdata(part["value"]), stats.rankdata(part["polarity"])])
        draws = np.concatenate(
            [
                np.array([np.corrcoef(ranks[:, row])[0, 1] for row in rows])
                for rows in row_draws(len(part), np.random.default_rng(seed), RESAMPLES)
            ]
        )
        rho = float(np.corrcoef(ranks)[0, 1])
        table.append(("words", depth, "difference", "lexicon", rho, *bounds(draws), len(part)))
    return pd.DataFrame(table, columns=["measure", "depth", "name", "place", "value", "low", "high", "n"])


def table_of(run: Run) -> pd.DataFrame:
    """Return the measurements of a run: its own table, or the shipped rows; empty if there are neither.

    Rows of LEACE are left out if the directions were found on too few rows (`why_no_leace`).

    Frame:
        measure, depth, name, place, value, low, high, n:
        accuracy, lost     of `Directions.removal`
        separated          share of rows on the side of their label along the direction `name`
        cosine             of the directions of `name`, two ways joined by "|"
        probe              of `sentviz.analysis.causal.probes.probe`
        words              of `sentviz.analysis.causal.direction_tables.correlations`
    """
    table = _stored(run)
    return table[table["name"] != "leace"].reset_index(drop=True) if why_no_leace(run) else table


def _stored(run: Run) -> pd.DataFrame:
    return run.frame(FILE) if FILE in run.files else rows_of(TABLE, run)


def why_no_leace(run: Run) -> str:
    """Return a sentence on why the measurement of a run does not show LEACE; "" if it does, and if there is no measurement."""
    table = _stored(run)
    fitted = table.loc[table["measure"] == "cosine", "n"]
    return "" if fitted.empty else too_few_for_leace(int(fitted.max()), run.shape.width)


def has_directions(run: Run) -> bool:
    """Return whether the directions of a run were measured."""
    return FILE in run.files or (has_table(TABLE) and has_rows(TABLE, run))


def over_split(
    model: Model, frame: pd.DataFrame, *, fit: int = 0, sample: int = 0, seed: int = 0, progress: Progress | None = None
) -> pd.DataFrame:
    """Measure the directions of a model on rows, as `table_of` returns them.

    Args:
        frame, fit, sample, seed: as for `sentviz.analysis.causal.directions.directions`.
    """

    class_directions = directions(model, frame, fit=fit, sample=sample, seed=seed)
    n = len(class_directions.measured)
    table: list[tuple[str, int, str, str, float, float, float, int]] = []
    for depth in class_directions.depths:
        cosines = class_directions.cosines(depth).to_numpy()
        for i, first in enumerate(WAYS):
            share = class_directions.separated(first, depth)
            low, high = (float(end) for end in wilson(share * n, n))
            table.append(("separated", depth, first, "", share, low, high, n))
            for j, second in list(enumerate(WAYS))[i + 1 :]:
                cosine = float(cosines[i, j])
                table.append(("cosine", depth, f"{first}|{second}", "", cosine, cosine, cosine, len(class_directions.fitted)))
    parts = [class_directions.removal(progress=progress), pd.DataFrame(table, columns=COLUMNS), probe(class_directions)]
    if class_directions.fitted.pairs is None:
        parts.append(correlations(along(class_directions, class_directions.depths), seed))
    return pd.concat([part for part in parts if not part.empty], ignore_index=True)[COLUMNS]


COLUMNS = ["measure", "depth", "name", "place", "value", "low", "high", "n"]


def depth_name(depth: int) -> str:
    """Return the name of a depth; -1 stands for every depth."""
    return {-1: "everywhere", 0: "embedding"}.get(depth, f"layer {depth}")


def strongest(run: Run, place: str = "all", way: str = "difference") -> dict[Any, Any]:
    """Return the row "lost" of the depth at which the removal of a direction at a place costs most; {} if it was not measured."""
    table = table_of(run)
    rows = table[(table["measure"] == "lost") & (table["place"] == place) & (table["name"] == way) & (table["depth"] >= 0)]
    return max(rows.to_dict("records"), key=lambda row: float(row["value"]), default={})


def lost_everywhere(run: Run, place: str, way: str = "difference") -> dict[Any, Any]:
    """Return the row "lost" of the removal at every depth at a place; {} if it was not measured."""
    table = table_of(run)
    rows = table[(table["measure"] == "lost") & (table["place"] == place) & (table["name"] == way) & (table["depth"] == -1)]
    return next(iter(rows.to_dict("records")), {})


def board(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the removal table of measured runs beside the printed numbers, in percent.

    Frame:
        run, n, unchanged, then the accuracy without the difference of means at every depth: all tokens, function words, punctuation, first
        token; without random directions (mean) and, if it is shown for a run, without LEACE at all tokens; and the share of the accuracy
        above 50 % that is lost.
        The last row has the numbers of Tigges et al. 2024.
    """
    rows: list[dict[str, Any]] = []
    for run in filter(has_directions, runs):
        table = table_of(run)
        of = table[(table["measure"] == "accuracy") & (table["depth"] == -1)].set_index(["name", "place"])["value"].to_dict()
        lost = lost_everywhere(run, "all")
        columns = {title: of.get(("difference", place)) for place, title in BOARD.items()}
        controls = {"LEACE": of.get(("leace", "all")), "random": of.get(("random", "all"))}
        rows.append(
            {"run": run.name, "n": int(lost["n"]), "unchanged": of["unchanged", "all"], **columns, **controls, "lost": lost["value"]}
        )
    rows.append({"run": "Tigges et al. 2024", "unchanged": 1.0, "all tokens": 0.62, "punctuation": 0.82, "lost": PRINTED["all"]})
    frame = pd.DataFrame(rows).astype({"n": "Int64"}) if len(rows) > 1 else pd.DataFrame(rows)
    if "LEACE" in frame and frame["LEACE"].isna().all():
        frame = frame.drop(columns="LEACE")
    for name in set(frame) - {"run", "n"}:
        frame[name] = (100 * frame[name].astype(float)).round(1)
    return frame


def board_table(runs: Sequence[Run]) -> Table:
    """Return `board` with the meaning of its columns."""
    words = (
        "Accuracy in % without the difference of means, set to its mean after every layer. The printed numbers are of a language model on"
        " SST (punctuation: commas), not of a classifier; “lost” is the share of the accuracy above 50 % that is lost at all tokens. Deep"
        " models are measured on texts of at most 30 words if there are enough of them."
    )
    frame = board(runs)
    columns = [Column(str(name), form="" if name == "n" else ".1f") for name in frame]
    return Table("directions-of-all-models", "All models beside the printed numbers", frame, words, columns)


def depths(run: Run) -> dict[str, tuple[str, dict[str, int]]]:
    """Return the depths of a run, the last one first, as choices of a page: title and option by the text in links."""
    return {str(depth): (depth_name(depth).capitalize(), {"depth": depth}) for depth in range(run.capabilities.layers, -1, -1)}


def unmarked_words(run: Run) -> str:
    """Return why the probes of a run have neither negation nor word class; "" if they have."""
    marked = (table_of(run)["name"] == "negation").any()
    return "" if marked else "Negation and word class are marked in English texts only."


def steered_in_words(class_directions: Directions, after: pd.DataFrame, depth: int, norm: float) -> str:
    """Return how a prediction changes if a vector along the difference of means is added, from the frame of `Directions.steer`."""
    labels = class_directions.model.labels
    before, then = (max((row[label], label) for label in labels) for row in after.to_dict("records"))
    share, side = abs(norm) / float(class_directions.norms[depth]), class_directions.sides[norm >= 0]
    return (
        f"**{before[1]} {percent(before[0], 0)} → {then[1]} {percent(then[0], 0)}** with a vector of norm {abs(norm):.2f} toward {side}"
        f" at every token ({depth_name(depth)}), {percent(share, 0)} of the mean norm of the states."
    )


def headline(run: Run) -> str:
    """Return in a sentence what taking one direction away does to a run."""
    table = table_of(run)
    row = strongest(run)
    accuracy = table[(table["measure"] == "accuracy")].set_index(["depth", "name", "place"])["value"]
    before = accuracy[-1, "unchanged", "all"]
    after = accuracy[row["depth"], "difference", "all"]
    random = accuracy[row["depth"], "random", "all"]
    where = "the embedding" if row["depth"] == 0 else f"layer {row['depth']}"
    return (
        f"Without one direction after {where}, {percent(after, 0)} of {row['n']:.0f} rows are right instead of {percent(before, 0)}"
        f" (without a random direction: {percent(random, 0)}; chance: {percent(0.5, 0)})."
    )


def removal_text(table: pd.DataFrame) -> str:
    """Return the accuracies without a direction as a table of text: a row per depth and place, a column per way."""
    rows = table[table["measure"] == "accuracy"]
    unchanged = float(rows[rows["name"] == "unchanged"]["value"].iloc[0])
    wide = rows[rows["name"] != "unchanged"].pivot(index=["depth", "place"], columns="name", values="value")
    wide.index = [f"{depth_name(int(depth))}, {place}" for depth, place in wide.index]
    note = "" if "leace" in wide else f"\nLEACE needs {ROWS_OF_LEACE} rows for each dimension, so it is not shown."
    return f"unchanged: {unchanged:.3f}\n" + wide.to_string(float_format="{:.3f}".format, na_rep="") + note
