"""Broadcasting: the map from an index of the result to an index of an operand.

Run-time checks of sizes are emitted here only where shapes are broadcast together.  All other
requirements on shapes are checks that the rules have inserted into the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.symbolic_dims import Dim, Facts
from ..build.lazy_array import Emitter, Value
from ..loop_ir import nodes as L

ONE = Dim.of(1)
MISMATCH = "operands could not be broadcast together"


def is_one(facts: Facts, dim: Dim) -> bool:
    """True if a size is known to be 1."""
    return facts.canonical(dim) == ONE


def broadcast_shape(
    emitter: Emitter, facts: Facts, values: Sequence[Value], where: str
) -> tuple[tuple[L.Expr, ...], tuple[Dim, ...]]:
    """The broadcast shape of operands, with run-time checks where equality is not proven."""
    rank = max((v.ndim for v in values), default=0)
    sizes: list[L.Expr] = [L.ONE] * rank
    dims: list[Dim] = [ONE] * rank
    for v in values:
        for k, (size, dim) in enumerate(zip(v.sizes, v.dims, strict=True), rank - v.ndim):
            sizes[k], dims[k] = _meet(emitter, facts, (sizes[k], dims[k]), (size, dim), where)
    return tuple(sizes), tuple(dims)


def _meet(
    emitter: Emitter,
    facts: Facts,
    a: tuple[L.Expr, Dim],
    b: tuple[L.Expr, Dim],
    where: str,
) -> tuple[L.Expr, Dim]:
    """The broadcast size of one axis."""
    if is_one(facts, a[1]) or a[0] == b[0]:
        return b
    if is_one(facts, b[1]) or facts.known_equal(a[1], b[1]):
        # Prefer a constant to a size that is read from an array.
        return b if isinstance(b[0], L.Lit) and not is_one(facts, b[1]) else a
    x, y = a[0], b[0]
    clash = L.Bin("!=", x, y, "bool")
    for size in (x, y):
        clash = L.Bin("and", clash, L.compare("!=", size, L.ONE), "bool")
    emitter.check(clash, "ValueError", MISMATCH + where)
    name = emitter.let(L.select(L.compare("==", x, L.ONE), y, x), "n")
    return name, Dim.of("?" + emitter.new_name("dim"))


def project_index(
    facts: Facts, value: Value, sizes: Sequence[L.Expr], dims: Sequence[Dim], index: L.Index
) -> L.Index:
    """The index into `value` for an index into the shape that it is broadcast to."""
    lead = len(index) - value.ndim
    out: list[L.Expr] = []
    for k in range(value.ndim):
        i, have, want = index[lead + k], value.dims[k], dims[lead + k]
        if is_one(facts, have):
            out.append(L.ZERO)
        elif facts.known_equal(have, want) or value.sizes[k] == sizes[lead + k]:
            out.append(i)
        else:
            one = L.compare("==", value.sizes[k], L.ONE)
            out.append(L.select(one, L.ZERO, i))
    return tuple(out)


def same_shape(facts: Facts, value: Value, sizes: Sequence[L.Expr], dims: Sequence[Dim]) -> bool:
    """True if `value` is known to have exactly this shape, so that no element is read twice."""
    return value.ndim == len(dims) and all(
        facts.known_equal(d, e) or s == t
        for d, e, s, t in zip(value.dims, dims, value.sizes, sizes, strict=True)
    )


def broadcast_value(
    facts: Facts, value: Value, sizes: tuple[L.Expr, ...], dims: tuple[Dim, ...]
) -> Value:
    """`value` broadcast to a given shape."""

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return value.at(emitter, project_index(facts, value, sizes, dims, index))

    return Value(value.dtype, sizes, dims, at, value.reads, value.cost, depth=value.depth)
