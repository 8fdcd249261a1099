"""Tables I and II with our numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sentviz.papers.sentiformer import prints
from sentviz.papers.sentiformer.study import DATASETS, READINGS, ablations, beside, configurations
from sentviz.papers.studies.against import SEEDS_IN_WORDS
from sentviz.papers.studies.made import Table
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd


def accuracy(runs: Sequence[Run]) -> Table:
    """Table I: data, model, printed, value, low, high (shares), n, seeds."""
    import pandas as pd

    frame = pd.concat([main(beside(runs, dataset)).assign(data=title) for dataset, title in DATASETS.items()], ignore_index=True)
    words = (
        "Test accuracy beside the print: measured with 95% intervals over test rows and, with several seeds, over seeds. The printed SST-5"
        " column stands beside both readings of its labels. Pretrained weights of DistilBERT and BERT-base cannot be downloaded here; Yelp"
        " polarity is a sample (1 and 2 against 4 and 5 stars). Our training is shorter than the printed one. Rows without a rate have the"
        " printed one, 1e-4, which is SentiFormer's own; comparisons take of each model the rate with the least loss on validation, and"
        " where only the winner was trained at a second rate they cannot be told."
    )
    if named := untaught(runs, frame):
        words += f" No better than always giving the commonest class: {'; '.join(named)}. These have learned nothing in this budget."
    return Table("accuracy", "Accuracy on four data sets", frame[["data", "model", "printed", "value", "low", "high", "n", "seeds"]], words)


def untaught(runs: Sequence[Run], frame: pd.DataFrame) -> list[str]:
    """The rows of table I whose interval reaches down to the share of the commonest class, as "model on data"."""
    commonest = {
        DATASETS[dataset]: max(map(sum, seeds[0].metrics()["test"]["confusion"])) / seeds[0].metrics()["test"]["n"]
        for dataset in DATASETS
        for seeds in list(configurations(runs, dataset).values())[:1]
    }
    low = frame[frame["low"] <= frame["data"].map(commonest)]
    return [f"{row['model']} on {row['data']}" for row in low.to_dict("records")]


def main(frame: pd.DataFrame) -> pd.DataFrame:
    """Of `beside` the rows of table I."""
    return frame[~frame["model"].isin(prints.TITLES.values())].reset_index(drop=True)


def ablation(runs: Sequence[Run]) -> Table:
    """Table II: data, title, verdict, difference, low, high, printed (shares), accuracy, p, adjusted, seeds, base_seeds, n."""
    import pandas as pd

    frames = [ablations(runs, dataset).assign(data=DATASETS[dataset]) for dataset in READINGS]
    columns = [
        "data",
        "title",
        "verdict",
        "difference",
        "low",
        "high",
        "printed",
        "accuracy",
        "p",
        "adjusted",
        "seeds",
        "base_seeds",
        "n",
        "test",
    ]
    frame = pd.concat([one for one in frames if len(one)] or frames[:1], ignore_index=True)[columns]
    words = (
        "Accuracy without a part minus accuracy of the whole on the same test rows, beside the printed difference. "
        f"All are at the printed rate, 1e-4. {SEEDS_IN_WORDS} p after Holm is over the parts."
    )
    return Table("ablation", "Accuracy without each part", frame, words)
