"""Write a network as an ONNX graph for any number of texts of any length, computed as for traces with maps.

    ids       (B, n) int64   entries of the vocabulary
    mask      (B, n) bool    True = a real token; absent if the network reads padding like any token, and n is fixed then
    segments  (B, n) int64   0 or 1, the text of a token, if the network reads pairs
    tags      (B, n) int64   part of speech, if the network reads it
    ->
    logits    (B, K)
    pooled    (B, d)         input of the classifier
    attention (B, L, H, n, n), components (B, L, C, H, n, n), on request

Other inputs of a layer (lexicon polarities, positions of random global tokens, lambdas) follow from the tokens or are learned, so the graph
contains them.
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
from sentviz.models.protocol import Capture, Inputs, Network

MAX_BATCH = 1 << 16  # texts; the exporter needs an upper bound to allow any smaller batch


class Graph(nn.Module):
    """Module with tensors as inputs and outputs that computes what a network does."""

    def __init__(self, network: Network, *, maps: bool = False) -> None:
        """Wrap a network. With `maps`, the outputs include attention, and the components if there are several.

        Raises:
            RunError: the network has no attention maps to return.
        """
        super().__init__()
        has = network.capabilities
        if maps and not has.maps:
            raise RunError("This model has no attention maps to export.")
        self.network, self.maps = network.plain(), maps
        self.masked = not has.padded
        self.inputs = ("ids", *["mask"] * self.masked, *["segments"] * has.pairs, *["tags"] * has.tags)
        several = maps and has.components > 1
        self.outputs = ("logits", "pooled", *["attention"] * maps, *["components"] * several)

    def forward(self, ids: Tensor, mask: Tensor | None = None, segments: Tensor | None = None, tags: Tensor | None = None) -> Any:
        """Return the outputs in the order of `self.outputs`.

        The network computes as for traces: its faster kernels without maps branch on sizes and write in place, which ONNX does not support.
        """
        out = self.network(Inputs(ids, mask, segments, tags), Capture(maps=self.network.capabilities.maps))
        outputs = [out.logits, out.pooled]
        if self.maps:
            layers = [out.captured[layer] for layer in range(self.network.capabilities.layers)]
            outputs.append(torch.stack([layer_output.attention for layer_output in layers], dim=1))
            if "components" in self.outputs:
                outputs.append(torch.stack([layer_output.components for layer_output in layers], dim=1))
        return tuple(outputs)

    def example(self) -> dict[str, Tensor]:
        """Return input tensors of two texts, one of them padded, by input name."""
        config = self.network.config
        n = min(7, config.max_length) if self.masked else config.max_length
        ids = torch.arange(2 * n).reshape(2, n) % config.vocab_size
        mask = torch.arange(n)[None, :] < torch.tensor([[n], [max(1, n - 2)]])
        tensors = {"ids": ids, "mask": mask, "segments": torch.zeros_like(ids), "tags": torch.zeros_like(ids)}
        return {name: tensors[name] for name in self.inputs}


def require_package(package: str) -> Any:
    """Import a package of the extra `onnx`.

    Raises:
        RunError: the package is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise RunError(f"ONNX needs the package {package}: `python -m pip install 'sentviz[onnx]'`.") from None


def write(graph: Graph, path: Path) -> None:
    """Write a graph with its weights as one file.

    Raises:
        RunError: the packages are missing, or torch cannot export a step of the network.
    """
    for package in ("onnx", "onnxscript"):
        require_package(package)
    graph.eval()
    example = graph.example()
    axes: dict[int, Any] = {0: torch.export.Dim("batch", min=1, max=MAX_BATCH)}
    if graph.masked and graph.network.config.max_length > 1:
        axes[1] = torch.export.Dim("length", min=1, max=graph.network.config.max_length)
    with _quiet(), torch.inference_mode(False), torch.enable_grad():  # Without gradients, some steps run in place.
        try:
            program = torch.onnx.export(
                graph,
                (),
                kwargs=example,
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=dict.fromkeys(example, axes),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
            assert program is not None
            program.save(path)
        except (torch.onnx.errors.OnnxExporterError, RuntimeError) as error:
            raise RunError(f"This network cannot be written as ONNX ({' '.join(str(error).split())[:200]}).") from error


def compress(whole: Path, small: Path) -> None:
    """Write the graph with 8-bit matrices and integer products (dynamic quantisation, one scale per column).

    Raises:
        RunError: the packages are missing, or the graph has no product of single-precision matrices.
    """
    quantisation = require_package("onnxruntime.quantization")
    with _quiet():
        quantisation.quantize_dynamic(whole, small, weight_type=quantisation.QuantType.QInt8, per_channel=True)
    nodes = {node.op_type for node in require_package("onnx").load(small).graph.node}
    if not nodes & {"MatMulInteger", "DynamicQuantizeLSTM", "ConvInteger"}:
        raise RunError("This network cannot be exported in 8 bits: it has no products of single-precision matrices.")


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings and logs of the exporter: they are about its development, not about the exported file."""
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
