"""Every operation has a function in kernels, or a reason why it has none."""

from __future__ import annotations

import itertools
import math
import types

import numpy as np
import pytest

from s2s import kernels as rt
from s2s.transforms.lower.loop_ir.operations import OPS
from s2s.transforms.lower.target import device_functions
from s2s.transforms.lower.target.device_functions import (
    available_functions,
    device_function_text,
)

# Routines that the host calls or that are written out as loops.
NOT_IN_KERNELS = {"rt.gemm", "rt.gemm_at", "rt.reserve", "np.imag"}


def test_every_operation_is_spelled_or_unavailable():
    unavailable = {name for name, op in OPS.items() if "cuda" in op.unavailable}
    assert available_functions() - NOT_IN_KERNELS == set(OPS) - unavailable - NOT_IN_KERNELS
    assert not available_functions() & unavailable


class _Cuda:
    @staticmethod
    def jit(**options):
        return lambda f: f


def device_function(name: str):
    """A device function as Python, with NumPy's functions."""
    quiet = types.SimpleNamespace(
        copysign=np.copysign, exp=np.exp, fmod=np.fmod, log1p=np.log1p, sin=np.sin
    )
    library = types.SimpleNamespace(ceil=np.ceil, floor=np.floor)
    space = {"cuda": _Cuda, "math": quiet, "np": np, "libdevice": library}
    exec(device_function_text(name), space)

    def call(*args):
        with np.errstate(all="ignore"):
            return space[name](*args)

    return call


FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.5,
    -2.5,
    3.0,
    1e300,
    -1e300,
    1e-300,
    math.inf,
    -math.inf,
    math.nan,
]
INTS = [0, 1, -1, 2, -2, 7, -7, 12, 100]


def agree(name: str, expected, *domains) -> None:
    function = device_function(name)
    for args in itertools.product(*domains):
        typed = [np.float64(a) if isinstance(a, float) else np.int64(a) for a in args]
        with np.errstate(all="ignore"):
            want = expected(*typed)
        got = function(*typed)
        assert np.array_equal(got, want, equal_nan=True) or np.isclose(got, want, rtol=1e-14), (
            name, args, got, want
        )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected", "domains"),
    [
        ("float_remainder", np.remainder, (FLOATS, FLOATS)),
        ("float_floor_divide", np.floor_divide, (FLOATS, FLOATS)),
        ("int_remainder", np.remainder, (INTS, INTS)),
        ("int_floor_divide", np.floor_divide, (INTS, INTS)),
        ("int_fmod", np.fmod, (INTS, INTS)),
        ("float_sign", np.sign, (FLOATS,)),
        ("int_sign", np.sign, (INTS,)),
        ("float_reciprocal", np.reciprocal, (FLOATS,)),
        ("logaddexp", np.logaddexp, (FLOATS, FLOATS)),
        ("logaddexp2", np.logaddexp2, (FLOATS, FLOATS)),
        ("signbit", np.signbit, (FLOATS[:-1],)),
        ("sinc", np.sinc, (FLOATS[:7],)),
        ("heaviside", np.heaviside, (FLOATS, FLOATS)),
        ("expit", rt.expit, (FLOATS,)),
        ("to_int", rt.to_int, (FLOATS,)),
        ("natural_power", rt.natural_power, (INTS, [0, 1, 2, 5])),
        ("gcd", np.gcd, (INTS, INTS)),
        ("lcm", np.lcm, (INTS, INTS)),
        ("trip_count", rt.trip_count, (INTS, INTS, [1, -1, 2, -3, 7])),
        ("slice_start", rt.slice_start, ([0, 1], INTS, [0, 1, 5], [1, -1, 2])),
        ("slice_stop", rt.slice_stop, ([0, 1], INTS, [0, 1, 5], [1, -1, 2])),
        ("arange_count", rt.arange_count, (FLOATS[:7], FLOATS[:7], [0.5, -0.5, 2.0])),
    ],
)
def test_device_function(name, expected, domains):
    agree(name, expected, *domains)


def test_every_device_function_is_compared():
    marks = test_device_function.pytestmark[0].args[1]  # type: ignore[attr-defined]
    compared = {name for name, *_ in marks} | {"int_reciprocal"}
    assert compared == set(device_functions._TEXTS)
    reciprocal = device_function("int_reciprocal")
    assert [reciprocal(np.int64(k)) for k in (1, 2, -1, 0)] == [1, 0, -1, 0]
