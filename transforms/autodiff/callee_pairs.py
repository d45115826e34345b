"""The adjoint of a call as a pair of functions.

`f_fwd` takes the arguments of `f` and returns its results and the values that the sweep needs.  It
is `f` itself if no further values are needed.
`f_rev` takes what it reads of the arguments, of the results and of the saved values, then the
adjoints of some results, and returns the adjoints of some parameters.  Both are ordinary functions
in value form, so that they can be differentiated and batched again.

Both halves are cut from the vector-Jacobian product of `f`, whose body is a forward part and a
sweep.  Only values of the outermost block cross the cut: a product whose sweep restores values
from inside a loop is not split.  Arguments and results are not saved again.
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
    Function,
    Operand,
    Save,
    Scalar,
    Type,
    Var,
    inner_targets_of,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import record, replace
from ..ir.symbolic_dims import Dim, Facts
from ..simplify.dce import eliminate_dead_code
from .activity import dependences

_Depends = tuple[frozenset[int], ...]


@record(frozen=True)
class CalleePair:
    """The names of both functions.  `args` and `results` are the positions of the arguments and
    results of `f` that `rev` reads, `saved` the types of the further results of `fwd`, with sizes
    in terms of the parameters (`ir/call_sizes.py`).  The adjoints of the parameters `wanted` are
    the results of `rev`."""

    fwd: str
    rev: str
    wanted: tuple[int, ...]
    args: tuple[int, ...]
    results: tuple[int, ...]
    saved: tuple[tuple[str, str, Type], ...]
    fwd_depends: _Depends
    rev_depends: _Depends

    def saved_at(self, args: Iterable[Operand], names: NameSupply) -> list[Var]:
        """New variables for the saved values of a call with such arguments."""
        sizes = sizes_at(args)
        found: list[Var] = []
        for name, user, type_ in self.saved:
            name = names.fresh(name)
            type_ = _with_dims(type_, lambda dim: in_terms(dim, sizes))
            found.append(Var(name, resolve_dims(type_, name), user))
        return found


def split_vjp(
    f: Function, vjp: Function, wanted: tuple[int, ...], names: NameSupply
) -> tuple[Function, Function, CalleePair] | None:
    """The pair of functions that the vector-Jacobian product `vjp` of `f` is made of; None if it
    cannot be split."""
    count = vjp.notes["forward"]
    forward, sweep = vjp.body[:count], vjp.body[count:]
    bound = {v.name: v for stmt in forward for v in targets_of(stmt)}
    read = _read(sweep, vjp.results)
    inputs = [v for name, v in bound.items() if name in read]
    rev = eliminate_dead_code(replace(vjp, params=[*vjp.params, *inputs], body=sweep))
    if _saved_slots(forward) & _restored_slots(rev.body):
        return None
    read = _read(rev.body, rev.results)
    crossing = [v for v in inputs if v.name in read]
    if any(not isinstance(v.type, (Array, Scalar)) for v in crossing):
        return None
    own, seeds = vjp.params[: len(f.params)], vjp.params[len(f.params) :]
    returned = {r.name: i for i, r in reversed([*enumerate(f.results)]) if isinstance(r, Var)}
    results = tuple(sorted(returned[v.name] for v in crossing if v.name in returned))
    saved = [v for v in crossing if v.name not in returned]
    given = [f.results[i] for i in results]
    symbols = _symbols(rev.body, [*given, *saved, *seeds])
    args = tuple(
        i for i, p in enumerate(own) if p.name in read or p.name in symbols or _names(p) & symbols
    )
    facts: Facts = vjp.notes["facts"]
    # The halves share no statements with `f` or each other, which later passes may change.
    fwd = replace(
        f,
        name=names.fresh(f"{f.name}_fwd"),
        body=substitute(forward, lambda x: x),
        results=[*f.results, *saved],
        notes={**f.notes, "facts": facts.copy(), "returned": len(f.results)},
    )
    if not saved:
        fwd = f
    elif _saved_slots(forward):  # of values that the sweep does not need after all
        fwd = eliminate_dead_code(fwd)
    rev = replace(
        rev,
        name=names.fresh(f"{f.name}_rev"),
        params=[*(own[i] for i in args), *given, *saved, *seeds],
        notes={
            **vjp.notes, "primal_results": 0, "forward": 0, "places": [], "needs": (),
            "forward_half": fwd.name,
        },
    )  # fmt: skip
    terms = positions(f.params)
    types = tuple(
        (v.name, v.user, _with_dims(v.type, lambda d: in_terms(facts.canonical(d), terms)))
        for v in saved
    )
    pair = CalleePair(
        fwd.name, rev.name, wanted, args, results, types, dependences(fwd), dependences(rev)
    )
    return fwd, rev, pair


def _saved_slots(block: Block) -> set[str]:
    return {s.slot.name for s in walk(block) if isinstance(s, Save)}


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
    new = resized(type_, size, ints=True)
    return replace(type_, value=new.value) if isinstance(new, Scalar) else new
