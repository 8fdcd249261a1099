"""Explain one text of a Hugging Face folder with another package, and judge the result: `python -m tests.foreign.explained PACKAGE FOLDER`.

It runs in an environment that has the package. It prints JSON: the package's own scores by piece, and the judgement's by word.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np

TEXT = "a warm clever song and never a dull soup"
K = 1  # the class that is explained


def opened(folder: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    return AutoModelForSequenceClassification.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def predicted(folder: str) -> Any:
    """Return a function of texts that gives probabilities, for packages that only predict."""
    import torch

    model, tokenizer = opened(folder)

    def probabilities(texts: Any) -> Any:
        with torch.no_grad():
            return model(**tokenizer([str(text) for text in texts], padding=True, return_tensors="pt")).logits.softmax(-1).numpy()

    return probabilities


def with_captum(folder: str) -> Any:
    import torch
    from captum.attr import LayerIntegratedGradients

    model, tokenizer = opened(folder)
    inputs = tokenizer(TEXT, return_tensors="pt")

    def logits(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return model(input_ids=ids, attention_mask=mask).logits

    method = LayerIntegratedGradients(logits, model.get_input_embeddings())
    return method.attribute(inputs["input_ids"], target=K, additional_forward_args=(inputs["attention_mask"],), n_steps=8)


def with_shap(folder: str) -> Any:
    import shap

    return shap.Explainer(predicted(folder), shap.maskers.Text(r"\W+"), seed=0)([TEXT])[0]


def with_lime(folder: str) -> Any:
    from lime.lime_text import LimeTextExplainer

    return LimeTextExplainer(random_state=0).explain_instance(TEXT, predicted(folder), labels=(K,), num_samples=200)


def with_interpreto(folder: str) -> Any:
    import torch
    from interpreto import IntegratedGradients

    model, tokenizer = opened(folder)
    return IntegratedGradients(model, tokenizer, n_perturbations=8)([TEXT], targets=torch.tensor([[K]]))[0]


def with_interpkit(folder: str) -> Any:
    import interpkit

    return interpkit.load(folder).attribute(TEXT, target=K, n_steps=8)


PACKAGES = {"captum": with_captum, "shap": with_shap, "lime": with_lime, "interpreto": with_interpreto, "interpkit": with_interpkit}


def main(package: str, folder: str) -> None:
    import sentviz
    from sentviz.analysis.explain.foreign_scores import read_scores
    from sentviz.runs.target import Target

    warnings.simplefilter("ignore")
    result = PACKAGES[package](folder)
    model = sentviz.load(folder)
    judgement = sentviz.judge(model, TEXT, result, target=Target(model.labels[K]))
    read = read_scores(result, K, len(model.labels))
    line = {
        "pieces": list(read.pieces),
        "given": np.asarray(read.values).tolist(),
        "words": [word.text for word in judgement.fitted.words],
        "scores": judgement.fitted.values.tolist(),
        "notes": list(judgement.fitted.notes),
        "sentence": str(judgement),
    }
    print(json.dumps(line))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(*sys.argv[1:])
