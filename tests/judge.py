"""Checks one program: value, gradients, the arguments afterwards, and a repeated call."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import oracle
from tests.corpus import Case


@functools.cache
def expected_gradients(name: str, n: int) -> tuple[Any, ...]:
    """The gradients by finite differences of the plain function, in float64."""
    from tests.corpus import CASES

    case = CASES[name]
    args, kwargs = case.arguments(n, np.float64)
    with contextlib.redirect_stdout(io.StringIO()):
        return oracle.finite_differences(case.function, args, kwargs, case.wrt, value=case.scalar)


def transform(case: Case, backend: str | None) -> Callable[..., Any]:
    """The compiled form of a case; without a backend, `S2S_BACKEND` chooses at each call."""
    import s2s

    options: dict[str, Any] = {"backend": backend}
    if case.static:
        options["static_argnames"] = case.static
    if not case.gradient:
        return s2s.function(case.function, **options)
    wrt = case.wrt[0] if case.single else case.wrt
    return s2s.value_and_grad(case.function, wrt=wrt, has_aux=case.has_aux, **options)


def judge(
    case: Case,
    f: Callable[..., Any],
    n: int,
    dtype: Any,
    arrange: Callable[[Any], Any] = lambda tree: tree,
    label: str = "",
    repeated: float = 1e-12,
) -> None:
    """Run `f`, the transformed function, and compare it with the plain one.  `arrange` determines
    the memory layout of the arguments, `repeated` is the tolerance of a second call."""
    label = f"{case.name}, n={n}, {np.dtype(dtype).name}, {label}".rstrip(", ")
    rtol = 1e-9 if dtype is np.float64 else case.rtol32

    printed = io.StringIO()
    plain = case.arguments(n, dtype)
    with contextlib.redirect_stdout(printed):
        value = case.function(*plain[0], **plain[1])
    value = oracle.copy_tree(value)

    args, kwargs = arrange(case.arguments(n, dtype))
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        out = f(*args, **kwargs)
    assert heard.getvalue() == printed.getvalue(), f"{label}: prints {heard.getvalue()!r}"

    actual, gradients = out if case.gradient else (out, None)
    oracle.assert_close(actual, value, rtol, f"value of {label}", dtypes=True)
    oracle.assert_close((args, kwargs), plain, rtol, f"arguments after {label}")
    if not case.gradient:
        return

    before = oracle.copy_tree(gradients)
    expected = expected_gradients(case.name, n)
    compared = (gradients,) if case.single else gradients
    tolerance = 2e-6 if dtype is np.float64 else 10 * case.rtol32
    oracle.assert_close(compared, expected, tolerance, f"gradient of {label}")
    _same_dtypes(case, compared, dtype, n, label)

    args, kwargs = arrange(case.arguments(n, dtype))
    with contextlib.redirect_stdout(io.StringIO()):
        _, again = f(*args, **kwargs)
    oracle.assert_close(again, before, repeated, f"second call of {label}")
    oracle.assert_close(gradients, before, 0.0, f"first result after a second call of {label}")


def _same_dtypes(case: Case, gradients: Any, dtype: Any, n: int, label: str) -> None:
    """Check that each gradient has the dtype of its argument."""
    sources = oracle.bound(case.function, *case.arguments(n, dtype))
    for name, gradient in zip(case.wrt, gradients):
        for source, leaf in zip(oracle.leaves(sources[name]), oracle.leaves(gradient)):
            want = np.asarray(source).dtype
            assert np.asarray(leaf).dtype == want, (
                f"{label}: gradient for {name} is {np.asarray(leaf).dtype}, not {want}"
            )
