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
from collections.abc import Iterable
from functools import cached_property

from ..records import field, record
from . import loop_ir as L
from .layout import Parameters
from .live import binds, names_in, reads
from .siblings import Shares
from .values import Emitter

# Products of so many numbers,
FACTORS = 4
# none of them larger than this, do not overflow, nor do some sums of them.
LIMITS = {"float32": 1e6, "float64": 1e50}


@record
class _Found:
    loops: dict[int, str] = field(default_factory=dict)  # by identity: the number that is zero
    arrays: set[str] = field(default_factory=set)
    first: int = -1  # the statement that holds the first of them


def skip_unchosen(body: list[L.Stmt], params: Parameters, shares: Shares, em: Emitter) -> None:
    """Rewrites `body` in place."""
    finder = _Finder(body, params, shares)
    found = _Found()
    for position, stmt in enumerate(body):
        finder.look(stmt, 0, found)
        if found.loops and found.first < 0:
            found.first = position
    if not found.loops:
        return
    calm: L.Expr = L.TRUE
    before: list[L.Stmt] = []
    if found.arrays:
        wild = em.fresh("wild")
        before.append(L.Let(wild, L.ZERO))
        for name in sorted(found.arrays):
            before += _count(name, params, wild, em)
        calm = L.Name(em.fresh("calm"), "bool")
        before.append(L.Let(calm.name, L.compare("==", L.Name(wild), L.ZERO)))
    _guard(body, found.loops, calm, finder.dtypes)
    body[found.first : found.first] = before


class _Finder:
    def __init__(self, body: list[L.Stmt], params: Parameters, shares: Shares) -> None:
        stmts = list(L.walk(body))
        times = Counter(name for s in stmts for name in binds(s))
        later = {s.name for s in stmts if isinstance(s, L.Let) and times[s.name] == 1}
        self.known: dict[str, L.Expr] = {}
        for s in stmts:
            # What is computed from numbers that are set further down is of an earlier round.
            if isinstance(s, L.Let) and times[s.name] == 1:
                if not names_in([s.expr]) & later:
                    self.known[s.name] = s.expr
                later.discard(s.name)
        self.dtypes = {name: e.dtype for name, e in self.known.items()}
        self.stmts, self.params, self.shares = stmts, params, shares

    @cached_property
    def read(self) -> Counter[str]:
        return Counter(name for s in self.stmts for name in reads(s))

    @cached_property
    def ranks(self) -> dict[str, int]:
        """Of the arrays of numbers that are only read."""
        changed = {name for s in self.stmts for name in _changed(s)}
        return {
            name: len(self.params.sizes[name])
            for name, dtype in self.params.dtypes.items()
            if dtype in LIMITS and not any(self.shares(name, other) for other in changed)
        }

    def look(self, stmt: L.Stmt, depth: int, found: _Found) -> None:
        """Notes the loops in a statement, inside `depth` others, that may be left out."""
        inside = depth + isinstance(stmt, (L.Loop, L.Forever))
        if isinstance(stmt, L.Loop) and all(isinstance(s, _PLAIN) for s in stmt.body):
            self._note(stmt, inside, found)
        for block in L.blocks_of(stmt):
            for inner in block:
                self.look(inner, inside, found)

    def _note(self, loop: L.Loop, depth: int, found: _Found) -> None:
        puts = [s for s in loop.body if isinstance(s, L.Put)]
        own = {name for s in loop.body for name in binds(s)}
        if not puts or not all(p.add for p in puts) or not self._keeps_to_itself(loop, own):
            return
        for name in sorted(self._names(p.expr for p in puts) - own):
            if self.dtypes.get(name) in LIMITS and self._is_chosen(self.known[name]):
                arrays: set[str] = set()
                if all(self._vanishes(p.expr, name, arrays) for p in puts):
                    # Looking at an array is to cost less than the loops do.
                    if all(self.ranks[a] < depth for a in arrays):
                        found.loops[id(loop)] = name
                        found.arrays |= arrays
                    return

    def _keeps_to_itself(self, loop: L.Loop, own: set[str]) -> bool:
        """Whether nobody else reads the numbers that it sets."""
        inside = Counter(name for s in loop.body for name in reads(s))
        return all(name in self.known and inside[name] == self.read[name] for name in own)

    def _names(self, exprs: Iterable[L.Expr]) -> set[str]:
        """Those that numbers are computed from, with what is known of them."""
        names: set[str] = set()
        todo = list(exprs)
        while todo:
            for name in names_in([todo.pop()]) - names:
                names.add(name)
                if name in self.known:
                    todo.append(self.known[name])
        return names

    def _is_chosen(self, e: L.Expr) -> bool:
        """Whether it is zero in one of the cases that it distinguishes."""
        if isinstance(e, L.Un):
            return e.op == "-" and self._is_chosen(e.x)
        if isinstance(e, L.Select):
            return L.is_lit(e.x, 0) or L.is_lit(e.y, 0)
        if isinstance(e, L.Bin) and e.op == "*":
            return any(self._is_chosen(x) or self._is_truth(x) for x in (e.left, e.right))
        return False

    def _is_truth(self, e: L.Expr, within: frozenset[str] = frozenset()) -> bool:
        """A truth value as a number, a sum or a part of such; not what is made of itself, as the
        sums of a loop are, `within` whose definition we are."""
        if isinstance(e, L.Name):
            if e.name in within or e.name not in self.known:
                return False
            return self._is_truth(self.known[e.name], within | {e.name})
        if isinstance(e, L.Cast):
            return e.x.dtype == "bool"
        if isinstance(e, L.Bin) and e.op == "+":
            return self._is_truth(e.left, within) and self._is_truth(e.right, within)
        if isinstance(e, L.Bin) and e.op == "*":
            pair = (e.left, e.right)
            some = any(isinstance(x, L.Lit) for x in pair)
            return some and any(self._is_truth(x, within) for x in pair)
        return False

    def _vanishes(self, e: L.Expr, zero: str, arrays: set[str]) -> bool:
        """Whether it is zero if that number is, and `arrays` hold nothing large."""
        if isinstance(e, L.Name):
            if e.name == zero:
                return True
            known = self.known.get(e.name)
            return known is not None and self._vanishes(known, zero, arrays)
        if isinstance(e, L.Un):
            return e.op == "-" and self._vanishes(e.x, zero, arrays)
        if isinstance(e, L.Bin) and e.op in ("+", "-"):
            return all(self._vanishes(x, zero, arrays) for x in (e.left, e.right))
        if isinstance(e, L.Bin) and e.op == "*":
            for x, y in ((e.left, e.right), (e.right, e.left)):
                needed: set[str] = set()
                if self._vanishes(x, zero, needed) and self._factors(y, needed) <= FACTORS:
                    arrays |= needed
                    return True
        return False

    def _factors(self, e: L.Expr, arrays: set[str]) -> int:
        """How many numbers it is a product of, or a sum of such products; many, if it is made of
        others than those in arrays that are only read."""
        if isinstance(e, L.Lit):
            small = isinstance(e.value, (int, float)) and abs(e.value) <= LIMITS["float32"]
            return 1 if small else FACTORS + 1
        if isinstance(e, L.Load) and e.buffer in self.ranks:
            arrays.add(e.buffer)
            return 1
        if isinstance(e, L.Name) and e.name in self.known:
            return self._factors(self.known[e.name], arrays)
        if isinstance(e, L.Un) and e.op == "-":
            return self._factors(e.x, arrays)
        if isinstance(e, L.Bin) and e.op in ("+", "-", "*"):
            left, right = (self._factors(x, arrays) for x in (e.left, e.right))
            return left + right if e.op == "*" else max(left, right)
        return FACTORS + 1


