"""Random draws: methods of `np.random.Generator`, and the functions of `np.random`.

A draw with a location and a scale is expanded to a standard draw, shifted and scaled (the
reparametrisation trick).  NumPy computes it in the same way, so the values are identical, and the
result is differentiable in both parameters.  The standard draw is a `Draw` statement, which is
inactive, is executed once and is never repeated (`transforms/rules/random_draws.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym, resolve_dims
from ...ir.errors import S2STypeError, UnsupportedError
from ...ir.nodes import Array, Draw, Rng, Scalar, Type, Var
from ...ir.op_registry import surface
from ..axes_and_sizes import constant_value, require_static, symbolic_size
from ..declare import as_operand, as_python_float, refuse_keywords
from ..dtypes import as_dtype
from .creation import as_sizes
from .random_checks import check_parameters, require_valid

# Distributions that are not differentiable in their parameters, with the parameter names.
CONTINUOUS = {
    "standard_cauchy": (), "beta": ("a", "b"), "chisquare": ("df",),
    "noncentral_chisquare": ("df", "nonc"), "f": ("dfnum", "dfden"), "standard_t": ("df",),
    "vonmises": ("mu", "kappa"), "wald": ("mean", "scale"),
    "triangular": ("left", "mode", "right"), "weibull": ("a",), "power": ("a",),
    "pareto": ("a",),
}  # fmt: skip
DISCRETE = {
    "poisson": ("lam",), "binomial": ("n", "p"), "geometric": ("p",),
    "negative_binomial": ("n", "p"), "zipf": ("a",), "logseries": ("p",),
    "hypergeometric": ("ngood", "nbad", "nsample"),
}  # fmt: skip
_INTEGER_PARAMETERS = ("hypergeometric", "binomial")  # their first parameters are counts
_DEFAULTS = {"poisson": {"lam": 1.0}}


# ---------------------------------------------------------------- draws


def draw(
    b: Builder, rng: Sym | None, method: str, args: Sequence[Any], size: Any, dtype: str
) -> Sym:
    """Emit one draw: a Python scalar if `size` is None, otherwise an array."""
    operands = tuple(b.sym(a).operand for a in args)
    sizes = None if size is None else tuple(b.sym(s).operand for s in size)
    type_: Type = Scalar(dtype, weak=True)
    if sizes is not None:
        type_ = Array(dtype, tuple(symbolic_size(s) for s in sizes))
    elif method == "default_rng":
        type_ = Rng()
    name = b.names.fresh(b.hint)
    target = Var(name, resolve_dims(type_, name))
    source = None if rng is None else rng.operand
    b.block.append(Draw([target], source, method, operands, sizes, b.origin))
    return b.sym(target)


def _float(b: Builder, value: Any) -> Sym:
    x = as_operand(b, value)
    return x.astype("float64") if x.ndim else as_python_float(b, x)


def _parameters(
    b: Builder, size: Any, *values: Any, convert: Callable[[Builder, Any], Sym] = _float
) -> tuple[list[Sym], list[Any] | None]:
    """The converted parameters, and the sizes of the result.

    The sizes are those requested, or the broadcast shape of the parameters.  Array parameters are
    broadcast to these sizes."""
    params = [convert(b, v) for v in values]
    sizes = None if size is None else as_sizes(b, size)
    if not any(p.ndim for p in params):
        return params, sizes
    arrays = [p for p in params if p.ndim]
    if sizes is None:
        total = arrays[0]
        for p in arrays[1:]:
            total = total + p
        sizes = list(total.shape)
        if len(arrays) == 1:
            return params, sizes
    return [b.emit("broadcast_to", p, *sizes) if p.ndim else p for p in params], sizes


def _check_scale(b: Builder, scale: Sym, name: str = "scale") -> None:
    require_valid(b, constant_value(scale) < 0.0, f"{name} < 0")


def _shifted(b: Builder, z: Sym, loc: Sym, scale: Sym) -> Sym:
    """loc + scale * z, simplified for a constant loc of 0 or scale of 1."""
    if constant_value(scale) is scale or constant_value(scale) != 1.0:
        z = scale * z
    return z if constant_value(loc) is not loc and constant_value(loc) == 0.0 else loc + z


# ---------------------------------------------------------------- location and scale


def _location_scale(method: str, standard: str) -> None:
    @_generator_and_legacy(method)
    def build(b: Builder, rng: Any, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Sym:
        (at, spread), sizes = _parameters(b, size, loc, scale)
        _check_scale(b, spread)
        return _shifted(b, draw(b, rng, standard, (), sizes, "float64"), at, spread)


def _scale(method: str, standard: str) -> None:
    @_generator_and_legacy(method)
    def build(b: Builder, rng: Any, scale: Any = 1.0, size: Any = None) -> Sym:
        (spread,), sizes = _parameters(b, size, scale)
        _check_scale(b, spread)
        return _shifted(b, draw(b, rng, standard, (), sizes, "float64"), b.sym(0.0), spread)


def _generator_and_legacy(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a `Generator` method and the function of `np.random` with the same arguments."""

    def declare(build: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            surface(f"numpy.random.Generator.{name}")(build)

            def legacy(b: Builder, *args: Any, **keywords: Any) -> Any:
                return build(b, None, *args, **keywords)

            if hasattr(np.random, name):
                surface(f"numpy.random.{name}")(legacy)
        return build

    return declare


for _name, _draw in (
    ("normal", "standard_normal"),
    ("laplace", "laplace"),
    ("gumbel", "gumbel"),
    ("logistic", "logistic"),
):
    _location_scale(_name, _draw)
_scale("exponential", "standard_exponential")
_scale("rayleigh", "rayleigh")


@_generator_and_legacy("lognormal")
def lognormal(b: Builder, rng: Any, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Sym:
    (at, spread), sizes = _parameters(b, size, mean, sigma)
    _check_scale(b, spread, "sigma")
    return np.exp(_shifted(b, draw(b, rng, "standard_normal", (), sizes, "float64"), at, spread))


@_generator_and_legacy("uniform")
def uniform(b: Builder, rng: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Sym:
    (low, high), sizes = _parameters(b, size, low, high)
    u = draw(b, rng, "random" if rng is not None else "random_sample", (), sizes, "float64")
    bounds = constant_value(low), constant_value(high)
    if not any(isinstance(x, Sym) for x in bounds):
        return _shifted(b, u, low, b.sym(float(bounds[1]) - float(bounds[0])))
    return _shifted(b, u, low, high - low)


@_generator_and_legacy("gamma")
def gamma(b: Builder, rng: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Sym:
    (shape, spread), sizes = _parameters(b, size, shape, scale)
    check_parameters(b, "standard_gamma", [shape])
    _check_scale(b, spread)
    shape = _full(b, [shape], sizes)[0] if spread.ndim or shape.ndim else shape
    return _shifted(
        b, draw(b, rng, "standard_gamma", (shape,), sizes, "float64"), b.sym(0.0), spread
    )


def _full(b: Builder, params: list[Sym], sizes: list[Any] | None) -> list[Sym]:
    """All parameters as arrays of the result's shape if one of them is an array."""
    if sizes is None or not any(p.ndim for p in params):
        return params
    return [b.emit("copy", p if p.ndim else b.emit("broadcast_to", p, *sizes)) for p in params]


# ---------------------------------------------------------------- standard draws


def _standard(name: str) -> None:
    def build(
        b: Builder, rng: Sym, size: Any = None, dtype: Any = np.float64, out: Any = None,
        **more: Any,
    ) -> Sym:  # fmt: skip
        refuse_keywords(f"numpy.random.Generator.{name}", {"out": out})
        if more.pop("method", "zig") != "zig":
            refuse_keywords(f"numpy.random.Generator.{name}", {"method": "inv"})
        wanted = _float_dtype(name, dtype)
        return _drawn(b, rng, name, (), None if size is None else as_sizes(b, size), wanted)

    surface(f"numpy.random.Generator.{name}")(build)


def _float_dtype(name: str, dtype: Any) -> str:
    found = as_dtype(dtype)
    if found not in ("float64", "float32"):
        raise TypeError(f"Unsupported dtype dtype('{found}') for {name}")
    return found


def _drawn(b: Builder, rng: Any, name: str, args: Any, sizes: Any, dtype: str) -> Sym:
    """Emit a standard draw; a scalar float32 draw is converted to a Python float, as in NumPy."""
    if sizes is not None or dtype == "float64":
        return draw(b, rng, name, args, sizes, dtype)
    one = draw(b, rng, name, args, [1], dtype)
    return b.emit("cast", b.emit("index", one, 0, items=(("int", 1),)), dtype="float64", weak=True)


for _name in ("random", "standard_normal", "standard_exponential"):
    _standard(_name)


@surface("numpy.random.Generator.standard_gamma")
def standard_gamma(
    b: Builder, rng: Sym, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None
) -> Sym:
    refuse_keywords("numpy.random.Generator.standard_gamma", {"out": out})
    params, sizes = _parameters(b, size, shape)
    check_parameters(b, "standard_gamma", params)
    wanted = _float_dtype("standard_gamma", dtype)
    return _drawn(b, rng, "standard_gamma", _full(b, params, sizes), sizes, wanted)


@surface("numpy.random.standard_gamma")
def legacy_standard_gamma(b: Builder, shape: Any, size: Any = None) -> Sym:
    params, sizes = _parameters(b, size, shape)
    check_parameters(b, "standard_gamma", params)
    return draw(b, None, "standard_gamma", _full(b, params, sizes), sizes, "float64")


def _legacy_standard(path: str, method: str, spread_sizes: bool) -> None:
    """Declare `random(size)`, or `rand(n, m)`, which takes the sizes as separate arguments."""

    def sized(b: Builder, size: Any = None) -> Sym:
        return draw(b, None, method, (), None if size is None else as_sizes(b, size), "float64")

    def spread(b: Builder, *sizes: Any) -> Sym:
        return sized(b, sizes or None)

    surface(f"numpy.random.{path}")(spread if spread_sizes else sized)


for _name in ("random", "random_sample", "ranf", "sample"):
    _legacy_standard(_name, "random_sample", False)
for _name in ("standard_normal", "standard_exponential"):
    _legacy_standard(_name, _name, False)
_legacy_standard("rand", "random_sample", True)
_legacy_standard("randn", "standard_normal", True)


# ---------------------------------------------------------------- other distributions


def _plain(name: str, names: tuple[str, ...], dtype: str) -> None:
    convert = _count if name in _INTEGER_PARAMETERS else _float

    @_generator_and_legacy(name)
    def build(b: Builder, rng: Any, *given: Any, **keywords: Any) -> Sym:
        bound = {**_DEFAULTS.get(name, {}), **dict(zip((*names, "size"), given)), **keywords}
        size = bound.pop("size", None)
        if set(bound) != set(names):
            raise TypeError(f"{name}() takes {', '.join((*names, 'size'))}")
        params, sizes = _parameters(b, size, *(bound[n] for n in names), convert=convert)
        check_parameters(b, name, params)
        return draw(b, rng, name, _full(b, params, sizes), sizes, dtype)


def _count(b: Builder, value: Any) -> Sym:
    """A parameter that may be a count: integers stay integers, floats become float64."""
    x = as_operand(b, value)
    return _float(b, x) if x.dtype.startswith("float") else x.astype("int64")


for _name, _names in CONTINUOUS.items():
    _plain(_name, _names, "float64")
for _name, _names in DISCRETE.items():
    _plain(_name, _names, "int64")


# ---------------------------------------------------------------- integers


@surface("numpy.random.Generator.integers")
def integers(
    b: Builder, rng: Sym, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
    endpoint: Any = False,
) -> Sym:  # fmt: skip
    return _integers(
        b, rng, "integers", low, high, size, dtype, require_static(endpoint, "endpoint")
    )


@surface("numpy.random.randint")
def randint(b: Builder, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Sym:
    return _integers(b, None, "randint", low, high, size, dtype, False)


def _integers(
    b: Builder, rng: Any, method: str, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool
) -> Sym:
    if high is None:
        low, high = 0, low
    params = [as_operand(b, v) for v in (low, high)]
    if any(not p.dtype.startswith(("int", "uint", "bool")) for p in params):
        raise UnsupportedError(f"{method} with a float bound", advice="pass integers")
    if as_dtype(dtype) != "int64":
        raise UnsupportedError(
            f"{method} with dtype={as_dtype(dtype)} is not supported",
            advice="draw int64 and convert with .astype",
        )
    if endpoint:
        params[1] = params[1] + 1
    params, sizes = _parameters(b, size, *params, convert=lambda _, p: p.astype("int64"))
    require_valid(b, constant_value(params[0]) >= constant_value(params[1]), "low >= high")
    drawn = draw(b, rng, method, _full(b, params, sizes), sizes, "int64")
    if sizes is None and dtype is not int:
        return b.emit("cast", drawn, dtype="int64")
    return drawn


# ---------------------------------------------------------------- choice and permutation


def permutation_indices(b: Builder, rng: Sym | None, count: Any) -> Sym:
    """A random permutation of 0 … count - 1, used as an index to shuffle an array."""
    return draw(b, rng, "permutation", (count,), [count], "int64")


@_generator_and_legacy("permutation")
def permutation(b: Builder, rng: Any, x: Any, axis: Any = 0) -> Sym:
    x = as_operand(b, x)
    if x.ndim == 0:
        return permutation_indices(b, rng, x.astype("int64"))
    axis = require_static(axis, "axis") % x.ndim
    order = permutation_indices(b, rng, x.shape[axis])
    items = tuple(("array", 1) if k == axis else ("all",) for k in range(x.ndim))
    return b.emit("index", x, order, items=items)


@surface("numpy.random.Generator.choice")
def choice(
    b: Builder, rng: Any, a: Any, size: Any = None, replace: Any = True, p: Any = None,
    axis: Any = 0, shuffle: Any = True,
) -> Sym:  # fmt: skip
    if require_static(shuffle, "shuffle") is not True:
        refuse_keywords("numpy.random.Generator.choice", {"shuffle": shuffle})
    x = as_operand(b, a)
    axis = require_static(axis, "axis") % max(x.ndim, 1)
    count = x.shape[axis] if x.ndim else x.astype("int64")
    sizes = None if size is None else as_sizes(b, size)
    weights = [] if p is None else [b.emit("copy", _float(b, p))]
    args = (count, bool(require_static(replace, "replace")), *weights)
    drawn = draw(b, rng, "choice", args, sizes, "int64")
    if x.ndim == 0:
        return drawn if sizes is not None or rng is None else b.emit("cast", drawn, dtype="int64")
    kind = "array" if sizes is not None else "int"
    items = tuple((kind, 1) if k == axis else ("all",) for k in range(x.ndim))
    return b.emit("index", x, drawn, items=items)


@surface("numpy.random.choice")
def legacy_choice(b: Builder, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Sym:
    x = as_operand(b, a)
    if x.ndim > 1:
        raise ValueError("a must be 1-dimensional")
    return choice(b, None, a, size, replace, p)


# ---------------------------------------------------------------- generators


@surface("numpy.random.default_rng")
def default_rng(b: Builder, seed: Any = None) -> Sym:
    if isinstance(constant_value(seed), Sym) and isinstance(seed.type, Rng):
        return seed
    return draw(b, None, "default_rng", _seed(seed, "default_rng"), None, "")


@surface("numpy.random.seed")
def seed(b: Builder, seed: Any = None) -> None:
    args = tuple(b.sym(s).operand for s in _seed(seed, "seed"))
    b.block.append(Draw([], None, "seed", args, None, b.origin))


def _seed(seed: Any, name: str) -> tuple[Any, ...]:
    if seed is None:
        return ()
    kind = type(seed).__name__ if isinstance(seed, (tuple, list)) else ""
    if isinstance(seed, Sym):
        kind = "an array" if seed.ndim else "" if seed.dtype.startswith("int") else seed.dtype
    if kind:
        raise S2STypeError(f"{name} takes one integer here, not {kind}")
    return (seed,)
