"""Leaves out loops that add nothing: multiples of a number that a choice has made zero.

    for c in range(n):                      wild = 0
        t = s * np.float64(a[c] > b)        for i in range(m): …
        for i in range(m):              →   calm = wild == 0
            x[c, i] += t * y[c, i]          for c in range(n):
                                                t = s * np.float64(a[c] > b)
                                                if t != 0.0 or not calm:
                                                    for i in range(m):
                                                        x[c, i] += t * y[c, i]

The adjoint of a smallest, a largest or a hinge is such a number.  Zero times infinity is not
nothing: so what it is multiplied by must be computed, without division, from arrays that are only
read, and those are looked at once; only if all their elements are far from overflow are loops left
out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, uses
from ..analysis.parameters import Parameters
from ..analysis.zero_product import LIMITS, Numbers
from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L
from .save_argminmax import save_argminmax
from .shorten_minmax_sweep import shorten_minmax_sweeps, shortened_sweeps


@record
class _Found:
    loops: dict[int, str] = field(default_factory=dict)  # by identity: the number that is zero
    arrays: set[str] = field(default_factory=set)


def skip_zero_updates(
    body: list[L.Stmt],
    given: Sequence[str],
    params: Parameters,
    may_alias: MayAlias,
    emitter: Emitter,
) -> None:
    """Rewrites `body` in place.  `given` are the names of all parameters."""
    numbers = Numbers(body, given, params, may_alias)
    finder, found = _Finder(numbers), _Found()
    for stmt in body:
        finder.look(stmt, 0, found)
    sweeps = shortened_sweeps(body, numbers, may_alias)
    arrays = found.arrays.union(*(s.arrays for s in sweeps))
    chosen = {*found.loops, *(id(s.loop) for s in sweeps)}
    if not chosen:
        return
    calm: L.Expr = L.TRUE
    before: list[L.Stmt] = []
    if arrays:
        wild = emitter.new_name("wild")
        before.append(L.Let(wild, L.ZERO))
        for name in sorted(arrays):
            before += _count(name, params, wild, emitter)
        calm = L.Name(emitter.new_name("calm"), "bool")
        before.append(L.Let(calm.name, L.compare("==", L.Name(wild), L.ZERO)))
    save_argminmax(body, sweeps, numbers, emitter.new_name)
    first = next(k for k, s in enumerate(body) if any(id(x) in chosen for x in L.walk([s])))
    _guard(body, found.loops, calm, numbers.dtypes)
    shorten_minmax_sweeps(body, sweeps, calm, emitter.new_name)
    body[first:first] = before


class _Finder:
    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def look(self, stmt: L.Stmt, depth: int, found: _Found) -> None:
        """Notes the loops in a statement, inside `depth` others, that may be left out."""
        inside = depth + isinstance(stmt, (L.Loop, L.While))
        if isinstance(stmt, L.Loop) and all(isinstance(s, _PLAIN) for s in stmt.body):
            self._note(stmt, inside, found)
        for block in L.blocks_of(stmt):
            for inner in block:
                self.look(inner, inside, found)

    def _note(self, loop: L.Loop, depth: int, found: _Found) -> None:
        numbers = self.numbers
        puts = [s for s in loop.body if isinstance(s, L.Store)]
        own = {name for s in loop.body for name in defs(s)}
        if not puts or not all(p.add for p in puts) or not self._keeps_to_itself(loop, own):
            return
        for name in sorted(numbers.names(p.expr for p in puts) - own):
            if numbers.dtypes.get(name) in LIMITS and self._is_chosen(numbers.known[name]):
                zero = L.Name(name, numbers.dtypes[name])
                arrays = numbers.vanish([p.expr for p in puts], zero)
                if arrays is not None:
                    # Looking at an array is to cost less than the loops do.
                    if all(numbers.ranks[a] < depth for a in arrays):
                        found.loops[id(loop)] = name
                        found.arrays |= arrays
                    return

    def _keeps_to_itself(self, loop: L.Loop, own: set[str]) -> bool:
        """Whether nobody else reads the numbers that it sets."""
        inside = Counter(name for s in loop.body for name in uses(s))
        numbers = self.numbers
        return all(name in numbers.known and inside[name] == numbers.read[name] for name in own)

    def _is_chosen(self, e: L.Expr) -> bool:
        """Whether it is zero in one of the cases that it distinguishes."""
        if isinstance(e, L.Un):
            return e.op == "-" and self._is_chosen(e.x)
        if isinstance(e, L.Select):
            return L.is_lit(e.x, 0) or L.is_lit(e.y, 0)
        if isinstance(e, L.Bin) and e.op == "*":
            pair = (e.left, e.right)
            return any(self._is_chosen(x) or self.numbers.is_truth(x) for x in pair)
        return False


_PLAIN = (L.Let, L.Store, L.Comment)


def _count(name: str, params: Parameters, wild: str, emitter: Emitter) -> list[L.Stmt]:
    """Adds to `wild` how many elements are large, or no numbers."""
    dtype = params.dtypes[name]
    limit = LIMITS[dtype]
    # Its own sizes: others are equal only once the program has checked them.
    sizes = tuple(L.Size(name, k) for k in range(len(params.sizes[name])))
    with emitter.into([]) as nest, emitter.nest(sizes) as index:
        x = L.Load(name, index, dtype)
        above = L.compare("<=", x, L.Lit(limit, dtype))
        below = L.compare(">=", x, L.Lit(-limit, dtype))
        more = L.Select(L.both(above, below), L.ZERO, L.ONE, "int64")
        emitter.add(L.Let(wild, L.Bin("+", L.Name(wild), more, "int64")))
    return nest


def _guard(
    block: list[L.Stmt], loops: dict[int, str], calm: L.Expr, dtypes: dict[str, str]
) -> None:
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _guard(inner, loops, calm, dtypes)
    block[:] = [
        L.If(_needed(loops[id(s)], calm, dtypes), [s]) if id(s) in loops else s for s in block
    ]


def _needed(name: str, calm: L.Expr, dtypes: dict[str, str]) -> L.Expr:
    some = L.compare("!=", L.Name(name, dtypes[name]), L.Lit(0.0, dtypes[name]))
    return some if calm == L.TRUE else L.Bin("or", some, L.Un("not", calm, "bool"), "bool")
