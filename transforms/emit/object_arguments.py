"""Objects and containers that called functions get whole: `step(cell, x)` instead of
`step(cell.kernel, cell.bias, x)`.

In the IR a function takes the arrays that it reads.  Where all calls of a function pass parts of
one object, by the same steps, the text passes the object, and the function reads its parts.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..frontend.pytree import Step, with_steps
from ..ir.nodes import (
    Assign,
    Call,
    Function,
    Module,
    Operand,
    Var,
    inner_targets_of,
    targets_of,
    walk,
)
from ..ir.record import field, record
from .outside_values import Outside
from .stores import written_by
from .user_text import UserText

Steps = tuple[Step, ...]
Place = tuple[str, Steps]  # an object by name, and the steps from there


@record
class Holders:
    """By function: the objects that parameters are parts of, and the steps that lead to them."""

    parts: dict[str, dict[str, Place]] = field(default_factory=dict)
    params: dict[str, list[str]] = field(default_factory=dict)  # all parameters of each function

    def reads(self, function: str) -> dict[str, str]:
        """By parameter of a function: the expression that reads it."""
        found = self.parts.get(function, {})
        return {p: with_steps(holder, steps) for p, (holder, steps) in found.items()}

    def parameters(self, function: str) -> list[str]:
        """The parameters of a function in the text."""
        parts = self.parts.get(function, {})
        names = [parts[p][0] if p in parts else p for p in self.params[function]]
        return [*dict.fromkeys(names)]

    def arguments(self, caller: str, function: str, args: tuple[Operand, ...]) -> list[int | str]:
        """What a call passes: positions of arguments, and expressions of objects."""
        parts, own = self.parts.get(function, {}), self.parts.get(caller, {})
        found: list[int | str] = []
        seen: set[str] = set()
        for i, (p, x) in enumerate(zip(self.params.get(function, ()), args, strict=False)):
            if p not in parts:
                found.append(i)
            elif parts[p][0] not in seen:
                seen.add(parts[p][0])
                assert isinstance(x, Var)
                holder, steps = own[x.name]
                found.append(with_steps(holder, steps[: len(steps) - len(parts[p][1])]))
        return found if function in self.params else [*range(len(args))]


def object_arguments(module: Module, outside: Outside) -> Holders:
    """What the calls of a module in memory form pass as objects."""
    found = Holders({}, {name: [p.name for p in f.params] for name, f in module.functions.items()})
    main = module.main
    found.parts[main.name] = _of_main(main, outside)
    others = [f for f in module.functions.values() if f is not main]
    for f in others:
        found.parts[f.name] = {
            p.name: f.notes["parts"][p.name] for p in f.params if p.name in f.notes.get("parts", {})
        }
    calls = [(f, *call) for f in module.functions.values() for call in _calls(f)]
    while _add_reached(found, calls, others):
        pass
    bound = {f.name: {p.name for p in f.params} | _bound(f) for f in others}
    while True:
        refused = set(_refused(found, calls))
        for f in others:
            own = found.parts[f.name]
            members = set(own)
            for p, (holder, _) in own.items():
                written = bound[f.name] - {q.name for q in f.params}
                if holder in bound[f.name] - members or p in written:
                    refused.add((f.name, holder))
        refused = {(f, h) for f, h in refused if any(h == x for x, _ in found.parts[f].values())}
        if not refused:
            return found
        for name, holder in refused:
            own = found.parts[name]
            found.parts[name] = {p: place for p, place in own.items() if place[0] != holder}


def _of_main(main: Function, outside: Outside) -> dict[str, Place]:
    """The parameters of the kernel that are parts of the user's objects and are never set."""
    found: dict[str, Place] = {}
    fixed = {name for path, step, _ in outside.interface.changes
             for name in outside.under(path, step)}  # fmt: skip
    own = {p.name for p in main.params} - {v.name for s in walk(main.body) for v in targets_of(s)}
    for p in outside.interface.params:
        place = outside.place(p.path)
        if p.name in own - fixed and place is not None and place[1]:
            found[p.name] = place
    return found


def _calls(f: Function) -> Iterator[tuple[str, tuple[Operand, ...]]]:
    for s in walk(f.body):
        if isinstance(s, Call):
            yield s.function, s.args
        elif isinstance(s, Assign) and s.op.name == "call":
            yield s.op.attrs["function"], s.op.args


_Calls = list[tuple[Function, str, tuple[Operand, ...]]]


def _add_reached(found: Holders, calls: _Calls, others: list[Function]) -> bool:
    """Adds parameters that are the same part of the same object from outside at every call."""
    added = False
    for f in others:
        given: dict[str, set[Place | None]] = {}
        for caller, name, args in calls:
            if name == f.name:
                for p, x in zip(f.params, args, strict=True):
                    place = found.parts[caller.name].get(x.name) if isinstance(x, Var) else None
                    given.setdefault(p.name, set()).add(place)
        for name, places in given.items():
            (place,) = places if len(places) == 1 else (None,)
            if place is not None and name not in found.parts[f.name] and _is_outer(f, name):
                found.parts[f.name][name] = place
                added = True
    return added


def _is_outer(f: Function, name: str) -> bool:
    """Whether a parameter is none of the user's."""
    return f.source is not None and name not in UserText(f.source).locals


def _refused(found: Holders, calls: _Calls) -> Iterator[tuple[str, str]]:
    """The functions and objects of which some call passes another object or version."""
    for caller, name, args in calls:
        parts, own = found.parts[name], found.parts[caller.name]
        bases: dict[str, Place] = {}
        for p, x in zip(found.params[name], args, strict=True):
            if p not in parts:
                continue
            holder, steps = parts[p]
            place = own.get(x.name) if isinstance(x, Var) else None
            base = None
            if place is not None and place[1][len(place[1]) - len(steps) :] == steps:
                base = place[0], place[1][: len(place[1]) - len(steps)]
            if base is None or bases.setdefault(holder, base) != base:
                yield name, holder


def _bound(f: Function) -> set[str]:
    found = {v.name for s in walk(f.body) for v in (*targets_of(s), *inner_targets_of(s))}
    return found | {w for s in walk(f.body) if (w := written_by(s)) is not None}
