"""What is to be known of a kernel by those who call it from Python, or write the way in.

Most kernels take arrays and numbers and return such.  Those are entered through a C function in
the kernel's own machine code (`s2s.machine.door`), which looks at the arguments, calls the kernel
and makes Python objects of its results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .transforms.dims import Atom, Dim, Guard
from .transforms.ir import Array, Scalar, Type
from .transforms.structure import (
    Argument,
    ArraySpec,
    Either,
    Fixed,
    Out,
    OutTree,
    ScalarSpec,
    Spec,
    describe,
)

if TYPE_CHECKING:
    from .transforms.pipeline import Compiled

INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = INTEGERS | {"bool", "float32", "float64", "complex64", "complex128"}
PYTHON = {"int64": "int", "float64": "float", "complex128": "complex"}

# A polynomial of sizes: a constant, and factors with what they multiply.  That is the (parameter,
# axis) of an array, the axis being None for an integer, or ("max0", size), ("floordiv", size,
# divisor), ("remainder", size, divisor), ("len", size, start, stop) of what `Atom` tells.
Place = tuple[Any, ...]
Term = tuple[int, tuple[Place, ...]]
Size = tuple[int, tuple[Term, ...]]
Relation = tuple[str, Size, Size]  # a sign between two sizes


@dataclass(frozen=True)
class Door:
    """`arguments` are the parameters and the seed; what follows them are the buffers of results,
    for each the position of the result and the parameter whose shape it has.  `results` tells
    of all results what they become: "array", "buffer" or the class of a number, where Python's
    own go by "int", "float" and "bool".  `relations` are (sign, size, size)."""

    arguments: tuple[ArraySpec | ScalarSpec, ...]
    results: tuple[str, ...]
    buffers: tuple[tuple[int, int], ...]
    relations: tuple[Relation, ...]

    @property
    def takes(self) -> list[ArraySpec | ScalarSpec]:
        """What the kernel behind it takes."""
        like = (self.arguments[position] for _, position in self.buffers)
        arrays = [ArraySpec(a.dtype, a.ndim, "C") for a in like if isinstance(a, ArraySpec)]
        return [*self.arguments, *arrays]


def door_of(compiled: Compiled, seed: Any) -> Door | None:
    """The door of a specialisation, or None if it needs something that a door cannot give."""
    specs: list[Spec] = [p.spec for p in compiled.params]
    if seed is not None:
        specs.append(describe(seed))
    arguments = tuple(s for s in specs if isinstance(s, (ArraySpec, ScalarSpec)))
    if len(arguments) < len(specs) or any(s.dtype not in DTYPES for s in arguments):
        return None
    seen = {i for tree in (compiled.out, *compiled.grads) for i in _leaves(tree)}
    results = tuple(
        "buffer" if i in compiled.out_like else _result(type_, i in seen)
        for i, type_ in enumerate(compiled.result_types)
    )
    if "" in results:
        return None
    buffers = tuple(sorted(compiled.out_like.items()))
    return Door(arguments, results, buffers, relations_of(compiled))


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


def _result(type_: Type, seen: bool) -> str:
    """What becomes of a result; nothing if it is neither number nor array."""
    dtype = getattr(type_, "dtype", "")
    if dtype not in DTYPES:
        return ""
    if isinstance(type_, Array):
        return "array"
    if not isinstance(type_, Scalar):
        return ""
    if dtype in ("bool", "int64"):
        return "int" if dtype == "int64" else "bool"
    # What the user does not see is set in an object, where a Python float stays one.
    return "float" if type_.weak and dtype == "float64" and not seen else dtype


def _leaves(tree: OutTree) -> Iterator[int]:
    if isinstance(tree, Out):
        yield tree.index
    elif isinstance(tree, Either):
        yield tree.condition.index
        yield from _leaves(tree.first)
        yield from _leaves(tree.second)
    elif not isinstance(tree, (Argument, Fixed)):
        for child in tree.children:
            yield from _leaves(child)
