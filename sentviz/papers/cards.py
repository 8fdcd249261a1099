"""A run's model card: what it is, learned, measures and cannot do, from its own files and what was measured of its digest. Loads no model.

Markdown with a head in YAML, as the Hugging Face hub reads it (Mitchell et al. 2019, Model Cards for Model Reporting).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from sentviz.analysis.calibration import on_test_rows
from sentviz.analysis.testset.behaviour import stored_card, why_not_tested
from sentviz.data import datasets, demo
from sentviz.data.behaviour import digest
from sentviz.data.dataset_info import DatasetInfo
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import number, percent, signed
from sentviz.papers.studies.cross_domain import EVERY, SETS, current, stored_accuracies, why_not_evaluated
from sentviz.runs.bases import Card, find_base
from sentviz.runs.printed import printed
from sentviz.runs.registry import papers
from sentviz.runs.store import WITHOUT_ROWS, Run

MEASURES = {"accuracy": "accuracy", "f1_macro": "F1 (macro)", "auc": "area under the ROC curve", "loss": "loss (nats)"}
LICENCE = "mit"  # licence of the repository and its weights
WEAK = 0.75  # share of correct predictions (0 to 1) below which a phenomenon is listed among the limits
SETTINGS = (
    "epochs",
    "updates",
    "batch_size",
    "learning_rate",
    "weight_decay",
    "schedule",
    "warmup",
    "dropout",
    "label_smoothing",
    "select",
)


def filename(run: Run) -> str:
    """Return the file name of a run's card, for example ``sst2.ndt-unit-2.md``."""
    return run.name.replace("/", ".") + ".md"


def card(run: Run, beside: Iterable[Run] = ()) -> str:
    """Return the model card of a run, as Markdown with a YAML head.

    Args:
        beside: runs that may include other seeds of the same configuration.
    Raises:
        RunError: a file of the run is missing or damaged.
    """
    known = _known(run)
    parts = [
        f"# {run.name}",
        _opening(run),
        *_section("Use", _use(run)),
        *_section("Model", _model(run)),
        *_section("Data", _data(run, known)),
        *_section("Training", _training(run)),
        *_section("Test", _test(run, list(beside))),
        *_section("Calibration", _calibration(run)),
        *_section("Behaviour", _behaviour(run)),
        *_section("Limits", _limits(run, known)),
        *_section("Files", _files(run)),
    ]
    return f"---\n{_head(run, known)}---\n\n" + "\n\n".join(parts) + "\n"


def _head(run: Run, known: Sequence[DatasetInfo]) -> str:
    from huggingface_hub import EvalResult, ModelCardData

    name = run.config["data"]["name"]
    results = [
        EvalResult("text-classification", name, known[0].title if known else name, kind, metrics[kind]["value"], dataset_split=split)
        for split, metrics in _splits(run)
        for kind in ("accuracy", "f1_macro")
    ]
    head = ModelCardData(
        language=sorted({item.language for item in known}),
        license=LICENCE,
        library_name="sentviz",
        pipeline_tag="text-classification",
        tags=["sentiment-analysis", "interpretability", run.configuration],
        datasets=sorted({file.repo for item in known for file in item.hub.files.values()}),
        metrics=["accuracy", "f1"],
        model_name=run.name,
        eval_results=results,
        base_model=base["source"] if (base := _base(run)) else None,
    )
    return head.to_yaml().strip("\n") + "\n"


def _base(run: Run) -> Card | None:
    """Return the card of the base of a run; None if the run has no base, or the base is missing, damaged or another one."""
    if named := run.config.get("base"):
        with suppress(RunError):
            return find_base(named["name"], named["digest"]).card
    return None


# ---- sections


def _opening(run: Run) -> str:
    paper = next((paper for paper in papers().values() if paper.preset(_preset(run)) is not None), None)
    of = f" It is a model of *{paper.title}* ({paper.citation})." if paper else ""
    can = "" if run.has_weights else " It is stored with its history and measurements but without weights, so it cannot make predictions."
    return f"A small classifier with the classes {', '.join(run.labels)}, trained so that its attention can be studied.{of}{can}"


def _use(run: Run) -> Iterator[str]:
    if run.has_weights:
        pair = ', "A second sentence."' if run.capabilities.pairs else ""
        yield f'```\nsentviz explain {run.name} "A sentence."\n```'
        yield f'```python\nimport sentviz\n\nmodel = sentviz.load("{run.name}")\nmodel.trace("A sentence."{pair}).probabilities\n```'
    yield (
        "It is made to study attention, lambdas, gates and lexicons, and to compare the claims of papers with measurements."
        " It is not made for decisions about people: its prediction is a statistic of the texts that it was trained on."
    )


