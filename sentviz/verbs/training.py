"""Verbs that make runs: train, study, adopt a model of others, and calibrate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sentviz.io.arguments import Arg, Progress, Say
from sentviz.io.lazy import pd, torch
from sentviz.io.numbers import percent, signed
from sentviz.verbs.door import OptionError, Outcome, Result, announced, verb
from sentviz.verbs.rows import metric_lines
from sentviz.verbs.shelf import records
from sentviz.verbs.sources import StoredRun, names

if TYPE_CHECKING:
    from sentviz.runs.store import Run
    from sentviz.training.recipe import Recipe

Out = Annotated[
    Path | None,
    Arg("Folder for the run; default: runs, or your library for your own data sets.", flags=("-o", "--out"), local=True),
]
Lexicon = Annotated[str | None, Arg("Lexicon with the word polarities for an injection, for example lexicon_ko_knu.")]
Injection = Annotated[str | None, Arg("Inject a lexicon into a Hugging Face encoder: xia, all, all-scaled, last or last-scaled.")]
Quiet = Annotated[bool, Arg("Show no progress bar.", local=True)]


@dataclass(frozen=True, eq=False)
class Made(Result):
    """A run that was written, or found."""

    run: Run
    note: str  # sentence on what happened
    compared: pd.DataFrame | None = None  # validation accuracy beside simple classifiers, for a data set of the user
    remarks: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the metrics, the comparison with simple classifiers, and where the run is."""
        lines = metric_lines(self.run.name, self.run.metrics())
        if (frame := self.compared) is not None:
            lines.append(f"Accuracy on {int(frame['n'].iloc[0]):,} validation rows, with its 95 % interval:")
            for row in frame.to_dict("records"):
                ends = f"[{percent(row['low'])}, {percent(row['high'])}]"
                lines.append(f"  {row['name']:<40}{percent(row['accuracy']):>7}  {ends}")
            lines.append(f"`sentviz app` shows the run {self.run.name}.")
        return "\n".join([*lines, self.note])

    def json(self) -> dict[str, Any]:
        """Return name, folder and metrics of the run, and the comparison."""
        compared = {} if self.compared is None else {"compared": records(self.compared)}
        return {"run": self.run.name, "folder": str(self.run.folder), "metrics": self.run.metrics()} | compared


@verb("Yours", resumes=True)
def train(
    recipe: Annotated[str, Arg("TOML file, shipped recipe, or data set of yours.", local=True)],
    *,
    model: Annotated[
        str | None, Arg("Model preset (listed below); default: the recipe's.", flags=("--model", "--preset"), local=True)
    ] = None,
    seed: Annotated[int | None, Arg("Random seed; default: the recipe's.", least=0, most=(1 << 63) - 1)] = None,
    variant: Annotated[
        str | None,
        Arg(
            "Variant: equal, swapped or frozen (initial lambda), 512 (maximum tokens), epochs (keep all epochs), wide or wide-512 (initial"
            " word vectors of hardmax)."
        ),
    ] = None,
    base: Annotated[
        str | None,
        Arg(
            "Train an adapter on this base, for example minilm, or on an encoder of the hub as USER/MODEL. RECIPE is a recipe for bases, or"
            " a data set."
        ),
    ] = None,
    revision: Annotated[str, Arg("Commit of the encoder USER/MODEL of --base, 40 hex digits.")] = "",
    sha256: Annotated[str, Arg("SHA-256 of model.safetensors of the encoder USER/MODEL of --base, 64 hex digits.")] = "",
    hub: Annotated[str | None, Arg("Fine-tune this Hugging Face encoder, a name or a folder, on the data set RECIPE.", local=True)] = None,
    injection: Injection = None,
    lexicon: Lexicon = None,
    length: Annotated[int | None, Arg("Pieces of each text that are read; default: the recipe's.", least=1)] = None,
    keep_epochs: Annotated[int | None, Arg("Number of last epochs whose weights are stored, too.", least=0)] = None,
    out: Out = None,
    device: Annotated[str, Arg("Device: cpu or cuda; default: the GPU if there is one.")] = "",
    threads: Annotated[int | None, Arg("Number of CPU threads.", least=1)] = None,
    quiet: Quiet = False,
    progress: Annotated[Progress | None, "Steps"] = None,
    say: Say | None = None,
) -> Made:
    """Train RECIPE: a TOML file, a shipped recipe, or a data set of yours.

    On a data set, mine/NAME or a file, which is added to your library, an adapter of MiniLM or a preset is trained. With --hub or a
    hardmax model, RECIPE is a data set. To continue a stopped training, run the command again.
    """
    from sentviz.runs.store import folder_for

    if threads:
        torch.set_num_threads(threads)
    bar: Any = not quiet and (progress or True)
    recipe, remarks = in_library(recipe)
    remarks = announced(remarks, say)
    if hub:
        _refuse("A Hugging Face model", model=model, variant=variant, base=base, revision=revision, sha256=sha256)
        from sentviz.training import finetune

        chosen = {"seed": seed, "keep_epochs": keep_epochs, "max_length": length}
        settings: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        settings |= {"lexicon": lexicon or "", "injection": injection or ""}
        return _made(finetune(hub, recipe, folder_for(recipe, out), device=device, progress=bar, **settings), remarks)
    from sentviz.runs.presets import presets
    from sentviz.training import train as run_training
    from sentviz.training.recipe import finished, recipe_of_paper

    options = {"variant": variant, "injection": injection, "lexicon": lexicon, "device": "" if device == "cpu" else device}
    if model in presets():
        _refuse(model, **{name: value for name, value in options.items() if name in presets()[model].without})
    if base and "/" in base:
        from sentviz.models.pretrained.base import hub_base

        base = hub_base(base, revision=revision, sha256=sha256).name
    elif revision or sha256:
        raise OptionError("--revision and --sha256 need an encoder of the hub: --base USER/MODEL.")
    if injection:
        raise OptionError("--injection needs --hub. Presets name their injection, for example --model cls-last-scaled.")
    changes = {"model": model, "seed": seed, "variant": variant, "base": base, "lexicon": lexicon}
    changed = _recipe(recipe, **changes, max_length=length, keep_epochs=keep_epochs)
    out = folder_for(changed.dataset, out)
    if existing := finished(changed, out):
        note = f"{existing.folder} was already trained with this recipe. Move the folder to train the recipe again."
        return _made(existing, remarks, note)
    if own := recipe_of_paper(recipe, changed.model):
        remarks += announced([f"{changed.model}'s paper has its own recipe for this data set, {own}; {recipe} is another paper's."], say)
    return _made(run_training(changed, out, device=device, progress=bar), remarks)


