"""Symbols of matrix products: one for each kind and precision, and none twice."""

from __future__ import annotations

from s2s.codegen.gemm import blocked, gemm_call, indexed
from s2s.codegen.gemm.gemm_names import NAMES, VARIANT_TABLE, VARIANTS


def test_symbols() -> None:
    assert set(NAMES) == {
        f"{kind}.{bits}" for kind in (gemm_call.NAME, indexed.NAME) for bits in ("f32", "f64")
    }
    ways = {f"s2s.{way}.f64" for way in VARIANTS}
    assert len({*NAMES, *ways, VARIANT_TABLE}) == len(NAMES) + len(VARIANTS) + 1
    assert f"{blocked.NAME}.f64" in ways
