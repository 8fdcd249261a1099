"""The views of the place Model about training and heads as data, the page of colours, and the list of all declared views."""

from __future__ import annotations

from functools import partial

from app import cache, visit
from app.blocks.run_choice import readable, series_of, several
from app.blocks.sections import Page
from app.places import SCALED, TRAINED
from app.views.model import epochs_part, heads_part
from app.views.model.measured_pages import COMPONENTS, DIRECTIONS, EXPLANATIONS
from sentviz.charts.curves import first_seeds, with_seeds
from sentviz.charts.heads import with_cls, with_lexicon, without_cls
from sentviz.charts.scalars import scalar_axis
from sentviz.charts.subjects import Study
from sentviz.papers.ndt.study import DATASETS
from sentviz.runs.registry import find_paper
from sentviz.runs.sections import (
    Control,
    FigureBlock,
    OwnBlock,
    Says,
    Studied,
    TextBlock,
    Where,
)
from sentviz.runs.store import Run

# ---- learned scalars

SCALE = Control("Scale", "scale", find_paper("ndt").choices["scale"])
SCALARS = Page(
    "Learned scalars during training: λ (−λ for Differential), weights of position signals, temperatures. Diamonds: a paper's values.",
    "The start value decides most of the final value.",
    lambda: several(cache.runs_for(SCALED), "history.parquet"),
    (
        FigureBlock(
            "scalars",
            lambda runs: {"series": series_of(runs)},
            (SCALE, Control("Axis", "axis", option="x", usual=scalar_axis)),
            key="lambda",
            below=True,
        ),
        Where(
            lambda runs: runs[0].config["data"]["name"] in DATASETS,
            (
                Says(lambda runs: f"λ of all NDT configurations on {DATASETS[runs[0].config['data']['name']]}", "heading"),
                TextBlock(
                    "The data set is that of the selected run. A band is the range of the seeds. A line that barely moves shows its start"
                    " value.",
                    small=True,
                ),
                FigureBlock(
                    "lambda-grid",
                    lambda runs: {"change": visit.focus().scale == "change"},
                    of=lambda runs: Studied("ndt", cache.study_runs().runs, runs[0].config["data"]["name"]),
                ),
            ),
        ),
    ),
)

# ---- training

LINES, BANDS = ("One line per run", {"bands": False}), ("Seeds as bands", {"bands": True})


def _with_seeds(runs: list[Run]) -> list[Run]:
    """Return the runs that are drawn: with the other seeds of each, if seeds are drawn as bands."""
    if visit.chosen("seeds", ["lines", "bands"]) == "lines":
        return runs
    return readable(with_seeds(runs, cache.runs().values()), "history.parquet")


TRAINING = Page(
    "Loss, and validation accuracy or F1, during the training of any runs; of some also maps, predictions and mistakes after each epoch.",
    "Each line is one seed: a difference of a few tenths of a point can be chance. What happens within an epoch is not shown.",
    lambda: several(cache.runs_for(TRAINED), "history.parquet"),
    (
        OwnBlock(lambda runs: epochs_part.epoch_by_epoch(runs[0])),
        FigureBlock(
            "curves",
            lambda runs: {"series": series_of(first_seeds(_with_seeds(runs), runs))},
            (Control("Axis", "axis", option="x"), Control("Seeds", "seeds", {"lines": LINES, "bands": BANDS})),
            of=_with_seeds,
            below=True,
        ),
    ),
)

# ---- heads

HEADS = Page(
    "What every head attends to, mean over all texts of a split: the token itself, its neighbours, [CLS]. Rings show your sentence.",
    "A single sentence can differ from the mean.",
    heads_part.subject,
    (
        Where(
            with_cls,
            (
                TextBlock("##### How uneven the attention of [CLS] to the other tokens is, and their attention to [CLS]"),
                FigureBlock("head-lines", heads_part.of_cls, key="cls-lines"),
                Says(without_cls, "caption"),
                Where(
                    with_lexicon,
                    (
                        TextBlock(
                            "[CLS] is a neutral word, so its σ is 1/3 towards every token. Softmax cancels what is the same for all keys:"
                            " with the same Q and K, the row of [CLS] **cannot change**. In layer 1 its Q and K come from the same"
                            " embedding in every sentence. Differences in higher layers come from training and from changed states, not"
                            " from σ in the row of [CLS]. The paper reads its figure 5 as an effect of σ on [CLS]. A test of sentviz shows"
                            " that the row stays the same to twelve digits."
                        ),
                    ),
                ),
            ),
        ),
        TextBlock("##### What heads attend to, mean over heads"),
        FigureBlock("head-lines", heads_part.colours, key="habit-lines"),
        TextBlock("##### Every head"),
        TextBlock("Choose a measure. Open Attention to see one of these heads on a sentence.", small=True),
        OwnBlock(heads_part.grids),
        OwnBlock(heads_part.gates_last),
    ),
    unsliced="the measurements are stored as means over the whole split, not for each of its rows",
)

# ---- colours

COLOURS = Page(
    "A colour has the same meaning on every page and in every exported figure, in the light and the dark theme.",
    "No figure uses colour alone: symbols, signs, words or lengths show the same, so a grey print is readable.",
    partial(Study, "all"),
    (
        FigureBlock("colours"),
        TextBlock(
            "- **Classes**: orange is negative, grey neutral, blue positive; degrees and stars have colours between these. Classes that are"
            " not sentiments (a paraphrase, an entailment) have the colours of series.\n"
            "- **Signs**: green supports a class or is more, purple opposes it or is less.\n"
            "- **Answers**: teal is right, magenta is wrong.\n"
            "- **Series**: runs, layers, heads and components have indigo, ochre, pink and so on, in the order in which they are named.\n"
            "- **Amounts**: the darker the blue (in dark pages the lighter), the more."
        ),
    ),
)

PAGES = {
    "model/scalars": SCALARS,
    "model/cls": HEADS,
    "model/components": COMPONENTS,
    "model/directions": DIRECTIONS,
    "model/curves": TRAINING,
    "model/explanations": EXPLANATIONS,
    "library/colours": COLOURS,
}
"""The views that are declared, by the name of their script in `app.places`."""
