"""Networks without attention, as baselines: a bidirectional LSTM and a convolution over words.

The papers report only the sizes of their baselines. In ours, the embedding has the width of the states, so all layers have states of one
width. The LSTM's classifier reads the mean of its states, the convolution's their maximum (Kim 2014); padding is never read.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sentviz.models.protocol import Capture, Inputs, InterventionTensors, LayerActivations, Network
from sentviz.runs.configs import ConvolutionalConfig, RecurrentConfig


class _Baseline(Network):
    """The common parts of both networks: an embedding, dropout, a linear classifier."""

    config: RecurrentConfig | ConvolutionalConfig

    def __init__(self, config: RecurrentConfig | ConvolutionalConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=0.1)
        with torch.no_grad():
            self.embedding.weight[0] = 0
        self.dropout = nn.Dropout(config.dropout)

    def _classifier(self) -> nn.Linear:
        classifier = nn.Linear(self.config.width, self.config.classes)
        nn.init.xavier_uniform_(classifier.weight)
        nn.init.zeros_(classifier.bias)
        return classifier

    @property
    def table(self) -> Tensor:
        """The embedding table, (V, d)."""
        return self.embedding.weight

    def embed(self, inputs: Inputs) -> Tensor:
        """Return token embeddings, (B, n, d)."""
        x: Tensor = self.embedding(inputs.ids) if inputs.vectors is None else inputs.vectors
        return self.dropout(x)  # type: ignore[no-any-return]


class Recurrent(_Baseline):
    """Bidirectional LSTM layers; each text is read to its own end."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        self.lstms = nn.ModuleList(nn.LSTM(config.width, config.hidden, batch_first=True, bidirectional=True) for _ in range(config.layers))
        self.classifier = self._classifier()

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Run one LSTM layer; the states of padding are zero."""
        if torch.onnx.is_in_onnx_export():
            x = _operator(self.lstms[layer], x, inputs.lengths)  # type: ignore[arg-type]
        elif inputs.mask is None:
            x, _ = self.lstms[layer](x)
        else:
            packed = pack_padded_sequence(x, inputs.lengths.cpu(), batch_first=True, enforce_sorted=False)
            x, _ = pad_packed_sequence(self.lstms[layer](packed)[0], batch_first=True, total_length=x.shape[1])
        return self.dropout(x), None


def _operator(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    """Run an LSTM layer as one operator of an ONNX graph, (B, n, d) -> (B, n, 2 hidden); each text ends at its own length there, too.

    ONNX has the gates in the order input, output, forget, cell; torch has input, forget, cell, output.
    """
    ways, (batch, n, _) = ("", "_reverse"), x.shape

    def gates(name: str) -> Tensor:
        """Return the weights of both directions in ONNX's order of gates, (2, 4 hidden, ..)."""
        stacked = torch.stack([getattr(lstm, f"{name}_l0{way}") for way in ways])
        i, f, c, o = stacked.chunk(4, dim=1)
        return torch.cat([i, o, f, c], dim=1)

    bias = torch.cat([gates("bias_ih"), gates("bias_hh")], dim=1)
    out = torch.onnx.ops.symbolic(
        "LSTM",
        (x.transpose(0, 1), gates("weight_ih"), gates("weight_hh"), bias, lengths.to(torch.int32)),
        {"hidden_size": lstm.hidden_size, "direction": "bidirectional"},
        dtype=x.dtype,
        shape=(n, 2, batch, lstm.hidden_size),
    )
    return out.permute(2, 0, 1, 3).flatten(2)


class Convolutional(_Baseline):
    """Filters of several widths over the embeddings, with zeros before and after each text."""

    config: ConvolutionalConfig

    def __init__(self, config: ConvolutionalConfig) -> None:
        super().__init__(config)
        self.filters = nn.ModuleList(nn.Conv1d(config.width, config.filters, width) for width in config.widths)
        self.classifier = self._classifier()

    def step(
        self, layer: int, x: Tensor, inputs: Inputs, capture: Capture | None, change: InterventionTensors
    ) -> tuple[Tensor, LayerActivations | None]:
        """Run all filters, (B, n, d) -> (B, n, d): each token's state is the output of the filters centred on it."""
        if inputs.mask is not None:
            x = x * inputs.mask.unsqueeze(-1)
        x, sizes = x.transpose(1, 2), self.config.widths
        outputs = [each(F.pad(x, ((size - 1) // 2, size // 2))) for each, size in zip(self.filters, sizes, strict=True)]
        return F.relu(torch.cat(outputs, dim=1)).transpose(1, 2), None

    def pool(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the maximum of each filter, (B, n, d) -> (B, d)."""
        x = x if mask is None else x.masked_fill(~mask.unsqueeze(-1), 0)  # 0 is safe because no state is below 0
        return self.dropout(x.amax(dim=1))  # type: ignore[no-any-return]
