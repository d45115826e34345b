"""The pairs of functions for the calls of functions that call themselves or each other.

What an activation of such a function saves goes to stacks that all activations share
(`tape_stacks.py`): `f_fwd` appends it after its own calls, `f_rev` takes it off before its own.  So
the forward part runs once, and the gradient of a recursion of depth d costs O(d).

What `f_rev` reads of the arguments and results of `f` depends on what the inner calls of `f_rev`
read, and is found by iteration.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir.builder import NameSupply
from ..ir.fixpoint import IterationLimit
from ..ir.nodes import Array, Function, Scalar, Type
from ..ir.record import field, record, replace
from ..ir.symbolic_dims import Dim
from .callee_pairs import CalleePair, CutVjp, PairKey, forward_half, reverse_half
from .tape_stacks import Stacks


@record(eq=False)
class RecursivePairs:
    """The pairs for the functions `members`, which call each other.  `pairs` are known by name
    only, and by what is read, until all are made."""

    members: frozenset[str]
    names: NameSupply
    pairs: dict[PairKey, CalleePair] = field(default_factory=dict)

    def request(self, key: PairKey) -> CalleePair:
        """The pair of one of the functions, which may have no body yet."""
        if key not in self.pairs:
            function, wanted, _ = key
            fwd, rev = (self.names.fresh(f"{function}_{half}") for half in ("fwd", "rev"))
            self.pairs[key] = CalleePair(fwd, rev, wanted)
        return self.pairs[key]

    def make(
        self, cut: Callable[[PairKey], CutVjp | None]
    ) -> dict[PairKey, tuple[Function, Function, CalleePair]] | None:
        """The functions of all pairs that are requested; None if one of their products cannot be
        cut.  `cut` gives the product of a function, whose calls request pairs in turn."""
        iterations = IterationLimit("reverse: values that recursive calls read")
        while True:
            iterations.count()
            before = dict(self.pairs)
            cuts: dict[PairKey, CutVjp] = {}
            for key in before:
                made = cut(key)
                if made is None:
                    return None
                cuts[key] = made
                old = self.pairs[key]
                args = tuple(sorted({*old.args, *made.args}))
                results = tuple(sorted({*old.results, *made.results}))
                self.pairs[key] = replace(old, args=args, results=results)
            if self.pairs == before:
                return self._with_stacks(cuts)

    def _with_stacks(
        self, cuts: dict[PairKey, CutVjp]
    ) -> dict[PairKey, tuple[Function, Function, CalleePair]]:
        """The functions, which all take the stacks of all."""
        own: dict[PairKey, list[Stacks]] = {}
        for key, cut in cuts.items():
            others = [c for c in cut.calls if c.original.function not in self.members]
            at_others = [c.pair.stacks_at(c.original.args, cut.names) for c in others]
            own[key] = [cut.slots, *at_others]
        every = [(key, name) for key, found in own.items() for s in found for name in s]
        types = tuple(
            (name, _open(next(s[name] for s in own[key] if name in s))) for key, name in every
        )
        made: dict[PairKey, tuple[Function, Function, CalleePair]] = {}
        for key, cut in cuts.items():
            stacks: Stacks = {}
            for (owner, name), (_, type_) in zip(every, types):
                if owner == key:
                    stacks[name] = next(s[name] for s in own[key] if name in s)
                else:
                    stacks[cut.names.fresh(name)] = type_
            calls: dict[int, tuple[str, ...]] = {}
            at_calls = iter(own[key][1:])
            for c in cut.calls:
                inner = c.original.function in self.members
                given = tuple(stacks) if inner else tuple(next(at_calls))
                calls |= {id(c.fwd): given, id(c.rev): given}
            pair = replace(self.pairs[key], stacks=types)
            cut.args, cut.results = pair.args, pair.results
            fwd = forward_half(cut, pair.fwd, stacks, calls) if stacks else cut.f
            rev = reverse_half(cut, pair.rev, stacks, calls)
            made[key] = fwd, rev, replace(pair, fwd=fwd.name)
        return made


def _open(type_: Type) -> Type:
    """The type of elements in other functions than the one that saves them."""
    if isinstance(type_, Scalar):
        return replace(type_, value=None)
    assert isinstance(type_, Array)
    return replace(type_, shape=(Dim.of("?"),) * type_.ndim)
