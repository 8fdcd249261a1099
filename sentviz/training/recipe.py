"""A recipe: all settings that decide a training run, in one TOML file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from sentviz.data.datasets import Split, first_rows, is_own, load_split, run_group
from sentviz.errors import InputError, RunError, nearest
from sentviz.io.documents import read_toml
from sentviz.io.files import restored
from sentviz.io.typed import LARGEST, Misfit, above, fitted, within
from sentviz.runs.bases import find_base
from sentviz.runs.configs import HardmaxConfig
from sentviz.runs.presets import check_shape, find_preset, on_base, split, variant_changes
from sentviz.runs.registry import papers
from sentviz.runs.store import Run, find
from sentviz.training.own_data import own_settings

Selection = Literal["accuracy", "loss", "f1_macro", "f1_positive"]
Whole = Annotated[int, within(0, LARGEST)]
Positive = Annotated[int, within(1, LARGEST)]
Number = Annotated[float, within(0, 1e300)]
Rate = Annotated[float, above(0)]
Share = Annotated[float, within(0, below=1)]


@dataclass(frozen=True)
class Recipe:
    """Data, model and training of one run. The NDT paper reports no heads, length, batch size, rate or epochs; these values are ours.

    A stored recipe may be older. A missing setting takes its default, which therefore always means *as before*.
    """

    dataset: str
    model: str = "vanilla-matched"  # preset of sentviz.runs.presets
    folder: str = ""  # first part of the run's name; "" = the data set
    variant: str = ""  # key of `sentviz.runs.presets.VARIANTS`; the settings below include its changes
    seed: Whole = 0
    example: str = ""  # sentence whose trace is stored with the run
    example_pair: str = ""  # second sentence of the example, for a data set of pairs
    rows: Whole = 0  # rows of train, the same number of each class; 0 = all
    test_rows: Whole = 0  # rows of each test split that evaluate the run, drawn with seed 0; 0 = all
    mixing_temperature: Number = 0.0  # T: an epoch draws from a mixture's n rows of a data set in proportion to n^(1/T); 0 = all once
    transfer: str = ""  # data set with the same labels whose test split is evaluated as well
    source: str = ""  # Hugging Face encoder that is trained instead of a preset
    base: str = ""  # base (sentviz.models.pretrained) that is trained instead of a preset; `model` is its name, with endings
    weights: str = ""  # digest of the encoder or the base
    teacher: str = ""  # run whose probabilities are learned beside the labels, as NAME or NAME@DIGEST
    teacher_share: Share = 0.5  # share of the teacher's probabilities in the targets; the rest is the label's
    adapter_rank: Whole = 0  # on a base: rank of the change of each matrix; 0 = the matrices are trained directly
    adapter_alpha: Rate = 16.0  # a change is multiplied by alpha / rank
    adapter_layers: Whole = 0  # number of upper layers that are trained; 0 = all
    # text
    tokenizer: Literal["words", "bpe", "tweets", "english"] = "words"
    min_count: Whole = 5
    vocab_size: Whole = 0  # vocabulary size for bpe and tweets; for a hardmax model, the maximum number of words
    max_length: Positive = 256
    cls: bool = False
    lexicon: str = ""  # lexicon whose polarities a preset with an injection gets
    # model: changes to the preset's configuration
    shape: dict[str, Any] = field(default_factory=dict)
    # training
    epochs: Positive = 6
    pretrain: Whole = 0  # steps on masked tokens of the same rows before the training, with a separate schedule; our encoder only
    updates: Whole = 0  # steps of the complete training, over which `evaluations` are spread; 0 = `epochs` decides
    batch_size: Positive = 64
    learning_rate: Rate = 5e-4
    lambda_rate: Number = 5e-4
    weight_decay: Number = 0.1  # 0 for lambda parameters
    warmup: Share = 0.06  # share of all steps; 0 = none
    schedule: Literal["cosine", "linear", "constant"] = "cosine"  # learning rate after the warm-up: cosine or linear to 0, constant
    clip: Number = 1.0
    dropout: Share = 0.2
    label_smoothing: Share = 0.0
    start: Number = 0.0  # standard deviation of the initial embedding; 0 = the model's own
    precision: Literal["auto", "fp32", "bf16"] = (
        "auto"  # precision of products in training and validation; measurements: fp32. auto: bf16 on a GPU, else fp32 (`_precision`)
    )
    evaluations: Positive = 2  # evaluations per epoch
    select: Selection = "accuracy"  # validation metric that selects the stored state, ties by loss: accuracy, loss, f1_macro or f1_positive
    patience: Whole = 6  # evaluations without a better state after which training stops; 0 = never
    log_every: Positive = 20  # steps
    intercept: bool = False  # True = the calibration adds a value per class (sentviz.analysis.calibration); False = temperature only
    keep_epochs: Whole = 0  # number of last epochs after which the weights are stored with the run

    @classmethod
    def read(cls, source: str | Path, **changes: Any) -> Recipe:
        """Return a recipe with changes, given by name, as a TOML file, or by a data set (of the user, or for a hardmax model).

        If a change names another preset than the recipe, that preset's own settings replace those of the recipe.
        """
        changes = {k: v for k, v in changes.items() if v is not None}
        if is_own(str(source)):
            settings = own_settings(str(source), changes) | changes
            return cls.of(
                settings | variant_changes(changes.get("variant", ""), settings.get("model", cls.model), settings.get("lexicon", ""))
            )
        path = Path(source)
        path = path if path.suffix == ".toml" else recipes().get(str(source), path)
        if path.suffix != ".toml" and usual(changes):  # the model has settings of its own, so any data set will do
            return cls.of({"dataset": str(source)} | changes | variant_changes(changes.get("variant", ""), changes.get("model", cls.model)))
        try:
            values = read_toml(path, 1 << 20, f"The recipe {path.name}")
        except InputError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise InputError(
                    f"There is no recipe {str(source)!r}; {nearest(str(source), list(recipes()))}`sentviz train --help` lists all."
                ) from None
            raise
        if changes.get("base") and not values.get("base"):  # the recipe is for another kind of model: use only its data and example
            values = {name: values[name] for name in ("dataset", "example", "example_pair", "transfer") if name in values}
        elif not values.get("base") and changes.get("model", written := values.get("model", cls.model)) != written:
            values |= usual(changes)
        values |= changes
        return cls.of(values | variant_changes(values.get("variant", ""), values.get("model", cls.model), values.get("lexicon", "")))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Recipe:
        """Return a recipe from a mapping, strictly checked; missing settings take the usual values for its model."""
        values = _modern(values)
        known = [item.name for item in dataclasses.fields(cls)]
        if unknown := sorted(values.keys() - set(known)):
            raise InputError(f"A recipe has no setting {unknown[0]!r}; there are {', '.join(known)}.")
        if "dataset" not in values:
            raise InputError("A recipe needs a dataset.")
        try:
            recipe = fitted(cls, {**usual(values), **values})
        except Misfit as error:
            raise InputError(f"The recipe's {error}.") from error
        if recipe.source and recipe.intercept:
            raise InputError("A Hugging Face encoder is calibrated by a temperature only: leave intercept at false.")
        if recipe.source:  # the encoder decides the configuration
            return recipe
        if recipe.base:
            if on_base(recipe.model, recipe.base).get("lexicon", "none") != "none" and not recipe.lexicon:
                raise InputError(f"{recipe.model} injects a lexicon, but the recipe names none.")
            return recipe
        check_shape(recipe.model, recipe.shape)
        if find_preset(recipe.model).shape.get("lexicon", "none") != "none" and not recipe.lexicon:
            raise InputError(f"{recipe.model} injects a lexicon, but the recipe names none.")
        without = find_preset(recipe.model).without
        if unsuitable := [name for name in without if hasattr(recipe, name) and getattr(recipe, name) != without[name]]:
            raise InputError(f"{recipe.model} does not take {unsuitable[0]}: its kind of model has no such setting.")
        return recipe

    @property
    def name(self) -> str:
        """`<data set or folder>/<model>`, followed by `-<variant>` if there is one and by `-s<seed>` if the seed is not 0."""
        return f"{self.folder or run_group(self.dataset)}/{self.configuration}" + (f"-s{self.seed}" if self.seed else "")

    @property
    def configuration(self) -> str:
        """The preset, followed by `-<variant>` if there is one; runs of one configuration differ only in their seed."""
        return f"{self.model}-{self.variant}" if self.variant else self.model

    def pinned(self) -> Recipe:
        """Return the recipe with the digests of its base and its teacher, which tell runs and resume points apart.

        Raises:
            RunError: one of them is not installed, or is another one than the recipe's.
        """
        pinned = replace(self, weights=find_base(self.base, self.weights).digest) if self.base else self
        name, _, digest = self.teacher.partition("@")
        if not name:
            return pinned
        teacher = find(name)
        if digest and not teacher.had_digest(digest):
            raise RunError(f"The recipe's teacher is another run than the installed {name}: its digest is {digest}, not {teacher.digest}.")
        return replace(pinned, teacher=f"{name}@{digest or teacher.digest}")

    def as_dict(self) -> dict[str, Any]:
        """Return all settings, for config.json."""
        return dataclasses.asdict(self)


FOREIGN: dict[str, Any] = {  # usual settings for a Hugging Face encoder
    "tokenizer": "bpe",
    "cls": True,
    "max_length": 128,
    "epochs": 3,
    "batch_size": 32,
    "learning_rate": 2e-5,
    "weight_decay": 0.01,
    "warmup": 0.1,
    "schedule": "linear",
    "patience": 3,
}
BASED: dict[str, Any] = {  # usual settings for a base
    "tokenizer": "bpe",
    "cls": True,
    "max_length": 64,
    "epochs": 1,
    "batch_size": 16,
    "learning_rate": 1e-3,
    "lambda_rate": 1e-3,
    "weight_decay": 0.0,
    "warmup": 0.06,
    "schedule": "linear",
    "dropout": 0.0,
    "evaluations": 4,
    "patience": 0,
    "adapter_rank": 8,
}


def finished(recipe: Recipe, root: str | Path) -> Run | None:
    """Return the finished run of a recipe (with any example) in a folder of runs; None if there is none.

    Raises:
        RunError: the run's folder contains the run of another recipe, a damaged run or other files, which training would replace.
    """
    folder = restored(Path(root) / recipe.name)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / "config.json").is_file():
        raise RunError(f"{folder} exists already and contains no run; move it away or choose another folder.")
    run = Run.open(folder, recipe.name)
    try:
        same = _bare(Recipe.of(run.config["recipe"])) == _bare(recipe)
    except InputError:
        same = False
    if not same:
        raise RunError(f"{folder} was trained by another recipe; move it away or choose another folder.")
    if is_own(recipe.dataset) and run.config["data"]["splits"]["train"]["digest"] != trained_rows(recipe).digest:
        raise RunError(f"{folder} was trained on other rows of {recipe.dataset}; move it away or choose another folder.")
    return run


def trained_rows(recipe: Recipe) -> Split:
    """Return the rows on which a recipe trains.

    Raises:
        DataMissingError: the data set is not installed. InputError: it has too few rows.
    """
    train = load_split(recipe.dataset, "train")
    return first_rows(train, recipe.rows) if recipe.rows else train


def usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the usual settings of a recipe's model, which replace the defaults of `Recipe`."""
    if values.get("source"):
        return FOREIGN
    if base := values.get("base"):
        return BASED | {"model": base}
    model = values.get("model")
    return dict(find_preset(model).recipe) if isinstance(model, str) else {}


