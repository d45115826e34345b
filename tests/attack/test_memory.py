"""Arrays that compiled code passes to LAPACK and BLAS stay alive until the call has returned.

`make test-memory` runs the suites of linear algebra and kernels on a heap that overwrites freed
memory.  Here some critical cases run so in every test run, and in the full run all kernels run
under valgrind.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import scale

ROOT = Path(__file__).parents[2]
# The C library overwrites freed memory and reuses it at once; so do the kernels of s2s.
HOSTILE = {
    "MALLOC_PERTURB_": "85",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
    "S2S_KEEP_MEMORY": "0",
    "PYTHONMALLOC": "malloc",
}

PROGRAM = """
import sys, threading
import numpy as np
import s2s

rng = np.random.default_rng(0)
tall, small = rng.normal(size=(6, 4)), rng.normal(size=(5, 5))
large = rng.normal(size=(40, 40)) + 40.0 * np.eye(40)
positive = large @ large.T

def svd(x): return np.sum(np.linalg.svd(x, full_matrices=False)[1])
def pinv(x): return np.sum(np.linalg.pinv(x))
def norm_2(x): return np.linalg.norm(x, 2)
def norm_nuc(x): return np.linalg.norm(x, "nuc")
def qr(x): return np.sum(np.linalg.qr(x)[0] * np.linalg.qr(x)[1][0, 0])
def lstsq(x): return np.sum(np.linalg.lstsq(x, np.ones(x.shape[0]), rcond=None)[0])
def cond(x): return np.linalg.cond(x)
def solve(x): return np.sum(np.linalg.solve(x, np.ones(x.shape[0])))
def inv(x): return np.sum(np.linalg.inv(x))
def det(x): return np.linalg.det(x / 40.0)
def slogdet(x): return np.linalg.slogdet(x)[1]
def eigh(x): return np.sum(np.linalg.eigh(x)[0] ** 2 * np.arange(x.shape[0]))
def cholesky(x): return np.sum(np.linalg.cholesky(x))

given = {"svd": tall, "pinv": tall, "norm_2": tall, "norm_nuc": tall, "qr": tall, "lstsq": tall}
given |= {"cond": small, "eigh": positive, "cholesky": positive}
wrong = []
for name in sys.argv[1:]:
    f, x = globals()[name], given.get(name, large)
    wanted = s2s.grad(f, backend="loops")(x)
    gradient = s2s.grad(f, backend="numba")

    def call():
        for _ in range(5):
            if not np.allclose(gradient(x), wanted, rtol=1e-6, atol=1e-8):
                wrong.append(name)

    call()
    threads = [threading.Thread(target=call) for _ in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
print(wrong)
sys.exit(bool(wrong))
"""
NAMES = [
    "svd", "qr", "solve", "eigh", "pinv", "norm_2", "norm_nuc", "lstsq", "cond", "inv", "det",
    "slogdet", "cholesky",
]  # fmt: skip


def run(command: list[str], **environment: str) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_linear_algebra_on_a_hostile_heap(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    names = NAMES if scale.ALL else NAMES[:4]
    run([sys.executable, str(program), *names], **HOSTILE)


@pytest.mark.skipif(not scale.ALL, reason="two minutes; S2S_TEST_ALL=1 runs it")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_kernels_under_valgrind(tmp_path: Path) -> None:
    """No access outside of allocated memory, and no branch on uninitialised memory."""
    results = str(tmp_path / "results.npz")
    program = [sys.executable, "-m", "tests.attack.every_kernel", results]
    environment = {
        # valgrind does not support AVX-512; the machine code is that of the first run.
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+avx2,+fma",
        "OPENBLAS_CORETYPE": "Haswell",
        "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "S2S_KEEP_MEMORY": "0",
        "PYTHONMALLOC": "malloc",
    }
    run(program, **environment)
    suppressions = f"--suppressions={ROOT}/tests/attack/valgrind.supp"
    valgrind = ["valgrind", "-q", "--error-exitcode=9", "--num-callers=20", suppressions]
    run([*valgrind, *program], **environment)


# ---------------------------------------------------------------- the mechanism


def test_arrays_are_released_after_the_call() -> None:
    numba = pytest.importorskip("numba")
    from numba.core import types

    from s2s.codegen.numba_bridge.external_call import ADDRESS, external

    strnlen: Any = external("strnlen", types.intp, ADDRESS, types.intp)

    @numba.njit
    def length(n):  # type: ignore[no-untyped-def]
        text = np.empty(n, np.int8)
        text[0] = 65
        text[1] = 0
        return strnlen(text, n)  # the last mention of the array

    assert length(1000) == 1
    (llvm,) = length.inspect_llvm().values()
    body = next(part for part in llvm.split("\ndefine ") if "@strnlen(" in part)
    called, released = body.index("@strnlen("), [m.start() for m in re.finditer("NRT_decref", body)]
    assert released and all(position > called for position in released)


def test_arrays_that_are_not_in_c_order_are_refused() -> None:
    numba = pytest.importorskip("numba")
    from numba.core import types

    from s2s.codegen.numba_bridge.external_call import ADDRESS, external

    strnlen: Any = external("strnlen", types.intp, ADDRESS, types.intp)
    call = numba.njit(lambda text: strnlen(text, 1))
    with pytest.raises(numba.TypingError, match="in C order"):
        call(np.zeros(8, np.int8)[::2])


# Functions that yield the address of an array's memory, and the files that may use them.
TAKES_ADDRESSES = {
    "ctypes": {
        "s2s/cuda/cuda_device.py",  # copies: the array is held until the driver has read or written
        "s2s/cuda/emulated_device.py",  # the object with the address owns the array
        "s2s/aot/loader_runtime.py",  # the caller and local variables hold references to the arrays
        "s2s/runtime/object_layout.py",  # compares an address
    },
    "voidptr": {"s2s/codegen/numba_bridge/external_call.py"},
    "voidptr_t": {"s2s/codegen/numba_bridge/external_call.py"},
    # Intrinsics: the arrays are operands and alive until the last instruction of the intrinsic.
    "make_array": {
        "s2s/codegen/numba_bridge/borrowed_arguments.py",  # unboxing: the caller holds the array
        "s2s/codegen/numba_bridge/external_call.py",
        "s2s/kernels_numba/fft_llvm.py",
    },
    "ExternalFunction": set(),
    "ExternalFunctionPointer": set(),
    "address_as_void_pointer": set(),
    "carray": set(),
    "farray": set(),
    "val_addr": set(),
    "__array_interface__": {
        "s2s/runtime/overlap.py",  # compares addresses of arrays at hand
        "s2s/codegen/numba_bridge/array_table.py",  # the table owns references to the arrays
        "s2s/objects/variable.py",  # only for its remainder by 64
    },
    "get_array_ctypes": set(),
}


def attributes(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Attributes of anything but a module's name, and imported names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.name, node.lineno) for alias in node.names)


def test_no_other_code_takes_the_address_of_an_array() -> None:
    found = []
    for folder in ("s2s", "transforms"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith("s2s/transforms/"):
                continue  # a symbolic link
            for attribute, line in attributes(ast.parse(path.read_text())):
                if attribute in TAKES_ADDRESSES and name not in TAKES_ADDRESSES[attribute]:
                    found.append(f"{name}:{line}: {attribute}")
    assert not found, "pass the array itself to a function made by kernels_external.external"
