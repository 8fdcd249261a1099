"""The verb `behave`: the behaviour card of a model, and the minimum rates that a continuous integration requires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sentviz.io.arguments import Arg, Progress
from sentviz.io.lazy import pd
from sentviz.verbs.door import OptionError, Result, drawing, verb
from sentviz.verbs.sources import Seed, Source, names

if TYPE_CHECKING:
    from sentviz.analysis.testset.behaviour import Card
    from sentviz.analysis.testset.behaviour_report import Requirement
    from sentviz.charts.figure import Figure


@dataclass(frozen=True, eq=False)
class Behaviour(Result):
    """The behaviour card of a model beside those of simple classifiers."""

    card: Card
    baselines: tuple[Card, ...]
    requirement: Requirement | None = None
    picture: Callable[[], Figure] | None = None
    SAVES: ClassVar[tuple[str, ...]] = (".json", ".md")

    @property
    def frame(self) -> pd.DataFrame:
        """One row per capability."""
        return self.card.frame()

    @property
    def met(self) -> bool:  # type: ignore[override]
        """Return whether all minimum rates are met."""
        return self.requirement is None or all(met for *_, met in self.requirement.verdicts(self.card).values())

    @property
    def aside(self) -> str:  # type: ignore[override]
        """The table, if the minimum rates are checked: then the output is JSON."""
        return "" if self.requirement is None else self.table

    def text(self) -> str:
        """Return the table; JSON if minimum rates are checked."""
        return self.table if self.requirement is None else self._document.rstrip("\n")

    def json(self) -> Any:
        """Return the rates, the baselines, and whether minimum rates are met."""
        from sentviz.analysis.testset.behaviour_report import numbers_of

        return numbers_of(self.card, self.baselines, self.requirement)

    def save(self, path: Path) -> str:
        """Write the card as JSON or Markdown."""
        from sentviz.analysis.testset.behaviour_report import as_markdown
        from sentviz.io.files import replacing

        text = as_markdown(self.card, self.baselines) if path.suffix.lower() == ".md" else self._document
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
        return f"Written to {path}"

    @property
    def _document(self) -> str:
        from sentviz.analysis.testset.behaviour_report import as_json

        return as_json(self.card, self.baselines, self.requirement)

    @property
    def table(self) -> str:
        """The rates with their intervals, a line per capability."""
        from sentviz.analysis.testset.behaviour_report import COUNTS
        from sentviz.data.behaviour import FUNCTIONALITY
        from sentviz.io.numbers import percent

        verdicts = self.requirement.verdicts(self.card) if self.requirement else {}
        frames = {each.name: each.frame().set_index("capability") for each in self.baselines}
        lines = [f"{self.card.name}: rates in %, with 95 % intervals"]
        lines.append(f"{'capability':<14}{'rate':<18}{'random edit':<18}" + "".join(f"{name:<26.24}" for name in frames))
        for row in self.frame.to_dict("records"):
            name = row["capability"]
            by_chance = "–" if row["kind"] == FUNCTIONALITY else percent(row["random"], 0, (row["random_low"], row["random_high"]))
            theirs = (frame.loc[name, ["rate", "low", "high"]] for frame in frames.values())
            baseline_rates = "".join(f"{percent(rate, 0, ends):<26}" for rate, *ends in theirs)
            mark = "" if name not in verdicts else "met" if verdicts[name][2] else f"below {percent(verdicts[name][1], 0)}"
            rate = percent(row["rate"], 0, (row["low"], row["high"]))
            lines.append(f"{name:<14}{rate:<18}{by_chance:<18}{baseline_rates}{mark}".rstrip())
        lines += [f"! {remark}" for remark in self.card.remarks]
        if self.requirement:
            met = sum(met for *_, met in verdicts.values())
            lines.append(f"{met} of {len(verdicts)} minimum rates are met; {COUNTS[self.requirement.counts]} counts.")
        return "\n".join(lines)


@verb("Rows", remote=True)
def behave(
    of: Source,
    *,
    language: Annotated[str, Arg("Language of the cases, en or ko; default: that of RUN, for your own model en.")] = "",
    seed: Seed = 0,
    cases: Annotated[int, Arg("Cases per capability.", least=1, most=1000)] = 125,
    templates: Annotated[Path | None, Arg("TOML file with templates of your own.", local=True)] = None,
    require: Annotated[Path | None, Arg("TOML file with minimum rates. Exit code 1 if one is not met.", local=True)] = None,
    progress: Annotated[Progress | None, "Texts"] = None,
) -> Behaviour:
    """Test the behaviour of RUN by capability: negation, contrast, names, typing errors and others, each on 125 cases.

    RUN is a run, or a folder of a Hugging Face model. With --model, your own code is tested. With --require, the output is JSON and the
    table goes to the error output.
    """
    from sentviz.analysis.testset import behaviour
    from sentviz.analysis.testset.behaviour_report import read_requirement
    from sentviz.data.behaviour import cases as drawn_cases
    from sentviz.data.behaviour import read_templates
    from sentviz.models.folder import is_model_folder
    from sentviz.models.in_memory import OpenModel
    from sentviz.models.loading import load

    source = Source.of(of)
    if not source.opened and bool(source.run) == bool(source.model):
        raise OptionError("Give RUN, or your own model with --model.")
    requirement = None if require is None else read_requirement(require)
    folder = source.run if source.run and not source.opened and is_model_folder(source.run) else ""
    run = OpenModel.of(load(folder, classes=names(source.classes))) if folder else source.answers()
    of_files = not isinstance(run, OpenModel)
    language = behaviour.language_of(run, language) if of_files else language or "en"
    own = None if templates is None else read_templates(templates, language or "en")
    frame = drawn_cases(language or "en", seed=seed, each=cases, templates=own)
    if requirement is not None:
        requirement.check(list(dict.fromkeys(frame["capability"])))
    if of_files:
        card = behaviour.card_of(run, wanted=language, seed=seed, each=cases, templates=own, progress=progress)
    else:
        card = behaviour.measure_behaviour(load(run), frame, spoken=language, progress=progress)
    picture = drawing(run.name, "behaviour") if of_files else None
    return Behaviour(card, tuple(behaviour.baselines_of(card, run.config["data"]["name"])), requirement, picture)
