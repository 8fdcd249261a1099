"""Find the places of a module where a fault can be planted, and draw some of them by a seed.

Left out: words of prose (constants with a space, messages of exceptions, `help=` and `title=`), docstrings, annotations, `__all__`, blocks
under `TYPE_CHECKING`, and a fault that leaves the bytecode as it is.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

PACKAGES = (
    *("sentviz/analysis", "sentviz/browser", "sentviz/charts", "sentviz/data", "sentviz/export", "sentviz/io", "sentviz/models"),
    *("sentviz/papers", "sentviz/runs", "sentviz/serving", "sentviz/training", "sentviz/verbs", "sentviz/cli", "app"),
)
ORDERS = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
OPPOSITES = ((ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot))
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {a: b for pair in (*ORDERS, *OPPOSITES) for a, b in (pair, pair[::-1])}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
ARITHMETIC |= {ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Change = tuple[str, ast.AST]
"""The kind of a fault, and the node that replaces the right one."""


class Site(NamedTuple):
    """A place for one fault: the nodes, the line of the statement, and whether it runs when the module is imported."""

    kind: str
    holder: ast.AST
    field: str
    position: int | None
    old: ast.AST
    new: ast.AST
    line: int
    column: int
    statement: int
    at_import: bool


class Fault(NamedTuple):
    """A fault as it is stored. The text of the line finds it again after lines have moved."""

    package: str
    file: str
    line: int
    column: int
    kind: str
    before: str
    after: str
    text: str


def of_constant(value: Any) -> tuple[str, Any] | None:
    """Return the kind of fault of a constant and the wrong value; None if it has no fault."""
    match value:
        case bool():
            return "truth", not value
        case int():
            return "whole number", value + 1
        case float():
            return "number", value * 2
        case str() if value and " " not in value:
            return "text", value + "_"
    return None


def of_node(node: ast.AST) -> Iterator[Change]:
    """Yield each fault of a node that does not depend on its place."""
    match node:
        case ast.Compare(ops=operators):
            for i, operator in enumerate(operators):
                new = copy.deepcopy(node)
                new.ops[i] = COMPARISONS[type(operator)]()
                yield "comparison", new
        case ast.BinOp(op=operation) | ast.AugAssign(op=operation) if type(operation) in ARITHMETIC:
            new_operation = copy.deepcopy(node)
            new_operation.op = ARITHMETIC[type(operation)]()
            yield "arithmetic", new_operation
        case ast.BoolOp(op=operator, values=values):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand
        case ast.Constant(value=value) if change := of_constant(value):
            yield change[0], ast.Constant(change[1])
        case ast.Slice(lower=lower, upper=upper, step=step):
            yield "slice", ast.Slice(ast.BinOp(lower, ast.Add(), ast.Constant(1)) if lower else ast.Constant(1), upper, step)
            yield "slice", ast.Slice(lower, ast.BinOp(upper, ast.Add(), ast.Constant(1)) if upper else ast.Constant(-1), step)
    match node:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()) | ast.Raise() | ast.Expr(value=ast.Call()):
            yield "statement", ast.Pass()
        case ast.Return(value=ast.expr() as answer) if ast.unparse(answer) != "None":
            yield "return", ast.Return(ast.Constant(None))


def of_place(holder: ast.AST, field: str, node: ast.AST, prose: bool) -> Iterator[Change]:
    """Yield each fault of a node in its place: the default of an argument and a condition have faults of their own."""
    constant = node.value if isinstance(node, ast.Constant) else ...
    if isinstance(holder, ast.arguments) and field in ("defaults", "kw_defaults"):
        change = of_constant(constant)
        if change or constant is None or constant is ...:
            yield "default", ast.Constant(change[1] if change else 0 if constant is None else None)
        if constant is not ...:
            return
    if not (prose and isinstance(constant, str)):
        yield from of_node(node)
    condition = (isinstance(holder, ast.If | ast.While | ast.IfExp) and field == "test") or field == "ifs"
    match node:
        case ast.expr() if condition:
            opposite = isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in sum(OPPOSITES, ())
            if not opposite and not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
                yield "condition", ast.UnaryOp(ast.Not(), node)


def left_out(node: ast.AST) -> bool:
    """Return whether no fault is planted in a node or its parts."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]) | ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.keyword(arg="help" | "title"):
            return True
    return False


