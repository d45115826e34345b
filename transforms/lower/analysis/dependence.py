"""Tells whether the iterations of a loop may run in any order, and at once, on loop-level IR.

A variable must be the iteration's own, or one that all iterations add to, or the largest or
smallest of something.  A buffer that is written must be touched by each iteration at elements of
its own, or only be added to, or be made anew in each.
"""

from __future__ import annotations

from ...ir.record import field, record
from ..loop_ir import nodes as L
from ..ops.scalar_ops import larger
from .alias import MayAlias, with_bindings
from .liveness import Names, after_loops, defs, exposed, names_in, uses
from .single_assignment import single_definitions

# Multiples of terms, of 1 under None.
Linear = dict[L.Expr | None, int]

# A buffer of so many elements at most costs nothing to make in each iteration.
SMALL = 64

_HARMLESS = (L.Let, L.Store, L.Loop, L.If, L.Comment, L.Alloc, L.While, L.Break, L.Fail)


@record
class Common:
    """What the iterations of a loop have in common: the variables they fold something into, by
    adding ("+") or keeping the larger (">") or smaller ("<"), with their dtypes; the buffers they
    add to, with dtype and rank; and the buffers that each makes for itself and that can be made
    once."""

    folds: dict[str, tuple[str, str]] = field(default_factory=dict)
    sums: dict[str, tuple[str, int]] = field(default_factory=dict)
    scratch: dict[str, L.Alloc] = field(default_factory=dict)


def loop_reductions(
    loop: L.Loop, after: Names, may_alias: MayAlias, escaping: set[str]
) -> Common | None:
    """What the iterations have in common, or None if they depend on each other.  `after` are
    the variables read after the loop; `visible` the buffers whose contents the caller sees
    even if the call fails: what fails must not have gone past the place that fails."""
    found = examined(loop, after, may_alias, escaping)
    return found if isinstance(found, Common) else None


def examined(loop: L.Loop, after: Names, may_alias: MayAlias, escaping: set[str]) -> Common | str:
    """The same, but in words why they depend on each other, or may."""
    if not (isinstance(loop.step, L.Lit) and loop.step.value):
        return "its step is known only when it runs"
    stmts = list(L.walk(loop.body))
    for s in stmts:
        if not isinstance(s, _HARMLESS):
            return _harm(s)
    if L.leaves(loop.body):
        return "it may end early"
    bound = {name for s in stmts for name in defs(s)}
    if loop.var in bound or loop.var in after or names_in(L.exprs_of(loop)) & bound:
        return "its index is needed after it"
    if any(isinstance(s, L.Fail) for s in stmts):
        written = {s.buffer for s in stmts if isinstance(s, L.Store)}
        if any(may_alias(w, v) for w in written for v in escaping):
            return "an error may stop it halfway through writing into an argument"
    common = Common()
    for name in sorted(bound & (exposed(loop.body) | after)):
        fold = _fold(name, stmts)
        if fold is None:
            return f"{name} goes from one iteration to the next"
        common.folds[name] = fold
    clash = _buffers(loop, stmts, bound, may_alias, common)
    return common if clash is None else f"iterations may touch the same elements of {clash}"


def reversible_loops(body: list[L.Stmt], may_alias: MayAlias, escaping: set[str]) -> list[L.Loop]:
    """The loops that run backwards and might as well run forwards; not those that may fail, as
    another error could come first."""
    loops = [s for s in L.walk(body) if isinstance(s, L.Loop) and L.is_lit(s.step, -1)]
    if not loops:
        return []
    after = after_loops(body)
    may_alias = with_bindings(body, may_alias)
    return [
        loop
        for loop in loops
        if not any(isinstance(s, L.Fail) for s in L.walk(loop.body))
        and loop_reductions(loop, after[id(loop)], may_alias, escaping)
    ]


def _harm(stmt: L.Stmt) -> str:
    if isinstance(stmt, L.Call) and stmt.function in L.PRODUCTS:
        return "it holds a product of matrices"
    if isinstance(stmt, L.Print):
        return "it prints"
    if isinstance(stmt, (L.Rebind, L.View)):
        return f"{stmt.name} is another name for an array"
    return "it holds a call"


# ---------------------------------------------------------------- variables


