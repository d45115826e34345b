"""Size guards that compiled code checks: relations between polynomials in the sizes of arrays and
in integer arguments.  `size_relations.py` emits the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..transforms.ir.symbolic_dims import Atom, Dim, Guard

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled

# A `Size` is a polynomial: a constant, and terms (coefficient, monomial).  A monomial is a tuple of
# factors.  A factor (`SizeFactor`) is (parameter, axis) for the size of an array, (parameter, None)
# for an integer argument, or an operation of `Atom`: ("max0", size), ("floordiv", size, divisor),
# ("remainder", size, divisor), ("len", size, start, stop).
SizeFactor = tuple[Any, ...]
Term = tuple[int, tuple[SizeFactor, ...]]
Size = tuple[int, tuple[Term, ...]]
Relation = tuple[str, Size, Size]  # (comparison sign, left, right)


def relations_of(compiled: Compiled) -> tuple[Relation, ...]:
    """The size guards that compiled code can check, as relations."""
    found = (relation(g, compiled) for g in compiled.guards)
    return tuple(r for r in found if r is not None)


def relation(guard: Guard, compiled: Compiled) -> Relation | None:
    """A size guard as a relation; None if compiled code cannot check it."""
    names = {p.name: i for i, p in enumerate(compiled.params)}
    left, right = _size(guard.left, names), _size(guard.right, names)
    if left is None or right is None:
        return None
    return guard.sign, left, right


def _size(dim: Dim, names: dict[str, int]) -> Size | None:
    """A symbolic dimension as a polynomial; None if one of its symbols is no parameter."""
    terms: list[Term] = []
    for monomial, coefficient in dim.terms:
        factors = [_factor(symbol, names) for symbol in monomial]
        resolved = tuple(f for f in factors if f is not None)
        if len(resolved) < len(factors):
            return None
        terms.append((coefficient, resolved))
    return dim.const, tuple(terms)


def _factor(symbol: str, names: dict[str, int]) -> SizeFactor | None:
    """A symbol `name.axis` (array size), `name` (integer) or `Atom` as a factor, or None."""
    if isinstance(symbol, Atom):
        return _atom_factor(symbol, names)
    name, dot, axis = symbol.rpartition(".")
    if (name if dot else symbol) not in names:
        return None
    return (names[name], int(axis)) if dot else (names[symbol], None)


def _atom_factor(atom: Atom, names: dict[str, int]) -> SizeFactor | None:
    """An `Atom` as a factor.  Slices need step 1, divisors must be positive constants."""
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
