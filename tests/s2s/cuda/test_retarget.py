import pytest

pytest.importorskip("numba_cuda")

from s2s.cuda import compiler, retarget
from s2s.cuda.kernel_text import kernel_texts
from tests.s2s.cuda.texts import ALL, SCATTER, SOFTMAX


def module(text, name, shadowed=False):
    kernel = kernel_texts(text.lowered, text.cuda)[name]
    return str(retarget.host_module(compiler.llvm_ir(kernel), "launch", shadowed))


def test_barriers_are_suspension_points():
    text = module(SOFTMAX, "softmax_k1")
    assert "presplitcoroutine" in text
    assert text.count("@llvm.coro.suspend(token none, i1 false)") == 6
    assert f"i8 {retarget.POISON - 256}" in text  # the shared array is filled
    assert "nvvm" not in text


def test_a_kernel_without_barriers_is_a_plain_function():
    text = module(SCATTER, "scatter_k2")
    assert "coroutine" not in text
    assert "atomicrmw fadd" in text and "cmpxchg" in text


@pytest.mark.parametrize("name", ALL)
def test_accesses_are_announced(name):
    for kernel in kernel_texts(ALL[name].lowered, ALL[name].cuda):
        lines = module(ALL[name], kernel, shadowed=True).splitlines()
        for before, line in zip(lines, lines[1:]):
            if " = load double" in line or " store double" in line or "atomicrmw" in line:
                assert "@s2s_shadow_" in before, line


def test_sizes_of_types():
    sizes = {"double": 8, "i1": 1, "i64": 8, "[4 x float]": 16, "{ i64, [2 x i32] }": 16, "ptr": 8}
    for type_, size in sizes.items():
        assert retarget._size(type_) == size
