"""Which expressions are zero if a given scalar is zero, on loop-level IR.

Zero times infinity or NaN is not zero.  So the other factor of a product must be computed, without
division, from booleans and from arrays that are only read.  Where no element of those arrays is
large, infinite or NaN, the product is zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ...ir.lazy import lazy_property
from ..analysis.alias import MayAlias
from ..loop_ir import nodes as L
from .footprint import may_modify
from .liveness import defs, names_in, uses
from .parameters import Parameters

# The most factors in a product.
MAX_FACTORS = 4
# The largest magnitude of a factor.  Products of `MAX_FACTORS` such factors do not overflow, nor do
# sums of some such products.
MAX_MAGNITUDE = {"float32": 1e6, "float64": 1e50}


class ScalarDefinitions:
    """Scalar definitions and read-only arrays of a function body.

    `known` maps the scalars with a single definition to it; those `given` as parameters are left
    out.  `ranks` are the ranks of the array parameters that are only read.
    """

    def __init__(
        self, body: list[L.Stmt], given: Sequence[str], params: Parameters, may_alias: MayAlias
    ) -> None:
        stmts = list(L.walk(body))
        times = Counter(name for s in stmts for name in defs(s))
        times.update(given)
        later = {s.name for s in stmts if isinstance(s, L.Let) and times[s.name] == 1}
        self.known: dict[str, L.Expr] = {}
        for s in stmts:
            # A use of a scalar that is defined further down reads the previous iteration's value.
            if isinstance(s, L.Let) and times[s.name] == 1:
                if not names_in([s.expr]) & later:
                    self.known[s.name] = s.expr
                later.discard(s.name)
        self.dtypes = {name: e.dtype for name, e in self.known.items()}
        self.stmts, self.params, self.may_alias = stmts, params, may_alias

    @lazy_property
    def read(self) -> Counter[str]:
        """The number of statements that read each name."""
        return Counter(name for s in self.stmts for name in uses(s))

    @lazy_property
    def ranks(self) -> dict[str, int]:
        """The ranks of the float32 and float64 array parameters that nothing may write to."""
        changed = {name for s in self.stmts for name in may_modify(s)}
        return {
            name: len(self.params.sizes[name])
            for name, dtype in self.params.dtypes.items()
            if dtype in MAX_MAGNITUDE and not any(self.may_alias(name, other) for other in changed)
        }

    def names(self, exprs: Iterable[L.Expr]) -> set[str]:
        """All names that expressions are computed from, through definitions in `known`."""
        names: set[str] = set()
        todo = list(exprs)
        while todo:
            for name in names_in([todo.pop()]) - names:
                names.add(name)
                if name in self.known:
                    todo.append(self.known[name])
        return names

    def is_boolean_sum(self, e: L.Expr, within: frozenset[str] = frozenset()) -> bool:
        """True for a boolean cast to a number, a sum of such, or a literal multiple of such.

        A recurrence, as of a running sum, is excluded: `within` are the names whose definitions are
        being expanded.
        """
        if isinstance(e, L.Name):
            if e.name in within or e.name not in self.known:
                return False
            return self.is_boolean_sum(self.known[e.name], within | {e.name})
        if isinstance(e, L.Cast):
            return e.x.dtype == "bool"
        if isinstance(e, L.Bin) and e.op == "+":
            return self.is_boolean_sum(e.left, within) and self.is_boolean_sum(e.right, within)
        if isinstance(e, L.Bin) and e.op == "*":
            pair = (e.left, e.right)
            some = any(isinstance(x, L.Lit) for x in pair)
            return some and any(self.is_boolean_sum(x, within) for x in pair)
        return False

    def arrays_if_zero(
        self,
        exprs: Iterable[L.Expr],
        zero: L.Expr | Callable[[L.Expr], bool],
        small: frozenset[str] = frozenset(),
    ) -> set[str] | None:
        """The arrays that must hold no large elements for all `exprs` to be zero if `zero` is zero.

        `zero` is an expression, or a predicate for the expressions that are zero.  The scalars in
        `small` are required to be small, too.  None if the expressions may be nonzero.
        """
        is_zero: Callable[[L.Expr], bool] = zero if callable(zero) else lambda e: e == zero
        arrays: set[str] = set()
        every = all(self._vanishes(e, is_zero, arrays, small) for e in exprs)
        return arrays if every else None

    def _vanishes(
        self,
        e: L.Expr,
        is_zero: Callable[[L.Expr], bool],
        arrays: set[str],
        small: frozenset[str],
    ) -> bool:
        """True if `e` is zero under these assumptions; adds the arrays it relies on to `arrays`."""
        if is_zero(e):
            return True
        if isinstance(e, L.Name):
            known = self.known.get(e.name)
            return known is not None and self._vanishes(known, is_zero, arrays, small)
        if isinstance(e, L.Un):
            return e.op == "-" and self._vanishes(e.x, is_zero, arrays, small)
        if isinstance(e, L.Select):
            return all(
                L.is_lit(x, 0) or self._vanishes(x, is_zero, arrays, small) for x in (e.x, e.y)
            )
        if isinstance(e, L.Bin) and e.op in ("+", "-"):
            return all(self._vanishes(x, is_zero, arrays, small) for x in (e.left, e.right))
        if isinstance(e, L.Bin) and e.op == "*":
            for x, y in ((e.left, e.right), (e.right, e.left)):
                needed: set[str] = set()
                if self._vanishes(x, is_zero, needed, small):
                    if self._factors(y, needed, small) <= MAX_FACTORS:
                        arrays |= needed
                        return True
        return False

    def _factors(self, e: L.Expr, arrays: set[str], small: frozenset[str]) -> int:
        """The number of factors in `e`: for a sum, the most in any term.

        It is `MAX_FACTORS` + 1 if `e` has operands other than literals, elements of read-only
        arrays, booleans and `small` scalars.  Adds those arrays to `arrays`.
        """
        if isinstance(e, L.Lit):
            fits = isinstance(e.value, (int, float)) and abs(e.value) <= MAX_MAGNITUDE["float32"]
            return 1 if fits else MAX_FACTORS + 1
        if isinstance(e, L.Load) and e.buffer in self.ranks:
            arrays.add(e.buffer)
            return 1
        if isinstance(e, L.Name) and e.name in small:
            return 1
        if isinstance(e, L.Name) and e.name in self.known:
            return self._factors(self.known[e.name], arrays, small)
        if isinstance(e, L.Cast) and e.x.dtype == "bool":
            return 1
        if isinstance(e, L.Un) and e.op == "-":
            return self._factors(e.x, arrays, small)
        if isinstance(e, L.Bin) and e.op in ("+", "-", "*"):
            left, right = (self._factors(x, arrays, small) for x in (e.left, e.right))
            return left + right if e.op == "*" else max(left, right)
        return MAX_FACTORS + 1


def keeps_zero(e: L.Expr, load: L.Load) -> bool:
    """True if `e` is zero where the element `load` is zero.

    It is a multiple of the element by finite nonzero constants, or a sum of such multiples.
    """
    if e == load:
        return load.dtype in ("float32", "float64")
    if isinstance(e, L.Un) and e.op == "-":
        return keeps_zero(e.x, load)
    if isinstance(e, L.Bin) and e.op in "+-":
        return keeps_zero(e.left, load) and keeps_zero(e.right, load)
    if isinstance(e, L.Bin) and e.op in "*/":
        x, k = e.left, e.right
        if e.op == "*" and isinstance(x, L.Lit):
            x, k = k, x
        if not isinstance(k, L.Lit) or not isinstance(k.value, (int, float)):
            return False
        return k.value != 0 and math.isfinite(k.value) and keeps_zero(x, load)
    return False