def _model(run: Run) -> Iterator[str]:
    can, shape = run.capabilities, run.config["model"]
    heads = f"{can.layers} layers" + (f" of {can.heads} heads, {can.attention}" if can.maps else f", {can.attention}")
    rows = {
        "configuration": run.configuration,
        "kind": shape.get("kind", "encoder"),
        "made of": heads,
        "parameters": f"{run.config['parameters']:,}",
        "tokenizer": f"{run.config['tokenizer']['kind']}, {shape.get('vocab_size', 0):,} entries",
        "reads": f"{run.shape.max_length:,} tokens" + (", pairs of texts" if can.pairs else ""),
    }
    if named := run.config.get("base"):
        of = f", from {base['source']}, {base['license']}" if (base := _base(run)) else ""
        rows["adapter on the base"] = f"{named['name']} (digest {named['digest']}{of}), whose weights and tokenizer it needs"
    left = {name: value for name, value in shape.items() if name not in ("kind", "vocab_size", "max_length", "layers", "heads")}
    rows |= {name: str(value) for name, value in left.items() if isinstance(value, str | int | float) and value not in ("", "none", False)}
    yield _table(("setting", ""), rows.items())


def _data(run: Run, known: Sequence[DatasetInfo]) -> Iterator[str]:
    if not run.has_rows:
        yield "The data that it was trained on is not known here."
        return
    parts = run.config["data"]["splits"].items()
    yield _table(("split", "texts", "digest"), [(name, f"{part['n']:,}", part["digest"]) for name, part in parts])
    if not known:
        yield f"The data set {run.config['data']['name']} is not one that sentviz knows."
    for item in known:
        yield f"**{item.title}** ({item.name}, {item.language}). {item.citation}. Licence: {item.licence}."
        yield f"From {item.source}. {item.remark}"
    yield "No text of a data set is part of the run."


def _training(run: Run) -> Iterator[str]:
    config, recipe = run.config, run.config["recipe"]
    if not config["steps"]:
        yield "Adopted unchanged, without training."
        return
    rows = {"seed": recipe["seed"]} | {name: recipe[name] for name in SETTINGS if recipe.get(name)}
    rows |= {"steps": f"{config['steps']:,}", "best epoch": f"{config['best']['epoch']:.2f}"}
    rows |= {
        "seconds": f"{config['seconds']:,}",
        "hardware": config["hardware"],
        "torch": config["version"]["torch"],
        "date": config["created"],
    }
    yield _table(("setting", ""), [(name.replace("_", " "), value) for name, value in rows.items()])


def _test(run: Run, beside: Sequence[Run]) -> Iterator[str]:
    if not run.has_rows:
        yield WITHOUT_ROWS.format(run.name)
        return
    rows = [
        (
            split.replace("_", " "),
            MEASURES[name],
            _number(value["value"]),
            f"{_number(value['low'])} to {_number(value['high'])}",
            f"{metrics['n']:,}",
        )
        for split, metrics in _splits(run)
        for name, value in metrics.items()
        if name in MEASURES
    ]
    yield _table(("split", "measure", "value", "95 % interval", "n"), rows)
    for split, metrics in _splits(run):
        counts = [(f"**{label}**", *(f"{n:,}" for n in row)) for label, row in zip(run.labels, metrics["confusion"], strict=True)]
        yield f"Predictions on {split.replace('_', ' ')}, one row per true class:"
        yield _table(("", *run.labels), counts)
    name = run.config["data"]["name"]
    table = printed(name, run.configuration)
    accuracy = run.metrics()["test"]["accuracy"]["value"]
    for paper, value in table[table["name"] == "accuracy"][["paper", "value"]].itertuples(index=False):
        yield f"{paper} reports an accuracy of {value:.4f} for this model on this data set. The measured accuracy is {accuracy:.4f}."
    seeds = {run.config["recipe"]["seed"]: accuracy} | {
        seed_run.config["recipe"]["seed"]: seed_run.metrics()["test"]["accuracy"]["value"]
        for seed_run in beside
        if _same_but_seed(run, seed_run)
    }
    if len(seeds) > 1:
        values = np.array(list(seeds.values()))
        each = ", ".join(f"{seed}: {value:.4f}" for seed, value in sorted(seeds.items()))
        yield f"Accuracy of {len(seeds)} seeds ({each}): mean {values.mean():.4f}, standard deviation {values.std(ddof=1):.4f}."


def _calibration(run: Run) -> Iterator[str]:
    if any(values := run.config.get("calibration", {}).get("intercept", [])):
        added = ", ".join(f"{name} {signed(value, 4)}" for name, value in zip(run.labels, values, strict=True))
        yield f"Intercepts in log-odds, fitted on validation rows together with T and added to the classifier's biases: {added}."
    if not run.has_rows:
        yield "Not calibrated, because there are no validation rows."
        return
    raw, own = on_test_rows(run, 1.0), on_test_rows(run)
    if "error_after" in (report := run.config.get("calibration", {})):
        yield f"Expected calibration error on the {report['n']:,} validation rows that fitted T: {report['error_after']:.4f}."
    yield (
        f"Softmax(logits / T) with T = {run.calibration:g}, fitted on validation. Expected calibration error on the test split"
        f" (n = {own.n:,}): {raw.error:.4f} without T, {own.error:.4f} with T. With T, the model is {own.words}: its mean confidence is"
        f" {percent(own.confidence)}, its accuracy {percent(own.accuracy)}."
    )


