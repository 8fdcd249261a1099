"""Find sentences and names in the Python files that a reader is likely to stumble over.

``python -m tools.plain`` prints each finding and the number of each kind; ``--change BASE`` looks only at lines added since a commit
and at the subjects of the commits since then. `tests/test_plain.py` fails if the number of a kind grows.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from tools.syntax import nodes

ROOT = Path(__file__).resolve().parents[1]


def _set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# Verbs in the imperative: a commit subject begins with one of them, a docstring may.
IMPERATIVES = _set(
    """
    accept adapt add adjust align allow answer apply ask attach avoid bind bound build bump cache calculate call change check choose
    clean clear close collect combine compare compile compute configure convert copy correct count cover create cut declare decode
    delay delete describe detect disable document download draw drop embed enable encode end ensure escape evaluate exclude expand
    expect explain export expose extend extract fail fetch fill filter find finish fit fix format gather generate give group handle hash
    hide highlight hold ignore implement import improve include index initialize insert install interpolate join judge keep label learn
    let limit link list load lock log lower make map mark mask match measure merge migrate move name normalize offer omit open order
    override pack pad parse pass pick pin plot point pool predict prefer prepare prevent print prove publish put raise rank read
    record reduce refuse register reject release remove rename render reorder repair repeat replace report reproduce require resize
    resolve restore restrict return reuse revert rewrite round run save say scale score search select send serve set share shorten
    ship show shuffle silence simplify simulate skip sort specify speed split start stop store strip sum summarize support swap switch take
    teach tell test tokenize track train translate trim try turn type unify update upgrade use validate verify wait warn wrap write yield
    """
)
# Words that are a verb, or a part of one, wherever they appear.
VERBS = _set(
    """
    agree agrees are is was were has have had do does did can cannot equal equals follow follows may must shall should will would
    come comes go goes stand stands lie lies
    stay stays differ differs fall falls become becomes belong belongs contain contains depend depends exist exists get happen
    happens know knows leave leaves lose loses mean means receive receives take win wins keep make give say
    """
)
# Verbs whose third person is often the plural of a noun.
NOUNS_TOO = _set(
    """
    call change count cover draw end find format group hash label limit link list lock log map mark mask match measure move name
    offer order pad pick pin place plot point pool print project rank read record release report run sample scale score set share
    sort split state store sum test track turn type use
    """
)
THIRD_PERSON = frozenset(verb + ending for verb in IMPERATIVES - NOUNS_TOO for ending in ("s", "es"))
ANY_VERB = IMPERATIVES | {"answers", "be", "needs", "works"} | VERBS | THIRD_PERSON | {verb + "s" for verb in NOUNS_TOO}
SUBORDINATORS = _set(
    """
    that which who whose whom what where when if as whether how why while until than whatever because
    """
)
DOCSTRING_OPENERS = SUBORDINATORS | _set(
    """
    of those so why by in to for with at from on under after before without over against
    """
)
COMMENT_OPENERS = _set(
    """
    of what whose which that those who as how whether its their whatever nobody or but nor so where by
    """
)
PRONOUNS = _set(
    """
    it its their them they these
    """
)
VAGUE_NAMES = _set(
    """
    found said kept made here told those given one other others standing through taken asked shown held came
    """
)
PHRASES = {
    "unclear phrase": re.compile(
        r"""\b(?:(?<!there\ )(?:is|are|was|were)\ (?-i:none)|nobody\ else's|stands?\ for\ (?:it|them|one)|be\ had
        |(?<!there\ )(?:is|are|was)\ no\ (?!longer|more|less|better|worse|later|larger|smaller|other|such|need|way|room)\w+|what\ is\ not
        |(?:a|one)\ \w+\ a\ (?:line|run|head|visitor|key|layer|token|word|row|class)|at\ hand|held\ (?:to|against)|unless\ told
        |so\ many\ (?!that)\w+|that\ (?:is|are)\ there|what\ (?:came|comes|goes|stands|stays)|as\ far\ as|none\ with\ none|one's\ own
        |who(?:ever)?\ (?:looks|asks|would\ rather)|goes\ away|the\ print(?!\ (?:area|size|layout)))\b""",
        re.IGNORECASE | re.VERBOSE,
    ),
    "'where' instead of 'if'": re.compile(r"(\b(None|empty|False|nothing|a sentence( in (its|their) place)?)|\"\") where\b"),
}
STRING_OR_COMMENT = re.compile(r"""('{3}|"{3})(?:\\.|.)*?\1|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?P<comment>\#[^\n]*)""", re.DOTALL)
"""Finds the comments of a Python file in a tenth of the time of `tokenize`."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LOOKED_AT = (*DOCUMENTED, ast.arg, ast.Name)


class Finding(NamedTuple):
    """A place to read again."""

    file: str
    line: int
    kind: str
    text: str


def git(*arguments: str) -> str:
    """Return the output of a git command."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True, encoding="utf-8").stdout


def words_of(text: str) -> list[str]:
    """Split a text into words in lower case; code between backticks counts as one word."""
    return re.findall(r"[a-z][a-z']*", re.sub(r"`[^`]*`", "code", text).lower())


def beginning(text: str, ends: str) -> str:
    """Return the text up to the first of some punctuation marks, on one line."""
    return re.split(rf"(?<=[{ends}])(?:\s|$)", " ".join(text.split()), maxsplit=1)[0]


def is_fragment(clause: str) -> bool:
    """Return whether a clause has no more verbs than its subordinate clauses need."""
    words = words_of(clause)
    verbs = sum(word in VERBS or word in THIRD_PERSON for word in words)
    return not clause.endswith("?") and verbs <= sum(word in SUBORDINATORS for word in words)


def docstring_kind(node: ast.AST, text: str) -> str:
    """Return the fault of a docstring's first sentence; "" if there is none."""
    clause, sentence = beginning(text, ".?:;"), words_of(beginning(text, ".?"))
    if not re.match("[`A-Za-z]", clause):
        return ""
    if sentence[0] in DOCSTRING_OPENERS and is_fragment(clause):
        return "docstring is a fragment"
    if sentence[0] in PRONOUNS:
        return "docstring begins with a pronoun"
    short = isinstance(node, ast.FunctionDef) and not node.decorator_list and ANY_VERB.isdisjoint(sentence)
    if short and (getattr(node, "name", "").startswith("test_") or len(sentence) <= 2):
        return "docstring has no verb"
    return ""


def in_file(file: str, source: str) -> Iterator[Finding]:
    """Yield the findings of a Python file."""
    texts: list[tuple[int, str]] = []
    for node in nodes(source):
        if not isinstance(node, LOOKED_AT):
            continue
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            statement = node.body[0]
            assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            text = str(statement.value.value)
            if kind := docstring_kind(node, text):
                yield Finding(file, statement.lineno, kind, beginning(text, ".?"))
            texts += enumerate(text.splitlines(), statement.lineno)
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if name in VAGUE_NAMES:
                    yield Finding(file, node.lineno, "vague name", name)
    for match in STRING_OR_COMMENT.finditer(source):
        if match["comment"] and not re.match(r"#\s*(noqa|type:|fmt:|pragma|ruff|!)", match["comment"]):
            before, text = source[: match.start()], match["comment"].lstrip("# ")
            line, trailing = before.count("\n") + 1, bool(before.rpartition("\n")[2].strip())
            opener = (words_of(text) or [""])[0]
            if trailing and re.match("[A-Za-z]", text) and opener in COMMENT_OPENERS and is_fragment(beginning(text, ".?:;")):
                yield Finding(file, line, "comment is a fragment", text)
            texts.append((line, text))
    for line, text in texts:
        yield from (Finding(file, line, kind, text.strip()) for kind, pattern in PHRASES.items() if pattern.search(text))


def findings(files: Iterable[str] | None = None) -> list[Finding]:
    """Return the findings of some files, by default of every tracked Python file."""
    names = git("ls-files", "*.py").splitlines() if files is None else files
    return [finding for name in names if (ROOT / name).is_file() for finding in in_file(name, (ROOT / name).read_text(encoding="utf-8"))]


def added_lines(base: str) -> dict[str, set[int]]:
    """Return the line numbers added to each Python file since a commit, uncommitted lines included."""
    added: dict[str, set[int]] = {}
    numbers: set[int] = set()
    for line in git("diff", "-U0", "--no-color", "--no-ext-diff", "--no-prefix", base, "--", "*.py").splitlines():
        if line.startswith("+++ "):
            numbers = added.setdefault(line[4:].strip(), set())
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            numbers.update(range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1)))
    return added


def subjects(base: str) -> Iterator[Finding]:
    """Yield the commit subjects since a commit that do not begin with an imperative verb or are longer than 71 characters."""
    for line in git("log", "--no-merges", "--format=%h %s", f"{base}..HEAD").splitlines():
        commit, _, subject = line.partition(" ")
        if (words_of(subject) or [""])[0] not in IMPERATIVES or len(subject) > 71:
            yield Finding(commit, 0, "commit subject", subject)


@click.command(help=__doc__)
@click.option("--change", metavar="BASE", help="Look only at what was added since this commit.")
def main(change: str | None) -> None:
    """Print the findings, sorted by kind, and the number of each kind."""
    if change:
        added = added_lines(change)
        listed = [finding for finding in findings(added) if finding.line in added[finding.file]] + list(subjects(change))
    else:
        listed = findings()
    for finding in sorted(listed, key=lambda finding: finding.kind):
        click.echo(f"{finding.file}:{finding.line}: {finding.kind}: {finding.text}")
    for kind, total in sorted(Counter(finding.kind for finding in listed).items()):
        click.echo(f"{total:6d}  {kind}")


if __name__ == "__main__":
    main()
