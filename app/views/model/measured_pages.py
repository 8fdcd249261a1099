"""The views of the place Model about stored measurements, as data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from app import cache
from app.blocks.measure import lacking, measured_run
from app.blocks.sections import Page
from app.places import DIRECTED, EXPLAINED, MIXED
from app.views.model import directions_part
from app.views.papers.board_part import show_findings
from sentviz.analysis.causal import claims as of_causes
from sentviz.analysis.causal.direction_tables import board_table, depths, headline, unmarked_words, why_no_leace
from sentviz.analysis.claim import Claim
from sentviz.analysis.explain import claims as of_explanations
from sentviz.analysis.explain.exact_comparison_table import advice, has_referee, turning_line, what_is_exact
from sentviz.analysis.explain.exact_comparison_table import headline as which_to_believe
from sentviz.analysis.explain.measured import best_rival, flips_in_words, has_faithfulness, rivals_in_words, times_in_words
from sentviz.charts.referee import RANKED, measures_of
from sentviz.charts.specialise import conclusion, differences_table, reasons, what_they_are, word_lists
from sentviz.charts.subjects import Study
from sentviz.runs.sections import Block, Control, Drawer, FigureBlock, OwnBlock, Says, SideBySide, TableBlock, TextBlock, Where
from sentviz.runs.store import Run

MEANS = "the measurements are stored as means over their sample, not for each of its rows"


def _installed() -> list[Run]:
    return list(cache.runs().values())


def _claims(title: str, claims: Sequence[Claim], key: str) -> Drawer:
    """Return a folded list of claims with their verdicts on the installed runs."""
    return Drawer(title, (OwnBlock(lambda run: show_findings(claims, _installed())),), key, icon=":material/gavel:")


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
            "components-details",
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
        Drawer(
            "All models beside the printed numbers",
            (TableBlock(lambda run: board_table(_installed())),),
            "all-directions",
            icon=":material/table:",
        ),
        _claims("Five claims about causes", of_causes.CLAIMS, "cause-claims"),
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
                    of=lambda run: Study.of("all", [each for each in _installed() if has_referee(each)]),
                ),
            ),
            "referee-models",
            icon=":material/table:",
        ),
        _claims("Three claims about explanations", of_explanations.CLAIMS, "referee-claims"),
    ),
    unsliced=MEANS,
)