def _made(run: Run, remarks: tuple[str, ...] = (), note: str = "") -> Made:
    """Return a run with its metrics; for a data set of the user also the validation accuracy next to that of simple classifiers."""
    from sentviz.data.datasets import is_own

    compared = None
    if is_own(str(run.config["data"]["name"])):
        from sentviz.training.own_data import compared as with_simple

        compared = with_simple(run)
    return Made(run, note or f"Written to {run.folder}", compared, remarks)


def in_library(source: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a data set, and how it was understood: a file becomes a data set in the user's library."""
    from sentviz.data import rows_argument

    name, summary = rows_argument.in_library(source)
    return name, (summary,) if summary else ()


def _refuse(what: str, **options: str | None) -> None:
    """Raise OptionError for an option that `what` does not support, so that no option is silently ignored."""
    if unsupported := [name for name, value in options.items() if value]:
        raise OptionError(f"{what} does not take --{unsupported[0]}.")


def _recipe(source: str, **changes: Any) -> Recipe:
    """Return the recipe with its changes. Raises OptionError for a lexicon that the model would ignore."""
    from sentviz.runs.presets import find_preset, on_base
    from sentviz.training.recipe import Recipe

    changed = Recipe.read(source, **changes).pinned()
    shape = on_base(changed.model, changed.base) if changed.base else find_preset(changed.model).shape
    if changes["lexicon"] and shape.get("lexicon", "none") == "none":
        raise OptionError(f"{changed.model} has no injection, so --lexicon has no effect. Choose for example cls-last-scaled.")
    return changed


@verb("Model")
def calibrate(
    of: StoredRun,
    *,
    intercept: Annotated[bool, Arg("Fit a value per class in addition to the temperature, and add it to the classifier's biases.")] = False,
) -> Outcome:
    """Fit the calibration of RUN on its validation rows again, evaluate RUN again, and store both. Measured tables of RUN are removed."""
    from sentviz.analysis.calibration import calibration_line
    from sentviz.training.finishing import calibrate as fit_again

    run = fit_again(StoredRun.of(of).answers(), intercept=intercept)
    report = run.config["calibration"]
    added = ", ".join(signed(value, 4) for value in report["intercept"])
    errors = f"{report['error_before']:.4f} before, {report['error_after']:.4f} after"
    lines = [*metric_lines(run.name, run.metrics()), f"Temperature {run.calibration:g}, intercept {added}"]
    lines += [f"Calibration error on {report['n']:,} validation rows: {errors}", calibration_line(run)]
    return Outcome(tuple(lines), {"run": run.name, "temperature": run.calibration, "calibration": report, "metrics": run.metrics()})


@verb("Yours")
def adopt(
    model: Annotated[str, Arg("Name or folder of a Hugging Face classifier.", local=True)],
    *,
    data: Annotated[
        str,
        Arg(
            "Data set whose test split evaluates the model, for example sst2 or mine/reviews, or a file, which is added to your library;"
            " default: none.",
            flags=("--data", "--dataset"),
            local=True,
        ),
    ] = "",
    classes: Annotated[
        str,
        Arg(
            "Class names in the model's order, for example negative,positive; with --data, the data set's.", flags=("--classes", "--labels")
        ),
    ] = "",
    head: Annotated[Path | None, Arg("Classifier on an encoder's vectors: weight and bias in a safetensors file.", local=True)] = None,
    injection: Injection = None,
    lexicon: Lexicon = None,
    example: Annotated[str, Arg("Sentence that the run's pages show first.")] = "",
    pair: Annotated[str, Arg("Second sentence of the example, for a data set of sentence pairs.")] = "",
    allow_pickle: Annotated[bool, Arg("Allow pickled weights, read as plain tensors only.", local=True)] = False,
    own_name: Annotated[
        bool, Arg("Add a digest of model and classes to the run's name, so that no other run is replaced.", local=True)
    ] = False,
    out: Out = None,
) -> Made:
    """Make a run from a Hugging Face classifier without training. MODEL is a name or a folder. All pages can show the run."""
    from sentviz.runs.store import folder_for
    from sentviz.training import adopt as make_run

    data, remarks = in_library(data)
    run = make_run(
        model,
        data,
        folder_for(data, out),
        lexicon=lexicon or "",
        injection=injection or "",
        classes=names(classes),
        head=head,
        example=(example, pair or None) if example else None,
        allow_pickle=allow_pickle,
        own_name=own_name,
    )
    more = "" if data else f"\nIt has no test rows. `sentviz evaluate {run.folder} --data DATASET` adds them."
    return Made(run, f"Written to {run.folder}{more}", remarks=remarks)


@verb("Papers", resumes=True)
def study(
    study: Annotated[str, Arg("Name of the study.")],
    *,
    dataset: Annotated[str, Arg("Data set of the study; an unknown name lists the study's data sets.")],
    seeds: Annotated[int, Arg("Number of seeds per configuration: 0, 1, ...")] = 1,
    jobs: Annotated[int, Arg("Runs trained in parallel, one thread each.")] = 1,
    models: Annotated[tuple[str, ...], Arg("Configuration to train; default: all of the study. May be repeated.", flags=("--model",))] = (),
    check: Annotated[int, Arg("Number of stored runs without weights to train again, to compare their predictions.")] = 0,
    draw: Annotated[int, Arg("Random seed with which --check selects these runs.")] = 0,
    out: Annotated[Path, Arg("Folder for the runs.", flags=("-o", "--out"), local=True)] = Path("runs"),
) -> Outcome:
    """Train and evaluate every configuration of STUDY on a data set.

    Existing runs are not trained again. To continue a stopped study, run the command again.
    """
    from sentviz.data.datasets import require
    from sentviz.io.spreadsheet import write_csv
    from sentviz.papers.studies.runner import collect, plan, run_study, source, training

    recipes = plan(study, dataset, seeds, models)
    if check:
        return _checked(study, dataset, check, draw, models)
    for name in dict.fromkeys(recipe.dataset for recipe in recipes if not (out / recipe.name / "config.json").is_file()):
        require(name)
    outcome = run_study(recipes, out, command=training(source(study, dataset)), jobs=jobs)
    frame, lines, rows = collect(recipes, out), list[str](), list[dict[str, Any]]()
    if not frame.empty:
        path = write_csv(out / f"{study}-{dataset}.csv", frame)
        rows = records(frame[frame["split"] == "test"].sort_values("accuracy", ascending=False))
        for row in rows:
            ends = f"[{percent(row['accuracy_low'], 2)}, {percent(row['accuracy_high'], 2)}]"
            lines.append(f"{row['run']:<40}{percent(row['accuracy'], 2):>8}  {ends}  n = {row['n']:,}")
        lines.append(f"All metrics: {path}")
    failed = tuple(f"{name}: {reason}" for name, reason in outcome.failed.items())
    if failed:
        lines.append(f"{len(failed)} of {len(recipes)} runs failed. Run the command again to retry them.")
    return Outcome(tuple(lines), {"runs": rows, "failed": dict(outcome.failed)}, failed, met=not failed)


def _checked(study: str, dataset: str, count: int, draw: int, models: tuple[str, ...]) -> Outcome:
    """Train stored runs again in a temporary folder and compare their predictions."""
    import tempfile

    from sentviz.papers.studies.runner import checked, drawn
    from sentviz.runs.catalog import study_runs

    lines, rows = list[str](), list[dict[str, Any]]()
    for run in drawn(study_runs().runs, study, dataset, count, seed=draw, models=models):
        with tempfile.TemporaryDirectory() as folder:
            again = checked(run, Path(folder))
        equal = f"{again.n - again.differ:>8,} of {again.n:,} predictions equal, probabilities to {again.largest:.1g}"
        lines.append(f"{again.name:<40}{equal}")
        rows.append({"run": again.name, "n": again.n, "differ": again.differ, "largest": again.largest})
    if differ := sum(row["differ"] > 0 for row in rows):
        lines.append(f"{differ} of these runs give different predictions when they are trained again.")
    return Outcome(tuple(lines), {"runs": rows}, met=not differ)
