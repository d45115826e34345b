"""Builds for each library a callable that computes the value of a program and its gradient.

`inputs` are the arguments by name; Python integers among them (step counts) are compile-time
constants. `wrt` names the arguments to differentiate with respect to.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from . import row as r
from .row import Maker, Row, Runner

Program = Callable[..., Any]
# A function that imports its library and returns the program written for it.
Factory = Callable[[], Program]

# The Numba options that s2s uses, so that hand-written code is compiled under the same conditions.
FAST: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp", "afn"},
}


def arrays(result: Any) -> list[np.ndarray]:
    """The leaves of a result of any library, in order."""
    if isinstance(result, dict):
        return [a for key in sorted(result) for a in arrays(result[key])]
    if isinstance(result, (tuple, list)):
        return [a for part in result for a in arrays(part)]
    if hasattr(result, "detach"):
        result = result.detach()
    if hasattr(result, "numpy"):
        result = result.numpy()
    return [np.array(result, np.float64)]


def runner(run: Callable[[], Any]) -> Runner:
    return Runner(run, lambda: arrays(run()))


def gradient(
    program: Program,
    wrt: tuple[str, ...],
    inputs: Callable[[], dict[str, Any]],
    *,
    name: str | None = None,
    title: str = "",
    group: str = "loops",
    dtype: str = "float64",
    tolerance: float = 1e-8,
    jax: Factory | None = None,
    torch: Factory | None = None,
    torch_compiled: bool = False,
    autograd: Factory | None = None,
    by_hand: Factory | None = None,
) -> Row:
    """The value and gradient of `program`, ordinary NumPy code."""
    makers: dict[str, Maker] = {
        r.OURS: lambda: ours(program, wrt, inputs()),
        r.PRIMAL: lambda: primal(program, inputs()),
    }
    if by_hand:
        makers[r.HAND] = lambda: plain(by_hand(), inputs())
    if jax:
        makers[r.JAX] = lambda: with_jax(jax(), wrt, inputs())
    if torch:
        makers[r.TORCH] = lambda: with_torch(torch(), wrt, inputs())
        if torch_compiled:
            makers[r.TORCH_COMPILED] = lambda: with_torch(torch(), wrt, inputs(), compiled=True)
    if autograd:
        makers[r.AUTOGRAD] = lambda: with_autograd(autograd(), wrt, inputs())
    called = name or program.__name__
    return Row(called, group, title or called, makers, dtype, tolerance)


def computation(
    name: str,
    title: str,
    inputs: Callable[[], dict[str, Any]],
    factories: dict[str, Factory],
    *,
    group: str = "loops",
    dtype: str = "float64",
    tolerance: float = 1e-8,
) -> Row:
    """For derivatives other than gradients: each factory returns the complete function of the
    inputs."""
    makers: dict[str, Maker] = {}
    for peer, factory in factories.items():
        call = {r.JAX: jitted, r.TORCH: on_tensors}.get(peer, plain)
        makers[peer] = lambda call=call, factory=factory: call(factory(), inputs())
    return Row(name, group, title, makers, dtype, tolerance, reverse=False)


def ours(program: Program, wrt: tuple[str, ...], inputs: dict[str, Any]) -> Runner:
    import s2s

    return runner(partial(s2s.value_and_grad(program, wrt=wrt), *inputs.values()))


def primal(program: Program, inputs: dict[str, Any]) -> Runner:
    import s2s

    return runner(partial(s2s.function(program), *inputs.values()))


def plain(function: Program, inputs: dict[str, Any]) -> Runner:
    return runner(partial(function, *inputs.values()))


def positions(wrt: tuple[str, ...], inputs: dict[str, Any]) -> tuple[int, ...]:
    names = list(inputs)
    return tuple(names.index(name) for name in wrt)


def constants(inputs: dict[str, Any]) -> tuple[int, ...]:
    return tuple(k for k, value in enumerate(inputs.values()) if isinstance(value, int))


def with_jax(program: Program, wrt: tuple[str, ...], inputs: dict[str, Any]) -> Runner:
    import jax

    derived = jax.value_and_grad(program, argnums=positions(wrt, inputs))
    return jitted(derived, inputs)


def jitted(function: Program, inputs: dict[str, Any]) -> Runner:
    import jax

    compiled = jax.jit(function, static_argnums=constants(inputs))
    args = [
        v if isinstance(v, int) else jax.tree.map(jax.numpy.asarray, v) for v in inputs.values()
    ]

    def run() -> Any:
        return jax.block_until_ready(compiled(*args))

    return runner(run)


def tensors(inputs: dict[str, Any], wrt: tuple[str, ...]) -> dict[str, Any]:
    import torch

    made: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, (np.ndarray, np.floating, float)):
            value = torch.tensor(np.asarray(value), requires_grad=name in wrt)
        made[name] = value
    return made


def on_tensors(function: Program, inputs: dict[str, Any]) -> Runner:
    return plain(function, tensors(inputs, ()))


def with_torch(
    program: Program, wrt: tuple[str, ...], inputs: dict[str, Any], compiled: bool = False
) -> Runner:
    import torch

    args = tensors(inputs, wrt)
    leaves = [args[name] for name in wrt]
    function = torch.compile(program) if compiled else program

    def run() -> Any:
        value = function(*args.values())
        return value, torch.autograd.grad(value, leaves)

    return runner(run)


def with_autograd(program: Program, wrt: tuple[str, ...], inputs: dict[str, Any]) -> Runner:
    from autograd import value_and_grad

    derived = cast(Any, value_and_grad)(program, argnum=positions(wrt, inputs))
    return runner(partial(derived, *inputs.values()))
