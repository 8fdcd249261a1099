"""The NDT paper's models by name, and our control; they reproduce the parameter totals that it prints at its vocabulary sizes.

Names of NDTs are `ndt-<constraint>-<C>`, constraints unit [0,1], symmetric [-1,1], nonneg [0,inf), free (-inf,inf).
"""

from __future__ import annotations

from sentviz.runs.presets import CONSTRAINT_SIGNS, range_in_words
from sentviz.runs.registry import Preset

# NDT on a base: a second component that starts as a copy of the first. At lambda = 0 the model equals the base; a sigmoid cannot be 0.
ADDITIONS = {
    "ndt-free-2": {"components": 2, "mixing": "free", "lambda_start": ((0.0,),), "lambda_std": 0.0},
    "ndt-unit-2": {"components": 2, "mixing": "unit", "lambda_start": ((0.02,),), "lambda_std": 0.0},
}
PRESETS = {
    # the post-norm transformer with LayerNorm, ReLU and sinusoids
    "vanilla": Preset(
        {"positions": "sinusoid", "norm": "layer", "norm_first": False, "ffn": "relu", "ffn_width": 256}, title="Transformer"
    ),
    # the control that the paper lacks: NDT's block with one full-width component, which gives it the parameters of NDT with C = 2
    "vanilla-matched": Preset(title="Transformer of NDT's size"),
    "diff": Preset({"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.1}, title="Differential Transformer"),
    **{
        f"ndt-{constraint}-{components}": Preset(
            {"components": components, "mixing": constraint}, title=f"NDT {range_in_words(signs)}, {components} components"
        )
        for constraint, signs in CONSTRAINT_SIGNS.items()
        for components in (2, 3, 4)
    },
}
CONTROLLED = ("sst2", "twitter_financial")  # data sets of the runs with other starts of lambda
