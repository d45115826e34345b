"""Log-domain differentiation: operations that are differentiated through a logarithm.

In float32 `1 / (1 + exp(-x))` is 0 for x below -88, and the chain rule then multiplies 0 by an
infinite exponential.  The `log_domain` pass replaces such a value `v` by an operation with a second
operand `ln`, the logarithm of `v` as a function of the inputs.  The operation returns `v`
unchanged, bit by bit.  It is differentiated with respect to `ln`, with partials that cannot
overflow.  The partials are log-domain operations again, so second derivatives are stable, too.

The first operand is the value `v`.  It is not differentiable: `log_domain.erase_log_domain`
replaces the operation by it after differentiation.  Logarithms are computed only where a partial
needs their value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Block, If, Phi, Type
from ...ir.op_registry import Rule, register
from ..batching_rules import Mapped
from ..declare import elementwise_pullback, elementwise_pushforward
from ..numpy.reductions import expand_reduced, reduce_keepdims, reduce_like_result, reduced_count
from ..operation_text import call

LOG_DOMAIN_RULES: dict[str, Rule] = {}


def _infer(b: Builder, types: Sequence[Type], attrs: Any, operands: Any = None) -> Type:
    return types[0]


def _batch(m: Mapped) -> Sym:
    return m.emit(m.name, *(m.lifted(i) for i in range(len(m.args))), **m.attrs)


def _declare(
    differentiable: tuple[int, ...],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an elementwise operation from a function that returns its partials."""

    def declare(partials: Callable[..., Any]) -> Callable[..., Any]:
        _register(
            partials, differentiable, _batch, False,
            elementwise_pullback(partials, False), elementwise_pushforward(partials, False),
        )  # fmt: skip
        return partials

    return declare


def _register(
    declared: Callable[..., Any],
    differentiable: tuple[int, ...],
    batching: Callable[[Mapped], Sym],
    singular: bool,
    pullback: Callable[..., Any],
    pushforward: Callable[..., Any],
) -> None:
    name = declared.__name__
    LOG_DOMAIN_RULES[name] = register(
        Rule(
            name, "elementwise", _infer, evaluate=lambda v, *rest, **attrs: v, text=call(name),
            pullback=pullback, pushforward=pushforward, batching=batching,
            differentiable=differentiable, singular=singular, doc=(declared.__doc__ or "").strip(),
        )
    )  # fmt: skip


# ---------------------------------------------------------------- values


@_declare((1,))
def exp_as(v, ln, *, out):
    """v, which is exp(ln) up to sign and a constant factor"""
    return 0, out


def _ratio_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    return {1: b.emit("strong_mul", g, out)}


def _ratio_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    return None if dots[1] is None else b.emit("strong_mul", dots[1], out)


def exp_ratio_as():
    """as exp_as, for a v that may be NaN: products with it are strong"""


_register(exp_ratio_as, (1,), _batch, True, _ratio_pullback, _ratio_pushforward)


@_declare((1,))
def log_as(v, ln):
    """v, which is ln up to a constant"""
    return 0, 1


@_declare((1,))
def log_ratio_as(v, ln):
    """v, which is ln up to a constant; its derivative is NaN where v is NaN"""
    return 0, np.where(np.isnan(v), v, 1.0)


def _quotient_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    _, a, d, ln = args
    bars = {1: b.emit("quotient_as", g / d, g, d, ln), 3: -(g * out)}
    return {i: bars[i] for i in wanted}


def _quotient_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    _, a, d, ln = args
    terms = []
    if dots[1] is not None:
        terms.append(b.emit("quotient_as", dots[1] / d, dots[1], d, ln))
    if dots[3] is not None:
        terms.append(-(dots[3] * out))
    return sum(terms[1:], terms[0]) if terms else None


def quotient_as():
    """v, which is a / d, where d is exp(ln) up to a constant factor"""


