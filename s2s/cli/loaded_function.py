"""The subject of a command: a compiled function and its example arguments."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api import functions
from ..call import tree_copy
from ..call.backend_choice import TARGETS
from ..transforms.frontend.derivative_spec import DIRECTED
from ..transforms.frontend.pytree import ScalarSpec, TreeSpec, describe
from ..transforms.ir.quote import printable_lines
from . import requested_transform
from .argument_syntax import ExampleMaker
from .default_arguments import arguments, sizes
from .target_path import Target, find


@dataclass
class Subject:
    """The target, the compiled function made from it, and its arguments."""

    target: Target
    compiled: functions.Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return self.target.label

    @property
    def wrt(self) -> tuple[str, ...]:
        if isinstance(self.compiled, functions.Gradient):
            return self.compiled._specialiser("vjp").wrt
        return getattr(self.compiled._shared.target.function, "wrt", ())

    @property
    def written(self) -> Any:
        """The plain function, as the user wrote it."""
        function = self.compiled._shared.target.function
        return getattr(function, "plain", function)

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Copies of the arguments, for a call that may mutate them."""
        args = tuple(tree_copy.copy_leaves(a) for a in self.args)
        return args, {k: tree_copy.copy_leaves(v) for k, v in self.kwargs.items()}

    def entry(self) -> tuple[Any, tuple[Any, ...]]:
        """The specialisation for the arguments with the results of all passes, and the kernel
        parameters, which the kernel may mutate."""
        args, kwargs = self.fresh()
        specialiser, bound = self.compiled._bind(self.compiled._mode, args, kwargs)
        entry, params = specialiser.find(bound, "python")
        if entry.compiled.passes is None:  # from the disk cache, which has only the final result
            specs = specialiser.describe(bound)
            compiled = specialiser.translate(specs, specialiser.named(bound))
            entry = specialiser._entry(compiled, specs, bound)
            params = entry.enter(bound) or params
        return entry, params

    def call(self, function: Any) -> tuple[Callable[[], Any], Callable[[], None]]:
        """A closure that calls a function with copies of the arguments, and one that restores the
        copies after calls that mutate them."""
        args, kwargs = self.fresh()
        pairs = [
            (mine, theirs)
            for a, b in zip((*args, *kwargs.values()), (*self.args, *self.kwargs.values()))
            for mine, theirs in zip(_arrays(a), _arrays(b))
            if mine.flags.writeable
        ]

        def restore() -> None:
            for mine, theirs in pairs:
                np.copyto(mine, theirs)

        return lambda: function(*args, **kwargs), restore

    def given(self) -> dict[str, str]:
        """The types of the arguments by parameter name."""
        bound = inspect.signature(self.compiled).bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        return {k: type_text(v) for k, v in bound.arguments.items()}


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    found: list[np.ndarray[Any, Any]] = []

    def note(leaf: Any) -> Any:
        found.extend([leaf] if isinstance(leaf, np.ndarray) else [])
        return leaf

    tree_copy.map_leaves(value, note)
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a function and its arguments."""
    parser.add_argument(
        "function", metavar="FILE.py:FUNC",
        help="a function, a method (Model.step), or an expression (make_step(10)) in a file",
    )  # fmt: skip
    parser.add_argument(
        "--wrt", metavar="NAMES", help="differentiate with respect to these: W,b or 0,1"
    )
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "--args", metavar="TYPES", help='arguments: "float32[32,784], 0 <= int64[32] < 10, 0.1"'
    )
    given.add_argument(
        "--example", metavar="[FILE.py:]MAKE", help="a function that returns the arguments"
    )
    parser.add_argument(
        "--size", metavar="NAME=N", action="append", default=[],
        help="a size that --args or annotations name",
    )  # fmt: skip


def add_mode(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode", choices=requested_transform.MODES,
        help="the transform; by default that of the decorator, or the gradient",
    )  # fmt: skip


def add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--target", dest="runs_on", choices=TARGETS,
        help="where the function runs; by default that of the decorator, or the CPU",
    )  # fmt: skip


def subject(options: argparse.Namespace, default_wrt: str = "first") -> Subject:
    """Resolve the options to a compiled function and its arguments."""
    target = find(options.function)
    notes: list[str] = []
    maker = ExampleMaker(sizes(options.size), target.evaluate)
    args, kwargs = arguments(options, target, maker, notes)
    compiled = requested_transform.compiled(target.value, options, args, kwargs, default_wrt)
    if compiled is not target.value and compiled._s2s_mode in DIRECTED:
        args = requested_transform.with_direction(compiled, args, kwargs, maker)
    found = Subject(target, compiled, args, kwargs)
    for note in notes:
        given = ", ".join(f"{k}: {v}" for k, v in found.given().items())
        print(printable_lines(f"s2s: {note}: {given}"), file=sys.stderr)
    return found


def type_text(value: Any) -> str:
    """The type of an argument in the syntax of --args."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(map(str, value.shape)) or '()'}]"
    spec = describe(value)
    if isinstance(spec, ScalarSpec):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(spec, TreeSpec):
        parts = [type_text(v) for v in _children(value, spec)]
        return f"{spec.kind}({', '.join(parts)})"
    return repr(value) if isinstance(value, (str, type(None))) else type(value).__name__


def _children(value: Any, spec: TreeSpec) -> list[Any]:
    if spec.kind in ("namedtuple", "dataclass"):
        return [getattr(value, k) for k in spec.keys]
    return [value[k] for k in spec.keys]
