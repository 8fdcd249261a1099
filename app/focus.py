"""The one frozen state of the app: what the visitor looks at. Pure; `app.shell` carries it between pages and the URL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sentviz.papers import papers, studies

__all__ = ["CHOICES", "DEFAULT_RUN", "Focus"]

DEFAULT_RUN = "sst2/ndt-unit-2"
CHOICES = {
    "look": ("maps", "long", "bertviz", "layers", "scores", "lexicon"),
    "specials": ("show", "hide"),
    "scale": ("value", "change"),
    "axis": ("epoch", "step"),
    "over": ("test", "official_test", "demo", "mine"),
    "order": ("surest", "doubtful", "loss", "length", "id"),
    "view": ("matrix", "curves", "calibration"),
    "words": ("keyness", "count"),
    "stops": ("drop", "keep"),
    "method": ("pca", "tsne", "umap"),
    "dims": ("2", "3"),
    "study": tuple(dict.fromkeys(dataset for _, study in studies().values() for dataset in study.datasets)),
    "part": ("results", "compare", "panels", "lambda", "cost", "items"),
    "metric": ("accuracy", "precision_weighted", "f1_weighted", "auc", "silhouette", "precision_macro", "f1_macro"),
    "base": ("vanilla-matched", "vanilla", "diff"),
    "sample": ("stored", "all"),
    "paper": ("all", *papers()),
    "verdict": ("any", "holds", "fails", "open"),
    "lab": ("review", "playground", "leaders"),
    "heat": ("10", "3", "1", "0.3", "0.1", "0.03", "0.01", "0.001", "0"),
    "colour": ("label", "predicted", "right", "confidence", "length"),
}
PRIVATE = ("text", "pair")  # what a visitor typed
STRONGEST = 10.0  # of the lexicon, and of a lambda
TEXT_IN_URL = 2_000  # characters; longer links break in mail programs and proxies


@dataclass(frozen=True)
class Focus:
    """Everything that defines a view. Layers, heads and components are counted from 1, as people read them."""

    run: str = DEFAULT_RUN
    versus: tuple[str, ...] = ()  # further runs, overlaid where a page can
    text: str = ""  # "" = the run's example sentence
    pair: str = ""  # the second text, of runs that read pairs
    row: str = ""  # a row of the run's data set by id, instead of a text
    layer: int = 1
    head: str = "mean"  # mean, max, or a number
    component: str = "effective"  # effective, or a number
    score: str = "removal"
    mix: tuple[tuple[int, int, float], ...] = ()  # lambdas changed by hand: layer, component, value
    off: tuple[tuple[int, int], ...] = ()  # silenced heads: layer, head
    strength: float = 1.0  # of the lexicon's injection
    token: int = 0  # of the text; 0 = the page's choice
    over: str = "test"  # which rows the Test set pages are about: a stored split, the demo set, the visitor's own file
    slice: str = ""  # part of those rows, as in cell=1,0: see sentviz.testset.slices
    find: str = ""  # words or a regular expression that the drawer's rows must have
    least: int = 0  # words that the drawer's rows have at least, and at most; 0 = any number
    most: int = 0
    order: str = "surest"  # of the drawer's rows: wrong and sure first
    view: str = "matrix"  # part of the Confusion page
    threshold: float = -1.0  # probability from which the second of two classes is said; -1 = the more probable one
    words: str = "keyness"  # what makes a word large
    stops: str = "drop"  # or keep: words like "the"
    method: str = "pca"  # of the picture of the embeddings
    dims: str = "2"
    colour: str = "label"
    sample: str = "stored"  # points of that picture
    lab: str = "review"  # part of the Hardmax page
    heat: str = "0"  # temperature of its attention
    plane: str = "spread"  # of its picture: spread, decision, or two coordinates as in 1.3
    play: str = ""  # settings of its playground, as in n:50~alpha:0.5
    study: str = "sst2"  # data set of a paper's page
    part: str = "results"  # of that page
    metric: str = "accuracy"
    base: str = "vanilla-matched"  # what every configuration is compared with
    paper: str = "all"  # whose claims
    verdict: str = "any"
    data: str = "all"  # data set whose runs are listed
    depth: int = -1  # layer of the embeddings: 0 = the input, -1 = the last
    look: str = "maps"  # part of the Attention page
    specials: str = "show"  # or hide: [CLS], [SEP] in maps
    top: int = 0  # tokens shown of a long text; 0 = as many as are readable
    scale: str = "value"  # of lambda curves; or change, from the start
    axis: str = "epoch"  # of training curves; or step
    shared: bool = False  # the text came in by a link, so the URL may keep it

    def with_(self, **changes: Any) -> Focus:
        """A changed focus; what belonged to the old run, text or row does not outlive it."""
        if "run" in changes and changes["run"] != self.run:
            changes = {
                "layer": 1,
                "head": "mean",
                "component": "effective",
                "mix": (),
                "off": (),
                "strength": 1.0,
                "token": 0,
                "slice": "",
                "row": "",
                "threshold": -1.0,
                "depth": -1,
                "sample": "stored",
                "plane": "spread",
            } | changes
        if "over" in changes and changes["over"] != self.over:
            changes = {"slice": "", "find": "", "least": 0, "most": 0, "row": ""} | changes
        if "sample" in changes and self.slice.startswith("lasso="):
            changes = {"slice": ""} | changes
        if "text" in changes:
            # half characters cannot travel to a browser
            whole = {name: str(changes[name]).encode("utf-8", "replace").decode() for name in PRIVATE if name in changes}
            changes = {"shared": False, "row": "", "token": 0} | changes | whole
        if changes.get("row"):
            changes = {"text": "", "pair": "", "shared": False, "token": 0} | changes
        return replace(self, **changes)

    def as_trained(self) -> Focus:
        """The same view of the model as it was trained: nothing changed by hand."""
        return replace(self, mix=(), off=(), strength=1.0)

    def query(self, *, with_text: bool = False) -> dict[str, str]:
        """As URL parameters, defaults left out. A text is private: it is there only if asked for or if it came from a link."""
        values: dict[str, str] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value == item.default or item.name == "shared" or (item.name in PRIVATE and not (with_text or self.shared)):
                continue
            if item.name == "mix":
                value = tuple(f"{layer}.{component}:{weight:.4g}" for layer, component, weight in value)
            if item.name == "off":
                value = tuple(f"{layer}.{head}" for layer, head in value)
            values[item.name] = "~".join(value) if isinstance(value, tuple) else str(value)
        return values

    @classmethod
    def parse(cls, query: Mapping[str, str], runs: Collection[str], scores: Collection[str]) -> tuple[Focus, list[str]]:
        """A focus from URL parameters, and a note for each value that means nothing here; those fall back to the default."""
        values: dict[str, Any] = {}
        notes: list[str] = []

        def refuse(name: str, value: str, instead: str) -> None:
            shown = value if len(value) <= 60 else value[:59] + "…"
            notes.append(f"The link asks for {name} “{shown}”, which is not here; {instead}.")

        fallback = DEFAULT_RUN if DEFAULT_RUN in runs else next(iter(runs), DEFAULT_RUN)
        values["run"] = fallback
        for name, value in query.items():
            match name:
                case "run" if value in runs:
                    values["run"] = value
                case "run":
                    refuse("the run", value, f"{fallback} is shown instead")
                case "versus":
                    values["versus"] = tuple(v for v in value.split("~") if v in runs)
                    for unknown in (v for v in value.split("~") if v not in runs):
                        refuse("the run", unknown, "it is left out")
                case "text" if value.strip():
                    values |= {"text": value, "shared": True}
                case "pair":
                    values["pair"] = value if query.get("text", "").strip() else ""
                case "layer" if _place(value):
                    values["layer"] = int(value)
                case "head" if value in ("mean", "max") or _place(value):
                    values["head"] = value
                case "component" if value == "effective" or _place(value):
                    values["component"] = value
                case "score" if value in scores:
                    values["score"] = value
                case _ if name in CHOICES and value in CHOICES[name]:
                    values[name] = value
                case "data" if value in {one.partition("/")[0] for one in runs}:
                    values["data"] = value
                case "plane" if value in ("spread", "decision") or _coordinates(value):
                    values["plane"] = value
                case "top" | "least" | "most" | "token" if _place(value):
                    values[name] = int(value)
                case "depth" if value == "0" or _place(value):
                    values["depth"] = int(value)
                case "threshold" if (share := _number(value)) is not None and 0 <= share <= 1:
                    values["threshold"] = share
                case "strength" if (factor := _number(value)) is not None and abs(factor) <= STRONGEST:
                    values["strength"] = factor
                case "off":
                    pairs = [part.partition(".") for part in value.split("~")]
                    values["off"] = tuple((int(layer), int(head)) for layer, _, head in pairs if _place(layer) and _place(head))
                    if len(values["off"]) < len(pairs):
                        refuse("silenced heads", value, "those that it names are silenced")
                case "mix":
                    values["mix"], bad = _mix(value)
                    if bad:
                        refuse("the lambda", bad, "the learned one is used")
                case "row" | "slice" | "find" | "play":
                    values[name] = value[:TEXT_IN_URL]
                case _ if name in {item.name for item in fields(cls)} - {"shared", *PRIVATE}:
                    refuse(f"the {name}", value, "the default is shown")
                case _:
                    pass
        return cls(**values), notes

    def fit(self, *, layers: int, heads: int, components: int, lexicon: bool = False) -> tuple[Focus, list[str]]:
        """The focus within a model's shape, and a note for what had to give way."""
        changes: dict[str, Any] = {}
        if self.layer > layers:
            changes["layer"] = 1
        if self.head.isdecimal() and int(self.head) > heads:
            changes["head"] = "mean"
        if self.component.isdecimal() and int(self.component) > components:
            changes["component"] = "effective"
        inside = tuple(m for m in self.mix if m[0] <= layers and 2 <= m[1] <= components)
        if inside != self.mix:
            changes["mix"] = inside
        if any(layer > layers or head > heads for layer, head in self.off):
            changes["off"] = tuple((layer, head) for layer, head in self.off if layer <= layers and head <= heads)
        if self.strength != 1 and not lexicon:
            changes["strength"] = 1.0
        if self.depth > layers:
            changes["depth"] = -1
        notes = [f"{self.run} has no such {name}; the default is shown." for name in changes]
        return replace(self, **changes), notes


def _place(value: str) -> bool:
    return value.isascii() and value.isdecimal() and 0 < int(value) < 1000


def _coordinates(value: str) -> bool:
    first, _, second = value.partition(".")
    return _place(first) and _place(second) and int(first) != int(second)


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _mix(value: str) -> tuple[tuple[tuple[int, int, float], ...], str]:
    """`1.2:-0.18~2.2:0` as changes, and the first part that is none."""
    changes: list[tuple[int, int, float]] = []
    for part in value.split("~"):
        place, _, number = part.partition(":")
        layer, _, component = place.partition(".")
        weight = _number(number)
        if weight is None or not (_place(layer) and _place(component) and abs(weight) <= STRONGEST):
            return tuple(changes), part
        changes.append((int(layer), int(component), weight))
    return tuple(changes), ""
