"""Count the words of predicted rows per cell of the confusion matrix, and find the words that are typical of a cell.

A word is an unbroken run of letters, digits and marks of any script, with apostrophes inside it, in lower case. HTML tags, entities and web
addresses do not count as words.

Keyness of a word in a cell is the log-odds ratio of the cell against all other rows with an informative Dirichlet prior (Monroe,
Colaresi & Quinn 2008, "Fightin' Words", eqs. 15, 16, 20, 22). With y of the word's n occurrences in the cell, y' elsewhere, and a prior of
a0 words drawn from all rows, a of them this one:

    delta = ln((y + a) / (n + a0 - y - a)) - ln((y' + a) / (n' + a0 - y' - a))     variance = 1 / (y + a) + 1 / (y' + a)     z = delta / sd
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import Z, wilson
from sentviz.analysis.testset.rows import Rows, stored
from sentviz.data import datasets
from sentviz.data.texts import EXTENDS
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import pa, pc, pd, sparse
from sentviz.runs.store import Run
from sentviz.runs.writing import attach, check_attachable

Cell = tuple[int, int]  # label (-1 = rows without labels), prediction
Ints = npt.NDArray[np.int64]

FILE = "words.parquet"
PRIOR = 500.0  # words
PART = 8_000_000  # characters of texts whose words are counted at a time
LEAST, MANY = 5, 1_000  # rows that a word stands in, at least; of fewer rows than MANY, two are enough
FREQUENT, MOST_FREQUENT = 20, 3_000  # rows that a frequent word stands in, at least; number of frequent words, at most
LETTERS = r"\pL\pN\pM"
_EMOJI = "\u2600-\u27bf\u231a\u231b\u23e9-\u23fa\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
_JOINED = f"[{_EMOJI}][{EXTENDS}]*"
EMOJI = f"[\U0001f1e6-\U0001f1ff]{{2}}|{_JOINED}(?:\u200d{_JOINED})*"
"""Pattern of an emoji, with its skin tone and what is joined to it; it is a word of its own."""
IN_WORDS = f"{LETTERS}'{EXTENDS}{_EMOJI}\u200d\U0001f1e6-\U0001f1ff"
"""Characters of words and emoji, for use inside [...]."""
_MARKUP = r"<[/!]?[A-Za-z][^<>]*>|&(?:#\w+|[A-Za-z]\w*);|(?:https?://|www\.)[^\s<>]+"

STOP_WORDS = {
    "en": """
a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers herself
it its itself they them their theirs themselves one ones who whom whose which what there here
of in on at by for with from to into onto upon about as than through during before after between among over under up down out off again
and or if then so because while when where how that also both each other another any some such same own all
am is are was were be been being have has had having do does did doing done will would shall should can could may might must
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll they're they've
they'd they'll that's there's here's what's who's where's let's
s t d ll m re ve 's 'd 'll 'm 're 've
""",
    "ko": """
이 그 저 것 거 게 수 등 및 때 나 너 내 네 제 우리 저희 이런 그런 저런 이렇게 그렇게 저렇게 이거 그거 저거 이것 그것 저것 여기 거기 저기
그리고 또 또는 및 즉 의 을 를 은 는 가 에 에서 로 으로 와 과 도 만 한 할 하는 하고 해서 있는 있다 이다 입니다
""",
}
"""Our own lists by language. Negations and words of contrast or degree (not, but, very) are not on them: they decide."""


def stop_words(languages: Iterable[str] = ("en", "ko")) -> frozenset[str]:
    """Return the stop words of some languages."""
    wanted = list(languages)
    if unknown := [language for language in wanted if language not in STOP_WORDS]:
        raise InputError(f"There is no list of stop words for {unknown[0]!r}. The languages are {', '.join(STOP_WORDS)}.")
    return frozenset(word for language in wanted for word in STOP_WORDS[language].split())


def wordcloud_stop_words() -> frozenset[str]:
    """Return the default list of the package WordCloud, which also has negations and words of contrast."""
    from wordcloud import STOPWORDS

    return frozenset(STOPWORDS)


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of V words in the rows of G cells."""

    words: tuple[str, ...]  # (V,)
    cells: tuple[Cell, ...]  # (G,)
    counts: Ints  # (G, V) occurrences
    rows: Ints  # (G, V) rows that have the word
    sizes: Ints  # (G,) rows
    least: int  # every word occurs in at least this number of rows

    @property
    def labelled(self) -> bool:
        """True if the cells have labels, not only predictions."""
        return all(label >= 0 for label, _ in self.cells)

    @property
    def frame(self) -> pd.DataFrame:
        """Frame of all counts above 0: word, label, predicted, count, rows."""
        cell, word = np.nonzero(self.counts)
        labels, predicted = np.array(self.cells, dtype=np.int64).reshape(-1, 2).T
        return pd.DataFrame(
            {
                "word": np.array(self.words, dtype=object)[word],
                "label": labels[cell],
                "predicted": predicted[cell],
                "count": self.counts[cell, word],
                "rows": self.rows[cell, word],
            }
        )


