"""The findings: an article on all papers, whose numbers are those of the stored verdicts, and a table of every claim.

The article is `findings.md`. Numbers stand in braces. ``{ndt-c7d421}`` is the effect of a claim, ``{ndt-c7d421/the re-split}`` that on one
part. With ``:of``, ``:verdict`` or ``:evidence`` behind a key, it is that part of the finding. ``{n}`` and ``{n holds}`` are numbers of
claims, ``{n kinds}`` the decided claims by kind, ``{n marked}`` those that are not significant over their board. Names in `FACTS` are
numbers of measured tables. A line `[figure NAME SET]` is a figure of the gallery. A comment `<!-- expects KEY VERDICT, ... -->` behind a
paragraph lists the verdicts that its words rest on; a test compares them with the stored ones.

A sentence with a digit, the name of a test, or a word such as *most* or *none* says something that can be wrong. `unmarked` lists those
that name no source: a number in braces, a link, or a comment directly behind the sentence, `<!-- by SOURCE, ... -->`. A source is the key
of a claim, a name in `FACTS`, `printed PAPER/TABLE` for a table as the paper has it, or `definition` for a sentence that explains a word.

The three lines that open a paper's page have such numbers, too: what it says, what we found, and what is open. They are data in the paper's
folder, in ``paper.toml`` (`sentviz.runs.registry.Opening`). Their words rest on verdicts. If the installed runs give other verdicts, the
second line says only that, and points to the board.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sentviz.analysis.claim import LEVEL, VERDICT_WORDS, Claim, Effect, Finding, decided_in_words, level_in_words, over_board
from sentviz.charts.verdicts import effect_in_words, unit_in_words
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number
from sentviz.io.spreadsheet import read_csv
from sentviz.papers.studies.claims import claims_of
from sentviz.papers.studies.verdicts import FILE, stored_findings
from sentviz.runs.registry import Paper, find_paper, papers

ARTICLE = Path(__file__).with_suffix(".md")
COLUMNS = ("paper", "claim", "where", "kind", "verdict", "level", "effect", "seeds", "what would change it")
TITLES = ("The paper says", "We found", "Open")
OTHER_RUNS = "The installed runs are not those of the summary, and the verdicts on its claims differ. The board below shows them."
MOST_TIMES = 100  # a claim that needs this many times as many runs is said to need a larger effect
NOT_TRAINED = ("loss still fell by", "whether it still learned", "and the paper waits until")  # words of `rates.still_learning`
_FIGURE = re.compile(r"\[figure (\S+) (\S+)\]")
_EXPECTS = re.compile(r"<!-- expects (.*?) -->", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BY = re.compile(r"<!-- by (.*?) -->")
_SENTENCE = re.compile(r"(?<!\bal\.)(?<=[.!?])(?:[”)*]*<!-- by [^>]*-->|[”)*]+)?\s+")
_TESTS = "Holm|Welch|Bartlett|McNemar|Benjamini|bootstrap|permutations?|sign test|significant(?:ly)?"
_CLAIMING = re.compile(rf"\d|\b(?:best|most|all|none|no|every|seeds?|{_TESTS})\b", re.IGNORECASE)
_SOURCED = re.compile(r"\{[^{}]+\}|<!-- by [^>]+-->|\]\(https?://")
_SEEDS = re.compile(r"\d+ against \d+ seeds?|one seed each|\d+ seeds|one seed|one run each")


@dataclass(frozen=True)
class Picture:
    """A figure of the gallery, of a data set or of "all"."""

    figure: str
    of: str


def article(file: Path = FILE) -> list[str | Picture]:
    """Return the article: paragraphs in Markdown with their numbers, and figures, in order.

    Args:
        file: stored verdicts.
    """
    findings = stored_findings(file)
    parts = re.split(r"\n\n+", _COMMENT.sub("", ARTICLE.read_text(encoding="utf-8")).strip())
    return [
        Picture(*match.groups()) if (match := _FIGURE.fullmatch(part.strip())) else fill(part.strip(), findings)
        for part in parts
        if part.strip()
    ]


def expected() -> dict[str, str]:
    """Return the verdicts that the article's words rest on, by claim key."""
    pairs = [tuple(pair.split()) for match in _EXPECTS.finditer(ARTICLE.read_text(encoding="utf-8")) for pair in match[1].split(",")]
    return dict(pairs)


