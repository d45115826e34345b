"""Names that are assigned once, and expressions with such names replaced by their definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..loop_ir import nodes as L
from .liveness import defs, names_in


def fixed_integers(body: list[L.Stmt], params: Iterable[str]) -> dict[str, L.Expr]:
    """The integers that have one value wherever they are bound, by what they are made from."""
    times = Counter(name for s in L.walk(body) for name in defs(s))
    times.update(params)
    found: dict[str, L.Expr] = {}
    for s in L.walk(body):
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and times[s.name] == 1:
            if isinstance(s.expr, L.Name) and times[s.expr.name] <= 1 or _is_fixed(s.expr, times):
                found[s.name] = resolve(s.expr, found)
    return found


def resolve(e: L.Expr, integers: dict[str, L.Expr]) -> L.Expr:
    """In terms of what integers are made from."""
    if isinstance(e, L.Name):
        return integers.get(e.name, e)
    if isinstance(e, (L.Lit, L.Size)):
        return e

    def spelt(part: L.Expr) -> L.Expr | None:
        return integers.get(part.name) if isinstance(part, L.Name) else None

    return L.map_expr(e, spelt)


def _is_fixed(e: L.Expr, times: Counter[str], calls: tuple[str, ...] = ()) -> bool:
    """Whether an expression has the same value wherever its names are bound.  It may hold `calls`
    beside those of NumPy's functions."""
    for part in L.walk_expr(e):
        if isinstance(part, (L.Load, L.Field)):
            return False
        if isinstance(part, L.Apply) and not part.function.startswith(("np.", *calls)):
            return False
        name = part.buffer if isinstance(part, L.Size) else getattr(part, "name", None)
        if name is not None and times[name] > 1:
            return False
    return not isinstance(e, (L.Lit, L.Name))


def single_definitions(stmts: list[L.Stmt]) -> dict[str, L.Expr]:
    """The integers that have one value in each iteration, as far as the loop's variable and
    what was known before it tell."""
    times = Counter(name for s in stmts for name in defs(s))
    return {
        s.name: s.expr
        for s in stmts
        if isinstance(s, L.Let) and s.expr.dtype == "int64" and times[s.name] == 1
        if s.name not in names_in([s.expr])
    }


def resolve_all(e: L.Expr, known: dict[str, L.Expr]) -> L.Expr:
    """What a number that is `settled` stands for; another as it is."""
    return known.get(e.name, e) if isinstance(e, L.Name) else e


def value_before_loop(e: L.Expr, bound: set[str], known: dict[str, L.Expr]) -> L.Expr | None:
    """An integer by what is known before the loop that binds the names `bound`."""

    def spelt(part: L.Expr) -> L.Expr | None:
        if isinstance(part, L.Name) and part.name in bound and part.name in known:
            return L.map_expr(known[part.name], spelt)
        return None

    e = L.map_expr(e, spelt)
    return e if all(map(_is_harmless, L.walk_expr(e))) and not names_in([e]) & bound else None


def _is_harmless(e: L.Expr) -> bool:
    """Can be computed even where the program does not, and is the same then."""
    if isinstance(e, L.Bin):
        return e.op not in ("/", "//", "%", "**", "<<", ">>")
    return isinstance(e, (L.Lit, L.Name, L.Size, L.Un, L.Select, L.Cast))
