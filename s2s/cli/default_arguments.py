"""The arguments of a function: those on the command line, completed from defaults and annotations,
or else like those of the latest call that the file itself made."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

import numpy as np

from ..api import functions
from ..call import bind_arguments, tree_copy
from ..transforms.frontend.pytree import ArraySpec, ScalarSpec, TreeSpec
from ..transforms.frontend.source import signature
from . import annotation_hints
from .argument_syntax import ExampleMaker
from .exit_codes import CommandError
from .target_path import Target, find, functions_in, user_code

PLAIN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def arguments(
    options: argparse.Namespace, target: Target, maker: ExampleMaker, notes: list[str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments to call the target with."""
    args, kwargs = _given(options, target, maker)
    return _completed(target, args, kwargs, maker, notes)


def sizes(texts: list[str]) -> dict[str, int]:
    """Parse the --size options, `NAME=N`."""
    out = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not (name.isidentifier() and number.isdigit()):
            raise CommandError(f"--size {text}: not a size", "write --size n=32")
        out[name] = int(number)
    return out


def _given(
    options: argparse.Namespace, target: Target, maker: ExampleMaker
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if options.args is not None:
        return maker.arguments(options.args)
    if options.example is None:
        return (), {}
    text = options.example if ":" in options.example else f"{target.place}:{options.example}"
    make = find(text)
    with user_code(text):
        made = make.value()
    names = parameters_of(target.value)
    if isinstance(made, dict) and made and set(made) <= set(names):
        return (), made
    return (made if type(made) is tuple else (made,)), {}


def _completed(
    target: Target,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    maker: ExampleMaker,
    notes: list[str],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Complete the arguments from defaults and annotations, or take those of an earlier call."""
    parameters = parameters_of(target.value)
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
    space = getattr(_target_of(target.value).function, "__globals__", {})
    kwargs, missing = dict(kwargs), []
    for p in positional[len(args) :]:
        if p.name not in kwargs and p.default is p.empty:
            found = annotation_hints.value_of(p, space, maker)
            if found is annotation_hints.UNKNOWN:
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
    """Turn keyword arguments into positional ones as far as possible."""
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


def _earlier(value: Any, maker: ExampleMaker) -> tuple[Any, ...] | None:
    """Arguments with the types of the latest call that the file itself made, or None."""
    if not isinstance(value, functions.Function) or value._fixed:
        return None
    latest = value._specialiser(value._mode).latest
    if latest is None:
        return None
    given = len(value._prefix)
    fill = lambda leaf: maker.like(leaf) if isinstance(leaf, np.ndarray) else leaf  # noqa: E731
    specs = list(latest.specs.values())[given:]
    return tuple(
        tree_copy.map_leaves(v, fill) if isinstance(s, (ArraySpec, ScalarSpec, TreeSpec)) else v
        for s, v in zip(specs, latest.example[given:])
    )


def _target_of(value: Any) -> bind_arguments.Target:
    return (
        value._shared.target
        if isinstance(value, functions.Function)
        else bind_arguments.unwrap(value)
    )


def parameters_of(value: Any) -> dict[str, inspect.Parameter]:
    """The parameters that are not bound yet."""
    if isinstance(value, functions.Function):
        return dict(inspect.signature(value).parameters)
    target = bind_arguments.unwrap(value)
    parameters = list(signature(target.function).parameters.items())[len(target.prefix) :]
    return {n: p for n, p in parameters if n not in target.fixed}
