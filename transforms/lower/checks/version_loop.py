"""Loop versioning: duplicate a loop with checks, once without them, on loop-level IR.

    for j in range(n):                          if n > x.shape[0]:
        if c & 1 << j != 0:                         for j in range(n):
            if j >= x.shape[0]:                         …
                raise IndexError(…)     →       else:
            s = s + x[j]                            for j in range(n):
                                                        if c & 1 << j != 0:
                                                            s = s + x[j]

A check that only some iterations execute must not fail before the loop.  Neither must a check that
all iterations execute, if the caller can observe that the error is raised too early (`hoist.py`).
But the condition that any iteration might fail can be evaluated before the loop.  If it holds, the
original loop runs.  Shifts are handled alike: the condition that any iteration shifts by an amount
out of range replaces a test per iteration (`lower/ops/bit_shift.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ...ir.record import replace
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import resolve
from ..loop_ir import nodes as L
from ..ops.bit_shift import split_guarded_shift
from .hoist import at_last_iteration

# The maximal number of statements of a loop that is duplicated.
MAX_STATEMENTS = 40
# The statements that a versioned loop may contain.
_ALLOWED = (L.Let, L.Store, L.If, L.Fail, L.Comment)
# The expressions that may be evaluated speculatively.
_SPECULATABLE = (L.Name, L.Lit, L.Size, L.Bin, L.Un, L.Select)


def version_checked_loops(body: list[L.Stmt], params: Iterable[str]) -> None:
    """Rewrite `body` in place.  Names in `params` are bound at its start."""
    if any(isinstance(s, L.Fail) or _has_shift_test(s) for s in L.walk(body)):
        _block(body, dict.fromkeys(params))


def _has_shift_test(stmt: L.Stmt) -> bool:
    """True if a statement tests whether a shift amount is out of range."""
    return any(split_guarded_shift(part) is not None for part in L.subexprs_read(stmt))


def _block(body: list[L.Stmt], bound: dict[str, None]) -> list[str]:
    """Version the loops of a block; return the names that it definitely assigns.

    `bound` are the names that are definitely assigned before it.
    """
    before = len(bound)
    for position, stmt in enumerate(body):
        blocks = [_block(block, bound) for block in L.blocks_of(stmt)]
        if isinstance(stmt, L.Loop):
            body[position] = _versioned(stmt, bound)
        elif isinstance(stmt, L.If):
            bound.update(dict.fromkeys(n for n in blocks[0] if n in blocks[1]))
        else:
            bound.update(dict.fromkeys(defs(stmt)))
    added = [*bound][before:]
    for name in added:
        del bound[name]
    return added


def _versioned(loop: L.Loop, bound: dict[str, None]) -> L.Stmt:
    """Return a branch between a loop and its unchecked version, or the loop itself."""
    inside = list(L.walk(loop.body))
    if (
        loop.parallel
        or len(inside) > MAX_STATEMENTS
        or not any(L.is_check(s) or _has_shift_test(s) for s in inside)
    ):
        return loop
    if L.index_range(loop) is None or not all(isinstance(s, _ALLOWED) for s in inside):
        return loop
    unchecked = replace(loop, body=_copied(loop.body))
    version = _UncheckedVersion(unchecked, bound)
    if not version.conds:
        return loop
    cond: L.Expr = L.lit(False, "bool")
    for e in version.conds:
        cond = L.logical_or(cond, e)
    if isinstance(cond, L.Lit):
        return loop if cond.value else unchecked
    return L.If(cond, [loop], [unchecked])


def _copied(body: list[L.Stmt]) -> list[L.Stmt]:
    """Return a copy of the statements, which shares their expressions."""
    out: list[L.Stmt] = []
    for s in body:
        out.append(
            L.If(s.cond, *map(_copied, L.blocks_of(s))) if isinstance(s, L.If) else replace(s)
        )
    return out


def _is_speculatable(e: L.Expr, bound: dict[str, None]) -> bool:
    """True if an expression can be evaluated before the loop: it cannot trap, and all of its names
    are bound."""
    parts = L.walk_expr(e)
    safe = all(
        isinstance(p, _SPECULATABLE) and getattr(p, "op", "") not in ("//", "%") for p in parts
    )
    return safe and all(name in bound for name in names_in([e]))


class _UncheckedVersion:
    """Makes a loop valid only where none of the conditions `conds` holds.

    Removes the checks of the loop, if a condition is found for each, and the range tests of shift
    amounts.
    """

    def __init__(self, loop: L.Loop, given: dict[str, None]) -> None:
        self.loop, self.given = loop, given
        self.bound = Counter(name for s in L.walk(loop.body) for name in defs(s))
        self.conds: dict[L.Expr, None] = {}
        if self.bound[loop.var]:
            return
        fails: list[list[L.Expr] | None] = []
        self._block(loop.body, {}, fails)
        if fails and None not in fails:
            self.conds = dict.fromkeys(e for found in fails for e in found or ()) | self.conds
            _drop_checks(loop.body)

    def _block(
        self,
        body: list[L.Stmt],
        integers: dict[str, L.Expr],
        fails: list[list[L.Expr] | None],
    ) -> None:
        """Rewrite a block and append the conditions of each check, or None, to `fails`.

        `integers` are the definitions of the integers that have one value per iteration.
        """

        def without_test(e: L.Expr) -> L.Expr | None:
            shift = split_guarded_shift(e)
            out_of_range = (
                self._tests_before_loop(resolve(shift[0], integers), varying=True)
                if shift
                else None
            )
            if shift is None or out_of_range is None:
                return None
            self.conds.update(dict.fromkeys(out_of_range))
            return L.map_expr(shift[1], without_test)

        for stmt in body:
            if L.is_check(stmt):
                fails.append(self._tests_before_loop(resolve(stmt.cond, integers)))
                continue
            resolved = None
            if isinstance(stmt, L.Let) and stmt.expr.dtype == "int64":
                resolved = resolve(stmt.expr, integers)
            L.map_stmt(stmt, without_test)
            for block in L.blocks_of(stmt):
                self._block(block, dict(integers), fails)
            if isinstance(stmt, L.Let) and resolved is not None:
                if self.bound[stmt.name] == 1 and self._is_fixed(resolved):
                    integers[stmt.name] = resolved

    def _is_fixed(self, e: L.Expr) -> bool:
        """True if an expression is loop-invariant but for the loop's variable."""
        return not any(self.bound[name] for name in names_in([e]))

    def _tests_before_loop(self, cond: L.Expr, varying: bool = False) -> list[L.Expr] | None:
        """Return conditions of which one holds before the loop if `cond` holds in some iteration.

        Return None if there are no such conditions, or if `cond` must be `varying` but is
        loop-invariant.
        """
        found: list[L.Expr] = []
        if varying and self.loop.var not in names_in([cond]):
            return None
        for part in _disjuncts(cond):
            test = self._in_any_iteration(part) if self._is_fixed(part) else None
            if test is None or not _is_speculatable(test, self.given):
                return None
            found.append(test)
        return found

    def _in_any_iteration(self, cond: L.Expr) -> L.Expr | None:
        """Return `cond` for the largest or smallest value of the loop's variable.

        Return None unless `cond` holds there or in no iteration.
        """
        span, var = L.index_range(self.loop), self.loop.var
        assert span is not None
        if isinstance(cond, L.Bin) and cond.op == "<" and var not in names_in([cond.right]):
            c = L.constant_offset(cond.left, var)
            if c is not None and (c >= 0 or isinstance(span[0], L.Lit)):
                return L.compare("<", L.add(span[0], L.lit(c)), cond.right)
        return at_last_iteration(var, span[1], cond)


def _disjuncts(cond: L.Expr) -> list[L.Expr]:
    """Return the operands of a disjunction."""
    if isinstance(cond, L.Bin) and cond.op == "or":
        return [*_disjuncts(cond.left), *_disjuncts(cond.right)]
    return [cond]


def _drop_checks(body: list[L.Stmt]) -> None:
    body[:] = [s for s in body if not L.is_check(s)]
    for stmt in body:
        for block in L.blocks_of(stmt):
            _drop_checks(block)