def _modern(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored recipe in today's form: hardmax runs of format 1 stored the model's configuration among the settings."""
    older = ("width", "training", "cleaning", "layers", "training_temperature")
    if not all(name in stored for name in older):
        return dict(stored)
    shape = {name: stored[name] for name in older[3:] if stored[name] != getattr(HardmaxConfig, name)}
    return {name: value for name, value in stored.items() if name not in older} | {"shape": shape}


def _bare(recipe: Recipe) -> Recipe:
    """Return a recipe without its example, and with "auto" in place of "fp32": on a CPU, both compute the same."""
    return replace(recipe, example="", example_pair="", precision="auto" if recipe.precision == "fp32" else recipe.precision)


def learned(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide what is learned; the others decide what the finished run shows, stores and is evaluated on."""
    return {
        name: value for name, value in settings.items() if name not in ("example", "example_pair", "transfer", "keep_epochs", "intercept")
    }


def recipes() -> dict[str, Path]:
    """Return every shipped recipe by name: ours, and those of papers by `<paper>_<data set>` and, for the first paper, by data set."""
    by_name = {path.stem: path for path in sorted((Path(__file__).parent / "recipes").glob("*.toml"))}
    for paper in papers().values():
        for dataset, path in paper.recipes().items():
            by_name.setdefault(dataset, path)
            by_name[f"{paper.name}_{dataset}"] = path
    return by_name


def recipe_of_paper(source: str, model: str) -> str:
    """Return the recipe that a model's paper has for the data set of a shipped recipe; "" if it has none, or `source` is that recipe."""
    path = recipes().get(source)
    if path is None:
        return ""
    with_another = (paper for paper in papers().values() if paper.recipes().get(path.stem, path) != path)
    return next((f"{paper.name}_{path.stem}" for paper in with_another if paper.preset(split(model)[0])), "")


def recipe_names() -> list[str]:
    """Return one name of each shipped recipe."""
    name_of: dict[Path, str] = {}
    for name, path in recipes().items():
        name_of.setdefault(path, name)
    return sorted(name_of.values())
