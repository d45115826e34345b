"""Symbolic sizes as expressions of lowered source, and result trees as Python expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import UnsupportedError
from ..transforms.frontend.pytree import Argument, Either, Fixed, Out, OutTree, Path, Tree
from ..transforms.ir.quote import attribute
from ..transforms.ir.symbolic_dims import Atom, Dim


def symbol_of(dim: Dim) -> str | None:
    """The symbol of a dim that is a single symbol, else None."""
    if dim.const == 0 and len(dim.terms) == 1:
        (monomial, factor), *_ = dim.terms
        if factor == 1 and len(monomial) == 1 and not isinstance(monomial[0], Atom):
            return monomial[0]
    return None


def size_text(dim: Dim, symbols: Mapping[str, str]) -> str:
    """A size as an expression of lowered source."""
    terms = []
    for monomial, factor in dim.terms:
        parts = [str(factor)] if factor != 1 else []
        parts += [_atom(s, symbols) if isinstance(s, Atom) else symbols[s] for s in monomial]
        terms.append(" * ".join(parts))
    if dim.const or not terms:
        terms.append(str(dim.const))
    return f"({' + '.join(terms)})"


def _atom(atom: Atom, symbols: Mapping[str, str]) -> str:
    parts = [size_text(p, symbols) for p in atom.parts if p is not None]
    if atom.op == "max0":
        return f"({parts[0]} if {parts[0]} > 0 else 0)"
    if atom.op in ("floordiv", "remainder") and len(parts) == 2:
        return f"({parts[0]} {'//' if atom.op == 'floordiv' else '%'} {parts[1]})"
    if atom.op == "len":
        n, *given = (None if p is None else size_text(p, symbols) for p in atom.parts)
        start, stop, step = [*given, None, None, None][:3]
        step = step or "1"
        first = f"rt.slice_start({start is not None}, {start or 0}, {n}, {step})"
        last = f"rt.slice_stop({stop is not None}, {stop or 0}, {n}, {step})"
        return f"rt.trip_count({first}, {last}, {step})"
    raise UnsupportedError(f"a condition on the size {atom} cannot be checked ahead of time")


def leaves_of(tree: OutTree, suffix: str = "") -> Iterator[tuple[int, str]]:
    """The result index of each leaf, and a name suffix built from its keys."""
    if isinstance(tree, Out):
        yield tree.index, suffix
    elif isinstance(tree, Tree):
        for key, child in zip(tree.keys, tree.children):
            yield from leaves_of(child, f"{suffix}_{key}")
    elif isinstance(tree, Either):
        yield from leaves_of(tree.condition, f"{suffix}_condition")
        yield from leaves_of(tree.first, f"{suffix}_first")
        yield from leaves_of(tree.second, f"{suffix}_second")


def tree_text(tree: OutTree, leaf: Callable[[int], str]) -> str:
    """The Python expression that rebuilds a result tree; `leaf` gives that of a result index."""
    if isinstance(tree, Out):
        return leaf(tree.index)
    if isinstance(tree, Argument):
        return path_source(tree.path)
    if isinstance(tree, Fixed):
        text = literal(tree.value)
        if text is not None:
            return text
        raise UnsupportedError(f"a result that is {tree.value!r} has no place in a library")
    if isinstance(tree, Either):
        first, second = tree_text(tree.first, leaf), tree_text(tree.second, leaf)
        return f"({first} if {leaf(tree.condition.index)} else {second})"
    inner = [tree_text(c, leaf) for c in tree.children]
    if tree.kind == "tuple":
        return f"({''.join(t + ', ' for t in inner)})"
    if tree.kind == "list":
        return f"[{', '.join(inner)}]"
    if tree.kind == "namedtuple":
        fields = tuple(map(str, tree.cls._fields))
        return f"namedtuple({str(tree.cls.__name__)!r}, {fields!r})({', '.join(inner)})"
    pairs = zip(tree.keys, inner)
    if tree.kind == "dict":
        return f"{{{', '.join(f'{_key(k)}: {t}' for k, t in pairs)}}}"
    return f"SimpleNamespace({', '.join(f'{k}={t}' for k, t in pairs)})"


def literal(value: Any) -> str | None:
    """A plain value as a Python literal; None if it has none, such as an object with a custom
    `repr`."""
    if type(value) is float and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value) if type(value) in (bool, int, float, str, bytes, type(None)) else None


def _key(value: Any) -> str:
    text = literal(value)
    if text is None:
        raise UnsupportedError(f"a key of type {type(value).__name__} has no place in a library")
    return text


def path_source(path: Path) -> str:
    """An access path from an argument as a Python expression."""
    (_, text), *steps = path
    for kind, key in steps:
        if kind == "[]":
            text = f"{text}[{_key(key)}]"
        else:
            text = attribute(text, key)
    return text
