"""What a command is about: a compiled function and the arguments to look at it with."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import api, binding, trees
from ..transforms.derived import DIRECTED
from ..transforms.read import signature
from ..transforms.structure import ArraySpec, ScalarSpec, TreeSpec, describe, spec_leaves
from . import hints
from .arguments import Maker
from .exits import CommandError
from .target import Target, find, functions_in, running

MODES = ("grad", "value_and_grad", "function", "jvp", "vjp", "hvp", "jacobian", "hessian")
PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass
class Subject:
    """The target, what is compiled of it, and its arguments."""

    target: Target
    compiled: api.Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return self.target.label

    @property
    def wrt(self) -> tuple[str, ...]:
        if isinstance(self.compiled, api.Gradient):
            return self.compiled._specialiser("vjp").wrt
        return getattr(self.compiled._shared.target.function, "wrt", ())

    @property
    def written(self) -> Any:
        """The plain function, as the user wrote it."""
        function = self.compiled._shared.target.function
        return getattr(function, "plain", function)

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Copies of the arguments, for a call that may write into them."""
        args = tuple(trees.copy_leaves(a) for a in self.args)
        return args, {k: trees.copy_leaves(v) for k, v in self.kwargs.items()}

    def entry(self) -> tuple[Any, tuple[Any, ...]]:
        """The specialisation for the arguments, with all that the compiler can tell of it, and a
        kernel's parameters, which it may write into."""
        args, kwargs = self.fresh()
        specialiser, bound = self.compiled._bind(self.compiled._mode, args, kwargs)
        entry, params = specialiser.find(bound, "python")
        if entry.compiled.passes is None:  # found on disk, where only the outcome is kept
            specs = specialiser.describe(bound)
            compiled = specialiser.translate(specs, specialiser.named(bound))
            entry = specialiser._entry(compiled, specs, bound)
        return entry, params

    def call(self, function: Any) -> tuple[Callable[[], Any], Callable[[], None]]:
        """A call of a function with these arguments, and what makes them as they were before, if
        it should write into them."""
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
        """The arguments, as types, by the names of the parameters."""
        bound = inspect.signature(self.compiled).bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        return {k: type_text(v) for k, v in bound.arguments.items()}


def _arrays(value: Any) -> list[np.ndarray[Any, Any]]:
    found: list[np.ndarray[Any, Any]] = []

    def note(leaf: Any) -> Any:
        found.extend([leaf] if isinstance(leaf, np.ndarray) else [])
        return leaf

    trees.map_leaves(value, note)
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that name a function and its arguments."""
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
        "--mode", choices=MODES,
        help="what to make of the function, instead of what its decorator says, or its gradient",
    )  # fmt: skip


def subject(options: argparse.Namespace, default_wrt: str = "first") -> Subject:
    """The function and arguments that the options name."""
    target = find(options.function)
    notes: list[str] = []
    maker = Maker(sizes(options.size), target.evaluate)
    args, kwargs = arguments(options, target, maker, notes)
    compiled = _compiled(target.value, options, args, kwargs, default_wrt)
    if compiled is not target.value and compiled._s2s_mode in DIRECTED:
        args = _directed(compiled, args, kwargs, maker)
    found = Subject(target, compiled, args, kwargs)
    for note in notes:
        given = ", ".join(f"{k}: {v}" for k, v in found.given().items())
        print(f"s2s: {note}: {given}", file=sys.stderr)
    return found


def arguments(
    options: argparse.Namespace, target: Target, maker: Maker, notes: list[str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that were given, and those that the function itself determines."""
    args, kwargs = _given(options, target, maker)
    return _completed(target, args, kwargs, maker, notes)


def sizes(texts: list[str]) -> dict[str, int]:
    out = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not (name.isidentifier() and number.isdigit()):
            raise CommandError(f"--size {text}: not a size", "write --size n=32")
        out[name] = int(number)
    return out


# ---------------------------------------------------------------- arguments