def _fold(name: str, stmts: list[L.Stmt]) -> tuple[str, str] | None:
    """The operator and dtype, if a variable is only ever set to `v + e`, or to the larger or
    the smaller of `v` and `e`."""
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
    if isinstance(e, L.Select) and v.name not in names_in([e.x]):
        return next((sign for sign in "<>" if e == larger(sign, e.x, v)), "")
    return "+" if _adds(e, v) else ""


def _adds(e: L.Expr, v: L.Name) -> bool:
    """Whether `e` is `v` and something added."""
    if e == v:
        return True
    if not isinstance(e, L.Bin) or e.dtype != v.dtype:
        return False
    if e.op in ("+", "-") and _adds(e.left, v):
        return v.name not in names_in([e.right])
    return e.op == "+" and _adds(e.right, v) and v.name not in names_in([e.left])


# ---------------------------------------------------------------- buffers


@record
class _Accesses:
    loads: list[L.Index] = field(default_factory=list)
    stores: list[L.Index] = field(default_factory=list)
    adds: list[L.Store] = field(default_factory=list)


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


def _buffers(
    loop: L.Loop, stmts: list[L.Stmt], bound: set[str], may_alias: MayAlias, common: Common
) -> str | None:
    """A buffer of which an iteration touches what another writes, if there may be one; fills in
    what is common."""
    made = [s for s in stmts if isinstance(s, L.Alloc)]
    for alloc in made:
        if sum(a.name == alloc.name for a in made) > 1:
            return alloc.name
        if not is_small(alloc):
            if names_in(alloc.sizes) & (bound | {loop.var}):
                return alloc.name
            common.scratch[alloc.name] = alloc
    own = {alloc.name for alloc in made}
    known = _Indices(loop, stmts, bound)
    accesses = {b: of for b, of in _accesses(stmts).items() if b not in own}
    for buffer, of in accesses.items():
        if not (of.stores or of.adds):
            continue
        if any(other != buffer and may_alias(buffer, other) for other in accesses):
            return buffer
        index = [*of.loads, *of.stores, *(p.index for p in of.adds)]
        if known.apart(index):
            continue
        dtypes = {p.expr.dtype for p in of.adds}
        if of.loads or of.stores or len(dtypes) > 1 or "bool" in dtypes:
            return buffer
        common.sums[buffer] = dtypes.pop(), len(of.adds[0].index)
    return None


def is_small(alloc: L.Alloc) -> bool:
    size = L.product(alloc.sizes)
    return isinstance(size, L.Lit) and size.value <= SMALL


class _Indices:
    """Compares indices of different iterations, as sums of multiples of what does not change."""

    def __init__(self, loop: L.Loop, stmts: list[L.Stmt], bound: set[str]) -> None:
        self.var = L.Name(loop.var)
        assert isinstance(loop.step, L.Lit)
        self.step = abs(loop.step.value)
        self.bound = bound
        self.known = single_definitions(stmts)

    def apart(self, indices: list[L.Index]) -> bool:
        """Whether different iterations differ at some axis, whichever index each takes."""
        return any(
            len(index) > axis and self._apart([i[axis] for i in indices])
            for index in indices[:1]
            for axis in range(len(index))
        )

    def _apart(self, exprs: list[L.Expr]) -> bool:
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
        """Multiples of terms, of 1 under None; None if it has something else that changes
        within an iteration."""
        if isinstance(e, L.Lit):
            return {None: e.value}
        if isinstance(e, L.Name) and e.name in self.known:
            return self._linear(self.known[e.name])
        if e == self.var or (isinstance(e, (L.Name, L.Size)) and not self._changes(e)):
            return {e: 1}
        if isinstance(e, L.Un) and e.op == "-":
            return combined({}, self._linear(e.x), -1)
        if not isinstance(e, L.Bin):
            return None
        if e.op in ("+", "-"):
            sign = 1 if e.op == "+" else -1
            return combined(self._linear(e.left), self._linear(e.right), sign)
        if e.op == "*":
            for a, b in ((e.left, e.right), (e.right, e.left)):
                if isinstance(a, L.Lit):
                    return combined({}, self._linear(b), a.value)
        return None

    def _changes(self, e: L.Name | L.Size) -> bool:
        return (e.name if isinstance(e, L.Name) else e.buffer) in self.bound


def combined(a: Linear | None, b: Linear | None, times: int) -> Linear | None:
    """a + times * b."""
    if a is None or b is None:
        return None
    out = dict(a)
    for term, k in b.items():
        out[term] = out.get(term, 0) + times * k
    return out
