"""The header: C and C++ compilers take it, and its constants are those of the library."""

from __future__ import annotations

import ctypes
import re
import shutil

import pytest

from s2s.aot import header
from s2s.aot.export_spec import Item
from tests.s2s.aot.programs import (
    aligned,
    c_function,
    compile_c,
    needs_compiler,
    run,
    small_library,
)


@pytest.mark.parametrize(
    "dtype, kind",
    [
        ("float32", "float"), ("float64", "double"), ("bool", "uint8_t"), ("int64", "int64_t"),
        ("uint8", "uint8_t"), ("complex64", "float"), ("complex128", "double"),
    ],
)  # fmt: skip
def test_types(dtype, kind) -> None:
    assert header.c_type(dtype) == kind


def test_parameters() -> None:
    array = Item("x", "float64", ("n", 3))
    assert header._parameter(array, out=False) == "const double *x /* [n, 3] */"
    assert header._parameter(array, out=True) == "double *x /* [n, 3] */"
    written = Item("x", "complex64", ("n",), written=True)
    assert header._parameter(written, out=False) == "float *x /* [n] of complex numbers */"
    assert header._parameter(Item("k", "int64", None), out=False) == "int64_t k"
    assert header._parameter(Item("k", "bool", None), out=True) == "uint8_t *k"


@pytest.mark.parametrize(
    "name, macro", [("self/w", "SELF_W"), ("a.b[0]", "A_B_0"), ("", "X"), ("ü", "X"), ("_", "X")]
)
def test_names_of_macros(name, macro) -> None:
    found = header.identifier(name)
    assert found == macro or re.fullmatch(r"[A-Z0-9][A-Z0-9_]*", found)


def test_long_prototypes_are_split() -> None:
    assert header._prototype("int f", ["int a", "int b"]) == ["int f(int a, int b);"]
    lines = header._prototype("int f", [f"double parameter_{k}" for k in range(9)])
    assert max(map(len, lines)) <= 100 and " ".join(lines).count("parameter_") == 9
    assert lines[0] == "int f(" and lines[-1].endswith(");")


def test_files_of_build_systems() -> None:
    pc = header.pkg_config("step", "1.2", ["openblas", "/opt/libx.so"])
    assert "Libs.private: -lopenblas /opt/libx.so -lm" in pc and "Version: 1.2" in pc
    cmake = header.cmake("step", ["openblas"])
    assert 'INTERFACE_LINK_LIBRARIES "openblas;m"' in cmake and "libstep.a" in cmake


PROGRAM = r"""
#include "parts.h"
#include "parts.h"
#include <stdio.h>
int main(void) {
    printf("%d %lld %d %d\n", PARTS_STATE_BYTES, (long long)PARTS_STATE_LAYOUT,
           PARTS_AT_SELF_LAST, PARTS_STEP_WORKSPACE_BYTES);
    printf("%s\n", parts_message(PARTS_OVERLAP));
    return PARTS_OK;
}
"""


@needs_compiler
@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_compilers_take_it(compiler, tmp_path) -> None:
    if shutil.which(compiler) is None:
        return
    files = small_library().files
    folder = files["h"].parent
    program = compile_c(PROGRAM, tmp_path, "-I", str(folder), "-Wextra", "-pedantic",
                        str(files["a"]), "-lm", compiler=compiler)  # fmt: skip
    first, message = run(program).splitlines()
    size, layout, last, workspace = map(int, first.split())
    block = aligned(size)
    assert c_function("parts_init", ctypes.c_void_p, ctypes.c_size_t)(block.ctypes.data, size) == 0
    words = block[:32].view("int64")
    assert words[2] == layout and words[3] == size == small_library().state_bytes
    assert last % 64 == 0 and workspace == small_library().workspace["parts_step"]
    assert message == "an array that is written overlaps with another"
