"""Sizes at calls: the dims of a function in terms of its parameters, and back.

A function's dims are handed to its callers by position: `#0.1` is the second size of its first
parameter, `#2` the value of its third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .builder import OPEN
from .nodes import Array, Call, Module, Operand, Record, Scalar, Type, Var, walk
from .symbolic_dims import Dim, Facts, Guard


def positions(params: list[Var]) -> dict[str, Dim]:
    """By symbol of a parameter: its positional symbol."""
    terms: dict[str, Dim] = {}
    for i, p in enumerate(params):
        if isinstance(p.type, Scalar):
            terms[p.name] = Dim.of(f"#{i}")
        else:
            terms |= {f"{p.name}.{k}": Dim.of(f"#{i}.{k}") for k in range(p.type.ndim)}
    return terms


def sizes_at(operands: Iterable[Operand]) -> dict[str, Dim]:
    """By positional symbol: the dim that the argument of a call has there."""
    terms: dict[str, Dim] = {}
    for i, x in enumerate(operands):
        if isinstance(x.type, Scalar):
            if x.type.value is not None:
                terms[f"#{i}"] = x.type.value
        elif isinstance(x.type, (Array, Record)):
            terms |= {f"#{i}.{k}": dim for k, dim in enumerate(x.type.shape)}
    return terms


def in_terms(dim: Dim, terms: dict[str, Dim]) -> Dim:
    """The dim in terms of other symbols; open if one of its symbols has none."""
    return dim.substitute(terms) if dim.symbols <= terms.keys() else OPEN


def resized(type_: Type, size: Callable[[Dim], Dim], ints: bool = False) -> Type:
    """A type whose dims are mapped by `size`.  With `ints`, integers keep a symbolic value that
    `size` does not leave open."""
    if isinstance(type_, Scalar):
        value = size(type_.value) if ints and type_.value is not None else OPEN
        return Scalar(type_.dtype, type_.weak, None if "?" in value.symbols else value)
    assert isinstance(type_, Array), type_
    return Array(type_.dtype, tuple(size(d) for d in type_.shape))


def needs_hold(needs: Iterable[Guard], operands: Iterable[Operand], facts: Facts) -> bool:
    """Whether the caller's facts decide that the guards of a callee hold for such arguments."""
    return all(_holds(guard, facts) for guard in _at_call(needs, operands))


def rely_on_needs(needs: Iterable[Guard], operands: Iterable[Operand], facts: Facts) -> None:
    """Make the guards of a callee guards of its caller.  Precondition: `needs_hold`."""
    for guard in _at_call(needs, operands):
        facts.rely(guard)


def _at_call(needs: Iterable[Guard], operands: Iterable[Operand]) -> list[Guard]:
    sizes = sizes_at(operands)
    return [Guard(g.kind, g.left.substitute(sizes), g.right.substitute(sizes)) for g in needs]


def _holds(guard: Guard, facts: Facts) -> bool:
    left, right = facts.canonical(guard.left), facts.canonical(guard.right)
    if guard.kind == "equal" and left == right:
        return True
    a, b = facts.size_of(left), facts.size_of(right)
    return a is not None and b is not None and Guard(guard.kind, Dim.of(a), Dim.of(b)).holds({})


def unproven_needs(module: Module, facts: Facts) -> list[str]:
    """The guards of callees that do not follow from the facts and guards of their callers, as
    text.  `facts` are those of the entry."""
    found: list[str] = []
    for name, function in module.functions.items():
        known = facts if name == module.entry else function.notes["facts"]
        guards = {_canonical(g, known) for g in known.guards}
        for stmt in walk(function.body):
            if not isinstance(stmt, Call):
                continue
            for need in _at_call(module.functions[stmt.function].notes.get("needs", ()), stmt.args):
                need = _canonical(need, known)
                if need not in guards and not _provable(need):
                    found.append(f"{name} calls {stmt.function}: {need}")
    return found


def _canonical(guard: Guard, facts: Facts) -> Guard:
    return Guard(guard.kind, facts.canonical(guard.left), facts.canonical(guard.right))


def _provable(guard: Guard) -> bool:
    if guard.left.is_const and guard.right.is_const:
        return guard.holds({})
    return guard.kind in ("equal", "least") and guard.left == guard.right
