"""Slices of predicted rows, written as short texts that a link can carry.

cell=1,0                    labelled 1, predicted 0
word=dull, word=dull@1,0    the text has the word; within a cell
p=1:0.4-0.6                 the probability of class 1 lies in the band
agree=first                 of two runs, which is right: both, first, second, neither
tag=negation                rows with the tag
lasso=tsne.2:x,y;x,y;x,y    inside an outline of at most 24 corners, in a picture of the embeddings: method (or tsne-50), layer
col=product:phone           the column has the value; "" = a missing value; ~ : % of names and values as %7E %3A %25
range=price:10..25          10 <= number < 25 in the column; one end may be missing
length=..10                 number of words, with the ends of a range
script=Hangul               more than half of the letters are of the script; other = no such script
source=imdb                 data set of a mixture that the row comes from
has=negation                a phenomenon that a rule finds in the text
cluster=12:refund,battery   of 12 clusters of all rows, the one with these keywords, see `sentviz.analysis.testset.clusters`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from sentviz.analysis.testset import clusters, groups
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.word_counts import IN_WORDS, separated
from sentviz.errors import InputError
from sentviz.io.lazy import pa, pc, pd
from sentviz.io.numbers import percent
from sentviz.io.typed import Finite, either, read, within

Bools = npt.NDArray[np.bool_]
KINDS = ("cell", "word", "p", "agree", "tag", "lasso", "col", "range", "length", "script", "source", "has", "cluster")
AGREE = ("both", "first", "second", "neither")
CORNERS = 24
SCRIPTS = (*groups.SCRIPTS, groups.OTHER)
Class = Annotated[int, within(0, 999)]  # counted from 0; layers of pictures, too
Cell = tuple[Class, Class]
Share = Annotated[float, within(0, 1)]
Clusters = Annotated[int, within(clusters.FEWEST, clusters.MOST)]
Corner = tuple[Finite, Finite]


@dataclass(frozen=True)
class Slice:
    """A kind of `KINDS` and its value; `str()` gives the text that `parse` reads."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}={self.value}"

    @classmethod
    def parse(cls, text: str) -> Slice | None:
        """Return the slice of a text; None for an empty text."""
        if not text:
            return None
        kind, mark, value = text.partition("=")
        part = cls(kind, value)
        if not mark or kind not in KINDS or not value:
            raise InputError(
                f"Unknown selection of rows: “{_line(text)}”. Write KIND=VALUE, where KIND is {', '.join(KINDS[:-1])} or {KINDS[-1]}."
            )
        part.check()
        return part

    @classmethod
    def lasso(cls, method: str, layer: int, outline: npt.ArrayLike) -> Slice:
        """The rows inside an outline (v, 2) in the picture of a method and layer; corners beyond 24 are left out evenly."""
        corners = np.asarray(outline, dtype=float).reshape(-1, 2)
        if len(corners) > CORNERS:
            corners = corners[np.linspace(0, len(corners) - 1, CORNERS).round().astype(int)]
        return cls("lasso", f"{method}.{layer}:" + ";".join(f"{x:.4g},{y:.4g}" for x, y in corners))

    @classmethod
    def column(cls, name: str, value: str) -> Slice:
        """The rows whose column has a value; "" = the rows without a value."""
        return cls("col", f"{groups.quoted(name)}:{groups.quoted(value)}")

    @classmethod
    def between(cls, name: str, low: float, high: float) -> Slice:
        """The rows whose number in a column, or number of words for the name "", is at least `low` and below `high`."""
        ends = "..".join("" if np.isinf(end) else f"{end:.12g}" for end in (low, high))
        return cls("range", f"{groups.quoted(name)}:{ends}") if name else cls("length", ends)

    @classmethod
    def cluster(cls, k: int, keywords: Iterable[str]) -> Slice:
        """The rows of the one of k clusters that has these keywords."""
        return cls("cluster", f"{k}:{','.join(keywords)}")

    def check(self) -> None:
        """Raise InputError if the value is invalid."""
        try:
            self._check_parts()
        except InputError as fault:
            raise InputError(f"“{_line(str(self))}” is not a valid selection of rows: {fault}.") from None

    def _check_parts(self) -> None:
        """Read all parts of the value, each as its type, and check what they must be together."""
        match self.kind:
            case "cell":
                read(Cell, self.value, ("cell",))
            case "word":
                _need(bool(self.word), "the word is missing")
                self.cell  # noqa: B018 - it is read here
            case "p":
                _, low, high = self.band
                _need(low <= high, "the smaller probability comes first")
            case "agree":
                _need(self.value in AGREE, f"it must be {either(AGREE)}")
            case "lasso":
                read(Class, str(self.picture[1]), ("layer",))
                _need(3 <= len(self.outline) <= CORNERS, f"an outline has 3 to {CORNERS} corners")
            case "col":
                _need(":" in self.value and bool(self.named), "it must be col=COLUMN:VALUE")
            case "range" | "length":
                low, high = self.ends
                _need(low < high, "the smaller number comes first")
                _need((low, high) != (-np.inf, np.inf), "both ends are missing")
                _need(bool(self.named) or self.kind == "length", "the column is missing")
            case "script":
                _need(self.value in SCRIPTS, f"it must be {either(SCRIPTS)}")
            case "has":
                _need(self.value in groups.RULES, f"it must be {either(tuple(groups.RULES))}")
            case "cluster":
                keywords = self.clustered[1]
                _need(len(keywords) <= clusters.KEYWORDS and all(keywords), f"a cluster has 1 to {clusters.KEYWORDS} keywords")

    @property
    def word(self) -> str:
        """The word of a word slice."""
        return re.sub(r"@\d+,\d+$", "", self.value) if self.kind == "word" else ""

    @property
    def cell(self) -> tuple[int, ...]:
        """Label and prediction, counted from 0; empty for slices without a cell."""
        match = re.search(r"@(\d+,\d+)$", self.value) if self.kind == "word" else None
        text = self.value if self.kind == "cell" else match[1] if match else ""
        return tuple(read(Cell, text, ("cell",))) if text else ()

    @property
    def band(self) -> tuple[int, float, float]:
        """Class, low and high of a probability band."""
        k, _, ends = self.value.partition(":")
        low, _, high = ends.partition("-")
        return read(Class, k, ("class",)), read(Share, low, ("lower end",)), read(Share, high, ("upper end",))

    @property
    def clustered(self) -> tuple[int, tuple[str, ...]]:
        """Number of clusters, and keywords of one of them."""
        k, _, words = self.value.partition(":")
        return read(Clusters, k, ("number of clusters",)), tuple(words.split(","))

    @property
    def picture(self) -> tuple[str, int]:
        """Method and layer of a lasso."""
        method, _, layer = self.value.partition(":")[0].partition(".")
        return method, read(Class, layer, ("layer",))

    @property
    def named(self) -> str:
        """Name of the column of a group or range."""
        return unquote(self.value.partition(":")[0])

    @property
    def entry(self) -> str:
        """Value in the column of a group; "" = missing."""
        return unquote(self.value.partition(":")[2])

    @property
    def ends(self) -> tuple[float, float]:
        """Least number, and the number that all are below; infinite for a missing end."""
        low, dots, high = self.value.rpartition(":")[2].partition("..")
        _need(bool(dots), "the range must be FROM..TO")
        return (read(Finite, low, ("lower end",)) if low else -np.inf), (read(Finite, high, ("upper end",)) if high else np.inf)

    @property
    def outline(self) -> npt.NDArray[np.float64]:
        """(v, 2) corners of a lasso."""
        corners = self.value.partition(":")[2].split(";")
        return np.array([read(Corner, corner, ("corner", i)) for i, corner in enumerate(corners)])

    def says(self, classes: tuple[str, ...], runs: tuple[str, str] = ("the first run", "the second run")) -> str:
        """Return the slice in words."""

        def name(k: int) -> str:
            return classes[k] if k < len(classes) else f"class {k}"

        match self.kind:
            case "cell":
                return (
                    f"{name(self.cell[0])} predicted as {name(self.cell[1])}"
                    if self.cell[0] != self.cell[1]
                    else f"{name(self.cell[0])}, right"
                )
            case "word":
                inside = ""
                if self.cell:
                    label, predicted = map(name, self.cell)
                    inside = f" among {label}, right" if label == predicted else f" among {label} predicted as {predicted}"
                return f"with the word “{self.word}”{inside}"
            case "p":
                k, low, high = self.band
                return f"{percent(low, 0)} to {percent(high, 0)} {name(k)}"
            case "agree":
                only = {"first": f"only {runs[0]} is right", "second": f"only {runs[1]} is right"}
                return {"both": "both runs are right", "neither": "both runs are wrong"}.get(self.value) or only[self.value]
            case "tag":
                return self.value
            case "col":
                return f"{self.named}: {self.entry or 'no value'}"
            case "range":
                return f"{self.named} {_ends(*self.ends)}"
            case "length":
                return _lengths(*self.ends)
            case "script":
                return f"language (by script): {self.value}"
            case "source":
                return f"from {self.value}"
            case "has":
                return f"with {self.value}"
            case "cluster":
                return f"similar texts: {', '.join(self.clustered[1])}"
            case _:
                method, layer = self.picture
                from sentviz.analysis.embeddings.projection import method_title

                return f"inside the outline drawn in the {method_title(method)} picture of layer {layer}"

    def mask(self, rows: Rows, second_run: Rows | None = None, points: pd.DataFrame | None = None) -> Bools:
        """Return which rows are in the slice, (n,).

        Args:
            second_run: the second run on the same rows, for agree. points: id, x, y of the picture of a lasso.
        """
        frame, every = rows.frame, np.ones(len(rows), dtype=bool)
        if self.cell:
            if max(self.cell) >= len(rows.classes):
                raise InputError(
                    f"{rows.source.name} has {len(rows.classes)} classes; there is no cell {self.cell[0] + 1}, {self.cell[1] + 1}."
                )
            every = (rows.labels == self.cell[0]) & (rows.predicted == self.cell[1])
        match self.kind:
            case "word":
                return every & having(rows, self.word)
            case "p":
                k, low, high = self.band
                if k >= len(rows.classes):
                    raise InputError(f"{rows.source.name} has {len(rows.classes)} classes; there is no class {k + 1}.")
                return np.asarray((rows.probabilities[:, k] >= low) & (rows.probabilities[:, k] <= high))
            case "agree":
                if second_run is None or list(second_run.frame["id"]) != list(frame["id"]):
                    raise InputError("This selection needs a second run on the same rows.")
                first, second = (np.asarray(side["right"], dtype=bool) for side in (frame, second_run.frame))
                parts: dict[str, Bools] = {"both": first & second, "first": first & ~second, "second": ~first & second}
                return parts.get(self.value, np.asarray(~first & ~second))
            case "tag":
                if "tag" not in frame:
                    raise InputError("These rows have no tags. Only the demo set has tags.")
                return np.asarray(frame["tag"] == self.value)
            case "col":
                return groups.in_group(rows, self.named, self.entry)
            case "range":
                return groups.in_range(rows, self.named, *self.ends)
            case "length":
                count, (low, high) = groups.lengths(rows), self.ends
                return np.asarray((count >= low) & (count < high))
            case "script":
                return groups.by_script(rows)[self.value]
            case "source":
                return groups.from_source(rows, self.value)
            case "has":
                return groups.by_phenomenon(rows, self.value)[self.value]
            case "cluster":
                return clusters.in_cluster(rows, *self.clustered)
            case "lasso":
                from sentviz.analysis.embeddings.projection import inside

                if points is None:
                    raise InputError(
                        "The outline belongs to a picture of the embeddings that is not computed yet. Open Rows › Map: t-SNE, UMAP first."
                    )
                is_inside = inside(points[["x", "y"]].to_numpy(float), self.outline)
                if len(points) == len(frame) and (points["id"].to_numpy() == frame["id"].to_numpy()).all():
                    return is_inside
                return np.asarray(frame["id"].isin(set(points.loc[is_inside, "id"])))
            case _:
                return every


