"""Every case of the corpus on all back ends, in both precisions."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest

from tests import oracle
from tests.corpus import Case, load
from tests.corpus.known import KNOWN
from tests.judge import expected_gradients, judge, transform

CASES = load()
BACKENDS = ("loops", "python")


def expected_failure(name: str, label: str) -> list[Any]:
    reason = KNOWN.get(name) or KNOWN.get(f"{name}[{label}]")
    return [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]


def one_per_case(label: str, only: Any = lambda case: True) -> list[Any]:
    return [
        pytest.param(case, marks=expected_failure(name, label), id=name)
        for name, case in CASES.items()
        if only(case)
    ]


def check(case: Case, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile once, run on both interpreted backends."""
    f = transform(case, None)
    for n in case.trips:
        for backend in BACKENDS:
            monkeypatch.setenv("S2S_BACKEND", backend)
            judge(case, f, n, dtype, label=backend)


@pytest.mark.parametrize("case", one_per_case("float64"))
def test_value_and_gradient(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    check(case, np.float64, monkeypatch)


@pytest.mark.parametrize("case", one_per_case("float32"))
def test_single_precision(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    check(case, np.float32, monkeypatch)


def check_compiled(case: Case, backend: str) -> None:
    """Call twice: the first call takes the general path, the second one the call stub."""
    f = transform(case, backend)
    single = [] if f"{case.name}[compiled float32]" in KNOWN else [np.float32]
    for dtype in (np.float64, *single):
        for label in ("first call", "second call"):
            judge(case, f, case.trips[-1], dtype, label=f"{backend}, {label}")


@pytest.mark.parametrize("case", one_per_case("numba"))
def test_numba(case: Case) -> None:
    check_compiled(case, "numba")


@pytest.mark.parametrize("case", one_per_case("numba"))
def test_native(case: Case) -> None:
    check_compiled(case, "native")


@pytest.mark.parametrize("case", one_per_case("numba"))
def test_njit(case: Case) -> None:
    check_compiled(case, "njit")


def takes_arrays(case: Case) -> bool:
    found = oracle.leaves(case.arguments(case.trips[-1], np.float64))
    return any(isinstance(x, np.ndarray) and x.ndim > 0 and x.dtype.names is None for x in found)


@pytest.mark.parametrize("case", one_per_case("layout", only=takes_arrays))
def test_layouts(case: Case) -> None:
    """Strided, reversed and (unless written) read-only arguments give equal results."""
    n = case.trips[-1]
    written = _writes_arguments(case, n)

    def arrange(tree: Any) -> Any:
        def leaf(x: Any) -> Any:
            if not isinstance(x, np.ndarray) or x.dtype.names is not None:
                return x
            x = oracle.spread(x)
            x.flags.writeable = written
            return x

        return oracle.map_tree(leaf, tree)

    judge(case, transform(case, "loops"), n, np.float64, arrange)


def _writes_arguments(case: Case, n: int) -> bool:
    args, kwargs = case.arguments(n, np.float64)
    with contextlib.redirect_stdout(io.StringIO()):
        case.function(*args, **kwargs)
    try:
        oracle.assert_close((args, kwargs), case.arguments(n, np.float64), 0.0, "")
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("case", one_per_case("jax", only=lambda c: "jax" in c.tags))
def test_against_jax(case: Case) -> None:
    pytest.importorskip("jax")
    n = case.trips[-1]
    args, kwargs = case.arguments(n, np.float64)
    expected = oracle.jax_gradient(case.function, args, kwargs, case.wrt, case.scalar)
    _, gradients = transform(case, "loops")(*args, **kwargs)
    gradients = (gradients,) if case.single else gradients
    oracle.assert_close(gradients, expected, 1e-10, f"{case.name} against JAX")


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES.values()])
def test_case_is_sound(case: Case) -> None:
    """The case itself is valid: it runs, is deterministic and stays away from kinks."""
    for n in case.trips:
        with contextlib.redirect_stdout(io.StringIO()):
            first, second = (case.arguments(n, np.float64) for _ in range(2))
            one = case.function(*first[0], **first[1])
            two = case.function(*second[0], **second[1])
            oracle.assert_close(one, two, 0.0, case.name)
            if not case.gradient:
                continue
            args, kwargs = case.arguments(n, np.float64)
            coarse = oracle.finite_differences(
                case.function, args, kwargs, case.wrt, step=6e-4, value=case.scalar
            )
        oracle.assert_close(coarse, expected_gradients(case.name, n), 5e-7, case.name)
        assert all(np.all(np.isfinite(g)) for g in oracle.leaves(coarse))


def test_corpus_is_large() -> None:
    assert len(CASES) >= 400
    unknown = {key.partition("[")[0] for key in KNOWN} - set(CASES)
    assert not unknown, f"known failures of no case: {sorted(unknown)}"
