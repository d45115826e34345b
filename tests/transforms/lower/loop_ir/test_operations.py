"""What calls do, by the table of operations."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.operations import (
    CALLEE,
    OPS,
    operation_of,
    shared_buffers,
    written_buffers,
)
from tests.transforms.lower.loop_ir_text import ir

TYPES = {"x": "float64[:, :]", "y": "float64[:, :]", "z": "float64[:, :]", "g": "rng"}


def statement(source: str) -> L.Stmt:
    (stmt,) = ir(source, **TYPES)
    return stmt


@pytest.mark.parametrize(
    ("source", "written", "shared"),
    [
        ("x[0, i] += 1.0", {"x"}, set()),
        ("i = n", set(), set()),
        ("rt.gemm(False, False, 1.0, x, y[i], 0.0, z[i])", {"z"}, set()),
        ("rt.fft.resize(x, y)", {"y"}, set()),
        ("s = rt.linalg.solve(x, y, z)", {"z"}, set()),
        ("x = rt.reserve(x, n, 1)", set(), {"x"}),
        ("v = x.reshape((n,))", set(), {"x"}),
        ("v = x", set(), {"x"}),
        ("(v,) = callee(x, n)", set(), {"x"}),
        ("return (x,)", set(), set()),
        ("rt.draws.fill_standard_normal(g, x)", {"x"}, set()),
        ("rt.draws.legacy_fill_poisson(x, y)", {"x"}, set()),
    ],
)
def test_buffers(source, written, shared):
    stmt = statement(source)
    assert written_buffers(stmt) == written
    assert shared_buffers(stmt) == shared


def test_operations_of_statements():
    assert operation_of(statement("rt.fft.resize(x, y)")) is OPS["rt.fft.resize"]
    assert operation_of(statement("(v,) = callee(x)")) is CALLEE
    assert operation_of(statement("i = n")) is None


def test_what_may_be_moved():
    assert OPS["np.exp"].is_pure and OPS["rt.trip_count"].is_pure
    assert OPS["rt.gemm"].is_silent and not OPS["rt.gemm"].is_pure
    for name in ("rt.reserve", "rt.draws.one_beta", "rt.stack_limit"):
        assert not OPS[name].is_silent, name


def test_argument_counts():
    assert OPS["rt.gemm"].takes(7) and not OPS["rt.gemm"].takes(6)
    seed = OPS["rt.draws.seed"]
    assert seed.takes(0) and seed.takes(3)
    assert not OPS["rt.draws.one_choice"].takes(0)


def test_result_dtypes():
    assert OPS["np.exp"].result_dtype(["float32"]) == "float32"
    assert OPS["np.isnan"].result_dtype(["float32"]) == "bool"
    assert OPS["abs"].result_dtype(["complex64"]) == "float32"
    assert OPS["abs"].result_dtype(["int64"]) == "int64"
    assert OPS["rt.draws.one_poisson"].result_dtype(["rng"]) == "int64"


def test_cheap_calls():
    assert OPS["np.sqrt"].is_cheap and not OPS["np.exp"].is_cheap
