"""The PTX that NVVM makes of the templates computes what the kernels compute in emulation.

The tiled product, a row block, and reductions are compiled for both dialects of NVVM and executed
by an interpreter, those written by hand and those that the compiler emits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from s2s.cuda import compiler
from s2s.cuda.emulated_device import EmulatedDevice
from s2s.cuda.host_module import HostModule
from tests.cuda import ptx_interpreter as ptx
from tests.cuda.compiling import compiled
from tests.s2s.cuda import texts

CAPABILITIES = compiler.TESTED_CAPABILITIES
RNG = np.random.default_rng(0)


class PtxDevice(EmulatedDevice):
    """A device that executes the PTX of its kernels.  `change` edits it."""

    def __init__(self, capability: tuple[int, int], change: Any = None) -> None:
        super().__init__()
        self.capability, self.change = capability, change
        self.memories: list[Any] = []

    def _allocate(self, nbytes: int) -> Any:
        self.memories.append(super()._allocate(nbytes))
        return self.memories[-1]

    def _launch(self, kernel: Any, blocks: int, threads: int, values: list[Any]) -> None:
        text = compiler.ptx(kernel, self.capability).ptx
        program = ptx.parse(self.change(text) if self.change else text)
        arguments = [
            ptx.encode(v, {"float64": "f64", "float32": "f32", "bool": "u8"}.get(t, "u64"))
            for t, v in zip(kernel.types, values)
        ]
        spans = [(m.address, m.nbytes) for m in self.memories]
        ptx.Launch(program, spans).run(blocks, threads, arguments)


def run(text: Any, *arguments: Any, capability: Any, block: int, change: Any = None) -> list[Any]:
    device = PtxDevice(capability, change)
    module = HostModule(text.lowered, text.cuda, block)
    given = tuple(device.from_host(a) if isinstance(a, np.ndarray) else a for a in arguments)
    call, results = module.run(text.entry, device, given, lambda error: error)
    call.report()
    return [r.numpy() for r in results]


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("swapped", [(False, False), (True, False), (False, True), (True, True)])
def test_tiled_product(capability, swapped):
    a, b = RNG.normal(size=(17, 5)), RNG.normal(size=(5, 2))
    c = RNG.normal(size=(17, 2))
    expected = 2.0 * a @ b + 0.5 * c
    given = [np.ascontiguousarray(m.T) if swap else m for m, swap in zip((a, b), swapped)]
    (found,) = run(texts.GEMM, *swapped, 2.0, *given, 0.5, c, capability=capability, block=4)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("n", [0, 1, 9])
def test_reduction(capability, n):
    x = RNG.normal(size=n)
    total, doubled = run(texts.REDUCTION, x, capability=capability, block=4)
    np.testing.assert_allclose(total, [np.sum(x * x)], rtol=1e-13)
    np.testing.assert_array_equal(doubled, 2 * x)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_row_block(capability):
    x = RNG.normal(size=(3, 7))
    x[1, 2] = 800.0
    (found,) = run(texts.SOFTMAX, x, capability=capability, block=4)
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, shifted / shifted.sum(axis=1, keepdims=True), rtol=1e-13)


def chain(x, w):
    """A row block, a sum over columns, and a sum of all."""
    shifted = np.exp(x - np.max(x, axis=1)[:, None])
    return np.sum(w * shifted / np.sum(shifted, axis=1)[:, None])


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_what_the_compiler_emits(capability):
    x, w = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 5))
    text = compiled(chain, x, w, wrt=("x", "w"))
    given = [x, w, 1.0, np.zeros_like(x), np.zeros_like(w)]
    found = run(text, *given, capability=capability, block=4)
    np.testing.assert_allclose(found[0], [chain(x, w)], rtol=1e-13)


BARRIERS = [("reduction", 0), ("reduction", 1), ("gemm", 0)]


@pytest.mark.parametrize(("name", "which"), BARRIERS)
def test_a_barrier_that_nvvm_would_drop_is_noticed(name, which):
    """The interpreter runs each thread to its end if no barrier stops it."""

    def without(text: str) -> str:
        lines = text.split("\n")
        barriers = [k for k, line in enumerate(lines) if "bar.sync" in line]
        if which < len(barriers):
            del lines[barriers[which]]
        return "\n".join(lines)

    matrix = RNG.normal(size=(3, 3))
    arguments: tuple[Any, ...] = (RNG.normal(size=9),)
    if name == "gemm":
        arguments = (False, False, 1.0, matrix, matrix, 0.0, np.zeros((3, 3)))
    expected = np.sum(arguments[0] ** 2) if name == "reduction" else matrix @ matrix
    try:
        found = run(
            texts.ALL[name], *arguments, capability=CAPABILITIES[0], block=4, change=without
        )
    except AssertionError:
        return
    assert not np.allclose(found[0], expected)


def test_what_the_interpreter_refuses():
    def launch(line: str, arguments: list[int], spans: list[tuple[int, int]]) -> None:
        text = f".visible .entry k(.param .u64 p)\n{{\nld.param.u64 %rd1, [p];\n{line};\nret;\n}}"
        ptx.Launch(ptx.parse(text), spans).run(1, 2, arguments)

    array = np.zeros(2)
    span = [(array.ctypes.data, 16)]
    launch("ld.global.f64 %fd1, [%rd1+8]", [array.ctypes.data], span)
    with pytest.raises(ptx.BadAccess):
        launch("ld.global.f64 %fd1, [%rd1+16]", [array.ctypes.data], span)
    with pytest.raises(NotImplementedError, match="sqrt"):
        launch("sqrt.rn.f64 %fd1, %fd2", [0], [])
    with pytest.raises(ptx.DivergentBarrier):
        launch("mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bar.sync 0", [0], [])
