"""Exact division where a comparison depends on a quotient, on loop-level IR.

    q = x[i] / c            q = np.divide(x[i], c)
    if q < x[j]:        →   if q < x[j]:
        s += q                  s += q

Code generation may multiply by the reciprocal of a loop-invariant divisor, which is one unit in the
last place off.  That is within rounding, but a comparison, a truncation or a sort could then have
another outcome than in NumPy.  `np.divide` is the division that is never replaced.

So could an argument at the end of a function's domain: `np.sqrt(3.0 - x / c)` is 0 where the
quotient is 3, and nan where it is one unit more.

Values are followed by name, not by element: where a quotient reaches one of these in some way, all
float divisions of the routine become exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..loop_ir import nodes as L

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
# Functions with jumps, and library routines that compare elements.
_JUMPS = ("floor", "ceil", "trunc", "rint", "round", "sign", "to_int", "remainder", "divmod", "mod")
# Functions of numbers from 0 on, and those whose domain ends or jumps elsewhere.
_FROM_ZERO = ("sqrt", "log", "log2", "log10", "pow", "power", "float_power")
_BOUNDED = ("log1p", "acos", "asin", "atanh", "arccos", "arcsin", "arctanh", "atan2", "arctan2")
# Functions that have no negative values.
_POSITIVE = ("abs", "absolute", "fabs", "square", "exp", "exp2", "hypot")
_COMPARING_CALLS = ("sort", "search", "digitize", "histogram", "unique", "partition", "bincount")


def exact_quotients(body: list[L.Stmt]) -> None:
    """Make float divisions exact if an outcome depends on one, in place."""
    if not any(_is_quotient(e) for s in L.walk(body) for e in L.subexprs_read(s)):
        return
    tainted = _reached(body, _depends)
    differences = _reached(body, lambda e, found: _is_difference(e, tainted, found))
    if any(
        _compares(s, tainted, differences) or _ends_domain(s, tainted, differences)
        for s in L.walk(body)
    ):
        L.map_stmts(body, _exact)


def _is_quotient(e: L.Expr) -> bool:
    return isinstance(e, L.Bin) and e.op == "/" and e.dtype.startswith("float")


def _exact(e: L.Expr) -> L.Expr | None:
    if isinstance(e, L.Bin) and _is_quotient(e):
        operands = tuple(L.map_expr(x, _exact) for x in (e.left, e.right))
        return L.Apply("np.divide", operands, e.dtype)
    return None


def _depends(e: L.Expr, tainted: set[str]) -> bool:
    """Whether a float expression contains a quotient or a value that depends on one."""
    return any(
        _is_quotient(x)
        or (isinstance(x, L.Name) and x.name in tainted)
        or (isinstance(x, L.Load) and x.buffer in tainted)
        for x in L.walk_expr(e)
        if x.dtype.startswith("float")
    )


def _is_difference(e: L.Expr, tainted: set[str], differences: set[str]) -> bool:
    """Whether an expression may be 0, or have the other sign, for the sake of a rounding error of a
    quotient: a difference, but not its square."""
    if not e.dtype.startswith("float"):
        return False
    if isinstance(e, L.Name):
        return e.name in differences
    if isinstance(e, L.Load):
        return e.buffer in differences
    negative = any(isinstance(x, L.Un) and x.op == "-" for x in L.operands_of(e))
    if isinstance(e, L.Bin) and (e.op == "-" or (e.op == "+" and negative)):
        return _depends(e, tainted)
    if isinstance(e, L.Bin) and e.op == "*" and e.left == e.right:
        return False
    if isinstance(e, L.Apply) and _name(e) in _POSITIVE:
        return False
    return any(_is_difference(x, tainted, differences) for x in L.operands_of(e))


def _reached(body: list[L.Stmt], holds: Callable[[L.Expr, set[str]], bool]) -> set[str]:
    """The names of scalars and buffers of whose values `holds` may be true, which takes an
    expression and these names."""
    tainted: set[str] = set()
    statements = list(L.walk(body))
    while True:
        before = len(tainted)
        for stmt in statements:
            if isinstance(stmt, L.Let) and holds(stmt.expr, tainted):
                tainted.add(stmt.name)
            elif isinstance(stmt, L.Store) and holds(stmt.expr, tainted):
                tainted.add(stmt.buffer)
            elif isinstance(stmt, (L.View, L.Rebind)):
                other = stmt.buffer if isinstance(stmt, L.View) else stmt.other
                if {stmt.name, other} & tainted:
                    tainted |= {stmt.name, other}
            elif isinstance(stmt, (L.Call, L.CallBuffers, L.CallRoutine)):
                buffers = {a.buffer for a in stmt.args if isinstance(a, L.Subview)}
                if buffers & tainted or any(holds(a, tainted) for a in _expressions(stmt)):
                    tainted |= buffers | set(getattr(stmt, "names", ()))
        if len(tainted) == before:
            return tainted


def _expressions(stmt: L.Stmt) -> list[L.Expr]:
    return [e for e in L.exprs_of(stmt) if not isinstance(e, L.Subview)]


def _compares(stmt: L.Stmt, tainted: set[str], differences: set[str]) -> bool:
    """Whether the outcome of a comparison in a statement depends on a quotient."""
    if isinstance(stmt, (L.Call, L.CallBuffers)):
        if any(name in stmt.function for name in _COMPARING_CALLS):
            buffers = {a.buffer for a in stmt.args if isinstance(a, L.Subview)}
            return bool(buffers & tainted)
    expressions = list(L.subexprs_read(stmt))
    guards = [e.cond for e in expressions if isinstance(e, L.Select) and _is_strong_product(e)]
    return any(
        _is_decided_by(e, tainted, differences)
        for e in expressions
        if not any(e is guard for guard in guards)
    )


def _is_strong_product(e: L.Select) -> bool:
    """Whether an expression is a product that is 0 where its first factor is 0: it is nearly 0
    where that is nearly 0."""
    cond, product = e.cond, e.y
    return (
        isinstance(cond, L.Bin)
        and cond.op == "=="
        and all(isinstance(x, L.Lit) and x.value == 0 for x in (cond.right, e.x))
        and isinstance(product, L.Bin)
        and product.op == "*"
        and cond.left in (product.left, product.right)
    )


def _is_decided_by(e: L.Expr, tainted: set[str], differences: set[str]) -> bool:
    """Whether an expression is a comparison or a jump whose outcome depends on a quotient."""
    operands = L.operands_of(e)
    if isinstance(e, L.Bin) and e.op in _COMPARISONS:
        if e.left == e.right:
            return False  # a test for NaN
        if any(map(_is_zero_or_infinity, operands)):
            # A rounding error changes neither the sign of a quotient nor that it is finite.
            return any(_is_difference(x, tainted, differences) for x in operands)
    elif isinstance(e, L.Bin) and e.op not in ("//", "%"):
        return False
    elif isinstance(e, L.Cast) and e.dtype.startswith(("float", "complex")):
        return False
    elif isinstance(e, L.Apply) and not any(name in e.function for name in _JUMPS):
        return False
    elif not isinstance(e, (L.Bin, L.Cast, L.Apply)):
        return False
    return any(_depends(x, tainted) for x in operands)


def _is_zero_or_infinity(e: L.Expr) -> bool:
    return isinstance(e, L.Lit) and e.value in (0.0, math.inf, -math.inf)


def _ends_domain(stmt: L.Stmt, tainted: set[str], differences: set[str]) -> bool:
    """Whether a function or a quotient in a statement may be undefined for the sake of a rounding
    error."""
    for e in L.subexprs_read(stmt):
        name = _name(e) if isinstance(e, L.Apply) else ""
        if name in _BOUNDED and any(_depends(x, tainted) for x in L.operands_of(e)):
            return True
        signed: tuple[L.Expr, ...] = ()
        if isinstance(e, L.Bin) and e.op in ("/", "**"):
            signed = (e.right,) if e.op == "/" else (e.left,)
        elif name in _FROM_ZERO:
            signed = L.operands_of(e)
        if any(_is_difference(x, tainted, differences) for x in signed):
            return True
    return False


def _name(e: L.Apply) -> str:
    return e.function.rpartition(".")[2]
