"""The places of the app and their views: what each view shows, the models that it fits, and the names by which the finder knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from sentviz.analysis.causal.direction_tables import has_directions
from sentviz.analysis.explain.exact_comparison_table import has_referee
from sentviz.analysis.explain.measured import has_faithfulness
from sentviz.analysis.maps.heads import FILE as HEADS
from sentviz.analysis.maps.specialise import FILE as COMPONENTS
from sentviz.analysis.testset.behaviour import why_not_tested
from sentviz.runs.registry import papers
from sentviz.runs.store import Run


@dataclass(frozen=True)
class Fit:
    """The models that a view can show.

    Attributes:
        shows: returns whether the view shows a run as it is.
        lacks: why another run is not shown, as in "It ...".
        could: returns whether a run could be shown once it is measured; the view then offers the measurement.
        prefer: run that is shown in place of one that does not fit; by default the most similar one that fits.
        opens_on: returns whether the view opens on a run that nobody chose; otherwise it opens on one for which this is true.
    """

    shows: Callable[[Run], bool]
    lacks: str
    could: Callable[[Run], bool] = lambda run: False
    prefer: str = ""
    opens_on: Callable[[Run], bool] = lambda run: True


@dataclass(frozen=True)
class View:
    """One view of a place.

    Attributes:
        script: below `app/views`, without its ending; a name in `PAGES` if the view is declared as data; "" for a paper's page.
        address: last part of its URL; by default the name of the script.
        finds: further names for the finder, each with the parameters that its link has in addition.
        fit: the models that it can show; None if it shows any model, or none.
        of_rows: whether it is about the rows in focus.
        formerly: addresses of views that are part of this one now; they still lead to it.
    """

    script: str
    title: str
    icon: str
    help: str
    address: str = ""
    finds: tuple[tuple[str, str], ...] = ()
    fit: Fit | None = None
    of_rows: bool = False
    formerly: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The last part of the view's URL."""
        return self.address or self.script.rpartition("/")[2]


@dataclass(frozen=True)
class Place:
    """A question that a person asks, and the views that answer it; of these, a bar shows `title` and a second one the views."""

    title: str
    question: str
    views: tuple[View, ...]
    small: bool = False  # at the right end of the bar
    of_run: bool = True  # The views are about the model in focus.

    @property
    def help(self) -> str:
        """The question of the place and the names of its views."""
        names = [view.title for view in self.views if view.title != self.title]
        return f"{self.question} {' · '.join(names)}".strip()


ANSWERS = Fit(lambda run: run.has_weights, "has no weights")
MOVES = Fit(lambda run: run.has_weights and run.capabilities.moving, "is not a hardmax model", prefer="imdb/hardmax-d2")
EXPLAINED = Fit(lambda run: has_referee(run) or has_faithfulness(run), "has no measured explanations", lambda run: run.has_weights)
DIRECTED = Fit(
    has_directions,
    "has no measured directions",
    lambda run: run.has_weights and run.capabilities.predicts and "state" in run.capabilities.replaces,
)
MIXED = Fit(
    lambda run: run.capabilities.components > 1 and COMPONENTS in run.files,
    "has no measured components",
    lambda run: run.has_weights and run.capabilities.components > 1,
)
WITH_EPOCHS = "sst2/ndt-unit-2-epochs"  # The epochs of this run are measured.
WITH_PRINTED = "sst2/ndt-unit-2"  # The paper printed its final lambdas.
SCALED = Fit(
    lambda run: bool(run.capabilities.scalars),
    "has no learned scalar such as lambda",
    prefer=WITH_PRINTED,
    opens_on=lambda run: run.name == WITH_PRINTED,
)
HEADED = Fit(
    lambda run: HEADS in run.files,
    "has no measured heads",
    lambda run: run.has_weights and run.capabilities.maps,
    opens_on=lambda run: bool(run.config.get("tokenizer", {}).get("cls")),
)
TRAINED = Fit(lambda run: bool(run.config["files"]), "has no history of its training")
MEASURED = Fit(lambda run: bool(run.measured), "has no measured epochs", lambda run: bool(run.epochs))
TESTED = Fit(lambda run: not why_not_tested(run), "cannot be tested: it needs weights, single texts, and negative and positive classes")

