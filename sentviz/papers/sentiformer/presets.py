"""SentiFormer by name, its four ablations, and the two baselines without attention; sizes are the paper's.

Texts are read with a [CLS] in front, which the classifier reads. Ours: alpha, beta and gamma start at 1, the tags' embedding at a standard
deviation of 0.02, the gate as torch.nn.Linear does; the baselines read no [CLS].
"""

from __future__ import annotations

from typing import Any

from sentviz.runs.registry import Preset

WHOLE: dict[str, Any] = {
    "width": 256,
    "layers": 6,
    "heads": 8,
    "ffn": "relu",
    "ffn_width": 1024,
    "norm": "layer",
    "norm_first": False,
    "pooling": "cls",
    "positions": "aware",
    "gate": True,
    "window": 64,
    "global_tokens": (0, -1),
    "global_drawn": 2,
}
ABLATIONS: dict[str, dict[str, Any]] = {
    "sentiformer-sinusoid": {"positions": "sinusoid"},
    "sentiformer-no-gate": {"gate": False},
    "sentiformer-full": {"window": 0, "global_drawn": 0},
    "sentiformer-no-norm": {"norm": "none"},
}
ABLATION_TITLES = {
    "sentiformer-sinusoid": "SentiFormer with sinusoids",
    "sentiformer-no-gate": "SentiFormer without gates",
    "sentiformer-full": "SentiFormer without windows",
    "sentiformer-no-norm": "SentiFormer without normalization",
}
ADDITIONS: dict[str, dict[str, Any]] = {  # behind the name of any encoder
    "gated": {"gate": True},
    "aware": {"positions": "aware"},
    "windowed": {name: WHOLE[name] for name in ("window", "global_tokens", "global_drawn")},
}
PLAIN = {"cls": False}
WITHOUT = {"cls": False, "lexicon": "", "injection": ""}
BASELINES = {
    "bilstm": Preset({"hidden": 256, "layers": 2}, "recurrent", PLAIN, WITHOUT, "BiLSTM"),
    "cnn": Preset({"filters": 100, "widths": (3, 4, 5)}, "convolutional", PLAIN, WITHOUT, "CNN"),
}
PRESETS = {
    "sentiformer": Preset(WHOLE, recipe={"cls": True}, title="SentiFormer"),
    **{name: Preset(WHOLE | changes, recipe={"cls": True}, title=ABLATION_TITLES[name]) for name, changes in ABLATIONS.items()},
    **BASELINES,
}