def merge_counts(parts: Sequence[Counts], least: int) -> Counts:
    """Merge the counts of parts, each counted with `least` 1, and keep the words that occur in at least `least` rows.

    If any part has labels, parts without labels do not count, as in `count_words`.
    """
    labelled = any(part.labelled for part in parts)
    counted_parts = [part for part in parts if part.labelled == labelled]
    cells = counted_parts[0].cells
    frame = (
        pd.concat([part.frame for part in counted_parts])
        .groupby(["word", "label", "predicted"], sort=True)[["count", "rows"]]
        .sum()
        .reset_index()
    )
    frame = frame[frame.groupby("word")["rows"].transform("sum") >= least]
    sizes = np.sum([part.sizes for part in counted_parts], axis=0)
    return _of_frame(frame, cells, sizes, least)


def counts_of_frame(frame: pd.DataFrame, rows: Rows, least: int) -> Counts:
    """Return counts from their frame and the counted rows, which need no texts.

    Args:
        least: value of `least` with which the words were counted.
    """
    cells, labels = _cells(rows)
    k = len(rows.classes)
    counted = labels >= cells[0][0]
    sizes = np.bincount((labels[counted] - cells[0][0]) * k + rows.predicted[counted], minlength=len(cells))
    return _of_frame(frame, cells, sizes, least)


def _cells(rows: Rows) -> tuple[tuple[Cell, ...], Ints]:
    """Return the cells of some rows, and the labels of the rows, -1 for all if no row has a label."""
    k = range(len(rows.classes))
    cells = tuple((label, predicted) for label in (k if rows.labelled else (-1,)) for predicted in k)
    return cells, rows.labels if rows.labelled else np.full(len(rows), -1)


def _of_frame(frame: pd.DataFrame, cells: tuple[Cell, ...], sizes: Ints, least: int) -> Counts:
    """Return counts from their frame."""
    places = {cell: place for place, cell in enumerate(cells)}
    place = np.array([places[pair] for pair in zip(frame["label"].tolist(), frame["predicted"].tolist(), strict=True)], dtype=np.int64)
    words, word = np.unique(frame["word"].to_numpy(str), return_inverse=True)
    tables = np.zeros((2, len(cells), len(words)), dtype=np.int64)
    for table, column in zip(tables, ("count", "rows"), strict=True):
        table[place, word] = frame[column]
    return Counts(tuple(words.tolist()), cells, tables[0], tables[1], sizes, least)


def plain(texts: pa.Array) -> pa.Array:
    """Return texts (n,) without HTML tags, entities and web addresses, and with one kind of apostrophe."""
    return pc.replace_substring(pc.replace_substring_regex(texts, _MARKUP, " "), "’", "'")


def separated(texts: pa.Array) -> pa.Array:
    """Return texts (n,) as `plain` does, with spaces around each emoji."""
    return pc.replace_substring_regex(plain(texts), f"({EMOJI})", r" \1 ")


