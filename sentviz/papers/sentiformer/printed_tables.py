"""Printed numbers of the SentiFormer paper: tables I and II and its throughputs, with our names for models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sentviz.data.examples import EXAMPLES
from sentviz.io.lazy import pd

SARCASTIC = next(example.text for example in EXAMPLES if example.paper == "sentiformer")  # section V-E
FOLDER = Path(__file__).parent / "printed"
MODELS = {  # name in the paper -> our preset
    "SentiFormer": "sentiformer",
    "BiLSTM": "bilstm",
    "CNN": "cnn",
    "full": "sentiformer",
    "sinusoidal PE only": "sentiformer-sinusoid",
    "no gated attention": "sentiformer-no-gate",
    "full O(n^2) attention": "sentiformer-full",
    "no layer normalization": "sentiformer-no-norm",
}
TITLES = {
    "sentiformer-sinusoid": "without aware positions",
    "sentiformer-no-gate": "without gates",
    "sentiformer-full": "without the window",
    "sentiformer-no-norm": "without layer norm",
}
COLUMNS = {  # data set -> column of table I; whether its SST-5 has five classes or two is for the runs to say
    "sst5_trees": "sst5",
    "sst5_trees_binary": "sst5",
    "imdb": "imdb",
    "yelp_polarity": "yelp_polarity",
    "tweeteval_sentiment": "twitter",
}


def table(name: str) -> pd.DataFrame:
    """Return a printed table with a column `preset`, "" for models that are not ours (BERT-base, DistilBERT)."""
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
    frame = pd.read_csv(FOLDER / f"{name}.csv")
    frame["preset"] = [MODELS.get(name, "") for name in frame["variant" if name == "ablation" else "model"]]
    return frame


def accuracies(dataset: str) -> pd.DataFrame:
    """Return every printed accuracy that can be compared with a data set of ours: model (title), printed (0..1), in the paper's order.

    On SST-5 the ablations of table II follow. Models of table I that are not available here are included.
    """
    main = table("accuracy")
    column = COLUMNS[dataset]
    frame = pd.DataFrame({"model": main["model"], "printed": main[column] / 100})
    if column == "sst5":
        parts = table("ablation").query("preset != 'sentiformer'")
        frame = pd.concat([frame, pd.DataFrame({"model": parts["preset"].map(TITLES), "printed": parts["sst5_accuracy_pct"] / 100})])
    return frame.reset_index(drop=True)


def values(dataset: str, preset: str) -> pd.DataFrame:
    """Return the printed accuracy (0..1) of a preset on a data set, as in a history: name, layer, component, value."""
    if dataset not in COLUMNS:
        return pd.DataFrame({"name": [], "layer": [], "component": [], "value": []})
    main, ablation = table("accuracy"), table("ablation")
    accuracy = main.loc[main["preset"] == preset, COLUMNS[dataset]]
    if accuracy.empty and COLUMNS[dataset] == "sst5":
        accuracy = ablation.loc[ablation["preset"] == preset, "sst5_accuracy_pct"]
    return pd.DataFrame({"name": "accuracy", "layer": -1, "component": -1, "value": accuracy.to_numpy() / 100})