def sites(node: ast.AST, statement: int = 1, at_import: bool = True, prose: bool = False) -> Iterator[Site]:
    """Yield every place for a fault in the parts of a node, in the order of the syntax tree."""
    fields = {name: value for name, value in ast.iter_fields(node) if name not in ("annotation", "returns")}
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Compare(left=ast.Name(id="__name__"))):
            fields = {"orelse": node.orelse}
        case ast.Call(func=ast.Name(id="cast")):
            fields["args"] = [None, *node.args[1:]]  # the first is a type
        case ast.JoinedStr(values=values):
            prose = prose or any(isinstance(each, ast.Constant) and " " in str(each.value) for each in values)
    for field, value in fields.items():
        inside = at_import and not (isinstance(node, FUNCTIONS) and field == "body")
        for position, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST) and not left_out(child):
                line = child.lineno if isinstance(child, ast.stmt) else statement
                words = prose or isinstance(child, ast.Raise)
                place = getattr(child, "lineno", statement), getattr(child, "col_offset", 0)
                for kind, new in of_place(node, field, child, words):
                    yield Site(kind, node, field, position, child, new, *place, line, inside)
                yield from sites(child, line, inside, words)


def planted(source: str, number: int) -> tuple[ast.Module, Site]:
    """Return the syntax tree of a module with its fault of a number, and the place."""
    tree = ast.parse(source)
    site = list(sites(tree))[number]
    ast.copy_location(site.new, site.old)
    if site.position is None:
        setattr(site.holder, site.field, site.new)
    else:
        getattr(site.holder, site.field)[site.position] = site.new
    return ast.fix_missing_locations(tree), site


def compiled(source: str, number: int, file: str) -> CodeType | None:
    """Return the code of a module with a fault; None if it is the code without it, or cannot be compiled."""
    try:
        code: CodeType = compile(planted(source, number)[0], file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError):
        return None
    return None if code == compile(source, file, "exec", dont_inherit=True) else code


@cache
def listed(file: str, source: str) -> list[Fault]:
    """Return every fault of a module."""
    lines = source.splitlines()
    package = file.partition("/")[0] if file.startswith("app/") else "/".join(file.split("/")[:2])
    faults = []
    for site in sites(ast.parse(source)):
        before, after = ast.unparse(site.old), ast.unparse(site.new)
        faults.append(Fault(package, file, site.line, site.column, site.kind, before, after, lines[site.line - 1].strip()))
    return faults


def drawn(tree: Path, package: str, number: int, seed: int) -> list[Fault]:
    """Draw faults of a package out of all of them; a larger number adds to the faults of a smaller one."""
    files = [path.relative_to(tree).as_posix() for path in sorted((tree / package).rglob("*.py")) if path.name != "__main__.py"]
    texts = {file: (tree / file).read_text(encoding="utf-8") for file in files}
    places = [(file, i) for file in files for i, _ in enumerate(sites(ast.parse(texts[file])))]
    random.Random(f"{seed} {package}").shuffle(places)
    proper = (listed(file, texts[file])[i] for file, i in places if compiled(texts[file], i, file))
    return [fault for _, fault in zip(range(number), proper, strict=False)]


def number_of(fault: Fault, source: str) -> int | None:
    """Return the number of a stored fault in a module whose lines may have moved; None if it has no such place."""
    every = listed(fault.file, source)
    same = [i for i, each in enumerate(every) if each[4:] == fault[4:]]
    return min(same, key=lambda i: (abs(every[i].line - fault.line), abs(every[i].column - fault.column)), default=None)
