import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import assembler, compiler
from s2s.cuda.kernel_text import kernel_texts
from tests.s2s.cuda.texts import SOFTMAX

if assembler.tool("ptxas") is None:
    pytest.skip("ptxas is not installed", allow_module_level=True)

KERNEL = kernel_texts(SOFTMAX.lowered, SOFTMAX.cuda)["softmax_k1"]


def test_registers_and_shared_memory():
    found = assembler.assemble(compiler.ptx(KERNEL, (8, 0)).ptx, (8, 0))
    assert found.cubin.startswith(b"\x7fELF")
    assert 0 < found.registers <= 255 and found.spilled_bytes == 0
    assert found.shared_bytes == 128 * 8


def test_machine_code():
    if assembler.tool("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed")
    text = assembler.sass(compiler.ptx(KERNEL, (8, 0)).ptx, (8, 0))
    assert "BAR.SYNC" in text and KERNEL.symbol in text


def test_ptx_of_a_newer_gpu_is_refused():
    with pytest.raises(s2s.DeviceError, match="ptxas fails"):
        assembler.assemble(compiler.ptx(KERNEL, (10, 0)).ptx, (8, 0))


def test_a_missing_tool(monkeypatch):
    monkeypatch.setattr(assembler, "tool", lambda name: None)
    with pytest.raises(s2s.DeviceError, match="nvdisasm is not installed") as caught:
        assembler._run("nvdisasm")
    assert "pip install nvidia-cuda-nvdisasm" in str(caught.value)
