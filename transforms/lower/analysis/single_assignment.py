"""Names with a single definition, and substitution of such names by their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..loop_ir import nodes as L
from ..loop_ir.operations import OPS
from .liveness import defs, names_in


def fixed_integers(body: list[L.Stmt], params: Iterable[str]) -> dict[str, L.Expr]:
    """The int64 names with one definition and one value wherever they are bound.

    Maps each to its definition, in which such names are substituted already.
    """
    times = Counter(name for s in L.walk(body) for name in defs(s))
    times.update(params)
    found: dict[str, L.Expr] = {}
    for s in L.walk(body):
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and times[s.name] == 1:
            if isinstance(s.expr, L.Name) and times[s.expr.name] <= 1 or is_fixed(s.expr, times):
                found[s.name] = resolve(s.expr, found)
    return found


def resolve(e: L.Expr, integers: dict[str, L.Expr]) -> L.Expr:
    """`e` with names substituted by their definitions in `integers`."""
    if isinstance(e, L.Name):
        return integers.get(e.name, e)
    if isinstance(e, (L.Lit, L.Size)):
        return e

    def definition(part: L.Expr) -> L.Expr | None:
        return integers.get(part.name) if isinstance(part, L.Name) else None

    return L.map_expr(e, definition)


def is_fixed(e: L.Expr, times: Counter[str]) -> bool:
    """True if an expression has the same value wherever its names are bound.

    Literals and names on their own do not count.
    """
    for part in L.walk_expr(e):
        if isinstance(part, (L.Load, L.Field)):
            return False
        if isinstance(part, L.Apply) and not OPS[part.function].is_pure:
            return False
        name = part.buffer if isinstance(part, L.Size) else getattr(part, "name", None)
        if name is not None and times[name] > 1:
            return False
    return not isinstance(e, (L.Lit, L.Name))


def single_definitions(stmts: list[L.Stmt]) -> dict[str, L.Expr]:
    """The int64 names with a single definition in `stmts` that does not refer to the name itself.

    In the body of a loop, such a name has one value in each iteration.  That value is a function of
    the loop's variable and of what the definition reads.
    """
    times = Counter(name for s in stmts for name in defs(s))
    return {
        s.name: s.expr
        for s in stmts
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and times[s.name] == 1
        if s.name not in names_in([s.expr])
    }


def resolve_name(e: L.Expr, known: dict[str, L.Expr]) -> L.Expr:
    """The definition of `e` in `known`, if `e` is a name that has one; otherwise `e`."""
    return known.get(e.name, e) if isinstance(e, L.Name) else e


def value_before_loop(e: L.Expr, bound: set[str], known: dict[str, L.Expr]) -> L.Expr | None:
    """`e` in terms of values available before the loop that defines the names `bound`, or None.

    The result must also be safe to evaluate where the loop does not run.
    """

    def definition(part: L.Expr) -> L.Expr | None:
        if isinstance(part, L.Name) and part.name in bound and part.name in known:
            return L.map_expr(known[part.name], definition)
        return None

    e = L.map_expr(e, definition)
    return e if all(map(_is_speculatable, L.walk_expr(e))) and not names_in([e]) & bound else None


def definitions_before_loop(
    exprs: Iterable[L.Expr], bound: set[str], known: dict[str, L.Expr]
) -> set[str] | None:
    """The names that must be defined before a loop for `exprs` to be computable there, or None.

    They are among the names `bound`, which the loop defines.  Their definitions must be safe to
    evaluate where the loop does not run.
    """
    needed: set[str] = set()
    remaining = list(exprs)
    while remaining:
        e = remaining.pop()
        if not all(map(_is_speculatable, L.walk_expr(e))):
            return None
        for name in names_in([e]) & bound - needed:
            if name not in known:
                return None
            needed.add(name)
            remaining.append(known[name])
    return needed


def _is_speculatable(e: L.Expr) -> bool:
    """True if a node is safe to execute speculatively: it cannot fail and reads no memory."""
    if isinstance(e, L.Bin):
        return e.op not in ("/", "//", "%", "**", "<<", ">>")
    return isinstance(e, (L.Lit, L.Name, L.Size, L.Un, L.Select, L.Cast))