_PLAIN = (L.Let, L.Put, L.Remark)


def _changed(stmt: L.Stmt) -> set[str]:
    """Buffers that it may write to, or give another name."""
    names = {e.buffer for e in L.exprs_of(stmt) if isinstance(e, L.Whole)}
    if isinstance(stmt, (L.Put, L.Alias)):
        names.add(stmt.buffer)
    if isinstance(stmt, L.Bind):
        names.add(stmt.other)
    return names


def _count(name: str, params: Parameters, wild: str, em: Emitter) -> list[L.Stmt]:
    """Adds to `wild` how many elements are large, or no numbers."""
    dtype = params.dtypes[name]
    limit = LIMITS[dtype]
    # Its own sizes: others are equal only once the program has checked them.
    sizes = tuple(L.Size(name, k) for k in range(len(params.sizes[name])))
    with em.into([]) as nest, em.nest(sizes) as index:
        x = L.Load(name, index, dtype)
        above = L.compare("<=", x, L.Lit(limit, dtype))
        below = L.compare(">=", x, L.Lit(-limit, dtype))
        few = L.Bin("and", above, below, "bool")
        more = L.Select(few, L.ZERO, L.ONE, "int64")
        em.add(L.Let(wild, L.Bin("+", L.Name(wild), more, "int64")))
    return nest


def _guard(
    block: list[L.Stmt], loops: dict[int, str], calm: L.Expr, dtypes: dict[str, str]
) -> None:
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _guard(inner, loops, calm, dtypes)
    block[:] = [
        L.Branch(_needed(loops[id(s)], calm, dtypes), [s]) if id(s) in loops else s for s in block
    ]


def _needed(name: str, calm: L.Expr, dtypes: dict[str, str]) -> L.Expr:
    some = L.compare("!=", L.Name(name, dtypes[name]), L.Lit(0.0, dtypes[name]))
    return some if calm == L.TRUE else L.Bin("or", some, L.Un("not", calm, "bool"), "bool")
