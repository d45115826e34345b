"""The adjoint of a call as a pair of functions.

`f_fwd` takes the arguments of `f` and returns its results and the values that the sweep needs.  It
is `f` itself if no further values are needed.
`f_rev` takes what it reads of the arguments, of the results and of the saved values, then the
adjoints of some results, and returns the adjoints of some parameters.  Both are ordinary functions
in value form, so that they can be differentiated and batched again.

Both halves are cut from the vector-Jacobian product of `f`, whose body is a forward part and a
sweep.  Values of the outermost block that cross the cut are further results of `f_fwd`; arguments
and results are not saved again.  Values that are saved inside loops and branches are appended to
lists, which both functions take and return (`tape_stacks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..ir.builder import NameSupply, resolve_dims
from ..ir.call_sizes import in_terms, positions, resized, sizes_at
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Function,
    ListOf,
    Op,
    Operand,
    Save,
    Scalar,
    Slot,
    Stmt,
    Type,
    Var,
    inner_targets_of,
    map_blocks,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import record, replace
from ..ir.scopes import names_of
from ..ir.symbolic_dims import Dim, Facts
from ..simplify.dce import eliminate_dead_code
from .activity import dependences
from .tape_stacks import Stacks, Threading, saves_last

Depends = tuple[frozenset[int], ...] | None
# A function, the parameters whose adjoints are wanted, and the results whose adjoints are given.
PairKey = tuple[str, tuple[int, ...], tuple[int, ...]]


@record(frozen=True)
class CalleePair:
    """The names of both functions.  `args` and `results` are the positions of the arguments and
    results of `f` that `rev` reads, `saved` the types of the further results of `fwd`, and `stacks`
    those of the elements of the lists that both take and return last, with sizes in terms of the
    parameters (`ir/call_sizes.py`).  The adjoints of the parameters `wanted` are the results of
    `rev`."""

    fwd: str
    rev: str
    wanted: tuple[int, ...]
    args: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    saved: tuple[tuple[str, str, Type], ...] = ()
    stacks: tuple[tuple[str, Type], ...] = ()
    fwd_depends: Depends = None
    rev_depends: Depends = None

    def saved_at(self, args: Iterable[Operand], names: NameSupply) -> list[Var]:
        """New variables for the saved values of a call with such arguments."""
        sizes = sizes_at(args)
        found: list[Var] = []
        for name, user, type_ in self.saved:
            name = names.fresh(name)
            type_ = _with_dims(type_, lambda dim: in_terms(dim, sizes))
            found.append(Var(name, resolve_dims(type_, name), user))
        return found

    def stacks_at(self, args: Iterable[Operand], names: NameSupply) -> Stacks:
        """Names and types of the stacks of a call with such arguments."""
        sizes = sizes_at(args)
        return {
            names.fresh(name): _with_dims(type_, lambda dim: in_terms(dim, sizes))
            for name, type_ in self.stacks
        }


@record(eq=False)
class PairCall:
    """A call whose adjoint is a pair: the statement of the primal, and the calls of `f_fwd` and
    `f_rev` in its place, without the stacks that these take."""

    original: Call
    fwd: Call
    rev: Call
    pair: CalleePair


@record(eq=False)
class CutVjp:
    """A vector-Jacobian product of `f`, cut into `forward` and the function `rev`, which has all
    parameters of `f` and of the product, and those values of `forward` that it reads.  `args`,
    `results` and `saved` are as in `CalleePair`; `slots` are the slots that cross, and `calls` the
    calls that take stacks."""

    f: Function
    vjp: Function
    forward: Block
    rev: Function
    args: tuple[int, ...]
    results: tuple[int, ...]
    saved: list[Var]
    slots: Stacks
    calls: list[PairCall]
    names: NameSupply

    @property
    def facts(self) -> Facts:
        return self.vjp.notes["facts"]

    def in_positions(self, type_: Type) -> Type:
        """A type with sizes in terms of the parameters of `f`."""
        terms = positions(self.f.params)
        return _with_dims(type_, lambda d: in_terms(self.facts.canonical(d), terms))


def cut_vjp(
    f: Function, vjp: Function, calls: Iterable[PairCall], recursive: bool = False
) -> CutVjp | None:
    """The vector-Jacobian product `vjp` of `f`, cut; None if it cannot be.  In a `recursive`
    function all values but arguments and results cross on stacks."""
    count = vjp.notes["forward"]
    forward, sweep = vjp.body[:count], vjp.body[count:]
    names = NameSupply(names_of(vjp))
    bound = {v.name: v for stmt in forward for v in targets_of(stmt)}
    read = _read(sweep, vjp.results)
    inputs = [v for name, v in bound.items() if name in read]
    rev = eliminate_dead_code(replace(vjp, params=[*vjp.params, *inputs], body=sweep))
    calls, forward = _live_calls(calls, rev.body, forward)
    read = _read(rev.body, rev.results)
    crossing = [v for v in inputs if v.name in read]
    own, seeds = vjp.params[: len(f.params)], vjp.params[len(f.params) :]
    returned = {r.name: i for i, r in reversed([*enumerate(f.results)]) if isinstance(r, Var)}
    results = tuple(sorted(returned[v.name] for v in crossing if v.name in returned))
    saved = [v for v in crossing if v.name not in returned]
    if recursive:
        forward, rev = _on_stacks(forward, rev, saved, names)
        saved = []
    restored = _restored_slots(rev.body)
    slots = {n: t for n, t in _saved_slots(forward).items() if n in restored}
    elements = [*slots.values(), *(getattr(v.type, "elem", v.type) for v in crossing)]
    if any(not isinstance(t, (Array, Scalar)) for t in elements):
        return None
    given = [f.results[i] for i in results]
    symbols = _symbols(rev.body, [*given, *saved, *seeds])
    args = tuple(
        i for i, p in enumerate(own) if p.name in read or p.name in symbols or _names(p) & symbols
    )
    return CutVjp(f, vjp, forward, rev, args, results, saved, slots, calls, names)


def _live_calls(
    calls: Iterable[PairCall], sweep: Block, forward: Block
) -> tuple[list[PairCall], Block]:
    """The calls whose adjoint the sweep computes, and the forward part in which the others are
    those of the primal."""
    live = {id(s) for s in walk(sweep)}
    kept = [c for c in calls if id(c.rev) in live]
    dropped = {id(c.fwd): c.original for c in calls if id(c.rev) not in live}

    def restored(stmt: Stmt) -> Stmt:
        original = dropped.get(id(stmt))
        return (
            map_blocks(stmt, lambda b: [restored(s) for s in b]) if original is None else original
        )

    return kept, [restored(s) for s in forward] if dropped else forward


def _on_stacks(
    forward: Block, rev: Function, saved: list[Var], names: NameSupply
) -> tuple[Block, Function]:
    """Both halves with a slot for each of the values `saved`.  Values are saved after all calls."""
    slots = [Slot(names.fresh(f"{v.user or v.name}_saved"), v.type) for v in saved]
    head = [Assign(v, Op("restore", (), {"slot": s})) for s, v in zip(slots, saved)]
    forward = [*forward, *(Save(s, v) for s, v in zip(slots, saved))]
    params = [p for p in rev.params if p not in saved]
    rev = replace(rev, params=params, body=[*head, *rev.body])
    return saves_last(forward, {*_saved_slots(forward)}), rev


def make_pair(
    cut: CutVjp, wanted: tuple[int, ...], supply: NameSupply
) -> tuple[Function, Function, CalleePair]:
    """The functions `fwd` and `rev` of a function that does not call itself, and their pair."""
    stacks, calls = dict(cut.slots), {}
    for call in cut.calls:
        own = call.pair.stacks_at(call.original.args, cut.names)
        stacks |= own
        calls |= {id(call.fwd): tuple(own), id(call.rev): tuple(own)}
    if not stacks and not cut.saved:
        fwd = cut.f
    else:
        fwd = forward_half(cut, supply.fresh(f"{cut.f.name}_fwd"), stacks, calls)
    rev = reverse_half(cut, supply.fresh(f"{cut.f.name}_rev"), stacks, calls)
    rev.notes["forward_half"] = fwd.name
    saved = tuple((v.name, v.user, cut.in_positions(v.type)) for v in cut.saved)
    types = tuple((name, cut.in_positions(t)) for name, t in stacks.items())
    pair = CalleePair(
        fwd.name, rev.name, wanted, cut.args, cut.results, saved, types,
        dependences(fwd), dependences(rev),
    )  # fmt: skip
    return fwd, rev, pair


def forward_half(
    cut: CutVjp, name: str, stacks: Stacks, calls: dict[int, tuple[str, ...]]
) -> Function:
    """`f_fwd`.  The halves share no statements with `f` or each other, which later passes may
    change."""
    f, threading = cut.f, Threading(cut.names, stacks, calls)
    given = {s: threading.variable(s) for s in stacks}
    now = dict(given)
    body = substitute(threading.block(cut.forward, now), lambda x: x)
    first = len(f.results) + len(cut.saved)
    fwd = replace(
        f,
        name=name,
        params=[*f.params, *given.values()],
        body=body,
        results=[*f.results, *cut.saved, *now.values()],
        notes={
            **f.notes,
            "facts": cut.facts.copy(),
            "returned": len(f.results),
            "inout": (*f.notes.get("inout", ()), *_pairs(first, len(f.params), len(stacks))),
        },
    )
    # Some slots are of values that the sweep does not need after all.
    return eliminate_dead_code(fwd) if _saved_slots(body) else fwd


def reverse_half(
    cut: CutVjp, name: str, stacks: Stacks, calls: dict[int, tuple[str, ...]]
) -> Function:
    """`f_rev`."""
    f, rev, threading = cut.f, cut.rev, Threading(cut.names, stacks, calls)
    given = {s: threading.variable(s) for s in stacks}
    now = dict(given)
    body = threading.block(rev.body, now)
    seeds = cut.vjp.params[len(f.params) :]
    read = [*(cut.vjp.params[i] for i in cut.args), *(f.results[i] for i in cut.results)]
    params: list[Any] = [*read, *cut.saved, *seeds]
    inout = _pairs(len(rev.results), len(params), len(stacks))
    notes = {"primal_results": 0, "forward": 0, "places": [], "needs": (), "inout": inout}
    return replace(
        rev,
        name=name,
        params=[*params, *given.values()],
        body=body,
        results=[*rev.results, *now.values()],
        notes={**cut.vjp.notes, **notes},
    )


def _pairs(result: int, param: int, count: int) -> tuple[tuple[int, int], ...]:
    return tuple((result + k, param + k) for k in range(count))


def _saved_slots(block: Block) -> dict[str, Type]:
    return {s.slot.name: s.slot.type for s in walk(block) if isinstance(s, Save)}


def _restored_slots(block: Block) -> set[str]:
    ops = (s.op for s in walk(block) if isinstance(s, Assign))
    return {op.attrs["slot"].name for op in ops if op.name == "restore"}


def _read(block: Block, results: Iterable[Operand]) -> set[str]:
    operands = [*results, *(x for stmt in walk(block) for x in operands_of(stmt))]
    return {x.name for x in operands if isinstance(x, Var)}


def _names(p: Var) -> set[str]:
    return {f"{p.name}.{axis}" for axis in range(getattr(p.type, "ndim", 0))}


def _symbols(block: Block, given: Iterable[Any]) -> set[str]:
    """The symbols of all sizes in a block and in the values that it is given."""
    variables = [*given]
    for stmt in walk(block):
        variables += [*targets_of(stmt), *inner_targets_of(stmt)]
    found: set[str] = set()
    for v in variables:
        dims: list[Dim] = list(getattr(v.type, "shape", ()))
        if isinstance(v.type, Scalar) and v.type.value is not None:
            dims.append(v.type.value)
        found |= {s for d in dims for s in d.symbols}
    return found


def _with_dims(type_: Type, size: Callable[[Dim], Dim]) -> Type:
    """The type with other dims; an integer keeps a value that is not open."""
    if isinstance(type_, ListOf):
        elem = _with_dims(type_.elem, size)
        assert isinstance(elem, (Scalar, Array))
        return ListOf(elem)
    new = resized(type_, size, ints=True)
    return replace(type_, value=new.value) if isinstance(new, Scalar) else new
