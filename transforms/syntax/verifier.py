"""Check that core syntax is well formed: the grammar of `core.py`, and what passes promise.

The compiler does not run it; tests do, on what the parser and the desugarings produce.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import core as c
from .traverse import children, returns_of, walk

_STMTS = (
    c.Assign, c.Augment, c.Delete, c.Eval, c.If, c.For, c.While, c.Return, c.Raise, c.Assert,
    c.Define, c.Import, c.ImportFrom, c.With, c.Pass, c.Global, c.Guard, c.Refused,
)  # fmt: skip
_SUGAR = (c.Break, c.Continue, c.Match, c.Try, c.Nonlocal)
_PATTERNS = (
    c.MatchValue, c.MatchAs, c.MatchOr, c.MatchStar, c.MatchSequence, c.MatchMapping, c.MatchClass,
)  # fmt: skip
_EXPRS = (
    c.Const, c.Name, c.Attr, c.Item, c.Slice, c.Unary, c.Binary, c.Compare, c.Bool, c.Choose,
    c.Call, c.Seq, c.Dict, c.Star, c.Comp, c.Lambda, c.Format, c.Bind, c.Let, c.Refused,
)  # fmt: skip
_TARGETS = (c.Name, c.Attr, c.Item, c.Star, c.Seq)
# By class: the fields that hold statements, targets, and nodes of one class.
_WITH_BLOCKS = (c.If, c.For, c.While, c.With, c.Func, c.Case, c.Try, c.Handler)
_BLOCKS = {"body", "orelse", "final"}
_KINDS: dict[tuple[type, str], tuple[type, ...]] = {
    (c.Assign, "targets"): _TARGETS, (c.Delete, "targets"): _TARGETS, (c.For, "target"): _TARGETS,
    (c.Augment, "target"): (c.Name, c.Attr, c.Item), (c.Clause, "target"): _TARGETS,
    (c.Bind, "target"): (c.Name,), (c.Let, "target"): (c.Name,), (c.WithItem, "target"): _TARGETS,
    (c.With, "items"): (c.WithItem,), (c.Import, "names"): (c.Alias,),
    (c.ImportFrom, "names"): (c.Alias,),
    (c.Comp, "clauses"): (c.Clause,), (c.Format, "parts"): (c.Field,),
    (c.Field, "spec"): (c.Format,), (c.Func, "params"): (c.Params,), (c.Define, "func"): (c.Func,),
    (c.Lambda, "func"): (c.Func,), (c.Call, "keywords"): (c.Keyword,),
    (c.Match, "cases"): (c.Case,), (c.Case, "pattern"): _PATTERNS,
    (c.MatchAs, "pattern"): _PATTERNS, (c.MatchOr, "patterns"): _PATTERNS,
    (c.MatchSequence, "patterns"): _PATTERNS, (c.MatchMapping, "patterns"): _PATTERNS,
    (c.MatchClass, "patterns"): _PATTERNS, (c.MatchClass, "named"): _PATTERNS,
    (c.MatchAs, "target"): (c.Name,), (c.MatchStar, "target"): (c.Name,),
    (c.MatchMapping, "rest"): (c.Name,), (c.Try, "handlers"): (c.Handler,),
    (c.Handler, "target"): (c.Name,),
}  # fmt: skip


def problems(func: c.Func, desugared: bool = False) -> Iterator[str]:
    """What is wrong with a function; `desugared`: as `desugar` leaves the body."""
    for node in walk(func):
        yield from _fields(node, desugared)
        line, column, end_line, end_column = node.at
        if (line, column) > (end_line, end_column):
            yield f"{node!r:.80}: ends before it begins"
    if desugared:
        yield from _jumps(func)


def _fields(node: c.Node, desugared: bool) -> Iterator[str]:
    for name, part in vars(node).items():
        found = part if isinstance(part, tuple) else (part,)
        for child in found:
            if isinstance(child, c.Node) and not isinstance(child, _allowed(node, name, desugared)):
                yield f"{type(node).__name__}.{name} is a {type(child).__name__}"


def _allowed(node: c.Node, name: str, desugared: bool) -> tuple[type, ...]:
    if isinstance(node, c.Params):
        return (c.Param,)
    if name in _BLOCKS and isinstance(node, _WITH_BLOCKS):
        return _STMTS if desugared else (*_STMTS, *_SUGAR)
    return _KINDS.get((type(node), name), _EXPRS)


def _jumps(func: c.Func) -> Iterator[str]:
    returns = list(returns_of(func.body))
    if len(returns) > 1 or (returns and returns[0] is not func.body[-1]):
        yield f"{func.name} has a return that is not its last statement"
    for node in _own(func):
        if isinstance(node, (c.For, c.While)) and node.orelse:
            yield f"the loop in line {node.line} has an else clause"


def _own(node: c.Node) -> Iterator[c.Node]:
    """The nodes of a function, those of nested functions not counted."""
    for child in children(node):
        if not isinstance(child, c.Func):
            yield child
            yield from _own(child)
