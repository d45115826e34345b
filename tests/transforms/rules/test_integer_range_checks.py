"""Conversions to integers: in range at compile time, checked at run time, NumPy's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Scalar
from s2s.transforms.rules.integer_range_checks import (
    require_in_range,
    require_no_float_overflow,
)
from tests.transforms.programs import F8, Program, program, run, vector

WEAK_INT, WEAK_FLOAT = Scalar("int64", weak=True), Scalar("float64", weak=True)
UNSIGNED, SIGNED = ["uint8", "uint16", "uint32", "uint64"], ["int8", "int16", "int32", "int64"]


def outcome(type_: Any, value: Any, dtype: str, numpy_scalars: bool = False) -> str:
    """The type of the error that the check raises for a value, or ""."""

    def build(p: Program, x: Any) -> Any:
        require_in_range(p, x, dtype, numpy_scalars)
        return x

    try:
        run(program({"x": type_}, build), value)
    except (OverflowError, ValueError) as error:
        return type(error).__name__
    return ""


@pytest.mark.parametrize("dtype", [*UNSIGNED, *SIGNED])
def test_python_integers_must_fit(dtype: str) -> None:
    """At the ends of the range, and one beyond, where that is an int64."""
    info = np.iinfo(dtype)
    for value in (int(info.min), int(info.max), int(info.min) - 1, int(info.max) + 1, 0, -1):
        if not -(2**63) <= value < 2**63:
            continue
        try:
            np.array([0], dtype)[0] = value
        except OverflowError:
            assert outcome(WEAK_INT, value, dtype) == "OverflowError", value
        else:
            assert outcome(WEAK_INT, value, dtype) == "", value


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64"])
@pytest.mark.parametrize(
    "value", [0.0, -0.5, 0.5, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0, np.inf, -np.inf, np.nan]
)
def test_python_floats_are_truncated_first(dtype: str, value: float) -> None:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    got = outcome(WEAK_FLOAT, value, dtype)
    if np.isnan(value):
        assert got == "ValueError"
    else:
        fits = bool(np.isfinite(value)) and low <= int(value) <= high
        assert got == ("" if fits else "OverflowError")


def test_floats_at_the_ends_of_64_bits() -> None:
    below = float(np.nextafter(2.0**63, 0))
    assert outcome(WEAK_FLOAT, -(2.0**63), "int64") == "" == outcome(WEAK_FLOAT, below, "int64")
    assert outcome(WEAK_FLOAT, 2.0**63, "int64") == "OverflowError"
    beyond = float(np.nextafter(-(2.0**63), -np.inf))
    assert outcome(WEAK_FLOAT, beyond, "int64") == "OverflowError"
    assert outcome(WEAK_FLOAT, 2.0**64, "uint64") == "OverflowError"


def test_numpy_scalars_wrap_except_on_assignment_to_signed_elements() -> None:
    strong = Scalar("int64")
    for dtype in ("uint8", "int8"):
        assert outcome(strong, np.int64(300), dtype) == ""
    assert outcome(strong, np.int64(300), "uint8", numpy_scalars=True) == ""
    assert outcome(strong, np.int64(300), "int8", numpy_scalars=True) == "OverflowError"
    assert outcome(Scalar("uint64"), np.uint64(2**63), "int64", numpy_scalars=True) == (
        "OverflowError"
    )


def test_arrays_and_other_targets_are_not_checked() -> None:
    p = Program()
    x = p.sym(program({"v": vector("v")}, lambda p, v: v).main.params[0])
    require_in_range(p, x, "int8")
    require_in_range(p, 1000, "float32")
    require_in_range(p, p.emit("undef", type=WEAK_INT), "uint8")
    require_in_range(p, True, "int8")
    assert [getattr(s, "op", None) and s.op.name for s in p.block] == ["undef"]  # type: ignore[union-attr]


def test_constants_are_judged_at_compile_time() -> None:
    p = Program()
    require_in_range(p, 255, "uint8")
    assert not p.block
    require_in_range(p, 256, "uint8")
    (failure,) = p.block
    with pytest.raises(OverflowError) as numpys:
        np.array([0], np.uint8)[0] = 256
    assert failure.message == (str(numpys.value),)  # type: ignore[union-attr]


def test_a_size_is_never_negative() -> None:
    """Only the upper bound is compared."""
    p = Program()
    size = p.sym(program({"v": vector("v")}, lambda p, v: v).main.params[0]).shape[0]
    require_in_range(p, size, "uint64", numpy_scalars=True)
    before = len(p.block)
    weak = p.emit("cast", size, dtype="int64", weak=True)
    require_in_range(p, weak, "uint64")
    assert before == 1


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_python_floats_that_overflow_a_narrow_format(dtype: str) -> None:
    def build(p: Program, x: Any) -> Any:
        require_no_float_overflow(p, x, dtype)
        return x

    module = program({"x": WEAK_FLOAT}, build)
    limit = float(np.finfo(dtype).max)
    for value in (0.0, limit, -limit, np.inf, -np.inf, np.nan):
        run(module, value)
    for value in (2 * limit, -2 * limit):
        with pytest.raises(OverflowError, match=f"too large for {dtype}"):
            run(module, value)


def test_other_floats_are_not_checked() -> None:
    for type_, dtype in ((F8, "float32"), (WEAK_FLOAT, "float64"), (WEAK_INT, "float16")):
        module = program(
            {"x": type_}, lambda p, x, d=dtype: [require_no_float_overflow(p, x, d), x][1:]
        )
        assert not module.main.body
    p = Program()
    require_no_float_overflow(p, p.sym(1e300), "float32")
    assert not p.block