_register(quotient_as, (1, 3), _batch, False, _quotient_pullback, _quotient_pushforward)


# ---------------------------------------------------------------- logarithms of sums


@_declare((1, 2))
def log_add(v, x, y):
    """the logarithm v of exp(x) + exp(y)"""
    difference = np.where((x == y) & np.isinf(x), 0.0, x - y)
    # Logistic functions: the `log_domain` pass finds them if they are differentiated again.
    return 0, 1.0 / (1.0 + np.exp(-difference)), 1.0 / (1.0 + np.exp(difference))


@_declare((1, 2, 3))
def log_add_three(v, x, y, z):
    """the logarithm v of exp(x) + exp(y) + exp(z)"""
    return 0, *_shares(x, y, z)


@_declare((1, 2, 3, 4))
def log_add_four(v, x, y, z, w):
    """the logarithm v of exp(x) + exp(y) + exp(z) + exp(w)"""
    return 0, *_shares(x, y, z, w)


def _shares(*logs: Any) -> tuple[Any, ...]:
    """The softmax of a few logarithms, shifted by the largest."""
    b = logs[0].b
    largest = functools.reduce(lambda x, y: b.emit("maximum", x, y), logs)
    parts = [np.exp(np.where((x == largest) & np.isinf(x), 0.0, x - largest)) for x in logs]
    total = sum(parts[1:], parts[0])
    return tuple(p / total for p in parts)


@_declare((1,))
def log_cosh(v, t):
    """the logarithm v of cosh(t)"""
    return 0, np.tanh(t)


@_declare((4,))
def log_plus(v, d, c, p, ln):
    """the logarithm v of d = c + p, where p is exp(ln) and c a positive constant"""
    return 0, 0, 0, 0, _one_share(p / d, v, d, c, p, ln)


@_declare((4,))
def log_logistic(v, s, c, p, x):
    """the logarithm v of s = 1 / (c + p), where p is exp(-x) and c a positive constant"""
    return 0, 0, 0, 0, _one_share(p * s, -v, c + p, c, p, -x)


def _one_share(quotient: Sym, v: Sym, d: Sym, c: Sym, p: Sym, ln: Sym) -> Sym:
    """p / d as a log-domain value; 1 where both are infinite."""
    share = p.b.emit("where", p == np.inf, 1.0, quotient)  # p is non-negative
    return ln.b.emit("exp_as", share, ln.b.emit("log_part", ln - v, d, c, p, ln))


@_declare((4,))
def log_part(v, d, c, p, ln):
    """the logarithm v of p / d in d = c + p, where p is exp(ln) and c a positive constant"""
    whole = ln.b.emit("log_plus", ln - v, d, c, p, ln)
    return 0, 0, 0, 0, ln.b.emit("exp_as", c / d, -whole)


def _shifted_axes(m: Mapped) -> dict[str, Any]:
    """The attributes with the reduced axes moved by one, after the batch axis."""
    axis = range(m.types[-1].ndim) if m.attrs["axis"] is None else m.attrs["axis"]
    return {**m.attrs, "axis": tuple(i + 1 for i in axis)}


def _batch_along(m: Mapped) -> Sym:
    args = [m.lifted(i) for i in range(len(m.args))]
    return m.emit(m.name, *args, **_shifted_axes(m))


