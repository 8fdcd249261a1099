"""States of many texts by depth, and the predictions of a model whose states are moved at some depths.

Depth 0 is the embedding, depth l the output of layer l. The row vector of a text at a depth is the mean of the states of its tokens; after
the last layer, of those that the classifier reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.maps.wordclasses import own_lists
from sentviz.data.labels import sides as sides_of
from sentviz.data.texts import Encoded, word_spans
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, torch

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.protocol import Inputs, InterventionTensors, Shift

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

PLACES = {"all": "all tokens", "function": "function words", "punctuation": "punctuation", "first": "the first token"}
LEAST = 10  # rows of each side
EVERY = -1  # in place of a depth: at every depth, each with its own direction


def poles(labels: Sequence[str], name: str) -> Ints:
    """Return the side of each class: 0 negative, 1 positive, -1 neither. Of two other classes, the first is side 0."""
    sides = np.array(sides_of(labels))
    if {-1, 1} <= set(sides.tolist()):
        return np.where(sides < 0, 0, np.where(sides > 0, 1, -1))
    if len(labels) == 2:
        return np.arange(2)
    raise InputError(f"The classes of {name} ({', '.join(labels)}) have no negative and no positive side, so there is no direction.")


def check(model: Model) -> None:
    """Check that a model has states of tokens and classes."""
    if "state" not in model.capabilities.replaces:
        raise InputError(f"{model.name} has no states of tokens that can be changed: directions need a transformer.")
    if not model.capabilities.predicts:
        from sentviz.models.model import NO_CLASSES

        raise InputError(NO_CLASSES.format(model.name))


@dataclass(frozen=True, eq=False)
class Texts:
    """Encoded texts with the side of their labels."""

    texts: tuple[str, ...]
    pairs: tuple[str, ...] | None
    encoded: tuple[Encoded, ...]
    side: Ints  # (N,) 0 or 1

    @classmethod
    def of(cls, model: Model, frame: pd.DataFrame, side: Ints) -> Texts:
        """Encode the texts of a frame."""
        texts = frame["text"].tolist()
        pairs = frame["text_pair"].tolist() if "text_pair" in frame else None
        return cls(tuple(texts), None if pairs is None else tuple(pairs), tuple(model.encode_all(texts, pairs)), side)

    def __len__(self) -> int:
        return len(self.texts)


def halves(model: Model, frame: pd.DataFrame, fit: int, measure: int, seed: int, words: int = 0) -> tuple[Texts, Texts]:
    """Draw two samples of rows without a common row, each with equally many rows of both sides.

    Args:
        frame: text, [text_pair], label (of the model's classes; -1 if unknown).
        fit, measure: rows of the two samples at most; if there are fewer rows, both shrink by the same factor.
        words: largest number of words of a text, if there are enough such texts; 0 = no limit.
    """
    of_class = poles(model.labels, model.name)
    label = frame["label"].to_numpy()
    side = np.where(label >= 0, of_class[np.maximum(label, 0).astype(np.int64)], -1)
    blank = frame["text"].map(lambda text: not isinstance(text, str) or not text.strip()).to_numpy(bool)
    rng = np.random.default_rng(seed)
    pools = [rng.permutation(np.flatnonzero((side == each) & ~blank)) for each in (0, 1)]
    if words:
        short = frame["text"].map(lambda text: isinstance(text, str) and len(text.split()) <= words).to_numpy(bool)
        some = [pool[short[pool]] for pool in pools]
        pools = some if min(map(len, some)) * 2 >= fit + measure else pools
    smallest = min(map(len, pools))
    if smallest < 2 * LEAST:
        names = [" or ".join(name for name, of in zip(model.labels, of_class, strict=True) if of == each) for each in (0, 1)]
        counts = " and ".join(f"{len(pool):,} of {name}" for pool, name in zip(pools, names, strict=True))
        raise InputError(
            f"A direction needs at least {2 * LEAST} rows of both sides, but the sample has {counts}. Use another split or more rows."
        )
    factor = min(1.0, 2 * smallest / (fit + measure))
    sizes = [max(LEAST, int(factor * size / 2)) for size in (fit, measure)]
    samples = []
    for start, size in zip((0, sizes[0]), sizes, strict=True):
        rows = np.sort(np.concatenate([pool[start : start + size] for pool in pools]))
        samples.append(Texts.of(model, frame.iloc[rows], side[rows].astype(np.int64)))
    return samples[0], samples[1]


def batches(model: Model, texts: Texts, progress: Progress | None = None) -> Iterator[tuple[list[int], Inputs, torch.Tensor]]:
    """Yield row numbers, inputs and embeddings (B, n, d) of batches of similar lengths."""
    from sentviz.models.batches import by_length, tokens_per_batch

    done, rows = 0, [encoded.reading for encoded in texts.encoded]
    filled = model.config.max_length if model.capabilities.padded else 0
    for batch in by_length([filled or len(row) for row in rows], tokens_per_batch(model.network)):
        model.check()
        inputs = model.network.ready(model.batch([rows[i] for i in batch]))
        yield batch, inputs, model.network.embed(inputs)
        done += len(batch)
        if progress is not None:
            progress(done, len(rows))


def states(
    model: Model, texts: Texts, tokens: Sequence[Ints] = (), depths: Sequence[int] = (), progress: Progress | None = None
) -> tuple[Floats, dict[int, npt.NDArray[np.float32]]]:
    """Return the row vectors (L + 1, N, d), and the states (T, d) of some tokens at some depths.

    Args:
        tokens: places of the tokens of each text, in the order of the texts. depths: those at which their states are returned.
    """
    has = model.capabilities
    rows = np.zeros((has.layers + 1, len(texts), model.config.width))
    starts = np.cumsum([0, *map(len, tokens)])
    token_states = {depth: np.zeros((int(starts[-1]), model.config.width), dtype=np.float32) for depth in depths}
    with torch.inference_mode():
        for batch, inputs, x in batches(model, texts, progress):
            change = model.applied(None)
            for depth in range(has.layers + 1):
                if depth:
                    x = model.network.step(depth - 1, x, inputs, None, change)[0]
                rows[depth, batch] = _row_vectors(model, x, inputs, last=depth == has.layers).double().numpy()
                if depth in token_states:
                    for place, row in enumerate(batch):
                        token_states[depth][starts[row] : starts[row + 1]] = x[place, torch.from_numpy(tokens[row])].float().numpy()
    return rows, token_states


def _row_vectors(model: Model, x: torch.Tensor, inputs: Inputs, *, last: bool) -> torch.Tensor:
    if last and model.capabilities.cls:
        return x[:, 0]
    if last and model.capabilities.last:
        return x[torch.arange(len(x)), inputs.lengths - 1]
    if inputs.mask is None:
        return x.mean(dim=1)
    weight = inputs.mask.to(x).unsqueeze(-1)
    return (x * weight).sum(dim=1) / weight.sum(dim=1).clamp_min(1)


def places(texts: Texts) -> dict[str, list[Bools]]:
    """Return which tokens of each text are of each kind of `PLACES`, (n,); kinds that no text has are left out.

    A token of several kinds of words, such as a piece of an unknown word, is punctuation only if no letter or digit is in its word.
    """
    function = own_lists()["function words"]
    masks_of_kind: dict[str, list[Bools]] = {name: [] for name in PLACES}
    for i, encoded in enumerate(texts.encoded):
        of_kind = {name: np.zeros(len(encoded.ids), dtype=np.bool_) for name in PLACES}
        of_kind["all"][:] = True
        of_kind["first"][:1] = True
        for word in word_spans(texts.texts[i], encoded, None if texts.pairs is None else texts.pairs[i]):
            at = list(word.indices)
            if encoded.specials[at[0]]:
                continue
            of_kind["function"][at] = word.text.casefold() in function
            of_kind["punctuation"][at] = re.search(r"\w", word.text) is None
        for name, mask in of_kind.items():
            masks_of_kind[name].append(mask)
    return {name: masks for name, masks in masks_of_kind.items() if any(mask.any() for mask in masks)}


def moved_sides(
    model: Model,
    texts: Texts,
    moves: Mapping[str, Mapping[int, Shift]],
    masks: Mapping[str, Sequence[Bools] | None],
    progress: Progress | None = None,
) -> dict[str, Bools]:
    """Return, for each set of moves, whether each text is predicted on side 1, (N,).

    A text is on the side whose classes have the larger sum of probabilities. Layers below the lowest move of a set are not run again.

    Args:
        moves: name -> depth -> the move at that depth, without tokens. An empty mapping is the unchanged model.
        masks: name -> which tokens of each text are moved; None for all.
    """
    from torch.nn import functional

    of_class = torch.from_numpy(poles(model.labels, model.name))
    predicted = {name: np.zeros(len(texts), dtype=np.bool_) for name in moves}
    network, layers = model.network, model.capabilities.layers
    with torch.inference_mode():
        for batch, inputs, embedded in batches(model, texts, progress):
            x, unchanged = embedded, model.applied(None)
            for depth in range(layers + 1):
                if depth:
                    x = network.step(depth - 1, x, inputs, None, unchanged)[0]
                for name, shifts in moves.items():
                    if min(shifts, default=layers) != depth:
                        continue
                    model.check()
                    change = _change(shifts, masks[name], batch, x)
                    y = change.put("state", depth, x)
                    for layer in range(depth, layers):
                        y = network.advance(layer, y, inputs, change)
                    share = functional.softmax(network.classifier(network.pool(y, inputs.mask)).float(), dim=-1)
                    predicted[name][batch] = (share[:, of_class == 1].sum(1) > share[:, of_class == 0].sum(1)).numpy()
    return predicted


def _change(shifts: Mapping[int, Shift], masks: Sequence[Bools] | None, batch: list[int], x: torch.Tensor) -> InterventionTensors:
    """Return the moves of a batch as the network takes them."""
    from dataclasses import replace

    from sentviz.models.protocol import InterventionTensors

    tokens = None
    if masks is not None:
        tokens = torch.zeros(x.shape[:2], dtype=torch.bool)
        for place, row in enumerate(batch):
            tokens[place, : len(masks[row])] = torch.from_numpy(masks[row])
    return InterventionTensors(replaced={("state", depth): (replace(shift, tokens=tokens),) for depth, shift in shifts.items()})
