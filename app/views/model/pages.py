"""The views of the place Model as data, and the page of colours."""

from __future__ import annotations

from functools import partial

from app import cache, visit
from app.blocks.measure import lacking, measured_run
from app.blocks.run_choice import readable, series_of, several
from app.blocks.sections import Page
from app.places import DIRECTED, EXPLAINED, MIXED, SCALED, TRAINED
from app.views.model import directions_part, epochs_part, heads_part
from app.views.papers.board_part import show_findings
from sentviz.analysis.causal import claims as of_causes
from sentviz.analysis.causal.direction_tables import board_table, depths, headline, unmarked_words, why_no_leace
from sentviz.analysis.explain import claims as of_explanations
from sentviz.analysis.explain.exact_comparison_table import advice, has_referee, turning_line, what_is_exact
from sentviz.analysis.explain.exact_comparison_table import headline as which_to_believe
from sentviz.analysis.explain.measured import best_rival, flips_in_words, has_faithfulness, rivals_in_words, times_in_words
from sentviz.charts.curves import first_seeds, with_seeds
from sentviz.charts.heads import with_cls, with_lexicon, without_cls
from sentviz.charts.referee import RANKED, measures_of
from sentviz.charts.scalars import scalar_axis
from sentviz.charts.specialise import conclusion, differences_table, reasons, what_they_are, word_lists
from sentviz.charts.subjects import Study
from sentviz.papers.ndt import PAPER, SCALE
from sentviz.papers.ndt.study import DATASETS
from sentviz.runs.sections import (
    Block,
    Control,
    Drawer,
    FigureBlock,
    OwnBlock,
    Says,
    SideBySide,
    Studied,
    TableBlock,
    TextBlock,
    Where,
)
from sentviz.runs.store import Run

MEANS = "the measurements are stored as means over their sample, not for each of its rows"


def _every(of: object) -> list[Run]:
    return list(cache.runs().values())


# ---- components

COMPONENTS = Page(
    "Do the components A₁, A₂, … of a model look at different words? A sample of the test split, compared with chance.",
    "The page does not show what they do to the prediction.",
    partial(measured_run, MIXED, "specialise"),
    (
        Says(conclusion, "heading", term="component"),
        Says(what_they_are),
        FigureBlock("component-words"),
        SideBySide(((FigureBlock("component-likeness"),), (FigureBlock("component-entropy"),))),
        Drawer(
            "Details: the result against each baseline, and every difference",
            (Says(reasons, "list"), TextBlock("##### Differences between the components"), TableBlock(differences_table)),
            icon=":material/table:",
        ),
        Drawer("Which words count", (Says(word_lists),), icon=":material/dictionary:"),
    ),
    unsliced=MEANS,
)

# ---- directions

DIRECTIONS = Page(
    "In which direction of its states does a model write the answer? The direction is taken away, added, and read by probes.",
    "A probe can read what the model does not use, and a changed state is one that the model may never be in.",
    partial(measured_run, DIRECTED, "directions"),
    (
        Says(headline, "title", term="direction"),
        SideBySide(
            (
                (FigureBlock("direction-removal", controls=(Control("Lines", "by"),)), Says(why_no_leace, "caption")),
                (
                    FigureBlock("directions", controls=(Control("Layer", "depth", depths, width=180),)),
                    TextBlock(
                        "A way can separate the sides without carrying the answer: weights of a classifier read the states, the difference"
                        " of means is what the model writes.",
                        small=True,
                    ),
                ),
            ),
            (1.15, 1.0),
        ),
        SideBySide(
            (
                (FigureBlock("probes"), Says(unmarked_words, "caption")),
                (TextBlock("##### Add the direction to your sentence", term="steering"), OwnBlock(directions_part.steer)),
            ),
            (1.15, 1.0),
        ),
        OwnBlock(directions_part.along),
        Drawer("All models beside the printed numbers", (TableBlock(lambda run: board_table(_every(run))),), icon=":material/table:"),
        Drawer(
            "Five claims about causes",
            (OwnBlock(lambda run: show_findings(of_causes.CLAIMS, _every(run))),),
            "cause-claims",
            icon=":material/gavel:",
        ),
    ),
    unsliced=MEANS,
)

# ---- explanations

FLIPS = (TextBlock("##### The smallest edit that changes the predicted class", term="flip"), Says(flips_in_words))
BESIDE_EXACT = (
    Says(advice, "title", term="referee"),
    Says(which_to_believe, "caption"),
    SideBySide(
        (
            (FigureBlock("referee", controls=(Control("Measure", "metric", measures_of),)),),
            (FigureBlock("referee-curves"), Says(turning_line, term="interaction")),
        ),
        (1.0, 1.15),
    ),
    Says(what_is_exact, "caption"),
)
RANKINGS = [FigureBlock("faithfulness", {"metric": metric}, key=f"ranking-{metric}") for metric in RANKED]
FAITHFUL = (
    SideBySide(
        (
            (RANKINGS[0], RANKINGS[2]),
            (
                RANKINGS[1],
                Says(best_rival, "heading", term="faithfulness"),
                Says(rivals_in_words),
                TextBlock(
                    "Word removal is the reference: it runs the model without each word, which is close to what comprehensiveness measures,"
                    " so it has an advantage by construction. A method whose number is near the grey line is no better than chance.",
                    small=True,
                ),
                Where(times_in_words, (TextBlock("##### Time per sentence"), Says(times_in_words))),
                Where(flips_in_words, FLIPS),
            ),
        )
    ),
)
ANY_LENGTH: tuple[Block, ...] = (
    Where(has_faithfulness, FAITHFUL, (OwnBlock(partial(lacking, name="faithfulness")), Where(flips_in_words, FLIPS))),
)
EXPLANATIONS = Page(
    "Which explanation to believe on this model: every method beside the exact answer on short texts, and beside random explanations.",
    "A faithful explanation names words that decide the prediction. The prediction can still be wrong.",
    partial(measured_run, EXPLAINED, "referee"),
    (
        Where(
            has_referee,
            (*BESIDE_EXACT, Drawer("Texts of any length: faithfulness", ANY_LENGTH, "any-length", icon=":material/rule:")),
            ANY_LENGTH,
        ),
        Drawer(
            "All models",
            (
                FigureBlock(
                    "referee-board",
                    controls=(Control("Measure of all models", "board", lambda run: measures_of()),),
                    of=lambda run: Study.of("all", [each for each in _every(run) if has_referee(each)]),
                ),
            ),
            "referee-models",
            icon=":material/table:",
        ),
        Drawer(
            "Three claims about explanations",
            (OwnBlock(lambda run: show_findings(of_explanations.CLAIMS, _every(run))),),
            "referee-claims",
            icon=":material/gavel:",
        ),
    ),
    unsliced=MEANS,
)

# ---- learned scalars

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
                    of=lambda runs: Studied(PAPER.name, cache.study_runs().runs, runs[0].config["data"]["name"]),
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
