"""Lowered source to machine code through Numba: what is cached, and what falls back."""

# ruff: noqa: E402

from __future__ import annotations

import linecache
import sys
import types as python_types
import warnings
from pathlib import Path

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from s2s.backends import build_kernel
from s2s.backends.build_kernel import build, build_njit, jit_helpers, load, source
from s2s.codegen import value_types as types
from s2s.codegen.numba_bridge.numba_entry import CALL, CALL_LOWERED, PREFIX
from s2s.errors import InternalCompilerError
from tests.s2s.codegen.entries import plain_entry
from tests.s2s.codegen.machine_code import VECTOR, module_text

TEXT = module_text(
    """
    def helper(x):
        return (x * 3.0,)


    def f(x, a):
        (t,) = helper(a)
        for i in range(x.shape[0]):
            x[i] = x[i] * t
        return (x[0], t)
    """
)
FLOAT = numba.types.float64
ARRAY = numba.types.Array(FLOAT, 1, "C")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(build_kernel, "_built", {})
    return tmp_path


def test_modules_are_found_by_name_and_have_source() -> None:
    module = load(f"{PREFIX}test_module", TEXT)
    assert sys.modules[module.__name__] is module
    assert linecache.getline(f"<{module.__name__}>", 1) == "import numpy as np\n"
    assert module.f(np.ones(2), 2.0) == (6.0, 6.0)
    jit_helpers(module, "f")
    assert isinstance(module.f, python_types.FunctionType)
    assert not isinstance(module.helper, python_types.FunctionType)
    del sys.modules[module.__name__]


def test_names_depend_on_all_that_the_code_depends_on(monkeypatch) -> None:
    names = [build_kernel._module_name(t, s) for t in (TEXT, TEXT + "\n") for s in ("a", "b")]
    assert len({*names}) == 4 and all(n.startswith(PREFIX) for n in names)
    product = TEXT + "# rt.gemm(\n"
    before = build_kernel._module_name(product, "a"), build_kernel._module_name(TEXT, "a")
    monkeypatch.setenv("S2S_GEMM", "builtin")
    after = build_kernel._module_name(product, "a"), build_kernel._module_name(TEXT, "a")
    assert before[0] != after[0] and before[1] == after[1]


def test_kernels_are_built_once() -> None:
    text = module_text("def f(x, a):\n    return (x[0] * a,)\n")
    entry = plain_entry(text, "f")
    kernel = build(text, "f", (ARRAY, FLOAT), entry)
    assert kernel(np.array([2.0]), 3.0) == (6.0,)
    assert build(text, "f", (ARRAY, FLOAT), entry) is kernel
    with pytest.raises(TypeError):  # no other types are compiled
        kernel(np.array([2], np.int8), 3.0)


def test_the_variant_that_the_text_allows() -> None:
    short = build(module_text("def f(x, a):\n    return (x[0] * a,)\n"), "f", (ARRAY, FLOAT),
                  plain_entry(module_text("def f(x, a):\n    return (x[0],)\n"), "f"))  # fmt: skip
    assert short.py_func.__name__ == CALL
    text = module_text("def f(x, a):\n    z = [a, 1.0]\n    return (x[0] * z[0],)\n")
    whole = build(text, "f", (ARRAY, FLOAT), plain_entry(text, "f"))
    assert whole.py_func.__name__ == CALL_LOWERED and whole(np.array([2.0]), 3.0) == (6.0,)


def test_text_that_nothing_compiles_is_an_internal_error() -> None:
    text = module_text("def f(x, a):\n    return (x.no_such_attribute,)\n")
    with pytest.raises(InternalCompilerError, match="Numba"):
        build_njit(text, "f", (ARRAY, FLOAT))


def test_the_whole_text() -> None:
    kernel = build_njit(TEXT, "f", (ARRAY, FLOAT))
    x = np.ones(2)
    assert kernel(x, 2.0) == (6.0, 6.0) and x.tolist() == [6.0, 6.0]
    assert build_njit(TEXT, "f", (ARRAY, FLOAT)) is kernel


def test_the_input_of_the_code_generator() -> None:
    made = source(TEXT, "f", (VECTOR, types.float64))
    assert made.function.name == "f" and made.types.names["t"] == types.float64
    assert made.types.results == (types.float64, types.float64)


def test_numba_does_not_warn_of_generated_code() -> None:
    from numba.core.errors import NumbaPerformanceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        build_kernel.suppress_numba_warnings()
        warnings.warn_explicit("slow", NumbaPerformanceWarning, "f", 1, module=f"<{PREFIX}x>")
        warnings.warn_explicit("slow", NumbaPerformanceWarning, "f", 1, module="users_module")
    assert [str(w.filename) for w in caught] == ["f"]