def unmarked(text: str) -> list[str]:
    """Return the sentences of the article that say something countable or comparing, and name no source for it."""
    lines = [line for line in _EXPECTS.sub("", text).splitlines() if not line.startswith(("#", "[figure "))]
    return [
        sentence for line in lines for sentence in _sentences(line) if _CLAIMING.search(_plain(sentence)) and not _SOURCED.search(sentence)
    ]


def sources(text: str, findings: Mapping[str, Finding]) -> dict[str, bool]:
    """Return the sources that the comments behind sentences name, and whether each exists."""
    names = [name.strip() for match in _BY.finditer(text) for name in match[1].split(",")]
    tables = {f"printed {path.parts[-3]}/{path.stem}" for path in _PAPERS.glob("*/printed/*.csv")}
    return {name: name == "definition" or name in findings or name in FACTS or name in tables for name in names}


def _sentences(line: str) -> list[str]:
    """Return the sentences of a line, each with its marks and the comment behind it."""
    ends = [match.end() for match in _SENTENCE.finditer(line)]
    return [line[start:end].strip() for start, end in zip([0, *ends], [*ends, len(line)], strict=True) if line[start:end].strip()]


def _plain(sentence: str) -> str:
    """Return a sentence without comments and names of models and data sets that contain digits."""
    return re.sub(r"\b(?:SST-\d|Sentiment140|7ess-Xin|E5|V\d+)\b|\[−1, 1\]", "", _COMMENT.sub("", sentence))


def every_claim(file: Path = FILE) -> pd.DataFrame:
    """Return a row per claim with the columns `COLUMNS`, all of them text."""
    findings, rows = stored_findings(file), []
    for name, paper in papers().items():
        adjusted = _adjusted(paper, findings)
        for claim in claims_of(find_paper(name)):
            if (finding := findings.get(claim.key(name))) is not None:
                effect = effect_in_words(finding.effect) if finding.effect else ""
                seeds = _SEEDS.search(finding.evidence) if claim.against == "runs here" else None
                place = ", ".join(filter(None, (claim.where, claim.on)))
                words, overturned = VERDICT_WORDS[finding.verdict], changed_by(claim, finding)
                p = math.nan if finding.level is None else finding.level
                level = level_in_words(p, adjusted.get(claim.key(name), math.nan))
                seen = seeds[0] if seeds else ""
                rows.append((paper.short, claim.statement, place, claim.kind, words, level, effect, seen, overturned))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _adjusted(paper: Paper, findings: Mapping[str, Finding]) -> dict[str, float]:
    """Return `over_board` of a paper's stored findings."""
    keyed = {claim.key(paper.name): claim.kind for claim in claims_of(paper)}
    return over_board({key: (kind, findings[key]) for key, kind in keyed.items() if key in findings})


def changed_by(claim: Claim, finding: Finding) -> str:
    """Return what would overturn the verdict on a claim, or decide the claim, in one sentence."""
    effect = finding.effect
    if finding.verdict == "unjudged":
        return f"What is missing: {finding.evidence}." if len(finding.evidence) < 120 else "The missing runs or seeds."
    if "did not learn" in finding.evidence:
        return "Runs that learn, for example at another learning rate."
    if "did not have every training" in finding.evidence:
        return "Runs of each side at the same learning rates and with the same epochs."
    if finding.verdict == "open" and any(words in finding.evidence for words in NOT_TRAINED):
        return "Longer trainings, until the validation loss of each side no longer falls."
    if claim.against == "its own tables":
        return "Other numbers in the paper's tables." if finding.verdict != "open" else "More encoders or trainings in the paper's tables."
    if claim.against == "data sets":
        return "Another lexicon, or other texts."
    if claim.against == "simulated runs" and effect is None:
        return "One random case in which the statement is false."
    if effect is None or effect.low is None or effect.high is None:
        return "Other runs of the same configurations."
    if finding.verdict == "open" and "a difference in single heads is not seen" in finding.evidence:
        return "A measurement head by head, and more seeds of each configuration."
    if finding.verdict == "open" and "inside" in claim.how:
        return "A narrower interval, by more seeds and rows: it has to lie inside the stated margin, or beyond it."
    if finding.verdict == "open":
        return _decided_by(effect, effect.low, effect.high)
    far = min(abs(effect.low - effect.null), abs(effect.high - effect.null))
    return f"A change of at least {_amount(far, effect)} in this number, by other rows or trainings."