def count_words(rows: Rows, least: int | None = None, *, most: int = 0, step: Callable[[], object] = lambda: None) -> Counts:
    """Count the words that occur in at least `least` rows, by cell. If no row has a label, the rows are counted by prediction.

    Args:
        least: minimum number of rows; by default 5, or 2 for fewer than 1,000 rows.
        most: maximum number of different words; 0 = any number.
        step: called before each part of the rows; an exception from it ends the work.
    """
    if not rows.has_text:
        raise InputError("The texts of these rows are not available, so their words cannot be counted.")
    cells, labels = _cells(rows)
    counted = np.flatnonzero(labels >= (0 if rows.labelled else -1))
    if least is None:
        least = LEAST if len(counted) >= MANY else 2
    cell = np.array(
        [cells.index(pair) for pair in zip(labels[counted].tolist(), rows.predicted[counted].tolist(), strict=True)], dtype=np.int64
    )
    counts, documents = (sparse.csr_matrix((len(cells), 0), dtype=np.int64) for _ in range(2))
    numbers: dict[str, int] = {}
    for start, end, table in _tables(rows.texts.iloc[counted], numbers, step):
        of_cell = sparse.csr_matrix(
            (np.ones(end - start, dtype=np.int64), (cell[start:end], np.arange(end - start))), shape=(len(cells), end - start)
        )
        for whole in (counts, documents):
            whole.resize(len(cells), len(numbers))
        counts = counts + of_cell @ table
        table.data[:] = 1
        documents = documents + of_cell @ table
        if most and np.count_nonzero(documents.getnnz(axis=0)) > most:
            raise InputError(f"These rows hold more than {most:,} different words, too many to count. Select fewer rows.")
    common = np.flatnonzero(np.asarray(documents.sum(axis=0)).ravel() >= least)
    sizes, names = np.bincount(cell, minlength=len(cells)), list(numbers)
    return Counts(tuple(names[i] for i in common), cells, counts[:, common].toarray(), documents[:, common].toarray(), sizes, least)


def parts(texts: pd.Series[str]) -> Iterator[tuple[int, int]]:
    """Yield ranges [start, end) of texts with about `PART` characters each, to limit the memory."""
    ends = np.cumsum(texts.str.len().to_numpy(dtype=np.int64))
    start = 0
    while start < len(texts):
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + PART)), start + 1)
        yield start, end
        start = end


def split_words(texts: Iterable[str]) -> tuple[list[str], Ints, Ints]:
    """Return the distinct words (V,), the words of all texts as positions in them (N,), and the bounds of each text in those (n + 1,)."""
    array = pa.array(texts, type=pa.large_string())
    joined = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    lists = pc.split_pattern_regex(separated(pc.utf8_lower(joined)), f"[^{IN_WORDS}]+")
    coded = lists.flatten().dictionary_encode()
    trimmed = pc.utf8_trim(coded.dictionary, "'")
    words = trimmed.dictionary_encode()
    real = np.asarray(pc.match_substring_regex(trimmed, rf"[\pL\pN]|{EMOJI}").to_numpy(zero_copy_only=False), dtype=bool)
    first = coded.indices.to_numpy()
    good = real[first]
    ids = words.indices.to_numpy().astype(np.int64)[first[good]]
    starts = np.concatenate([[0], np.cumsum(good)])[lists.offsets.to_numpy() - lists.offsets[0].as_py()]
    return words.dictionary.to_pylist(), ids, starts.astype(np.int64)


def numbered(texts: pd.Series[str], numbers: dict[str, int], step: Callable[[], object]) -> Iterator[tuple[int, int, Ints, Ints]]:
    """Yield parts of texts: range [start, end), words (N,) as `numbers`, which gets each new word, and bounds of each text in the words."""
    for start, end in parts(texts):
        step()
        words, ids, bounds = split_words(texts.iloc[start:end])
        known = np.array([numbers.setdefault(word, len(numbers)) for word in words], dtype=np.int64)
        yield start, end, known[ids], bounds


def _tables(texts: pd.Series[str], numbers: dict[str, int], step: Callable[[], object]) -> Iterator[tuple[int, int, Any]]:
    """Yield parts of texts as `numbered` does, with the counts of the words in each text (texts, words), sparse."""
    for start, end, ids, bounds in numbered(texts, numbers, step):
        table = sparse.csr_matrix((np.ones(len(ids), dtype=np.int64), ids, bounds), shape=(end - start, len(numbers)))
        table.sum_duplicates()
        yield start, end, table


def frequent_words(rows: Rows, step: Callable[[], object] = lambda: None) -> tuple[list[str], Any]:
    """Return the words that are in at least 20 rows, those of most rows first, with a sparse table (V, n) of the rows that have them.

    At most 3,000 words are returned, not counting stop words.

    Args:
        step: called before each part of the rows; an exception from it ends the work.
    """
    numbers: dict[str, int] = {}
    pieces, stops = [sparse.csr_matrix((0, 0), dtype=np.int64)], stop_words()
    for _, _, piece in _tables(rows.texts, numbers, step):
        piece.data[:] = 1
        pieces.append(piece)
    for piece in pieces:
        piece.resize(piece.shape[0], len(numbers))
    table = sparse.vstack(pieces, format="csc")
    in_rows, names = np.diff(table.indptr), list(numbers)
    order = np.argsort(-in_rows, kind="stable")
    often = order[in_rows[order] >= FREQUENT]
    is_stop = np.array([names[k] in stops for k in often], dtype=bool)
    often = often[is_stop | (np.cumsum(~is_stop) <= MOST_FREQUENT)]
    return [names[k] for k in often], table[:, often].T.tocsr()


