"""Object code of kernels: cached by text and signature, and none where Numba must call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2s.backends.native import object_code
from s2s.backends.native.entry_signature import Signature
from s2s.backends.native.object_code import NO_ENTRY_POINT, build
from s2s.cache import store
from s2s.errors import MISS, Overlap
from s2s.runtime.object_layout import is_layout_known
from s2s.transforms.frontend.pytree import describe
from tests.s2s.codegen.machine_code import module_text

if not is_layout_known():
    pytest.skip("objects are laid out in another way", allow_module_level=True)

TEXT = module_text(
    """
    def f(x, y, a):
        for i in range(x.shape[0]):
            y[i] = y[i] + a * x[i]
        return (y[0],)
    """
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_code, "_built", {})
    return tmp_path


def signature(*relations: Any) -> Signature:
    vector = describe(np.zeros(3))
    return Signature((vector, vector, describe(1.0)), ("float64",), (), relations)  # type: ignore


def test_a_kernel_is_compiled_once(folder, monkeypatch) -> None:
    same = ("==", (0, ((1, ((0, 0),)),)), (0, ((1, ((1, 0),)),)))
    kernel = build(TEXT, "f", [1], signature(same))
    x, y = np.arange(1.0, 4.0), np.ones(3)
    assert kernel(x, y, 2.0) == 3.0 and y.tolist() == [3.0, 5.0, 7.0]
    assert kernel(x, np.ones(4), 2.0) is MISS and kernel(x, y) is MISS
    assert kernel(x, y.astype(np.float32), 2.0) is MISS and kernel(x, y, 2) is MISS
    with pytest.raises(Overlap):
        kernel(y, y, 2.0)
    assert build(TEXT, "f", [1], signature(same)) is kernel
    monkeypatch.setattr(object_code, "_compiled", lambda *args: pytest.fail("compiled again"))
    object_code._built.clear()
    again = build(TEXT, "f", [1], signature(same))
    assert again is not kernel and again(x, np.ones(3), 2.0) == 3.0


def test_what_the_code_depends_on_is_in_the_name(folder) -> None:
    for written, relations in (([1], ()), ([], ()), ([1], (("==", (1, ()), (1, ())),))):
        build(TEXT, "f", written, signature(*relations))
    build(TEXT.replace("a * x", "x * a"), "f", [1], signature())
    assert len([p for p in folder.iterdir() if p.name.startswith("kernel_")]) == 4


def test_text_that_only_numba_compiles_has_no_entry_point(folder) -> None:
    text = module_text("def f(x, y, a):\n    z = [a]\n    return (z[0],)\n")
    assert build(text, "f", [], signature()) is None
    (path,) = [p for p in folder.iterdir() if p.name.startswith("kernel_")]
    assert store.read_entry(path) == NO_ENTRY_POINT
    object_code._built.clear()
    assert build(text, "f", [], signature()) is None