def _decided_by(effect: Effect, low: float, high: float) -> str:
    """Return how many times as many runs would decide the claim if the effect is as large as it was measured; the interval falls with
    their square root.
    """
    half, size = (high - low) / 2, abs(effect.value - effect.null)
    if size > half:
        return "More seeds: this number is clear, but the correction for several comparisons or another part of the claim is not."
    times = (half / size) ** 2 if size else MOST_TIMES
    if times >= MOST_TIMES:
        return f"A larger effect: with these runs it could be seen from about {_amount(half, effect)} on."
    return f"About {max(2, round(times))} times as many seeds and rows, if the effect is as large as measured."


def _amount(value: float, effect: Effect) -> str:
    return number(value, unit=unit_in_words(effect))


# ---- numbers of the article


def fill(text: str, findings: Mapping[str, Finding]) -> str:
    """Return a text in which each name in braces is replaced by its number or its words."""
    return re.sub(r"\{([^{}]+)\}", lambda match: _value(match[1], findings), text)


def _value(name: str, findings: Mapping[str, Finding]) -> str:
    """Return the number or the words that a name in braces stands for."""
    if name == "n kinds":
        kinds = {claim.key(paper): claim.kind for paper in papers() for claim in claims_of(find_paper(paper))}
        return decided_in_words(
            [findings[key].verdict for key in kinds if key in findings], [kinds[key] for key in kinds if key in findings]
        )
    if name == "n marked":
        return str(sum(p > LEVEL for paper in papers() for p in _adjusted(find_paper(paper), findings).values()))
    if name == "n" or name.startswith("n "):
        wanted = name.removeprefix("n").strip()
        return str(sum(wanted in ("", finding.verdict) for finding in findings.values()))
    if name in FACTS:
        file, column, where = FACTS[name]
        return _measured(Path(file), column, where)
    place, _, field = name.partition(":")
    key, _, rows = place.partition("/")
    finding = findings.get(key)
    finding = dict(finding.parts).get(rows) if finding is not None and rows else finding
    if finding is None:
        raise InputError(f"The text names {name!r}, and there is no such claim.")
    if field == "verdict":
        return VERDICT_WORDS[finding.verdict]
    if field == "evidence":
        return finding.evidence
    if finding.effect is None:
        raise InputError(f"The text names the effect {name!r}, and the claim has none.")
    return finding.effect.of if field == "of" else effect_in_words(finding.effect)


@dataclass(frozen=True)
class FilledOpening:
    """The opening of a page for some findings."""

    lines: tuple[tuple[str, str], ...]  # title and sentences
    figure: str = ""  # figure of the gallery
    of: str = "all"  # data set of the figure, or "all"


def opening_of(paper: Paper, findings: Mapping[str, Finding]) -> FilledOpening | None:
    """Return the opening of a paper's page, with numbers from the findings on its claims by key; None if the paper has none.

    Raises:
        SentvizError: its file cannot be read, or names a claim or a number that does not exist.
    """
    opening = paper.opening
    if opening is None:
        return None
    known = all(key in findings and findings[key].verdict == verdict for key, verdict in opening.expects.items())
    texts = (opening.thesis, opening.result, opening.question) if known else (opening.thesis, OTHER_RUNS)
    lines = tuple((title, fill(" ".join(text.split()), findings)) for title, text in zip(TITLES, texts, strict=False))
    return FilledOpening(lines, opening.figure, opening.of)


_PAPERS = Path(__file__).parents[1]
_LEAK, _LONG = _PAPERS / "ndt/measured/leak.csv", {"length": "5 words or more", "model": "vanilla"}
FACTS: dict[str, tuple[Path, str, Mapping[str, str]]] = {  # name -> table, column (a share), row
    "leak share": (_LEAK, "share", _LONG | {"rows": "the re-split", "stands": "inside"}),
    "leak inside": (_LEAK, "value", _LONG | {"rows": "the re-split", "stands": "inside"}),
    "leak outside": (_LEAK, "value", _LONG | {"rows": "the re-split", "stands": "outside"}),
    "leak official": (_LEAK, "value", _LONG | {"rows": "the official sentences", "stands": "outside"}),
    "padding loss": (_PAPERS / "sevenessxin/measured/padding.csv", "difference", {"of": "all"}),
}


def _measured(file: Path, column: str, where: Mapping[str, str]) -> str:
    """Return a share of a measured table in percent, or a difference of shares in points."""
    frame = read_csv(file)
    for name, value in where.items():
        frame = frame[frame[name] == value]
    (share,) = frame[column]
    return f"{number(100 * float(share), 1)} {'points' if column == 'difference' else '%'}"