def keyness(counts: Counts, cell: Cell, prior: float = PRIOR, *, once: bool = False) -> pd.DataFrame:
    """Compare the words of a cell with all other rows.

    Args:
        prior: a0, number of words of the prior; a larger prior moves the ratios of rare words towards 0.
        once: whether a word counts once per row, so that one text that repeats a name does not make it typical.
    Frame:
        word, count, rows, share (of the cell's words, with its 95 % Wilson interval share_low, share_high), rest (its share elsewhere),
        value (log-odds ratio), low, high (95 %), z, sure (whether z is significant after a Bonferroni correction for all words).
    """
    if cell not in counts.cells:
        raise InputError(f"The matrix has no cell in row {cell[0] + 1}, column {cell[1] + 1}.")
    if not prior > 0:
        raise InputError("The prior must be more than 0 words.")
    place = counts.cells.index(cell)
    table = (counts.rows if once else counts.counts).astype(np.float64)
    inside, total = table[place], table.sum(axis=0)
    outside = total - inside
    n, n_outside = inside.sum(), outside.sum()
    if not n or not n_outside:
        where = "these rows" if not n else "any other rows"
        raise InputError(f"No word occurs in {where}, so there is nothing to compare.")
    known = prior * total / total.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # The odds of a vocabulary of one word are infinite.
        odds_inside = np.log(inside + known) - np.log(n + prior - inside - known)
        odds_outside = np.log(outside + known) - np.log(n_outside + prior - outside - known)
        value = np.nan_to_num(odds_inside - odds_outside, nan=0.0)
    spread = np.sqrt(1 / (inside + known) + 1 / (outside + known))
    times, every = counts.counts[place].astype(np.float64), counts.counts.sum(axis=0)
    words = times.sum()
    low, high = wilson(times, words)
    z = value / spread
    return pd.DataFrame(
        {
            "word": counts.words,
            "count": counts.counts[place],
            "rows": counts.rows[place],
            "share": times / words,
            "share_low": low,
            "share_high": high,
            "rest": (every - times) / (every.sum() - words),
            "value": value,
            "low": value - Z * spread,
            "high": value + Z * spread,
            "z": z,
            "sure": z > NormalDist().inv_cdf(1 - 0.025 / len(counts.words)),
        }
    )


def largest(frame: pd.DataFrame, by: str, most: int, stops: frozenset[str] = frozenset()) -> pd.DataFrame:
    """The words of a frame of `keyness` with the highest z whose interval lies above 0 (by "keyness"), or that are the most frequent
    ("count"), at most `most`, none of the stop words."""
    if by not in ("keyness", "count"):
        raise InputError(f"Words can be ordered by keyness or count, not by {by!r}.")
    selected = frame[~frame["word"].isin(stops) & (frame["low"] > 0 if by == "keyness" else frame["count"] > 0)]
    order = ["z", "count"] if by == "keyness" else ["count", "z"]
    return selected.sort_values([*order, "word"], ascending=[False, False, True]).head(most).reset_index(drop=True)


def store(run: Run) -> Run:
    """Store the words of a run's test split with the run, atomically, and return the run. Other files stay; the digest changes.

    Raises:
        DataMissingError: the texts are not installed.
        RunError: a file of the run is damaged, its folder holds anything else (which would be lost), or may not be written.
    """
    check_attachable(run, FILE)
    split = datasets.load_split(run.config["data"]["name"], "test").frame
    rows = stored(run).with_text(split)
    if not rows.has_text:
        raise RunError(f"{run.name}: its test split has rows that the installed data set does not have.")
    return attach(run, FILE, count_words(rows, LEAST).frame)


def read(run: Run, rows: Rows) -> Counts:
    """Return the words that `store` stored with a run; `rows` are its stored rows of the test split, for the sizes of the cells.

    Raises:
        RunError: no words are stored, or the file is damaged.
    """
    frame = run.frame(FILE)
    k = len(run.labels)
    numbers = ["label", "predicted", "count", "rows"]
    good = {"word", *numbers} <= set(frame) and not frame.isna().any(axis=None)
    if not good or (frame[numbers] < 0).any(axis=None) or (frame[["label", "predicted"]] >= k).any(axis=None):
        raise RunError(f"{run.name}: {FILE} is damaged.")
    return counts_of_frame(frame, rows, LEAST)
