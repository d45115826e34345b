"""How a kernel's parameters are found, and what its specialisation assumed."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

from ..ir.lazy import lazy_property
from ..ir.nodes import Type
from ..ir.record import field, record
from ..ir.symbolic_dims import Dim, Guard
from .pytree import OutTree, Path, Spec, Step, same_function


@record(frozen=True)
class Param:
    """One parameter of the kernel: where its value comes from, and what it must be."""

    name: str
    path: Path
    spec: Spec
    type: Type


@record(frozen=True)
class ObjectGuard:
    """What the specialisation assumed of something reached by `path`: `kind` is "is"
    (identity), "function" (made by the same lines), "equals" (a plain value), "type",
    "length" or "keys"; "attribute" and "item" tell whether it has one, as (which, answer)."""

    path: Path
    kind: str
    expected: Any

    def holds(self, value: Any) -> bool:
        if self.kind == "is":
            return value is self.expected
        if self.kind == "function":
            return value is self.expected or (
                type(value) is types.FunctionType
                and same_function(value) == same_function(self.expected)
            )
        if self.kind == "type":
            return type(value) is self.expected
        if self.kind == "length":
            return len(value) == self.expected
        if self.kind == "keys":
            return tuple(value) == self.expected
        if self.kind == "attribute":
            return hasattr(value, self.expected[0]) == self.expected[1]
        if self.kind == "item":
            return (self.expected[0] in value) == self.expected[1]
        return type(value) is type(self.expected) and value == self.expected


class Whence(NamedTuple):
    """Where a line of emitted code comes from: a file and a line there, the places of the calls
    that led to it if it was inlined, outermost first, and the adjoint sweep it belongs to, 0 if
    it computes what the user's line computes."""

    file: str
    line: int
    calls: tuple[tuple[str, int], ...] = ()
    sweep: int = 0


@record(frozen=True)
class Build:
    """An object that was completed while a program was specialised, and what was known then:
    who does the same under the same conditions completes it in the same way.  `function` was called
    with `args`, the first of which is the object, and `named`; what is no plain value in these
    is found by its path, or an `Out`, one of `sizes`.  `guards` and `relations` are what had been
    assumed since the object before this one was completed, `params` the numbers and arrays that
    were reached."""

    function: Any
    args: tuple[OutTree, ...]
    named: tuple[tuple[str, OutTree], ...]
    guards: tuple[ObjectGuard, ...]
    relations: tuple[Guard, ...]
    params: tuple[Param, ...]
    sizes: tuple[Dim, ...]


@record(frozen=True)
class Interface:
    """What a program takes and gives in terms of the user's objects.  `args` are the names of the
    user's parameters, `wrt` those that gradients are taken with respect to, one of `grads` each."""

    args: tuple[str, ...]
    params: list[Param]
    out: OutTree
    wrt: tuple[str, ...] = ()
    grads: list[OutTree] = field(default_factory=list)
    changes: list[tuple[Path, Step, OutTree]] = field(default_factory=list)

    def built(self) -> list[OutTree]:
        """The results that are no gradients."""
        return [self.out, *(tree for _, _, tree in self.changes)]

    def trees(self) -> list[OutTree]:
        return [*self.built(), *self.grads]


class Written(NamedTuple):
    """The readable source of a program, by line the place that it comes from, and the parameters
    of its text with the paths to what they stand for, without a seed."""

    text: str
    places: dict[int, Whence]
    takes: list[tuple[str, Path]]


class Readable:
    """A compiled program whose readable source is written when it is asked for."""

    write: Callable[[], Written]

    @lazy_property
    def _written(self) -> Written:
        return self.write()

    @property
    def source(self) -> str:
        """The program as NumPy-level Python."""
        return self._written.text

    @property
    def places(self) -> dict[int, Whence]:
        """By line of `source`: the line of the user's that it comes from."""
        return self._written.places

    @property
    def takes(self) -> list[tuple[str, Path]]:
        """The parameters of `source`, with the paths to what they stand for."""
        return self._written.takes
