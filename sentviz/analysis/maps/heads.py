"""Measure what each head attends to over a complete split, [CLS] in particular. Values are summed batch by batch; no map is stored.

For every text, layer and head, on the effective map, rows by absolute size and scaled to sum 1 as in `sentviz.analysis.maps.layers`:
    entropy          of a row as a share of its maximum log n
    previous, next   share of the attention on the token before, after
    same             on the token itself (the diagonal)
    specials         on [CLS] and [SEP]; first: on the first token, which is [CLS] where there is one
and, with [CLS] (Sentiment-Fused Attention, section 6 and figure 5), on the map as it is:
    from_cls         standard deviation of the attention of [CLS] towards the other tokens
    to_cls           standard deviation of the attention of the other tokens towards [CLS]
Reported are means over texts with 95 % intervals (normal; n is in the thousands), for each head and, as head -1, for the mean over heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, torch
from sentviz.runs.configs import Capabilities
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

MEASURES = ("entropy", "previous", "next", "same", "specials", "first")
CLS_MEASURES = ("from_cls", "to_cls")
FILE = "heads.parquet"
WEIGHTS_PER_BATCH = 1 << 24


def patterns(maps: torch.Tensor, lengths: torch.Tensor, specials: torch.Tensor, cls: bool) -> torch.Tensor:
    """Return the measures (B, L, H, measures) of effective maps (L, B, H, n, n), with lengths (B,) and special tokens (B, n).

    The deviations of a text with no token but [CLS] are NaN.
    """
    n = maps.shape[-1]
    place = torch.arange(n)
    real = place < lengths[:, None]  # (B, n)
    size = maps.abs() * real[None, :, None, None, :]
    size = size / size.sum(dim=-1, keepdim=True).clamp_min(1e-12)
    weight = (real / lengths[:, None]).to(maps)  # (B, n) each query's share of the mean

    def mean(rows: torch.Tensor) -> torch.Tensor:
        return torch.einsum("lbhn,bn->blh", rows, weight)

    step = place[None, :] - place[:, None]
    entropy = mean(torch.special.entr(size).sum(dim=-1)) / lengths.log().clamp_min(1e-12)[:, None, None]
    measured = [entropy, *(mean((size * (step == offset)).sum(dim=-1)) for offset in (-1, 1, 0))]
    measured += [mean((size * specials[None, :, None, None, :]).sum(dim=-1)), mean(size[..., 0])]
    if cls:
        other_tokens = real & (place > 0)
        measured += [_deviation(values, other_tokens).transpose(0, 1) for values in (maps[..., 0, :], maps[..., :, 0])]
    return torch.stack(measured, dim=-1)


def _deviation(values: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    """Return the standard deviation of values (L, B, H, n) over selected tokens (B, n) of each text, (L, B, H); NaN without tokens."""
    chosen = which[None, :, None, :]
    count = chosen.sum(dim=-1)
    mean = (values * chosen).sum(dim=-1) / count
    return (((values - mean[..., None]) ** 2 * chosen).sum(dim=-1) / count).sqrt()


def of_trace(trace: Trace) -> pd.DataFrame:
    """Return the same measures for one sentence: layer, head (-1 = mean over heads), measure, value."""
    stack = trace.stack()
    if not trace.whole or len(stack) != len(trace.lambdas):
        raise InputError("Head measures need a complete trace, made without a choice of layers, heads or queries.")
    n = len(trace.tokens)
    cls = bool(trace.specials[0])
    maps = torch.from_numpy(stack.astype(np.float64))[:, None]
    values = patterns(maps, torch.tensor([n]), torch.from_numpy(trace.specials.copy())[None], cls)[0].numpy()
    return _table(values, np.zeros_like(values), _mean_of_heads(values[None])[0], np.zeros_like(values[:, 0]), 1, cls)[
        ["layer", "head", "measure", "value"]
    ]


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts, sums and squares of rows, which add up over parts. Axes: layer, head (the last is the mean over heads), measure."""

    counts: npt.NDArray[np.int64]  # (L, H+1, measures) rows with a value
    total: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]

    @classmethod
    def of(cls, each: npt.NDArray[np.floating[Any]]) -> Sums:
        """Build the sums of rows (B, L, H, measures); NaN = a row without a value."""
        wide = each.astype(np.float64)
        wide = np.concatenate([wide, _mean_of_heads(wide)[:, :, None]], axis=2)
        known = np.isfinite(wide)
        wide = np.where(known, wide, 0)
        return cls(known.sum(axis=0), wide.sum(axis=0), (wide**2).sum(axis=0))

    def __add__(self, more: Sums) -> Sums:
        return Sums(self.counts + more.counts, self.total + more.total, self.squares + more.squares)

    def table(self, cls: bool) -> pd.DataFrame:
        """Return the means: layer, head (-1 = mean over heads), measure, value, low, high, sd, n.

        Args:
            cls: whether the measures of [CLS] are included.
        """
        n = np.maximum(self.counts, 1)
        mean = self.total / n
        deviation = np.sqrt(np.maximum(self.squares / n - mean**2, 0))
        return _table(mean[:, :-1], deviation[:, :-1], mean[:, -1], deviation[:, -1], self.counts, cls)


