"""Builds: what is asked for, which files there are, and what is refused before any is written."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s import aot
from s2s.aot.build import Built, _wanted
from s2s.errors import S2STypeError, S2SValueError, UnsupportedError
from s2s.kernels import linalg
from tests.s2s.aot.programs import needs_compiler, small_library


def double(x):
    return 2.0 * x


def test_several_functions_and_signatures() -> None:
    f, g = s2s.function(double), s2s.grad(double)
    found = _wanted({"a": (f, "float64"), "b": (g, ["float64", "float32"])}, None, "lib")
    assert [(k, v[0], len(v[1])) for k, v in found.items()] == [("a", f, 1), ("b", g, 2)]
    assert [*_wanted(f, None, "lib")] == ["lib"] and _wanted(f, None, "lib")["lib"][1][0].args == ()


@pytest.mark.parametrize(
    "function, signature, error",
    [
        ({"a": double}, None, S2STypeError), ({"a": (double,)}, None, S2STypeError),
        ({"a": (double, "float64")}, "float64", S2STypeError),
        ({"a b": (double, "")}, None, S2SValueError),
        ({"int": (double, "float64")}, None, S2SValueError),
        ({3: (double, "")}, None, S2SValueError),
    ],
)  # fmt: skip
def test_wrong_requests_are_refused(function, signature, error) -> None:
    with pytest.raises(error):
        _wanted(function, signature, "lib")


def test_nothing_is_written_if_a_function_is_not_supported(tmp_path) -> None:
    def largest(a):
        return np.linalg.eigvalsh(a)[-1]

    with pytest.raises(UnsupportedError, match="linalg.eigh"):
        aot.build(s2s.function(largest), "float64[n,n]", out=tmp_path / "new" / "lib", link=False)
    assert not (tmp_path / "new").exists() and linalg.eigh_vectors is not None


def test_files_without_a_linker(tmp_path) -> None:
    built = aot.build(s2s.function(double), "float64[n]", out=tmp_path / "a" / "lib", link=False)
    assert {p.name for p in (tmp_path / "a").iterdir()} == {
        "lib.o", "lib.h", "lib.py", "lib_adjoint.py", "lib.pc", "lib.cmake", "liblib.a",
    }  # fmt: skip
    assert {str(p) for p in built.files.values()} == {str(p) for p in (tmp_path / "a").iterdir()}
    with pytest.raises(aot.BuildError, match="without a shared library"):
        built.load()


@needs_compiler
def test_workspaces_of_fixed_sizes_are_constants() -> None:
    built = small_library()
    assert built.workspace == {
        "parts_step": 128, "parts_relaxed": None, "parts_mixed": None, "parts_growing": None,
    }  # fmt: skip
    text = str(built)
    assert "parts_step: workspace 128 bytes" in text and "parts_mixed: workspace by size" in text
    assert f"state {built.state_bytes} bytes" in text


@needs_compiler
def test_files_are_replaced_and_links_are_followed(tmp_path) -> None:
    real = tmp_path / "real.so"
    real.write_bytes(b"old")
    (tmp_path / "liblib.so").symlink_to(real)
    built = aot.build(s2s.function(double), "float64[n]", out=tmp_path / "lib")
    assert (tmp_path / "liblib.so").is_symlink() and real.read_bytes()[:4] == b"\x7fELF"
    first = built.load()
    again = aot.build(s2s.function(lambda x: 3.0 * x), "float64[n]", out=tmp_path / "lib").load()
    x = np.ones(3)
    np.testing.assert_array_equal(first.lib(x), 2.0 * x)
    np.testing.assert_array_equal(again.lib(x), 3.0 * x)


def test_descriptions_without_state() -> None:
    assert "state" not in str(Built("lib", {}, ["f"], {"f": None}))
