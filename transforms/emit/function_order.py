"""The order of the functions of a page: what is called stands above, the entry last.

The functions that one of the user's became stand together: itself, `f_fwd`, then its sweeps.
"""

from __future__ import annotations

from typing import Any

from ..ir.nodes import Function, Module, calls_in
from .callee_interfaces import is_rev


def in_reading_order(module: Module) -> list[Function]:
    """The functions of a module, each before those that call it."""
    seen: set[str] = set()
    found: list[Function] = []

    def visit(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        for callee in calls_in(module.functions[name].body):
            visit(callee)
        found.append(module.functions[name])

    visit(module.entry)
    found += [f for f in module.functions.values() if f.name not in seen]
    groups: dict[Any, list[Function]] = {}
    for f in found:
        key = ("",) if f is module.main or f.source is None else _place(f)
        groups.setdefault(key, []).append(f)
    entry = groups.pop(("",), [])
    return [f for group in groups.values() for f in sorted(group, key=_rank)] + entry


def _place(f: Function) -> tuple[Any, ...]:
    return f.source.file, f.source.node.line, f.source.node.at[1]


def _rank(f: Function) -> int:
    if is_rev(f) or "product" in f.notes:
        return 2
    return 1 if "returned" in f.notes else 0
