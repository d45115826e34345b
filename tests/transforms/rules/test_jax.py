"""Agreement with JAX: samples are also run with JAX's operations in place of those of s2s, and JAX
differentiates them. Differences at kinks are listed here and in docs/kinks.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Assign, Const, Function
from s2s.transforms.rules import RULES

from . import samples_structures  # noqa: F401  (adds its samples)
from .judge import Judge, Sample
from .samples import SAMPLES

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # each compiled program runs only once
jnp, special = jax.numpy, jax.scipy.special


def _item(item: tuple[Any, ...], args: Any) -> Any:
    kind, *at = item
    if kind == "slice":
        return slice(*(None if p is None else int(args[p]) for p in at))
    return {"all": slice(None), "new": None}[kind] if kind in ("all", "new") else args[at[0]]


def _index(x: Any, *operands: Any, items: Any) -> Any:
    return x[tuple(_item(i, (x, *operands)) for i in items)]


def _update(add: bool) -> Callable[..., Any]:
    def update(x: Any, v: Any, *operands: Any, path: Any) -> Any:
        if path and path[0][0] == "transpose":
            return update(jnp.transpose(x), v, path=()).T
        index = tuple(_item(i, (x, v, *operands)) for i in path[0][1]) if path else ...
        return x.at[index].add(v) if add else x.at[index].set(v)

    return update


def _part(function: Callable[..., Any], k: int) -> Callable[..., Any]:
    return lambda x, **attrs: function(x)[k]


# Operations with another name or other parameters in JAX.
THEIRS: dict[str, Callable[..., Any]] = {
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "ndtri": special.ndtri,
    "expit": special.expit, "lgamma": special.gammaln, "gamma": special.gamma,
    "digamma": special.digamma, "beta": special.beta, "betaln": special.betaln,
    "polygamma": lambda n, x: special.polygamma(n, x) if n else special.digamma(x),
    "strong_mul": jnp.multiply, "clip_low": jnp.maximum, "clip_high": jnp.minimum,
    "index": _index, "update": _update(False), "update_add": _update(True),
    "cast": lambda x, dtype, weak=False: jnp.asarray(x).astype(dtype),
    "transpose": lambda x, axes: jnp.transpose(x, axes),
    "reshape": lambda x, *sizes: jnp.reshape(x, tuple(map(int, sizes))),
    "broadcast_to": lambda x, *sizes: jnp.broadcast_to(x, tuple(map(int, sizes))),
    "broadcast_like": lambda x, like: jnp.broadcast_to(x, like.shape),
    "expand_dims": lambda x, axes: jnp.expand_dims(x, axes),
    "squeeze": lambda x, axes: jnp.squeeze(x, axes),
    "concatenate": lambda *xs, axis: jnp.concatenate(xs, axis),
    "stack": lambda *xs, axis: jnp.stack(xs, axis),
    "full": lambda x, *sizes, dtype: jnp.full(tuple(map(int, sizes)), x, dtype),
    "full_like": lambda x, v, dtype: jnp.full_like(x, v, dtype),
    "zeros_like": lambda x, dtype: jnp.zeros_like(x), "ones_like": lambda x, dtype: x * 0 + 1,
    "pack": lambda *xs, shape, dtype: jnp.asarray(jnp.stack(xs), dtype).reshape(shape),
    "linspace": lambda x, y, n, endpoint, dtype: jnp.linspace(x, y, int(n), endpoint),
    "eye": lambda n, m, k, dtype: jnp.eye(int(n), int(m), int(k)),
    "shape": lambda x, axis: x.shape[axis],
    "copy": lambda x: x, "same": lambda x: x, "literal": lambda x: x,
    "stop_gradient": jax.lax.stop_gradient,
    "einsum": lambda *xs, subscripts: jnp.einsum(subscripts, *xs),
    "solve": jnp.linalg.solve, "inv": jnp.linalg.inv, "det": jnp.linalg.det,
    "slogdet_sign": _part(jnp.linalg.slogdet, 0), "slogdet_log": _part(jnp.linalg.slogdet, 1),
    "cholesky": jnp.linalg.cholesky, "expm": jax.scipy.linalg.expm,
    "eigh_vectors": _part(jnp.linalg.eigh, 1), "qr_q": _part(jnp.linalg.qr, 0),
    "eigh_values": lambda x, v, **attrs: jnp.linalg.eigh(x)[0],
    "fft": lambda x, axis, inverse, norm: (jnp.fft.ifft if inverse else jnp.fft.fft)(
        x, axis=axis, norm=norm
    ),
    "rfft": jnp.fft.rfft, "irfft": lambda x, n, axis, norm: jnp.fft.irfft(x, int(n), axis, norm),
}  # fmt: skip
# Operations that JAX lacks, or does not differentiate.
OURS_ALONE = set(
    """erfcx erfcinv jv iv ive unbroadcast nextafter float_power spacing empty empty_like shape
    field restore undef resize cofactor solve_triangular svd_vectors svd_values pinv lu_compact
    lu_pivots pivot_order solve_banded arange zeros ones list_new list_append list_drop list_set
    list_get list_len list_zeros_like list_stack list_unstack exp_as exp_ratio_as log_add
    log_add_four log_add_three log_as log_cosh log_logistic log_part log_plus log_ratio_as log_share
    log_total quotient_as weighed_share tuple tuple_part""".split()
)
NAMES = sorted(set(RULES) - OURS_ALONE)


def theirs(name: str) -> Callable[..., Any]:
    return THEIRS.get(name) or getattr(jnp, name)


def run(function: Function, args: Any) -> Any:
    """A straight-line program with JAX's operations."""
    values = dict(zip([p.name for p in function.params], args))

    def read(x: Any) -> Any:
        return x.value if isinstance(x, Const) else values[x.name]

    for stmt in function.body:
        if isinstance(stmt, Assign):  # other statements are checks
            operation = theirs(stmt.op.name)
            values[stmt.target.name] = operation(*map(read, stmt.op.args), **stmt.op.attrs)
    return read(function.results[0])