def _weighed(b: Builder, g: Any, out: Sym, d: Sym, p: Sym, ln: Sym, attrs: dict[str, Any]) -> Sym:
    """`g * p / d`: `g` times the share of each element of `p` in the sum `d`.

    If a sum is so large or so small that digits are lost, an emitted branch recomputes the shares
    from the logarithms, as a softmax shifted by the maximum."""
    b.hint = "share"
    count, plus = reduced_count(b, p, attrs), attrs["plus"]
    plain = expand_reduced(b, g / (d * count if attrs["mean"] else d), p, attrs) * p
    b.hint = "lost"
    least = float(np.sqrt(np.finfo(d.dtype).tiny))
    lost = d >= 1.0 / least
    if plus < least:
        lost = lost | (d <= least)
    lost = b.emit("any", lost, axis=None, keepdims=False) if lost.ndim else lost
    if not isinstance(count, int):
        lost = lost & (b.sym(count) > 0)
    again: Block = []
    with b.into(again):
        b.hint = "largest"
        largest = reduce_keepdims(b, "max", ln, attrs)
        b.hint = "share"
        e = np.exp(np.where(ln == largest, 0.0, ln - largest))  # 0 if both are infinite
        total = reduce_keepdims(b, "sum", e, attrs)
        share = e / (total + plus * np.exp(-largest) if plus else total)
        # An update of the same array, so that a loop needs only one buffer.
        better = b.emit("update", plain, expand_reduced(b, g, p, attrs) * share, path=())
    weighed = b.var(plain.type, "share")
    phi = Phi(weighed, better.operand, plain.operand)
    b.block.append(If(lost.operand, again, [], [phi], b.origin))
    return b.emit("weighed_share", weighed, g, out, d, p, ln, **attrs)


def _weighed_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    _, weight, whole, d, p, ln = (b.sym(a) for a in args)
    bars = {}
    if 1 in wanted:
        shares = _weighed(b, b.emit("ones_like", d, dtype=d.dtype), whole, d, p, ln, attrs)
        bars[1] = reduce_like_result(b, "sum", g * shares, attrs)
    if 2 in wanted or 5 in wanted:
        bars[5] = g * out
        bars[2] = -reduce_like_result(b, "sum", bars[5], attrs)
    return {i: bars[i] for i in wanted}


def _weighed_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    _, weight, whole, d, p, ln = (b.sym(a) for a in args)
    terms = []
    if dots[1] is not None:
        terms.append(_weighed(b, dots[1], whole, d, p, ln, attrs))
    if dots[2] is not None:
        terms.append(-(out * expand_reduced(b, dots[2], p, attrs)))
    if dots[5] is not None:
        terms.append(out * dots[5])
    return sum(terms[1:], terms[0]) if terms else None


def weighed_share():
    """v, which is g * p / d: the shares of the elements of p in their sum d, times g"""


_register(
    weighed_share, (1, 2, 5), _batch_along, False, _weighed_pullback, _weighed_pushforward
)  # fmt: skip


def _total_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    _, d, p, ln = (b.sym(a) for a in args)
    return {3: _weighed(b, g, b.sym(out), d, p, ln, attrs)}


def _total_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    _, d, p, ln = (b.sym(a) for a in args)
    if dots[3] is None:
        return None
    shares = _weighed(b, b.emit("ones_like", d, dtype=d.dtype), b.sym(out), d, p, ln, attrs)
    return reduce_like_result(b, "sum", dots[3] * shares, attrs)


def log_total():
    """the logarithm v of d, the sum or mean of p along axes and a constant, where p is exp(ln)"""


_register(log_total, (3,), _batch_along, False, _total_pullback, _total_pushforward)


def _share_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: Any, wanted: Any
) -> dict[int, Any]:
    _, share, ln = (b.sym(a) for a in args)
    return {2: g - _softmax(b, share, out) * reduce_keepdims(b, "sum", g, attrs)}


def _share_pushforward(b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: Any) -> Any:
    _, share, ln = (b.sym(a) for a in args)
    if dots[2] is None:
        return None
    return dots[2] - reduce_keepdims(b, "sum", dots[2] * _softmax(b, share, out), attrs)


def _softmax(b: Builder, share: Sym, out: Any) -> Sym:
    """The share as a log-domain value; `out` is its logarithm."""
    return b.emit("exp_as", share, out)


def log_share():
    """the logarithm v of share, which is exp(ln) divided by its sum along axes"""


_register(log_share, (2,), _batch_along, False, _share_pullback, _share_pushforward)
