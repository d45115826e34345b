"""Loop-carried dependence analysis: may the iterations of a loop run in any order, or in parallel?

A scalar that the loop sets must be private to the iteration or be a reduction: a sum, a maximum or
a minimum.  For a buffer that is written one of these must hold: each iteration accesses elements of
its own, or the buffer is only accumulated to, or each iteration allocates it.
"""

from __future__ import annotations

from ...ir.record import field, record
from ..loop_ir import nodes as L
from ..loop_ir.operations import operation_of
from ..ops.scalar_ops import minmax_select
from .alias import MayAlias, with_bindings
from .liveness import Names, defs, live_after_loops, names_in, upward_exposed, uses
from .single_assignment import single_definitions

# A linear form: the coefficient of each term; the constant under None.
Linear = dict[L.Expr | None, int]

# A buffer of at most so many elements costs nothing to allocate in each iteration.
MAX_SMALL_ELEMENTS = 64

_SUPPORTED = (L.Let, L.Store, L.Loop, L.If, L.Comment, L.Alloc, L.While, L.Break, L.Fail)


@record
class LoopReductions:
    """The reductions and private buffers of a loop with otherwise independent iterations.

    `scalar_reductions` are the scalar reductions, with operator and dtype; the operator is "+" for
    a sum, ">"
    for a maximum, "<" for a minimum.  `array_reductions` are the buffers that are only accumulated
    to, with
    dtype and rank.  `private_buffers` are the buffers that each iteration allocates and that can be
    allocated once instead, since their sizes are loop-invariant; small buffers are left out.
    """

    scalar_reductions: dict[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    array_reductions: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    private_buffers: dict[str, L.Alloc] = field(default_factory=dict[str, L.Alloc])


def loop_reductions(
    loop: L.Loop, after: Names, may_alias: MayAlias, escaping: set[str]
) -> LoopReductions | None:
    """The reductions of a loop, or None if there may be another loop-carried dependence.

    `after` are the names that are live after the loop.  `escaping` are the buffers whose contents
    the caller sees even if the call fails.  A loop that may fail must not write to those: no
    iteration after the failing one may have written.
    """
    found = explain_dependence(loop, after, may_alias, escaping)
    return found if isinstance(found, LoopReductions) else None


def explain_dependence(
    loop: L.Loop, after: Names, may_alias: MayAlias, escaping: set[str]
) -> LoopReductions | str:
    """As `loop_reductions`, but the reason as text instead of None."""
    if not (isinstance(loop.step, L.Lit) and loop.step.value):
        return "its step is known only when it runs"
    stmts = list(L.walk(loop.body))
    for s in stmts:
        if not isinstance(s, _SUPPORTED):
            return _unsupported(s)
    if L.has_break(loop.body):
        return "it may end early"
    bound = {name for s in stmts for name in defs(s)}
    if loop.var in bound or loop.var in after or names_in(L.exprs_of(loop)) & bound:
        return "its index is needed after it"
    if any(isinstance(s, L.Fail) for s in stmts):
        written = {s.buffer for s in stmts if isinstance(s, L.Store)}
        if any(may_alias(w, v) for w in written for v in escaping):
            return "an error may stop it halfway through writing into an argument"
    common = LoopReductions()
    for name in sorted(bound & (upward_exposed(loop.body) | after)):
        fold = _reduction(name, stmts)
        if fold is None:
            return f"{name} goes from one iteration to the next"
        common.scalar_reductions[name] = fold
    clash = _buffer_conflict(loop, stmts, bound, may_alias, common)
    return common if clash is None else f"iterations may touch the same elements of {clash}"


def reversible_loops(body: list[L.Stmt], may_alias: MayAlias, escaping: set[str]) -> list[L.Loop]:
    """The loops with step -1 whose iterations may as well run in ascending order.

    Loops that may fail are excluded: another error could be raised first.
    """
    loops = [s for s in L.walk(body) if isinstance(s, L.Loop) and L.is_lit(s.step, -1)]
    if not loops:
        return []
    after = live_after_loops(body)
    may_alias = with_bindings(body, may_alias)
    return [
        loop
        for loop in loops
        if not any(isinstance(s, L.Fail) for s in L.walk(loop.body))
        and loop_reductions(loop, after[id(loop)], may_alias, escaping)
    ]


def _unsupported(stmt: L.Stmt) -> str:
    """The reason why a loop with this statement is not analysed."""
    if isinstance(stmt, L.Print):
        return "it prints"
    if isinstance(stmt, (L.Rebind, L.View)):
        return f"{stmt.name} is another name for an array"
    op = operation_of(stmt)
    return f"it holds {op.what}" if op is not None else "it returns"


# ---------------------------------------------------------------- scalar reductions


def _reduction(name: str, stmts: list[L.Stmt]) -> tuple[str, str] | None:
    """The operator and dtype of a scalar reduction, or None.

    Each assignment must set the variable v to `v + e`, or each to the maximum, or each to the
    minimum, of `v` and `e`.  No other statement may use it.
    """
    found: set[tuple[str, str]] = set()
    for s in stmts:
        if isinstance(s, L.Let) and s.name == name:
            dtype = s.expr.dtype
            found.add((_operator(s.expr, L.Name(name, dtype)), dtype))
        elif name in uses(s) or name in defs(s):
            return None
    (op, dtype), *more = found
    return None if more or not op or dtype == "bool" else (op, dtype)


def _operator(e: L.Expr, v: L.Name) -> str:
    """The reduction operator of `v = e`, or "" if that is not a reduction."""
    if isinstance(e, L.Select) and v.name not in names_in([e.x]):
        return next((sign for sign in "<>" if e == minmax_select(sign, e.x, v)), "")
    return "+" if _is_sum_with(e, v) else ""


def _is_sum_with(e: L.Expr, v: L.Name) -> bool:
    """True if `e` is `v` plus or minus terms that do not contain `v`."""
    if e == v:
        return True
    if not isinstance(e, L.Bin) or e.dtype != v.dtype:
        return False
    if e.op in ("+", "-") and _is_sum_with(e.left, v):
        return v.name not in names_in([e.right])
    return e.op == "+" and _is_sum_with(e.right, v) and v.name not in names_in([e.left])


# ---------------------------------------------------------------- buffers


@record
class _Accesses:
    loads: list[L.Index] = field(default_factory=list[L.Index])
    stores: list[L.Index] = field(default_factory=list[L.Index])
    adds: list[L.Store] = field(default_factory=list[L.Store])


def _accesses(stmts: list[L.Stmt]) -> dict[str, _Accesses]:
    found: dict[str, _Accesses] = {}
    for s in stmts:
        for e in L.exprs_of(s):
            for part in L.walk_expr(e):
                if isinstance(part, L.Load):
                    found.setdefault(part.buffer, _Accesses()).loads.append(part.index)
        if isinstance(s, L.Store):
            of = found.setdefault(s.buffer, _Accesses())
            of.adds.append(s) if s.add else of.stores.append(s.index)
    return found


def _buffer_conflict(
    loop: L.Loop, stmts: list[L.Stmt], bound: set[str], may_alias: MayAlias, common: LoopReductions
) -> str | None:
    """A buffer with a possible loop-carried dependence, or None; fills in `array_reductions` and
    `private_buffers`."""
    made = [s for s in stmts if isinstance(s, L.Alloc)]
    for alloc in made:
        if sum(a.name == alloc.name for a in made) > 1:
            return alloc.name
        if not is_small(alloc):
            if names_in(alloc.sizes) & (bound | {loop.var}):
                return alloc.name
            common.private_buffers[alloc.name] = alloc
    own = {alloc.name for alloc in made}
    indices = _IndexTest(loop, stmts, bound)
    accesses = {b: of for b, of in _accesses(stmts).items() if b not in own}
    for buffer, of in accesses.items():
        if not (of.stores or of.adds):
            continue
        if any(other != buffer and may_alias(buffer, other) for other in accesses):
            return buffer
        index = [*of.loads, *of.stores, *(p.index for p in of.adds)]
        if indices.disjoint(index):
            continue
        dtypes = {p.expr.dtype for p in of.adds}
        if of.loads or of.stores or len(dtypes) > 1 or "bool" in dtypes:
            return buffer
        common.array_reductions[buffer] = dtypes.pop(), len(of.adds[0].index)
    return None


def is_small(alloc: L.Alloc) -> bool:
    """True if a buffer has a constant size of at most `MAX_SMALL_ELEMENTS`."""
    size = L.product(alloc.sizes)
    return isinstance(size, L.Lit) and size.value <= MAX_SMALL_ELEMENTS


class _IndexTest:
    """Dependence test on indices of different iterations, as linear forms of loop invariants."""

    def __init__(self, loop: L.Loop, stmts: list[L.Stmt], bound: set[str]) -> None:
        self.var = L.Name(loop.var)
        assert isinstance(loop.step, L.Lit)
        self.step = abs(loop.step.value)
        self.bound = bound
        self.known = single_definitions(stmts)

    def disjoint(self, indices: list[L.Index]) -> bool:
        """True if no two iterations access the same element, whichever of the indices each uses.

        It suffices that the indices along one axis never coincide.
        """
        return any(
            len(index) > axis and self._disjoint_along_axis([i[axis] for i in indices])
            for index in indices[:1]
            for axis in range(len(index))
        )

    def _disjoint_along_axis(self, exprs: list[L.Expr]) -> bool:
        """Strong SIV test along one axis.

        All indices must have the form c * var + r + shift with the same c and r.  Different
        iterations differ if the shifts span less than |c| * step.
        """
        low = high = 0
        first: Linear | None = None
        for e in exprs:
            linear = self._linear(e)
            if linear is None:
                return False
            shift = linear.pop(None, 0)
            linear = {atom: k for atom, k in linear.items() if k}
            if first is None:
                first, low, high = linear, shift, shift
            elif linear != first:
                return False
            low, high = min(low, shift), max(high, shift)
        return first is not None and high - low < abs(first.get(self.var, 0)) * self.step

    def _linear(self, e: L.Expr) -> Linear | None:
        """The linear form of an index in the loop's variable and in loop invariants, or None."""
        if isinstance(e, L.Lit):
            return {None: e.value}
        if isinstance(e, L.Name) and e.name in self.known:
            return self._linear(self.known[e.name])
        if e == self.var or (isinstance(e, (L.Name, L.Size)) and not self._is_variant(e)):
            return {e: 1}
        if isinstance(e, L.Un) and e.op == "-":
            return add_scaled({}, self._linear(e.x), -1)
        if not isinstance(e, L.Bin):
            return None
        if e.op in ("+", "-"):
            sign = 1 if e.op == "+" else -1
            return add_scaled(self._linear(e.left), self._linear(e.right), sign)
        if e.op == "*":
            for a, b in ((e.left, e.right), (e.right, e.left)):
                if isinstance(a, L.Lit):
                    return add_scaled({}, self._linear(b), a.value)
        return None

    def _is_variant(self, e: L.Name | L.Size) -> bool:
        """True if a name or size is not loop-invariant."""
        return (e.name if isinstance(e, L.Name) else e.buffer) in self.bound


def add_scaled(a: Linear | None, b: Linear | None, times: int) -> Linear | None:
    """a + times * b."""
    if a is None or b is None:
        return None
    out = dict(a)
    for term, k in b.items():
        out[term] = out.get(term, 0) + times * k
    return out