def _given(
    options: argparse.Namespace, target: Target, maker: Maker
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if options.args is not None:
        return maker.arguments(options.args)
    if options.example is None:
        return (), {}
    text = options.example if ":" in options.example else f"{target.place}:{options.example}"
    make = find(text)
    with running(text):
        made = make.value()
    names = _parameters(target.value)
    if isinstance(made, dict) and made and set(made) <= set(names):
        return (), made
    return (made if type(made) is tuple else (made,)), {}


def _completed(
    target: Target,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    maker: Maker,
    notes: list[str],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """With the arguments that the function's parameters determine, or an earlier call."""
    parameters = _parameters(target.value)
    nothing_given = not args and not kwargs
    positional = [p for p in parameters.values() if p.kind in PLAIN]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    if len(args) > len(positional) and not variadic:
        raise CommandError(
            f"{target.label} takes {len(positional)} arguments, and {len(args)} are given",
            f"its parameters are {', '.join(parameters)}",
        )
    unknown = [k for k in kwargs if k not in parameters]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise CommandError(
            f"{target.label} has no parameter {unknown[0]}",
            f"its parameters are {', '.join(parameters)}",
        )
    space = getattr(binding_of(target.value).function, "__globals__", {})
    kwargs, missing = dict(kwargs), []
    for p in positional[len(args) :]:
        if p.name not in kwargs and p.default is p.empty:
            found = hints.value_of(p, space, maker)
            if found is hints.UNKNOWN:
                missing.append(p.name)
            else:
                kwargs[p.name] = found
    missing += [
        p.name for p in parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in kwargs
    ]  # fmt: skip
    if missing:
        earlier = _earlier(target.value, maker) if nothing_given else None
        if earlier is None:
            raise _missing(target, missing)
        notes.append("arguments like those of the call in the file")
        return earlier, {}
    return _in_order(positional, args, kwargs)


def _in_order(
    positional: list[inspect.Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """By position as far as possible."""
    out, rest = list(args), dict(kwargs)
    for p in positional[len(args) :]:
        if p.name not in rest:
            break
        out.append(rest.pop(p.name))
    return tuple(out), rest


def _missing(target: Target, missing: list[str]) -> CommandError:
    example = ", ".join(f"{name}=float64[:]" for name in missing)
    makers = [n for n in functions_in(target.file) if "arg" in n or "example" in n]
    advice = (
        f'tell their types:        --args "{example}"',
        f"or name what makes them: --example {makers[0] if makers else 'make_args'}",
        f'or annotate them:        {missing[0]}: "float64[n,3]"',
    )
    verb, word = ("are", "arguments") if len(missing) > 1 else ("is", "argument")
    names = ", ".join(missing)
    return CommandError(f"{target.label}: what {verb} the {word} {names}?", "\n      ".join(advice))


def _earlier(value: Any, maker: Maker) -> tuple[Any, ...] | None:
    """Arguments like those of the latest call that the file itself made."""
    if not isinstance(value, api.Function) or value._fixed:
        return None
    latest = value._specialiser(value._mode).latest
    if latest is None:
        return None
    given = len(value._prefix)
    fill = lambda leaf: maker.like(leaf) if isinstance(leaf, np.ndarray) else leaf  # noqa: E731
    specs = list(latest.specs.values())[given:]
    return tuple(
        trees.map_leaves(v, fill) if isinstance(s, (ArraySpec, ScalarSpec, TreeSpec)) else v
        for s, v in zip(specs, latest.example[given:])
    )


def binding_of(value: Any) -> binding.Target:
    return value._shared.target if isinstance(value, api.Function) else binding.unwrap(value)


def _parameters(value: Any) -> dict[str, inspect.Parameter]:
    """Those that are still to be given."""
    if isinstance(value, api.Function):
        return dict(inspect.signature(value).parameters)
    target = binding.unwrap(value)
    parameters = list(signature(target.function).parameters.items())[len(target.prefix) :]
    return {n: p for n, p in parameters if n not in target.fixed}


# ---------------------------------------------------------------- the function


def _compiled(
    value: Any,
    options: argparse.Namespace,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    default_wrt: str,
) -> api.Function:
    """What was asked of a function: by decorating it, or on the command line."""
    mode = getattr(options, "mode", None)
    chosen = None if options.wrt is None else _wrt(options.wrt)
    settings: dict[str, Any] = {}
    if isinstance(value, api.Function):
        if chosen is None and mode is None:
            return value
        own = value._shared.options
        settings = {
            "static_argnames": own.static,
            "boundscheck": own.boundscheck,
            "parallel": own.parallel,
        }
        if own.has_aux and mode in (None, "grad", "hvp"):
            settings["has_aux"] = True
        if chosen is None and isinstance(value, api.Gradient):
            chosen = value._specialiser("vjp").wrt
        value = value.python
    if mode == "function":
        return api.function(value, **settings)
    if chosen is None and not api._has_tape(value):
        parameters = _parameters(value)
        defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
        given = {**defaults, **dict(zip(parameters, args)), **kwargs}
        floats = tuple(n for n in parameters if n in given and _is_of_floats(given[n]))
        if not floats:
            return api.function(value, **settings)
        chosen = floats if default_wrt == "all" else floats[:1]
    import s2s

    if chosen is not None and len(chosen) == 1:
        chosen = chosen[0]
    return getattr(s2s, mode or "grad")(value, wrt=chosen, **settings)


def _is_of_floats(value: Any) -> bool:
    """Whether an argument can be differentiated by: all of its leaves are real or complex."""
    try:
        leaves = [spec for _, spec in spec_leaves(describe(value), ())]
    except TypeError:
        return False
    return bool(leaves) and all(trees.is_inexact(spec) for spec in leaves)


def _directed(
    compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any], maker: Maker
) -> tuple[Any, ...]:
    """The arguments with the direction that `jvp`, `vjp` and `hvp` take after the first."""
    if compiled._s2s_mode == "vjp":
        with running(compiled.__name__):
            copies = [trees.copy_leaves(a) for a in args]
            like = compiled.python(*copies, **kwargs)
    else:
        names = list(_parameters(compiled.python))
        given = {**dict(zip(names, args)), **kwargs}
        derived = compiled._shared.target.function
        like = tuple(given[n] for n in derived.wrt)
        like = like[0] if derived.single else like

    def draw(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return maker.like(leaf)
        return type(leaf)(maker.number("float")) if isinstance(leaf, (float, np.floating)) else leaf

    return (*args[:1], trees.map_leaves(like, draw), *args[1:])


def _wrt(text: str) -> tuple[int | str, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise CommandError("--wrt is empty", "write --wrt W,b")
    return tuple(int(p) if p.lstrip("-").isdigit() else p for p in parts)


def type_text(value: Any) -> str:
    """The type of an argument, as --args takes it."""
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


def short(path: str) -> str:
    """A file as people name it here."""
    near = os.path.relpath(path)
    return path if near.startswith("..") else near
