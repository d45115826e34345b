"""Guards on sizes as relations that machine code checks: between polynomials of the sizes of arrays
and of integer arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..transforms.ir.symbolic_dims import Atom, Dim, Guard

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled

# A polynomial of sizes: a constant, and factors with what they multiply.  That is the (parameter,
# axis) of an array, the axis being None for an integer, or ("max0", size), ("floordiv", size,
# divisor), ("remainder", size, divisor), ("len", size, start, stop) of what `Atom` tells.
Place = tuple[Any, ...]
Term = tuple[int, tuple[Place, ...]]
Size = tuple[int, tuple[Term, ...]]
Relation = tuple[str, Size, Size]  # a sign between two sizes


def relations_of(compiled: Compiled) -> tuple[Relation, ...]:
    """The guards on sizes that machine code checks."""
    found = (relation(g, compiled) for g in compiled.guards)
    return tuple(r for r in found if r is not None)


def relation(guard: Guard, compiled: Compiled) -> Relation | None:
    """A guard on sizes that machine code can check, or None."""
    names = {p.name: i for i, p in enumerate(compiled.params)}
    left, right = _size(guard.left, names), _size(guard.right, names)
    if left is None or right is None:
        return None
    return guard.sign, left, right


def _size(dim: Dim, names: dict[str, int]) -> Size | None:
    terms: list[Term] = []
    for monomial, factor in dim.terms:
        places = [_place(symbol, names) for symbol in monomial]
        known = tuple(p for p in places if p is not None)
        if len(known) < len(places):
            return None
        terms.append((factor, known))
    return dim.const, tuple(terms)


def _place(symbol: str, names: dict[str, int]) -> Place | None:
    if isinstance(symbol, Atom):
        return _derived(symbol, names)
    name, dot, axis = symbol.rpartition(".")
    if (name if dot else symbol) not in names:
        return None
    return (names[name], int(axis)) if dot else (names[symbol], None)


def _derived(atom: Atom, names: dict[str, int]) -> Place | None:
    first, *others = atom.parts
    assert first is not None
    size = _size(first, names)
    if size is None or atom.op == "count":
        return None
    if atom.op == "max0":
        return atom.op, size
    if atom.op == "len":
        start, stop, step = others
        bounds = [None if d is None else _size(d, names) for d in (start, stop)]
        if step != Dim.of(1) or any(b is None and d is not None for b, d in zip(bounds, others)):
            return None
        return atom.op, size, *bounds
    (by,) = others
    if by is None or not by.is_const or by.const <= 0:
        return None
    return atom.op, size, by.const
