"""C and C++ programs that use a library: the example trains on digits with the same losses as
Python."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core.codegen import get_host_cpu_features

import s2s
from tests.s2s.aot.programs import compile_c, growing, needs_compiler, run

pytestmark = needs_compiler

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "aot"
EPOCHS = 2
BATCH = 32

# Plain loops with the symbols of BLAS.
CBLAS = """
#define GEMM(name, type)                                                                      \\
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a,      \\
              int lda, const type *b, int ldb, type beta, type *c, int ldc)                   \\
    {                                                                                         \\
        for (int i = 0; i < m; i++)                                                           \\
            for (int j = 0; j < n; j++) {                                                     \\
                type sum = 0;                                                                 \\
                for (int p = k - 1; p >= 0; p--)                                              \\
                    sum += a[ta == 112 ? p * lda + i : i * lda + p]                           \\
                           * b[tb == 112 ? j * ldb + p : p * ldb + j];                        \\
                c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);       \\
            }                                                                                 \\
        (void)order;                                                                          \\
    }
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
"""


def fresh_example() -> ModuleType:
    """The example with an untrained network."""
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location("aot_example", EXAMPLE / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CROSS = "aarch64-linux-gnu"


def build_example(example: ModuleType, folder: Path, **options: Any) -> Any:
    wanted = {
        "step": (example.step, "float32[n,64], int64[n]"),
        "predict": (example.predict, "float32[n,64]"),
    }
    library = s2s.aot.build(wanted, out=folder / "digits", **options)
    example.write(folder / "digits.bin", *example.digits())
    return library


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> tuple[ModuleType, dict[str, Any]]:
    """All libraries are built before the network is trained, because they contain its initial
    state."""
    folder = tmp_path_factory.mktemp("digits")
    example = fresh_example()
    (folder / "cblas.c").write_text(CBLAS)
    blas = folder / "libplain.so"
    run("cc", "-O2", "-shared", "-fPIC", "-o", blas, folder / "cblas.c")
    return example, {
        "native": build_example(example, folder / "native"),
        "blas": build_example(example, folder / "blas", blas=str(blas)),
        "cross": build_example(example, folder / "cross", target=CROSS, link=False),
    }


@pytest.fixture(scope="module")
def digits(libraries) -> tuple[ModuleType, Path]:
    example, built = libraries
    return example, built["native"].files["o"].parent


@pytest.fixture(scope="module")
def expected(digits) -> list[float]:
    """The losses of all steps of some epochs, by the compiled step with the same matrix
    products."""
    example = digits[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("S2S_GEMM", "builtin")
        x, y = example.digits()
        known = len(y) * 3 // 4
        return [
            float(example.step(x[i : min(i + BATCH, known)], y[i : min(i + BATCH, known)]))
            for _ in range(EPOCHS)
            for i in range(0, known, BATCH)
        ]


def losses(text: str) -> list[float]:
    return [float.fromhex(t) for t in re.findall(r"loss (\S+)", text)]


def last_of_epochs(all_losses: list[float]) -> list[float]:
    steps = len(all_losses) // EPOCHS
    return all_losses[steps - 1 :: steps]


def test_c_equals_the_compiled_step_to_the_last_bit(digits, expected) -> None:
    _, folder = digits
    options = (f"-I{folder}", str(folder / "libdigits.a"), "-lm", "-O1", "-std=c11", "-Wextra")
    program = compile_c((EXAMPLE / "train.c").read_text(), folder, *options)
    text = run(program, folder / "digits.bin", EPOCHS)
    assert losses(text) == last_of_epochs(expected)
    assert f"{len(expected)} steps" in text


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_cpp_with_the_shared_library(digits, expected, tmp_path) -> None:
    _, folder = digits
    options = (f"-I{folder}", f"-L{folder}", "-ldigits", f"-Wl,-rpath,{folder}", "-std=c++17")
    source = (EXAMPLE / "train.cpp").read_text()
    program = compile_c(source, tmp_path, *options, compiler="c++")
    assert losses(run(program, folder / "digits.bin", EPOCHS)) == last_of_epochs(expected)


def test_another_blas_agrees_within_rounding(libraries, expected) -> None:
    example, built = libraries
    network = built["blas"].load().Digits.load()
    x, y = example.digits()
    found = [float(network.step(x[i : i + 32], y[i : i + 32])) for i in range(0, 640, 32)]
    np.testing.assert_allclose(found, expected[:20], rtol=1e-5)


CMAKE = """
cmake_minimum_required(VERSION 3.10)
project(train C)
include({folder}/digits.cmake)
add_executable(train {example}/train.c)
target_link_libraries(train digits::digits)
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_cmake_finds_the_library(digits, expected, tmp_path) -> None:
    _, folder = digits
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(folder=folder, example=EXAMPLE))
    run("cmake", "-G", "Unix Makefiles", "-S", tmp_path, "-B", tmp_path / "made")
    run("cmake", "--build", tmp_path / "made")
    text = run(tmp_path / "made" / "train", folder / "digits.bin", EPOCHS)
    assert losses(text) == last_of_epochs(expected)


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="pkg-config is not installed")
def test_pkg_config_finds_the_library(digits, tmp_path) -> None:
    _, folder = digits
    env = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
    flags = run("pkg-config", "--cflags", "--libs", "digits", env=env).split()
    source = "#include \"digits.h\"\nint main(void) { return digits_message(0)[0] != 'n'; }\n"
    program = compile_c(source, tmp_path, "-std=c11", "-pedantic", *flags)
    run(program, env={**os.environ, "LD_LIBRARY_PATH": str(folder)})