def few(name: str) -> list[Sample]:
    """One sample of an operation, or several of different kinds if it has axis or index
    attributes."""
    full = [s for s in SAMPLES[name] if all(np.size(a) for a in s.args) and s.args]
    several = RULES[name].kind in ("reduce", "scan", "index", "update", "view")
    return full[:: max(1, len(full) // 3)] if several else full[:1]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree(name: str) -> None:
    assert callable(theirs(name)), name
    for sample in few(name):
        judge = Judge(sample)
        if not judge.differentiable:
            continue
        function = judge.scalar.main
        at = [i for i, p in enumerate(function.params) if p.name in judge.active]
        args = judge.args()

        def scalar(*values: Any) -> Any:
            moved = dict(zip(at, values))
            return run(function, [moved.get(i, a) for i, a in enumerate(args)])

        found = jax.jit(jax.grad(scalar, tuple(range(len(at)))))(*(args[i] for i in at))
        ours = judge.gradients(judge.vjp())
        for g, h in zip(ours.values(), found):
            np.testing.assert_allclose(g, h, 1e-8, 1e-10, err_msg=sample.id)


# ---------------------------------------------------------------- kinks

# Operation, operands, partials of s2s, partials of JAX: all points where the conventions differ,
# and neighbouring points where they agree.
KINKS: list[tuple[str, tuple[float, ...], tuple[float, ...], tuple[float, ...]]] = [
    ("absolute", (0.0,), (0.0,), (1.0,)),
    ("fabs", (0.0,), (0.0,), (1.0,)),
    ("maximum", (1.0, 1.0), (0.5, 0.5), (0.5, 0.5)),
    ("minimum", (1.0, 1.0), (0.5, 0.5), (0.5, 0.5)),
    ("fmax", (1.0, 1.0), (0.5, 0.5), (0.0, 1.0)),
    ("fmin", (1.0, 1.0), (0.5, 0.5), (0.0, 1.0)),
    ("clip", (1.0, 1.0, 2.0), (1.0, 0.0, 0.0), (0.5, 0.5, 0.0)),
    ("clip", (2.0, 1.0, 2.0), (1.0, 0.0, 0.0), (0.5, 0.0, 0.5)),
    ("sqrt", (0.0,), (np.inf,), (np.inf,)),
    ("cbrt", (0.0,), (np.inf,), (np.inf,)),
    ("hypot", (0.0, 0.0), (0.0, 0.0), (0.5, 0.5)),
    ("power", (0.0, 2.0), (0.0, 0.0), (0.0, 0.0)),
    ("power", (0.0, 1.0), (1.0, 0.0), (1.0, 0.0)),
    ("power", (0.0, 0.0), (0.0, 0.0), (np.nan, 0.0)),
    ("copysign", (0.0, 1.0), (0.0, 0.0), (1.0, 0.0)),
    ("arctan2", (0.0, 0.0), (np.nan, np.nan), (np.nan, np.nan)),
    ("heaviside", (0.0, 0.5), (0.0, 1.0), (0.0, 1.0)),
]


@pytest.mark.parametrize(("name", "args", "ours", "others"), KINKS)
def test_kinks(name: str, args: Any, ours: Any, others: Any) -> None:
    sample = Sample(name, tuple(map(np.float64, args)), lambda b, *xs: b.emit(name, *xs))
    judge = Judge(sample)
    judge.weights = judge.weights * 0 + 1 / np.cos(judge.value())  # undoes the judge's sin
    found = list(judge.gradients(judge.vjp()).values())
    np.testing.assert_allclose(found, ours)
    with jax.debug_nans(False):
        theirs_ = jax.grad(theirs(name), argnums=tuple(range(len(args))))(*args)
    np.testing.assert_allclose(np.asarray(theirs_), others)
