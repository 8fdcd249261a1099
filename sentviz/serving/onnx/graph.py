"""A network as an ONNX graph: the equation written out, as it is where maps are looked at, for any number of texts of any length.

    ids       (B, n) int64   entries of the vocabulary
    mask      (B, n) bool    True = a real token; absent where padding is read like any token, and n is fixed then
    segments  (B, n) int64   which of two texts a token is of, where the network reads pairs
    tags      (B, n) int64   part of speech, where the network reads them
    ->
    logits    (B, K)
    pooled    (B, d)         what the classifier reads
    attention (B, L, H, n, n), components (B, L, C, H, n, n), on request

What else a layer reads (polarities of a lexicon, places of drawn globals, lambdas) is of the tokens or learned, and stands in the graph.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sentviz.errors import RunError
from sentviz.models.protocol import Inputs, Network, Watch

LONGEST_BATCH = 1 << 16  # texts; that a bound is named lets the exporter leave it open


class Graph(nn.Module):
    """A network with tensors in and tensors out."""

    def __init__(self, network: Network, *, maps: bool = False) -> None:
        """`maps`: attention is given too, and the components where there are several.

        Raises:
            RunError: maps of a network without any.
        """
        super().__init__()
        has = network.capabilities
        if maps and not has.maps:
            raise RunError("This model has no attention maps to export.")
        self.network, self.maps = network.plain(), maps
        self.masked = bool(getattr(network.config, "masked", True))
        self.inputs = ("ids", *["mask"] * self.masked, *["segments"] * has.pairs, *["tags"] * has.tags)
        several = maps and has.components > 1
        self.outputs = ("logits", "pooled", *["attention"] * maps, *["components"] * several)

    def forward(self, ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None, tags: Tensor | None = None) -> Any:
        """The outputs in order; with a watch, since the kernels that show no map branch on sizes and write in place."""
        out = self.network(Inputs(ids, mask, segments, tags), Watch(maps=self.network.capabilities.maps))
        given = [out.logits, out.pooled]
        if self.maps:
            seen = [out.seen[layer] for layer in range(self.network.capabilities.layers)]
            given.append(torch.stack([each.attention for each in seen], dim=1))
            if "components" in self.outputs:
                given.append(torch.stack([each.components for each in seen], dim=1))
        return tuple(given)

    def example(self) -> dict[str, Tensor]:
        """Two texts, one of them padded, by name of the input."""
        config = self.network.config
        n = min(7, config.max_length) if self.masked else config.max_length
        ids = torch.arange(2 * n).reshape(2, n) % config.vocab_size
        mask = torch.arange(n)[None, :] < torch.tensor([[n], [max(1, n - 2)]])
        whole = {"ids": ids, "mask": mask, "segments": torch.zeros_like(ids), "tags": torch.zeros_like(ids)}
        return {name: whole[name] for name in self.inputs}


def needed(package: str) -> Any:
    """A package of the extra.

    Raises:
        RunError: it is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise RunError(f"ONNX needs the package {package}: `python -m pip install 'sentviz[onnx]'`.") from None


def write(graph: Graph, path: Path) -> None:
    """Write a graph, weights and all, as one file.

    Raises:
        RunError: the packages are missing, or torch knows no way to write a step of the network.
    """
    for package in ("onnx", "onnxscript"):
        needed(package)
    graph.eval()
    given = graph.example()
    axes: dict[int, Any] = {0: torch.export.Dim("batch", min=1, max=LONGEST_BATCH)}
    if graph.masked and graph.network.config.max_length > 1:
        axes[1] = torch.export.Dim("length", min=1, max=graph.network.config.max_length)
    with _quiet(), torch.inference_mode(False), torch.enable_grad():  # without gradients some steps are computed in place
        try:
            made = torch.onnx.export(
                graph,
                (),
                kwargs=given,
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=dict.fromkeys(given, axes),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
            assert made is not None
            made.save(path)
        except (torch.onnx.errors.OnnxExporterError, RuntimeError) as error:
            raise RunError(f"This network cannot be written as ONNX ({' '.join(str(error).split())[:200]}).") from error


def compress(whole: Path, small: Path) -> None:
    """The same graph with matrices in 8 bits, products taken in whole numbers (dynamic quantisation, a scale for each column).

    Raises:
        RunError: the packages are missing, or nothing of the graph is a product of single-precision matrices.
    """
    quantisation = needed("onnxruntime.quantization")
    with _quiet():
        quantisation.quantize_dynamic(whole, small, weight_type=quantisation.QuantType.QInt8, per_channel=True)
    nodes = {node.op_type for node in needed("onnx").load(small).graph.node}
    if not nodes & {"MatMulInteger", "DynamicQuantizeLSTM", "ConvInteger"}:
        raise RunError("Nothing of this network can be put into 8 bits: it has no products of single-precision matrices.")


@contextmanager
def _quiet() -> Iterator[None]:
    """Notes of the exporter are about its own future, not about the user's file."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir", "")]
    before = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for logger in loggers:
                logger.setLevel(logging.ERROR)
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)
