"""Independent oracles of gradients: finite differences, complex step and JAX.

All of them run the user's plain Python function and are independent of the compiler.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# ---------------------------------------------------------------- trees


def map_tree(f: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with `f` applied to every leaf."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_tree(f, v) for v in tree))
    if isinstance(tree, (tuple, list)):
        return type(tree)(map_tree(f, v) for v in tree)
    if isinstance(tree, dict):
        return {k: map_tree(f, v) for k, v in tree.items()}
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        values = {x.name: map_tree(f, getattr(tree, x.name)) for x in dataclasses.fields(tree)}
        return dataclasses.replace(tree, **values)
    return f(tree)


def leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    map_tree(found.append, tree)
    return found


def is_float(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind == "f"
    return isinstance(leaf, (float, np.floating))


def copy_tree(tree: Any) -> Any:
    """A deep copy of the arrays that preserves aliasing and memory layout."""
    copies: dict[int, np.ndarray] = {}

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        if id(leaf) not in copies:
            copies[id(leaf)] = same_layout(leaf, leaf)
        return copies[id(leaf)]

    return map_tree(copy, tree)


def same_layout(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """A copy of `values` that is contiguous only if `like` is, and read-only if `like` is."""
    out = values.copy() if like.flags.c_contiguous else spread(values)
    out.flags.writeable = like.flags.writeable
    return out


def spread(values: np.ndarray) -> np.ndarray:
    """A copy with gaps between elements and the last axis running backwards in memory."""
    if values.ndim == 0:
        return values.copy()
    room = np.zeros([2 * size for size in values.shape], values.dtype)
    every_other = (slice(None, None, 2),) * (values.ndim - 1)
    out = room[(*every_other, slice(None, None, -2))]
    out[...] = values
    return out


def in_float64(tree: Any) -> Any:
    def convert(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
            return leaf.astype(np.float64)
        return np.float64(leaf) if isinstance(leaf, np.floating) else leaf

    return map_tree(convert, tree)


# ---------------------------------------------------------------- calling


def bound(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    arguments = inspect.signature(f).bind(*args, **kwargs)
    arguments.apply_defaults()
    return dict(arguments.arguments)


def call(f: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call `f` with arguments by name, positional-only ones included."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, parameter in inspect.signature(f).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += arguments[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords.update(arguments[name])
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords[name] = arguments[name]
        else:
            positional.append(arguments[name])
    return f(*positional, **keywords)


# ---------------------------------------------------------------- finite differences


def finite_differences(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    wrt: Sequence[str | int] = (0,),
    step: float = 3e-4,
    value: Callable[[Any], Any] = lambda out: out,
) -> tuple[Any, ...]:
    """One gradient per `wrt`, in float64, by the five-point central formula, whose error is of
    fourth order in `step`. `value` extracts the scalar from the result of `f`."""
    names = list(inspect.signature(f).parameters)
    chosen = [names[w] if isinstance(w, int) else w for w in wrt]
    base = in_float64(bound(f, args, kwargs or {}))

    def run(name: str, tree: Any) -> float:
        arguments = copy_tree(base)
        arguments[name] = tree
        return float(value(call(f, arguments)))

    return tuple(
        _differences(lambda tree, name=name: run(name, tree), base[name], step) for name in chosen
    )


def _differences(run: Callable[[Any], float], tree: Any, step: float) -> Any:
    count = len(leaves(tree))
    gradients: list[Any] = []
    for k in range(count):
        leaf = leaves(tree)[k]
        if not is_float(leaf):
            gradients.append(None)
            continue
        flat = np.zeros(np.size(leaf))
        for j in range(flat.size):
            flat[j] = _five_points(lambda d, k=k, j=j: run(_moved(tree, k, j, d)), leaf, j, step)
        gradients.append(flat.reshape(np.shape(leaf)) if isinstance(leaf, np.ndarray) else flat[0])
    position = iter(gradients)
    return map_tree(lambda _: next(position), tree)


def _five_points(at: Callable[[float], float], leaf: Any, j: int, step: float) -> float:
    h = step * max(1.0, abs(float(np.ravel(leaf)[j])))
    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


def _moved(tree: Any, k: int, j: int, by: Any) -> Any:
    """A copy of `tree` with element j of leaf k perturbed."""
    position = iter(range(10**9))

    def move(leaf: Any) -> Any:
        if next(position) != k:
            return leaf
        if not isinstance(leaf, np.ndarray):
            return leaf + by
        moved = leaf.astype(np.result_type(leaf, by)) if isinstance(by, complex) else leaf.copy()
        moved[np.unravel_index(j, leaf.shape)] += by
        return moved

    return map_tree(move, copy_tree(tree))


def central_differences(
    f: Callable[..., Any], args: Sequence[Any], at: int = 0, step: float = 1e-6
) -> np.ndarray:
    """The gradient of a scalar function of plain arrays in one of its arguments, by two points;
    `f` may be any callable."""
    x = np.asarray(args[at], dtype=float)
    grad = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        values = []
        for sign in (1, -1):
            moved = x.copy()
            moved[k] += sign * step
            values.append(f(*args[:at], moved[()] if x.ndim == 0 else moved, *args[at + 1 :]))
        grad[k] = (values[0] - values[1]) / (2 * step)
    return grad


def complex_step(
    f: Callable[..., Any], args: Sequence[Any], wrt: int = 0, step: float = 1e-30
) -> Any:
    """The gradient with respect to one argument, exact to rounding; only for functions that
    are analytic and accept complex numbers."""
    args = [in_float64(a) for a in args]
    tree = args[wrt]
    gradients = []
    for k, leaf in enumerate(leaves(tree)):
        flat = np.zeros(np.size(leaf))
        for j in range(flat.size):
            moved = _moved(tree, k, j, complex(0.0, step))
            out = f(*copy_tree(args[:wrt]), moved, *copy_tree(args[wrt + 1 :]))
            flat[j] = np.imag(out) / step
        gradients.append(flat.reshape(np.shape(leaf)) if isinstance(leaf, np.ndarray) else flat[0])
    position = iter(gradients)
    return map_tree(lambda _: next(position), tree)


# ---------------------------------------------------------------- JAX


def with_jax_numpy(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with `np` bound to jax.numpy, in it and in the helpers it calls."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    made: dict[Any, Any] = {}

    class Math:
        def __getattr__(self, name: str) -> Any:
            renamed = {
                "pow": "power",
                "atan": "arctan",
                "asin": "arcsin",
                "acos": "arccos",
                "atan2": "arctan2",
                "fabs": "abs",
                "asinh": "arcsinh",
                "acosh": "arccosh",
                "atanh": "arctanh",
            }
            if name in ("erf", "erfc"):
                return getattr(jax.scipy.special, name)
            return getattr(jnp, renamed.get(name, name))

    def convert(value: Any) -> Any:
        if value is np:
            return jnp
        if isinstance(value, types.ModuleType) and value.__name__ == "math":
            return Math()
        if isinstance(value, types.FunctionType) and value.__module__ == f.__module__:
            return rebuild(value)
        return value

    def rebuild(g: types.FunctionType) -> types.FunctionType:
        if g in made:
            return made[g]
        scope: dict[str, Any] = {"__builtins__": __builtins__}
        cells = tuple(types.CellType(convert(c.cell_contents)) for c in g.__closure__ or ())
        made[g] = types.FunctionType(g.__code__, scope, g.__name__, g.__defaults__, cells)
        made[g].__kwdefaults__ = g.__kwdefaults__
        for name in _global_names(g.__code__):
            if name in g.__globals__:
                scope[name] = convert(g.__globals__[name])
        return made[g]

    return rebuild(f)  # type: ignore[arg-type]


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def jax_gradient(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    wrt: Sequence[str],
    value: Callable[[Any], Any] = lambda out: out,
) -> tuple[Any, ...]:
    import jax

    g = with_jax_numpy(f)
    base = in_float64(bound(f, args, kwargs))

    def loss(chosen: list[Any]) -> Any:
        # JAX flattens the standard containers; dataclasses are passed as their leaves
        arguments = dict(base)
        for name, flat in zip(wrt, chosen):
            position = iter(flat)
            arguments[name] = map_tree(lambda _, p=position: next(p), base[name])
        return value(call(g, arguments))

    import jax.numpy as jnp

    flat = [[jnp.asarray(leaf) for leaf in leaves(base[name])] for name in wrt]
    gradients = jax.grad(loss)(flat)
    rebuilt = []
    for name, flat_gradient in zip(wrt, gradients):
        position = iter(flat_gradient)
        rebuilt.append(map_tree(lambda _, p=position: np.asarray(next(p)), base[name]))
    return tuple(rebuilt)


# ---------------------------------------------------------------- comparing


def assert_close(actual: Any, expected: Any, rtol: float, what: str, dtypes: bool = False) -> None:
    """Assert equal containers, shapes and, within `rtol` of the largest entry, values."""
    got, want = leaves(actual), leaves(expected)
    shape_of = lambda tree: map_tree(lambda _: None, tree)  # noqa: E731
    assert shape_of(actual) == shape_of(expected), (
        f"{what}: container {type(actual).__name__} {actual!r}, expected {expected!r}"
    )
    for a, e in zip(got, want):
        if not isinstance(e, (int, float, np.ndarray, np.generic)):
            assert a is e or a == e, f"{what}: {a!r}, expected {e!r}"
            continue
        assert np.shape(a) == np.shape(e), f"{what}: shape {np.shape(a)}, expected {np.shape(e)}"
        if dtypes and isinstance(e, (np.ndarray, np.generic)):
            assert np.asarray(a).dtype == e.dtype, (
                f"{what}: dtype {np.asarray(a).dtype}, expected {e.dtype}"
            )
        if isinstance(e, (np.ndarray, np.void)) and e.dtype.names is not None:
            assert np.array_equal(a, e), f"{what}: {a!r}, expected {e!r}"
            continue
        finite = np.abs(np.asarray(e, dtype=np.float64))
        scale = float(np.max(finite[np.isfinite(finite)], initial=0.0))
        np.testing.assert_allclose(
            np.asarray(a, dtype=np.float64), np.asarray(e, dtype=np.float64),
            rtol=rtol, atol=rtol * max(1.0, scale), err_msg=what,
        )  # fmt: skip
