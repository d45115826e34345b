"""The compiler from end to end: a request in, the text of a kernel out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .dims import Guard
from .ir import Type
from .pipeline_types import ObjectGuard, Param
from .structure import OutTree, Path, Spec


@dataclass
class Request:
    """What to compile.  `args` are the specs of the bound arguments, in order of the
    function's parameters (defaults filled in; `*args` a tuple, `**kwargs` a dict);
    `values` are the arguments themselves, which the compiler uses for the objects among
    them and for sizes, or None when there are only types (inside `@njit`)."""

    function: Callable[..., Any]
    args: dict[str, Spec]
    values: dict[str, Any] | None = None
    mode: str = "primal"  # or "vjp"
    wrt: tuple[str, ...] = ()
    has_aux: bool = False
    static: tuple[Path, ...] = ()
    boundscheck: bool = True
    # whether the function is its own gradient's name, as under a decorator
    decorated: bool = False


@dataclass
class Compiled:
    """The outcome: texts, and how to call the kernel.

    The kernel is called with the value of each of `params`, then the seed `out_bar` in vjp
    mode, then one buffer per entry of `out_like` (position of the result -> position in
    `params` whose shape and dtype it has), in order of position.  It returns a tuple of
    the remaining results in order.  `out` rebuilds the user's result and `grads` one
    gradient per `wrt` from the kernel's results, which are numbered with the buffers
    counted in."""

    name: str
    params: list[Param]
    out: OutTree
    grads: list[OutTree]
    guards: list[Guard]
    object_guards: list[ObjectGuard]
    source: str
    lowered: str
    entry: str
    out_like: dict[int, int] = field(default_factory=dict)
    result_types: list[Type] = field(default_factory=list)
    written: list[int] = field(default_factory=list)  # params the function writes into
    failures: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    passes: Callable[[], Iterator[tuple[str, str]]] = field(default=lambda: iter(()))


def compile_request(request: Request) -> Compiled:
    """Runs every pass.  Raises `S2SError`s for what cannot be compiled."""
    raise NotImplementedError