def test_sanitizers_find_nothing(digits, tmp_path) -> None:
    _, folder = digits
    check = run("cc", "-fsanitize=address", "-print-file-name=libasan.so").strip()
    if not Path(check).is_absolute():
        pytest.skip("the C compiler has no AddressSanitizer")
    options = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{folder}")
    source = (EXAMPLE / "train.c").read_text()
    program = compile_c(source, tmp_path, *options, str(folder / "libdigits.a"), "-lm")
    assert "steps" in run(program, folder / "digits.bin", 1)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_nothing_in_training(digits, tmp_path) -> None:
    if "+avx512f" in get_host_cpu_features():
        pytest.skip("valgrind does not know this machine's vectors")
    _, folder = digits
    source = (EXAMPLE / "train.c").read_text()
    options = (f"-I{folder}", str(folder / "libdigits.a"), "-lm", "-g")
    program = compile_c(source, tmp_path, *options)
    checks = ("-q", "--error-exitcode=9", "--leak-check=full")
    assert "steps" in run("valgrind", *checks, program, folder / "digits.bin", 1)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_nothing(tmp_path) -> None:
    """Memory blocks have exactly the required sizes; one size is found by repeated calls."""
    library = s2s.aot.build(
        s2s.value_and_grad(growing), "float64[n]", out=tmp_path / "growing", cpu="x86-64-v2"
    )
    source = """
        #include <stdlib.h>
        #include "growing.h"
        int main(void)
        {
            double *x = malloc(3 * sizeof *x), *x_bar = malloc(3 * sizeof *x), value;
            for (int i = 0; i < 3; i++) x[i] = 0.1 + i;
            size_t bytes = (size_t)growing_workspace(3);
            for (int tries = 0; tries < 50; tries++) {
                void *workspace = aligned_alloc(64, bytes);
                int status = growing(3, x, &value, x_bar, workspace, bytes);
                size_t wanted = (size_t)*(int64_t *)workspace;
                free(workspace);
                if (status != GROWING_WORKSPACE) {
                    int fine = status == 0 && value == value && x_bar[0] == x_bar[0];
                    free(x), free(x_bar);
                    return fine ? 0 : 3;
                }
                bytes = wanted;
            }
            return 4;
        }
    """
    options = (f"-I{tmp_path}", str(library.files["a"]), "-lm", "-g")
    program = compile_c(source, tmp_path, *options)
    run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program)


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="qemu-user is not installed")
@pytest.mark.skipif(shutil.which(f"{CROSS}-gcc") is None, reason="there is no compiler for aarch64")
def test_another_architecture(libraries, expected, tmp_path) -> None:
    folder = libraries[1]["cross"].files["o"].parent
    options = (f"-I{folder}", str(folder / "libdigits.a"), "-lm", "-static")
    source = (EXAMPLE / "train.c").read_text()
    program = compile_c(source, tmp_path, *options, compiler=f"{CROSS}-gcc")
    text = run("qemu-aarch64", program, folder / "digits.bin", 1)
    np.testing.assert_allclose(losses(text), last_of_epochs(expected)[:1], rtol=1e-4)


def test_the_loader_needs_numpy_alone(digits, tmp_path) -> None:
    """In an interpreter without other packages."""
    _, folder = digits
    site = Path(np.__file__).parents[1]
    for part in site.glob("numpy*"):
        (tmp_path / part.name).symlink_to(part)
    program = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(folder)!r}]
import digits, numpy as np
network = digits.Digits.load()
x = np.linspace(0, 1, 4 * 64, dtype=np.float32).reshape(4, 64)
assert network.step(x, np.arange(4)) > 0
assert network.predict(x).shape == (4,)
assert not {{"numba", "scipy", "s2s", "llvmlite"}} & sys.modules.keys()
try:
    import numba
except ImportError:
    print("fine")
"""
    assert run(sys.executable, "-I", "-S", "-c", program) == "fine\n"
