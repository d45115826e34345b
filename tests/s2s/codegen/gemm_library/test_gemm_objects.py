"""Object code of matrix products: each symbol is defined, and needs nothing but BLAS."""

from __future__ import annotations

import pytest

from s2s.aot.link import global_symbols
from s2s.codegen.gemm.gemm_names import VARIANT_TABLE
from s2s.codegen.gemm_library.gemm_objects import object_code
from s2s.codegen.value_types import float64
from s2s.runtime import jit_link


@pytest.mark.parametrize(
    "name, symbols",
    [
        ("s2s.gemm.f64", {"s2s.gemm.f64", VARIANT_TABLE}), ("s2s.thin.f32", {"s2s.thin.f32"}),
        ("s2s.little.f64", {"s2s.little.f64"}), ("s2s.blocked.f64", {"s2s.blocked.f64"}),
        ("s2s.scattered.f32", {"s2s.scattered.f32"}), ("s2s.blas.f64", {"s2s.blas.f64"}),
    ],
)  # fmt: skip
def test_symbols(name, symbols) -> None:
    code = object_code(name, "")
    if code[:4] == b"\x7fELF":
        assert symbols <= set(global_symbols(code))
    given = {jit_link.GEMM: jit_link.blas()} if "blas" in name else {}
    made = jit_link.link(code, tuple(symbols), given)
    assert all(made[s] for s in symbols)
    assert float64.bytes == 8


def test_the_setting_changes_the_dispatch() -> None:
    codes = {object_code("s2s.gemm.f64", whose) for whose in ("", "builtin", "blas")}
    assert len(codes) >= 2
