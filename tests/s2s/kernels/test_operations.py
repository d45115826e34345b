"""The table of operations is true of the functions that implement them under CPython."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s import kernels
from s2s.kernels.operations import implementation, operation
from s2s.kernels_numba import linalg as compiled_linalg  # noqa: F401  (fills the registry)

from s2s.kernels_numba import fft as compiled_fft  # noqa: F401  # isort: skip
from s2s.kernels import registry
from s2s.transforms.lower.loop_ir.operations import OPS

A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([[1.0, 2.0], [3.0, 5.0]])
OUT = np.empty((2, 2))
LINES = np.arange(6.0).reshape(1, 6, 1)
HALF = np.fft.rfft(LINES, axis=1)

ROUTINES: dict[str, tuple[Any, ...]] = {
    "rt.gemm": (False, True, 2.0, A, B, 3.0, OUT),
    "rt.gemm_at": (A, np.array([0, 2]), np.array([0, 1]), B, True, OUT),
    "rt.fft.fft": (HALF, HALF.copy(), True, 1),
    "rt.fft.rfft": (LINES, HALF.copy(), 0),
    "rt.fft.irfft": (HALF, LINES.copy(), 1),
    "rt.fft.resize": (LINES, np.empty((1, 8, 1))),
    "rt.linalg.solve": (A, B, OUT),
    "rt.linalg.inv": (A, OUT),
    "rt.linalg.solve_triangular": (A, B, 0, True, False, OUT),
    "rt.linalg.cholesky": (A, OUT),
    "rt.linalg.eigh_vectors": (A, True, OUT),
    "rt.linalg.svd_vectors": (A, np.empty((4, 2))),
    "rt.linalg.pinv": (A, 1e-15, OUT),
    "rt.linalg.solve_banded": (np.array([[0.0, 1.0], [4.0, 3.0], [1.0, 0.0]]), B, 1, 1, OUT),
    "rt.linalg.cofactor": (A, OUT),
    "rt.linalg.qr_q": (A, OUT),
    "rt.linalg.eigh_values": (A, np.linalg.eigh(A)[1], True, np.empty(2)),
    "rt.linalg.svd_values": (A, np.vstack([np.eye(2), np.eye(2)]), np.empty(2)),
    "rt.linalg.expm": (A, OUT),
    "rt.linalg.lu_compact": (A, OUT),
    "rt.linalg.lu_pivots": (A, np.empty(2, np.int64)),
    "rt.linalg.pivot_order": (np.array([1, 1]), np.empty(2, np.int64)),
    "rt.linalg.det": (A,),
    "rt.linalg.slogdet_log": (A,),
    "rt.linalg.slogdet_sign": (A,),
}


def prepared(name: str, before: float) -> list[Any]:
    """The arguments: what is only read is read-only, what is written starts as `before`."""
    given = []
    for position, value in enumerate(ROUTINES[name]):
        access = OPS[name].access_of(position)
        assert isinstance(value, np.ndarray) == (access != "value")
        if access in ("write", "update"):
            value = np.full_like(value, before)
        elif access == "read":
            value = value.copy()
            value.flags.writeable = False
        given.append(value)
    return given


def test_every_routine_on_buffers_is_tried() -> None:
    routines = {n for n, op in OPS.items() if n.startswith(("rt.gemm", "rt.fft.", "rt.linalg."))}
    assert routines == ROUTINES.keys()


@pytest.mark.parametrize("name", ROUTINES)
def test_access_and_result(name: str) -> None:
    """A written buffer does not depend on what was in it before, an updated one does."""
    op, results, buffers = OPS[name], [], []
    for before in (7.0, 11.0):
        given = prepared(name, before)
        assert op.takes(len(given))
        results.append(implementation(name)(*given))
        buffers.append([a for k, a in enumerate(given) if op.access_of(k) in ("write", "update")])
    kinds = [op.access_of(k) for k in range(len(given))]
    written = [kind for kind in kinds if kind in ("write", "update")]
    for kind, one, other in zip(written, *buffers, strict=True):
        assert np.array_equal(one, other) == (kind == "write")
    if op.result == "":
        assert results == [None, None]
    else:
        assert np.asarray(results[0]).dtype == op.result_dtype(["float64"])
        assert results[0] == (0 if op.result == "int64" else results[1])


@pytest.mark.parametrize("name", [n for n in ROUTINES if not n.startswith("rt.gemm")])
def test_routines_have_compiled_forms(name: str) -> None:
    ranks = tuple(np.ndim(a) if isinstance(a, np.ndarray) else 0 for a in ROUTINES[name])
    assert registry.compiled_form(implementation(name), ranks) is not None


SCALARS = [n for n, op in OPS.items() if op.is_pure and n not in ROUTINES]


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_functions(name: str) -> None:
    """They take as many arguments as the table says, and return its dtype."""
    op = OPS[name]
    integers = op.result == "int64" and name not in ("rt.to_int", "rt.arange_count")
    integers |= name in ("np.gcd", "np.lcm", "rt.natural_power", "np.ldexp")
    one: Any = np.int64(1) if integers else np.float64(0.5)
    if name in ("np.conj", "np.real", "np.imag", "abs"):
        one = np.complex128(0.5 + 1j)
    if name == "np.arccosh":
        one = np.float64(1.5)
    args = [one] * len(op.access)
    if name == "np.ldexp":
        args[0] = np.float64(0.5)
    if name == "rt.polygamma":
        args[0] = np.float64(1)
    assert set(op.access) == {"value"} and not op.is_variadic
    found = np.asarray(implementation(name)(*args))
    assert found.dtype == op.result_dtype([args[0].dtype.name])


@pytest.mark.parametrize("name", [n for n in OPS if n.startswith("rt.draws.")])
def test_draws_exist_and_are_no_functions_of_their_arguments(name: str) -> None:
    assert callable(implementation(name))
    op = OPS[name]
    assert op.effect == "rng" and not op.is_pure
    if "_fill_" in name or ".fill_" in name:
        assert op.access[:2].count("write") == 1 and op.result == ""


def test_a_function_has_its_operation() -> None:
    assert operation(kernels.trip_count) is OPS["rt.trip_count"]
    assert operation(np.exp) is OPS["np.exp"]
    assert operation(abs) is OPS["abs"]
    for other in (kernels.show, print, None, 3):
        assert operation(other) is None


def test_what_grows_may_be_the_same_buffer() -> None:
    op, buffer = OPS["rt.reserve"], np.zeros(4)
    buffer.flags.writeable = False
    assert op.result == "buffer" and op.may_raise
    assert kernels.reserve(buffer, 1, 2) is buffer
    with pytest.raises(MemoryError):
        kernels.reserve(buffer, 1, 1 << 62)