SENTENCE = Place(
    "Sentence",
    "Why this answer?",
    (
        View(
            "sentence/explore",
            "Reason",
            "psychology_alt",
            "Type a sentence and see what decides its prediction.",
            finds=(("Explore", ""), ("Explain a sentence", ""), ("Silence a head", ""), ("Word removal", "")),
            fit=ANSWERS,
        ),
        View(
            "sentence/attention",
            "Attention",
            "grid_on",
            "Attention of every head, component and layer on your sentence.",
            finds=(
                ("Attention heatmaps", ""),
                ("Attention maps of every head", "look=maps"),
                ("BertViz", "look=bertviz"),
                ("Long texts", "look=long"),
                ("Layers and heads of a sentence", "look=layers"),
                ("Explanations side by side: LIME, SHAP, gradients", "look=scores"),
                ("Lexicon in the attention", "look=lexicon"),
                ("Gates and positions of a sentence", "look=gates"),
            ),
            fit=ANSWERS,
        ),
        View(
            "sentence/causes",
            "Inside",
            "bolt",
            "Which states inside the model carry the prediction from one sentence to another?",
            finds=(("Causes", ""), ("Activation patching", ""), ("Circuit", ""), ("Direct effects of layers and heads", "")),
            fit=ANSWERS,
        ),
        View(
            "hardmax/hardmax",
            "Hardmax clusters",
            "bubble_chart",
            "Watch the words of a review cluster around their leaders.",
            finds=(
                ("Hardmax", ""),
                ("Hardmax animation", "lab=review"),
                ("Animated hardmax clustering around leaders", "lab=review"),
                ("Hardmax playground", "lab=playground"),
                ("Leaders in the data set", "lab=leaders"),
            ),
            fit=MOVES,
        ),
        View(
            "sentence/compare",
            "Beside another model",
            "compare_arrows",
            "Two models on one sentence, word by word.",
            finds=(("Compare", ""), ("Two models on one sentence", "")),
            fit=ANSWERS,
        ),
    ),
)
ROWS = Place(
    "Rows",
    "Where is it wrong?",
    (
        View(
            "testset/confusion",
            "Confusion",
            "grid_view",
            "The confusion matrix and the rows of each cell.",
            finds=(
                ("Confusion matrix", "view=matrix"),
                ("Confusion matrices", "view=matrix"),
                ("Mistakes", "view=matrix"),
                ("F1, precision and recall of each class", "view=matrix"),
                ("ROC and precision-recall", "view=curves"),
                ("Threshold", "view=curves"),
                ("Calibration", "view=calibration"),
                ("Weakest slices", "view=slices"),
            ),
            of_rows=True,
        ),
        View(
            "testset/embeddings",
            "Map: t-SNE, UMAP",
            "scatter_plot",
            "The test set as the model sees it, in two or three dimensions, with silhouette scores.",
            finds=(
                ("Embeddings", ""),
                ("t-SNE", "method=tsne"),
                ("UMAP", "method=umap"),
                ("PCA", "method=pca"),
                ("Silhouette scores", ""),
                ("t-SNE/UMAP embeddings with silhouette scores", ""),
            ),
            of_rows=True,
        ),
        View(
            "testset/words",
            "Word clouds",
            "cloud",
            "The words of right and wrong predictions.",
            finds=(("Words", ""),),
            of_rows=True,
        ),
        View(
            "testset/labels",
            "Labels",
            "rule",
            "Labels that look wrong, repeated texts, and test rows that are among the training rows.",
            finds=(("Label errors", ""), ("Repeated texts", ""), ("Leaks", "")),
            of_rows=True,
        ),
        View(
            "testset/behaviour",
            "Behaviour",
            "checklist",
            "What can the model do? Tests by capability, and the cases that it fails.",
            finds=(("Behaviour tests: negation, typing errors, names", ""),),
            fit=TESTED,
        ),
        View(
            "testset/comparison",
            "Models side by side",
            "compare_arrows",
            "Which of two to six models is better on the same rows? With a report.",
            finds=(("Compare models", ""), ("McNemar test", "")),
            of_rows=True,
        ),
    ),
)
MODEL = Place(
    "Model",
    "What did it learn?",
    (
        View(
            "model/scalars",
            "Lambda",
            "timeline",
            "How lambda and the other learned scalars changed during training.",
            "lambdas",
            finds=(("Lambda curves", ""), ("Lambda evolution curves", ""), ("λ over training", ""), ("Learned scalars", "")),
            fit=SCALED,
        ),
        View(
            "model/cls",
            "[CLS] and heads",
            "hub",
            "What every head attends to over a split, [CLS] in particular; which words the gates shut.",
            "heads",
            finds=(("CLS attention std per layer", ""), ("Heads: what they attend to", ""), ("Gates: the words that they shut", "")),
            fit=HEADED,
        ),
        View(
            "model/components",
            "Components",
            "layers",
            "Do the maps that lambda mixes look at different words?",
            finds=(("Components specialise", ""),),
            fit=MIXED,
        ),
        View(
            "model/directions",
            "Directions",
            "explore",
            "Where is the answer written? Take its direction away, or add it.",
            finds=(("Probes", ""), ("Steering", ""), ("Direction of sentiment", "")),
            fit=DIRECTED,
        ),
        View(
            "model/curves",
            "Training",
            "show_chart",
            "Loss and validation metrics of any runs; a training epoch by epoch.",
            finds=(
                ("Loss curves", ""),
                ("Validation accuracy over training", ""),
                ("Through training, epoch by epoch", f"run={WITH_EPOCHS}"),
                ("Training film", f"run={WITH_EPOCHS}"),
            ),
            formerly=("through",),
            fit=TRAINED,
        ),
        View(
            "model/explanations",
            "Which explanation to trust",
            "fact_check",
            "How faithful each explanation method is, measured on the test set.",
            finds=(("Faithfulness of explanations", ""), ("Explanations", "")),
            fit=EXPLAINED,
        ),
    ),
)
YOURS = Place(
    "Bring yours",
    "And on my texts, with my model?",
    (
        View(
            "yours/yours",
            "Bring yours",
            "folder_shared",
            "Your file, your lines or your model: how they are understood, and their mistakes.",
            finds=(("Upload a file", ""), ("My own model", "")),
        ),
    ),
    small=True,
    of_run=False,
)
LIBRARY = Place(
    "Library",
    "What is installed?",
    (
        View("library/runs", "Runs", "inventory_2", "Every trained model with its results and provenance.", finds=(("Models", ""),)),
        View(
            "library/data", "Data", "database", "The data sets: which are installed, and how to get the others.", finds=(("Data sets", ""),)
        ),
    ),
    small=True,
    of_run=False,
)
HELP = Place(
    "Help",
    "What does this word or colour mean?",
    (
        View("library/glossary", "Glossary", "dictionary", "The words of the field, with formula and paper."),
        View("library/colours", "Colours", "palette", "What each colour means, on every page and in every figure."),
    ),
    small=True,
    of_run=False,
)


@cache
def places() -> tuple[Place, ...]:
    """Return every place in the order of the bar; the papers are those that are registered."""
    board = View("papers/claims", "Board", "gavel", "Each claim with its test and verdict.", finds=(("Claims of the papers", ""),))
    findings = View("papers/findings", "Findings", "article", "What holds of the five papers, and what does not.")
    of_each = tuple(
        View("", paper.short, paper.page.icon.removeprefix(":material/").removesuffix(":"), paper.page.help, paper.page.url)
        for paper in papers().values()
    )
    of_papers = Place("Papers", "Is it true?", (findings, board, *of_each), of_run=False)
    return SENTENCE, ROWS, MODEL, of_papers, YOURS, LIBRARY, HELP


def place_of(view: View) -> Place:
    """Return the place that has a view."""
    return next(place for place in places() if view in place.views)


def view_at(url: str) -> View:
    """Return the view at an address; the first view of the app for ""."""
    every = [view for place in places() for view in place.views]
    return next((view for view in every if url in (view.url, *view.formerly)), every[0])
