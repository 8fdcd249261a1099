"""Rows of text as padded batches of token ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from hashlib import blake2b

import numpy as np
import torch
from torch import Tensor

from sentviz.data.tags import Tagger, tags_of
from sentviz.data.texts import LONGEST, TokenizedText
from sentviz.data.tokenizers import Tokenizer
from sentviz.io.lazy import pd
from sentviz.models.protocol import Inputs

WEIGHTS_TIMES_TOKENS, LEAST_TOKENS = 20_000_000_000, 128  # limits of `tokens_per_batch`
TOKENS_PER_BATCH = 4_096  # tokens of a batch: the hidden states of more do not fit into the processor's cache
TOKENS_ON_GPU = 32_768  # tokens of a batch on a GPU: several matrix products of this size fill it
ENOUGH_TOKENS = 128  # tokens of a batch that computes at full speed
CHARACTERS = LONGEST  # characters tokenized at a time, so that memory does not grow with the number of texts


def collate(rows: Sequence[TokenizedText], device: torch.device | str = "cpu", *, filled: int = 0) -> Inputs:
    """Return texts as one batch, padded to the longest.

    The batch has no mask if no text is padded. It has segments and tags only if every text has them.

    Args:
        filled: length to which every text is padded; the batch then has no mask, so the model reads padding like any token.
    """
    lengths = [len(row) for row in rows]
    longest = filled or max(1, *lengths)  # a text without tokens is padding that no layer reads
    columns: dict[str, Tensor] = {}
    for name in (item.name for item in fields(TokenizedText)):
        parts = [getattr(row, name) for row in rows]
        if all(part is not None for part in parts):
            table = np.zeros((len(rows), longest), dtype=np.int64)
            for i, part in enumerate(parts):
                table[i, : len(part)] = part
            columns[name] = torch.from_numpy(table).to(device)
    if min(lengths) < longest and not filled:
        columns["mask"] = torch.from_numpy(np.arange(longest)[None, :] < np.array(lengths)[:, None]).to(device)
    return Inputs(**columns)


def digest_of(rows: Sequence[TokenizedText], change: str) -> bytes:
    """Return a digest of everything that decides the output of a batch of texts under an intervention, given by its text."""
    digest = blake2b(change.encode(), digest_size=16)
    for row in rows:
        for part in (getattr(row, item.name) for item in fields(TokenizedText)):
            digest.update(b"-" if part is None else len(part).to_bytes(4, "big") + np.asarray(part, dtype=np.int64).tobytes())
    return digest.digest()


def read(
    tokenizer: Tokenizer, frame: pd.DataFrame, *, max_length: int, cls: bool, segments: bool, tagger: Tagger | None = None
) -> list[TokenizedText]:
    """Return the columns text and text_pair (if there is one) as token ids, one `TokenizedText` per row.

    Args:
        max_length: tokens of a row at most. cls: put [CLS] first.
        segments: tell for each token to which of the two texts it belongs.
        tagger: gives each token its part of speech.
    """
    return [row for part in portions(frame) for row in _read(tokenizer, part, max_length, cls, segments, tagger)]


def portions(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Split a frame into parts of at most `CHARACTERS` characters of text and text_pair; a longer row is a part by itself."""
    start = characters = 0
    for place, row in enumerate(zip(*(frame[name] for name in ("text", "text_pair") if name in frame), strict=True)):
        size = sum(min(len(text), LONGEST) for text in row if isinstance(text, str))
        if place > start and characters + size > CHARACTERS:
            yield frame.iloc[start:place]
            start, characters = place, 0
        characters += size
    if start < len(frame):
        yield frame.iloc[start:]


def _read(
    tokenizer: Tokenizer, frame: pd.DataFrame, max_length: int, cls: bool, segments: bool, tagger: Tagger | None
) -> list[TokenizedText]:
    """Return what `read` returns, for a part of a frame."""
    texts = frame["text"].tolist()
    pairs = frame["text_pair"].tolist() if "text_pair" in frame else None
    if tagger is not None:
        encoded = tokenizer.encode_batch(texts, pairs, max_length=max_length, cls=cls)
        tags = tags_of(tagger, encoded, list(zip(*([texts] if pairs is None else [texts, pairs]), strict=True)))
        return [TokenizedText(e.ids, e.segments if segments else None, t) for e, t in zip(encoded, tags, strict=True)]
    if pairs is None or not segments:
        return [TokenizedText(ids) for ids in tokenizer.ids_batch(texts, pairs, max_length=max_length, cls=cls)]
    return [each.reading for each in tokenizer.encode_batch(texts, pairs, max_length=max_length, cls=cls)]


def device_of(network: torch.nn.Module) -> torch.device:
    """Return the device of a network's weights; the CPU if it has none."""
    return next((parameter.device for parameter in network.parameters()), torch.device("cpu"))


def tokens_per_batch(network: torch.nn.Module) -> int:
    """Return the largest number of tokens of a batch: fewer for a large network, so that stopped work ends in half a second on one core."""
    if device_of(network).type == "cuda":
        return TOKENS_ON_GPU
    weights = sum(parameter.numel() for parameter in network.parameters())
    return min(TOKENS_PER_BATCH, max(LEAST_TOKENS, WEIGHTS_TIMES_TOKENS // max(1, weights)))


def by_length(lengths: Sequence[int], tokens: int = TOKENS_PER_BATCH, *, padded: float = 1.0) -> list[list[int]]:
    """Return row numbers in batches of similar lengths, longest first. A batch has at most `tokens` tokens with padding, or one row.

    Args:
        padded: largest share of padding in a row that joins a batch of ENOUGH_TOKENS; more padding costs more than another batch.
    """
    order = np.argsort(lengths, kind="stable")[::-1]
    batches: list[list[int]] = []
    for i in order:
        longest = lengths[batches[-1][0]] if batches else 0
        size = len(batches[-1]) * longest if batches else 0
        if not batches or size + longest > tokens or (size >= ENOUGH_TOKENS and lengths[i] < (1 - padded) * longest):
            batches.append([])
        batches[-1].append(int(i))
    return batches