def _behaviour(run: Run) -> Iterator[str]:
    tested = stored_card(run)
    if tested is None:
        yield f"Not tested by capability: {why_not_tested(run) or f'`sentviz behave {run.name}` tests it.'}"
        return
    rows = [
        (
            row["capability"],
            row["kind"],
            percent(row["rate"]),
            f"{percent(row['low'])} to {percent(row['high'])}",
            _chance(row["random"]),
        )
        for row in tested.frame().to_dict("records")
    ]
    yield (
        f"Share of passed cases by capability, {len(tested.cases):,} cases of our own templates (digest `{digest(tested.cases)}`; kinds of"
        " tests: Ribeiro et al. 2020). Random edit: the share that passes with a random edit of the same size."
    )
    yield _table(("capability", "kind of test", "passed", "95 % interval", "random edit"), rows)
    yield from tested.remarks


def _chance(rate: float) -> str:
    return "" if np.isnan(rate) else percent(rate)


def _limits(run: Run, known: Sequence[DatasetInfo]) -> Iterator[str]:
    length = f"Only the first {run.shape.max_length:,} tokens of a text are read."
    spoken = {"en": "English", "ko": "Korean"}
    languages = " and ".join(sorted({spoken.get(item.language, item.language) for item in known})) or "one language"
    yield f"It was trained on {languages}; its predictions for other languages mean nothing. {length}"
    table = current(stored_accuracies(), {run.name: run})
    table = table[table["who"] == run.name]
    if table.empty:
        yield f"It was not evaluated on sentences of other kinds: {why_not_evaluated(run) or 'not measured yet'}."
        return
    rows: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    kinds = {row["tag"]: row for row in rows if row["set"] == "demo" and row["tag"] != EVERY}
    weak = [name for name in demo.PHENOMENA if name in kinds and kinds[name]["accuracy"] < WEAK]
    yield f"Our own sentences by phenomenon. Phenomena with an accuracy below {percent(WEAK, 0)}: {', '.join(weak) or 'none'}."
    head = ("right", "of", "95 % interval")
    yield _table(("phenomenon", *head), [(name, *_stood(kinds[name])) for name in demo.PHENOMENA if name in kinds])
    whole = {row["set"]: row for row in rows if row["tag"] == EVERY}
    yield "Sentences of other data sets; each prediction counts as negative or positive. *At home*: the run was trained on such texts."
    titles = {texts.name: texts.title for texts in SETS if texts.name in whole}
    yield _table(("set", *head), [(title + " *(at home)*" * whole[name]["home"], *_stood(whole[name])) for name, title in titles.items()])


def _files(run: Run) -> Iterator[str]:
    yield f"Digest of the run: `{run.digest}`. It is computed from config.json, which contains the SHA-256 of each file."
    yield _table(("file", "SHA-256"), [(name, f"`{digest}`") for name, digest in sorted(run.config["files"].items())])


# ---- parts


def _known(run: Run) -> list[DatasetInfo]:
    """Return a run's data set and, if the data set is a mixture, its parts; empty if one of them is unknown."""
    if not run.has_rows:
        return []
    try:
        item = datasets.info(run.config["data"]["name"])
        parts = dict.fromkeys(part.partition("/")[0] for part in item.needed() if "/" in part)
        return [item, *(datasets.info(name) for name in parts)]
    except InputError:
        return []


def _splits(run: Run) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return the test splits of a run with their metrics."""
    return ((split, metrics) for split, metrics in run.metrics().items() if split in ("test", "official_test"))


def _preset(run: Run) -> str:
    from sentviz.runs.presets import split

    try:
        return split(run.config["recipe"]["model"])[0]
    except (InputError, KeyError):
        return run.configuration


def _same_but_seed(run: Run, compared: Run) -> bool:
    same = compared.configuration == run.configuration and compared.config["data"] == run.config["data"]
    return same and compared.config["recipe"]["seed"] != run.config["recipe"]["seed"] and compared.of_a_study and run.of_a_study


def _stood(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return percent(row["accuracy"]), f"{row['n']:,}", f"{percent(row['low'])} to {percent(row['high'])}"


def _number(value: float) -> str:
    return number(value, 4)


def _section(title: str, paragraphs: Iterable[str]) -> list[str]:
    return [f"## {title}", *paragraphs]


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def origin_in_words(run: Run) -> str:
    """Return where a run comes from: its rows, training, hardware, versions and digest."""
    config = run.config
    data, best = config["data"], config["best"]
    splits = ", ".join(f"{split} {part['n']:,} texts, digest {part['digest']}" for split, part in data["splits"].items())
    rows = f"{data['name']}: {splits}" if run.has_rows else "No test rows"
    reached = f" with {percent(best['accuracy'], 2)} on validation" if "accuracy" in best else ""
    trained = (
        f"Trained with seed {config['recipe']['seed']}; stored at epoch {best['epoch']:.1f}"
        if config["steps"]
        else "Adopted, not trained here"
    )
    return (
        f"{rows}. {trained}{reached}; {config['seconds']:,} seconds on {config['hardware']}; sentviz {config['version']['sentviz']}, torch"
        f" {config['version']['torch']}, {config['created']}; digest {run.digest}."
    )
