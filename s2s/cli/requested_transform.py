"""The transformation to apply to a function: from its decorator, or from the command line."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from ..api import directional, functions, jacobian_vmap
from ..call import tree_copy
from ..transforms.frontend.pytree import describe, spec_leaves
from .argument_syntax import ExampleMaker
from .default_arguments import parameters_of
from .exit_codes import CommandError
from .target_path import user_code

MODES: dict[str, Any] = {
    f.__name__: f
    for f in (
        functions.grad, functions.value_and_grad, functions.function, directional.jvp,
        directional.vjp, directional.hvp, jacobian_vmap.jacobian, jacobian_vmap.hessian,
    )
}  # fmt: skip


def compiled(
    value: Any,
    options: argparse.Namespace,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    default_wrt: str,
) -> functions.Function:
    """The compiled function: the decorated one, or the transformation that --mode and --wrt select.
    Without either, it is the gradient with respect to the first or all floating arguments."""
    mode = getattr(options, "mode", None)
    chosen = None if options.wrt is None else _wrt(options.wrt)
    target = getattr(options, "runs_on", None)
    settings: dict[str, Any] = {} if target is None else {"target": target}
    if isinstance(value, functions.Function):
        own = value._shared.options
        if chosen is None and mode is None:
            return value if target in (None, own.target) else with_target(value, target)
        settings = {
            "target": target or own.target,
            "static_argnames": own.static,
            "boundscheck": own.boundscheck,
            "parallel": own.parallel,
        }
        if own.has_aux and mode in (None, "grad", "value_and_grad", "hvp"):
            settings["has_aux"] = True
        if chosen is None and isinstance(value, functions.Gradient):
            chosen = value._specialiser("vjp").wrt
        value = value.python
    if mode == "function":
        return functions.function(value, **settings)
    if chosen is None and not functions._has_tape(value):
        parameters = parameters_of(value)
        defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
        given = {**defaults, **dict(zip(parameters, args)), **kwargs}
        floats = tuple(n for n in parameters if n in given and _is_of_floats(given[n]))
        if not floats:
            return functions.function(value, **settings)
        chosen = floats if default_wrt == "all" else floats[:1]
    if chosen is not None and len(chosen) == 1:
        chosen = chosen[0]
    return MODES[mode or "grad"](value, wrt=chosen, **settings)


def with_target(function: functions.Function, target: str) -> functions.Function:
    """The same transform of a function for another target."""
    options = replace(function._shared.options, target=target, backend=None)
    make, arguments = function.__reduce__()
    if make is functions._remake:
        return make(*arguments[:2], options, *arguments[3:])
    return functions._remake(
        function._plain, function._wrapped_function, options, function._prefix, function._fixed
    )


def _is_of_floats(value: Any) -> bool:
    """True if an argument is differentiable: all its leaves are real or complex floats."""
    try:
        leaves = [spec for _, spec in spec_leaves(describe(value), ())]
    except TypeError:
        return False
    return bool(leaves) and all(tree_copy.is_inexact(spec) for spec in leaves)


def with_direction(
    compiled: Any, args: tuple[Any, ...], kwargs: dict[str, Any], maker: ExampleMaker
) -> tuple[Any, ...]:
    """The arguments, with a random tangent or cotangent inserted after the first, as `jvp`, `vjp`
    and `hvp` require."""
    if compiled._s2s_mode == "vjp":
        with user_code(compiled.__name__):
            copies = [tree_copy.copy_leaves(a) for a in args]
            like = compiled.python(*copies, **kwargs)
    else:
        names = list(parameters_of(compiled.python))
        given = {**dict(zip(names, args)), **kwargs}
        derived = compiled._shared.target.function
        like = tuple(given[n] for n in derived.wrt)
        like = like[0] if derived.single else like

    def draw(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray):
            return maker.like(leaf)
        return type(leaf)(maker.number("float")) if isinstance(leaf, (float, np.floating)) else leaf

    return (*args[:1], tree_copy.map_leaves(like, draw), *args[1:])


def _wrt(text: str) -> tuple[int | str, ...]:
    """Parse --wrt: names or positions, separated by commas."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise CommandError("--wrt is empty", "write --wrt W,b")
    return tuple(int(p) if p.lstrip("-").isdigit() else p for p in parts)
