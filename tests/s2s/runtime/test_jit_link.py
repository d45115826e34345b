"""Linking: addresses of what is given as IR or object code, from the cache where it is there."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2s.cache import store
from s2s.codegen import llvm_passes
from s2s.runtime import jit_link
from s2s.runtime.jit_link import Code, Unlinkable

TEXT = """
@number = global i64 5
declare i64 @outer(i64)
define i64 @twice(i64 %x) {
  %y = call i64 @outer(i64 %x)
  %n = load i64, i64* @number
  %z = add i64 %y, %n
  ret i64 %z
}
"""
OUTER = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: 2 * x)
GIVEN = {"outer": ctypes.cast(OUTER, ctypes.c_void_p).value or 0}


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    return tmp_path


def call(address: int, x: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(x)


def test_functions_and_variables(folder) -> None:
    made = jit_link.runtime(TEXT, ("twice", "number"), GIVEN)
    assert call(made["twice"], 10) == 25
    ctypes.c_int64.from_address(made["number"]).value = 100
    assert call(made["twice"], 10) == 120
    other = jit_link.runtime(TEXT, ("twice", "number"), GIVEN)  # memory of its own
    assert call(other["twice"], 10) == 25 and other["twice"] != made["twice"]


def test_object_code_is_cached(folder) -> None:
    made: list[int] = []
    code = llvm_passes.object_code(llvm_passes.parse_module(TEXT))

    def compiled() -> bytes:
        made.append(1)
        return code

    for _ in range(3):
        assert call(jit_link.library("key", compiled, ("twice",), GIVEN)["twice"], 3) == 11
    assert made == [1]
    jit_link.library("another key", compiled, ("twice",), GIVEN)
    assert made == [1, 1]
    assert len([p for p in folder.iterdir() if p.name.startswith("runtime_")]) == 2


def test_symbols_of_the_process_are_found() -> None:
    text = "declare double @cos(double)\ndefine double @f(double %x) {\n"
    text += "  %y = call double @cos(double %x)\n  ret double %y\n}"
    code = llvm_passes.object_code(llvm_passes.parse_module(text))
    address = jit_link.link(code, ("f",), {})["f"]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(0.0) == 1.0


def test_symbols_that_do_not_exist_are_errors() -> None:
    code = llvm_passes.object_code(
        llvm_passes.parse_module(TEXT.replace("outer", "s2s_no_such_symbol"))
    )
    with pytest.raises(RuntimeError):
        jit_link.link(code, ("twice",), {})["twice"]


def test_code_of_routines(folder) -> None:
    name = f"{jit_link.ROUTINE}{store.digest('test')}"
    assert jit_link.routine_code(name) is None
    code = Code(b"object", ("a",), ("b", "c"))
    jit_link.cache_routine(name, code)
    assert jit_link.routine_code(name) is code
    jit_link._routines.clear()
    assert jit_link.routine_code(name) == code  # from the disk
    assert all(store.is_ours(p) for p in folder.iterdir() if p.name.startswith("runtime_"))
    jit_link._routines.clear()


def gemm(kind: str, dtype: Any, m: int, n: int, k: int) -> None:
    address = jit_link.blas()
    c, i, p = ctypes.c_int8, ctypes.c_int64, ctypes.c_void_p
    run = ctypes.CFUNCTYPE(ctypes.c_int32, c, c, c, i, i, i, p, p, i, p, i, p, p, i)(address)
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=s).astype(dtype) for s in ((m, k), (k, n)))
    out = np.full((m, n), np.nan, dtype)
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    places = [x.ctypes.data for x in (one, b, a, zero, out)]
    letter = ord("n")
    run(ord(kind), letter, letter, n, m, k, places[0], places[1], n, places[2], k, places[3],
        places[4], n)  # fmt: skip
    np.testing.assert_allclose(out, a @ b, rtol=1e-4)


@pytest.mark.parametrize("kind, dtype", [("s", np.float32), ("d", np.float64),
                                         ("c", np.complex64), ("z", np.complex128)])  # fmt: skip
def test_the_product_of_numpys_blas(kind, dtype) -> None:
    gemm(kind, dtype, 5, 7, 9)


def test_without_any_blas(monkeypatch) -> None:
    monkeypatch.setattr(jit_link, "numpy_gemm", lambda: 0)
    monkeypatch.setattr(jit_link, "prepare_numba", lambda: None)
    monkeypatch.setattr("llvmlite.binding.address_of_symbol", lambda name: None)
    with pytest.raises(Unlinkable, match="no BLAS"):
        jit_link.blas()


def test_engines_live_until_the_end() -> None:
    import sys

    thing = object()
    before = sys.getrefcount(thing)
    assert jit_link.keep_alive_forever(thing) is thing
    assert sys.getrefcount(thing) > before
    assert jit_link.engine() is jit_link.engine()
