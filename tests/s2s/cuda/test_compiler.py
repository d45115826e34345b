import re
import subprocess
import sys

import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import compiler
from s2s.cuda.kernel_text import kernel_texts
from s2s.runtime import versions
from tests.s2s.cuda.texts import ALL, SCATTER

SCATTERING = kernel_texts(SCATTER.lowered, SCATTER.cuda)["scatter_k2"]


@pytest.mark.parametrize("provider", compiler.PROVIDERS)
@pytest.mark.parametrize("cc", compiler.TESTED_CAPABILITIES)
def test_entry_points_are_named_by_their_text(provider, cc):
    if provider == "numba-cuda-mlir":
        pytest.importorskip("numba_cuda_mlir")
    found = compiler.ptx(SCATTERING, cc, provider)
    assert re.findall(r"\.entry (\w+)", found.ptx) == [SCATTERING.symbol] == [found.symbol]
    assert f".target sm_{cc[0]}{cc[1]}" in found.ptx
    assert "atom" in found.ptx and "cas" in found.ptx
    dialect = "7.0.1" if cc < (10, 0) else "23.0.0"
    assert provider != "numba-cuda" or f"Based on NVVM {dialect}" in found.ptx


PROGRAM = """
from s2s.cuda import compiler
from s2s.cuda.kernel_text import kernel_texts
from tests.s2s.cuda.texts import SOFTMAX, SCATTER
for text in (SOFTMAX, SCATTER) if {first} else (SCATTER,):
    for kernel in kernel_texts(text.lowered, text.cuda).values():
        found = compiler.ptx(kernel, (8, 0))
import hashlib
print(hashlib.sha256(found.ptx.encode()).hexdigest())
"""


def test_ptx_does_not_depend_on_the_process(tmp_path):
    found = set()
    for first in (True, False):
        environment = {"S2S_CACHE_DIR": str(tmp_path / str(first)), "PATH": "/usr/bin:/bin"}
        text = PROGRAM.format(first=first)
        done = subprocess.run(
            [sys.executable, "-c", text],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_compiled_kernels_are_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    compiled = []
    original = compiler.NumbaCuda.ptx

    def counting(self, kernel, cc):
        compiled.append(cc)
        return original(self, kernel, cc)

    monkeypatch.setattr(compiler.NumbaCuda, "ptx", counting)
    first = compiler.ptx(SCATTERING, (8, 0))
    assert compiler.ptx(SCATTERING, (8, 0)) == first
    compiler.ptx(SCATTERING, (9, 0))
    assert compiled == [(8, 0), (9, 0)]


def test_arrays_are_pointers():
    """One parameter for an array, so that a launch passes addresses."""
    kernels = kernel_texts(ALL["gemm"].lowered, ALL["gemm"].cuda)["gemm_float64"]
    assert compiler.ptx(kernels, (8, 0)).ptx.count(".param .") == len(kernels.types)


def test_missing_and_untested_versions(monkeypatch):
    def missing(name):
        raise compiler.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(compiler.importlib.metadata, "version", missing)
    with pytest.raises(
        s2s.VersionError, match=r"needs numba-cuda, which is not installed"
    ) as caught:
        compiler.version("numba-cuda")
    assert "s2s-autodiff[cuda]" in str(caught.value)
    monkeypatch.setattr(compiler.importlib.metadata, "version", lambda name: "0.99.0")
    with pytest.raises(s2s.VersionError, match="numba-cuda 0.99.0 is not supported"):
        compiler.version("numba-cuda")
    monkeypatch.setenv(versions.UNTESTED, "1")
    assert compiler.version("numba-cuda") == "0.99.0"
    with pytest.raises(s2s.S2SValueError, match="no CUDA compiler"):
        compiler.version("cuda-python")


def test_versions_are_those_of_pyproject():
    from pathlib import Path

    text = Path(__file__).parents[3].joinpath("pyproject.toml").read_text(encoding="utf-8")
    assert f'"numba-cuda[cu13]{compiler.SUPPORTED["numba-cuda"]}"' in text
    assert f'"numba-cuda-mlir{compiler.SUPPORTED["numba-cuda-mlir"]};' in text


def test_a_kernel_that_does_not_compile():
    import dataclasses

    broken = dataclasses.replace(SCATTERING, text="def kernel(*a):\n    unknown(1)\n")
    with pytest.raises(s2s.InternalCompilerError, match="scatter_k2"):
        compiler.ptx(broken, (8, 0))