def measures(cls: bool) -> tuple[str, ...]:
    """Return the names of the last axis of `each_row`'s values."""
    return (*MEASURES, *(CLS_MEASURES if cls else ()))


def lacks(has: Capabilities) -> str:
    """Return why the heads of a model cannot be measured, as a predicate; "" if they can."""
    return "" if has.maps else "has no attention heads to measure"


def each_row(model: Model, rows: Sequence[TokenizedText]) -> Iterator[tuple[list[int], npt.NDArray[np.float64]]]:
    """Yield the positions of some rows and their measures (B, L, H, measures), batch by batch."""

    from sentviz.models.protocol import Capture

    has = model.capabilities
    if why := lacks(has):
        raise InputError(f"{model.name} {why}.")
    for batch in _batches([len(row) for row in rows], has.layers * has.components * has.heads):
        some = [rows[i] for i in batch]
        with torch.inference_mode():
            inputs = model.batch(some)
            maps = model.network(inputs, Capture()).attention
            assert maps is not None
            specials = torch.zeros_like(inputs.ids, dtype=torch.bool)
            for place, row in enumerate(some):
                specials[place, : len(row)] = torch.from_numpy(model.tokenizer.specials_of(row, cls=model.cls))
            each = patterns(maps, torch.tensor([len(row) for row in some]), specials, model.cls).double().numpy()
        yield batch, each


def over_rows(model: Model, rows: Sequence[TokenizedText], progress: Progress | None = None) -> pd.DataFrame:
    """Return the means over some texts, as `Sums.table` does."""
    if not rows:
        raise InputError("There are no texts to measure.")
    sums, done = None, 0
    for batch, each in each_row(model, rows):
        some = Sums.of(each)
        sums = some if sums is None else sums + some
        done += len(batch)
        if progress is not None:
            progress(done, len(rows))
    assert sums is not None
    return sums.table(model.cls)


def over_split(model: Model, frame: pd.DataFrame, progress: Progress | None = None) -> pd.DataFrame:
    """Return `over_rows` for the texts, or pairs of texts, of a frame."""
    return over_rows(model, model.read(frame), progress)


def _mean_of_heads(each: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the means over heads: (B, L, H, measures) -> (B, L, measures)."""
    return np.asarray(each.mean(axis=2))


def _batches(lengths: Sequence[int], maps: int) -> list[list[int]]:
    """Return row numbers in batches of similar lengths whose maps have at most `WEIGHTS_PER_BATCH` weights."""
    order = np.argsort(lengths, kind="stable")[::-1]
    batches: list[list[int]] = []
    for i in order:
        longest = lengths[batches[-1][0]] if batches else 0
        if not batches or (len(batches[-1]) + 1) * maps * longest**2 > WEIGHTS_PER_BATCH:
            batches.append([])
        batches[-1].append(int(i))
    return batches


def _table(
    heads: npt.NDArray[np.float64],
    deviations: npt.NDArray[np.float64],
    mean: npt.NDArray[np.float64],
    deviation: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64] | int,
    cls: bool,
) -> pd.DataFrame:
    """Return the values of the heads (L, H, measures) and of their mean (L, measures) as one tidy table."""
    names = measures(cls)
    values = np.concatenate([heads, mean[:, None]], axis=1)
    spread = np.concatenate([deviations, deviation[:, None]], axis=1)
    layer, head, measure = (axis.ravel() for axis in np.indices(values.shape))
    n = np.broadcast_to(counts, values.shape).ravel()
    half = 1.96 * spread.ravel() / np.sqrt(np.maximum(n, 1))
    return pd.DataFrame(
        {
            "layer": layer,
            "head": np.where(head == heads.shape[1], -1, head),
            "measure": [names[k] for k in measure],
            "value": values.ravel(),
            "low": values.ravel() - half,
            "high": values.ravel() + half,
            "sd": spread.ravel(),
            "n": n,
        }
    )