def _line(text: str) -> str:
    """The beginning of a text, in one line."""
    return " ".join(text[:60].split())


def _ends(low: float, high: float) -> str:
    """Return the range of a number in words."""
    if np.isinf(high):
        return f"{low:,.12g} or more"
    return f"below {high:,.12g}" if np.isinf(low) else f"from {low:,.12g} to below {high:,.12g}"


def _lengths(low: float, high: float) -> str:
    """Return the range of a number of words in words."""
    if np.isinf(high):
        return f"{np.ceil(low):,.0f} or more words"
    most = np.ceil(high) - 1
    return f"{np.ceil(low):,.0f} to {most:,.0f} words" if low > 1 else f"at most {most:,.0f} words"


def _need(is_so: bool, fault: str) -> None:
    """Raise InputError if a condition is not met."""
    if not is_so:
        raise InputError(fault)


def having(rows: Rows, word: str) -> Bools:
    """Return which texts have a word, (n,) bool, split as `sentviz.analysis.testset.word_counts` does."""
    edge = f"[^{IN_WORDS}]"
    return matching(rows, f"(?:^|{edge})'*{re.escape(word)}'*(?:{edge}|$)", separated)


def matching(rows: Rows, pattern: str, prepared: Callable[[Any], Any] | None = None) -> Bools:
    """Return which texts match a regular expression, (n,) bool, in RE2's syntax; case is ignored. The time is linear in the text.

    Args:
        prepared: function that is applied to the texts before, as an arrow array.
    """
    if not rows.has_text:
        raise InputError("The texts of these rows are not installed, so they cannot be searched.")
    texts = pa.array(rows.texts, type=pa.large_string())
    try:
        matches = pc.match_substring_regex(prepared(texts) if prepared else texts, pattern, ignore_case=True)
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise InputError(f"“{_line(pattern)}” is not a regular expression ({reason}).") from None
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=bool)
