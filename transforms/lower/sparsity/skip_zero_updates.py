"""Skip loops that add only zeros: multiples of a scalar that a select or comparison makes zero.

    for c in range(n):                      num_large = 0
        t = s * np.float64(a[c] > b)        for i in range(m): …
        for i in range(m):              →   all_moderate = num_large == 0
            x[c, i] += t * y[c, i]          for c in range(n):
                                                t = s * np.float64(a[c] > b)
                                                if t != 0.0 or not all_moderate:
                                                    for i in range(m):
                                                        x[c, i] += t * y[c, i]

The adjoint of a minimum, a maximum or a hinge is such a scalar.  Zero times infinity is NaN, not
zero.  So the other factors must be computed, without division, from arrays that are only read.
These arrays are scanned once: `num_large` counts their elements that are large, infinite or NaN.
Loops are skipped only if there are none (`all_moderate`), so that the products are far from
overflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, uses
from ..analysis.parameters import Parameters
from ..analysis.zero_product import MAX_MAGNITUDE, ScalarDefinitions
from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L
from .save_argminmax import save_argminmax
from .shorten_minmax_sweep import find_shortened_sweeps, shorten_minmax_sweeps


@record
class _Candidates:
    """The loops to skip and the arrays to scan."""

    loops: dict[int, str] = field(default_factory=dict)  # id(loop) -> the scalar that may be zero
    arrays: set[str] = field(default_factory=set)


def skip_zero_updates(
    body: list[L.Stmt],
    given: Sequence[str],
    params: Parameters,
    may_alias: MayAlias,
    emitter: Emitter,
) -> None:
    """Rewrite `body` in place.  `given` are the names of all parameters."""
    numbers = ScalarDefinitions(body, given, params, may_alias)
    finder, found = _CandidateFinder(numbers), _Candidates()
    for stmt in body:
        finder.visit(stmt, 0, found)
    sweeps = find_shortened_sweeps(body, numbers, may_alias)
    arrays = found.arrays.union(*(s.arrays for s in sweeps))
    chosen = {*found.loops, *(id(s.loop) for s in sweeps)}
    if not chosen:
        return
    all_moderate: L.Expr = L.TRUE
    before: list[L.Stmt] = []
    if arrays:
        num_large = emitter.new_name("num_large")
        before.append(L.Let(num_large, L.ZERO))
        for name in sorted(arrays):
            before += _count_large(name, params, num_large, emitter)
        all_moderate = L.Name(emitter.new_name("all_moderate"), "bool")
        before.append(L.Let(all_moderate.name, L.compare("==", L.Name(num_large), L.ZERO)))
    save_argminmax(body, sweeps, numbers, emitter.new_name)
    first = next(k for k, s in enumerate(body) if any(id(x) in chosen for x in L.walk([s])))
    _guard(body, found.loops, all_moderate, numbers.dtypes)
    shorten_minmax_sweeps(body, sweeps, all_moderate, emitter.new_name)
    body[first:first] = before


class _CandidateFinder:
    def __init__(self, numbers: ScalarDefinitions) -> None:
        self.numbers = numbers

    def visit(self, stmt: L.Stmt, depth: int, found: _Candidates) -> None:
        """Record the loops in a statement that may be skipped.  `depth` loops surround it."""
        inside = depth + isinstance(stmt, (L.Loop, L.While))
        if isinstance(stmt, L.Loop) and all(isinstance(s, _ALLOWED) for s in stmt.body):
            self._record(stmt, inside, found)
        for block in L.blocks_of(stmt):
            for inner in block:
                self.visit(inner, inside, found)

    def _record(self, loop: L.Loop, depth: int, found: _Candidates) -> None:
        numbers = self.numbers
        puts = [s for s in loop.body if isinstance(s, L.Store)]
        own = {name for s in loop.body for name in defs(s)}
        if not puts or not all(p.add for p in puts) or not self._has_private_scalars(loop, own):
            return
        for name in sorted(numbers.names(p.expr for p in puts) - own):
            if numbers.dtypes.get(name) in MAX_MAGNITUDE and self._may_be_zero(numbers.known[name]):
                zero = L.Name(name, numbers.dtypes[name])
                arrays = numbers.arrays_if_zero([p.expr for p in puts], zero)
                if arrays is not None:
                    # The scan of an array must cost less than the loops: fewer axes than loops.
                    if all(numbers.ranks[a] < depth for a in arrays):
                        found.loops[id(loop)] = name
                        found.arrays |= arrays
                    return

    def _has_private_scalars(self, loop: L.Loop, own: set[str]) -> bool:
        """True if the scalars `own` that a loop assigns are read only in the loop."""
        inside = Counter(name for s in loop.body for name in uses(s))
        numbers = self.numbers
        return all(name in numbers.known and inside[name] == numbers.read[name] for name in own)

    def _may_be_zero(self, e: L.Expr) -> bool:
        """True if a select or comparison in `e` makes it zero in one of its cases."""
        if isinstance(e, L.Un):
            return e.op == "-" and self._may_be_zero(e.x)
        if isinstance(e, L.Select):
            return L.is_lit(e.x, 0) or L.is_lit(e.y, 0)
        if isinstance(e, L.Bin) and e.op == "*":
            pair = (e.left, e.right)
            return any(self._may_be_zero(x) or self.numbers.is_boolean_sum(x) for x in pair)
        return False


_ALLOWED = (L.Let, L.Store, L.Comment)


def _count_large(name: str, params: Parameters, num_large: str, emitter: Emitter) -> list[L.Stmt]:
    """Return a loop nest that adds to `num_large` the number of elements that are large or NaN."""
    dtype = params.dtypes[name]
    limit = MAX_MAGNITUDE[dtype]
    # The sizes of the array itself: other sizes may be unequal until the program has checked them.
    sizes = tuple(L.Size(name, k) for k in range(len(params.sizes[name])))
    with emitter.into([]) as nest, emitter.nest(sizes) as index:
        x = L.Load(name, index, dtype)
        above = L.compare("<=", x, L.Lit(limit, dtype))
        below = L.compare(">=", x, L.Lit(-limit, dtype))
        more = L.Select(L.logical_and(above, below), L.ZERO, L.ONE, "int64")
        emitter.add(L.Let(num_large, L.Bin("+", L.Name(num_large), more, "int64")))
    return nest


def _guard(
    block: list[L.Stmt], loops: dict[int, str], all_moderate: L.Expr, dtypes: dict[str, str]
) -> None:
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _guard(inner, loops, all_moderate, dtypes)
    block[:] = [
        L.If(_needed(loops[id(s)], all_moderate, dtypes), [s]) if id(s) in loops else s
        for s in block
    ]


def _needed(name: str, all_moderate: L.Expr, dtypes: dict[str, str]) -> L.Expr:
    """Return the condition under which a loop must run: the scalar is not zero, or not
    `all_moderate`."""
    some = L.compare("!=", L.Name(name, dtypes[name]), L.Lit(0.0, dtypes[name]))
    return (
        some
        if all_moderate == L.TRUE
        else L.Bin("or", some, L.Un("not", all_moderate, "bool"), "bool")
    )
