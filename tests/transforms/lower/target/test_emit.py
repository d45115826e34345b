"""Texts of small routines and their descriptions."""

from __future__ import annotations

import numpy as np

from s2s.transforms.lower.target.program import HostParam, HostResult, Kernel
from tests.cuda.compiling import compiled, emitted, host_function, kernel_bodies

SUM = """
def f(x, k):
    n = x.shape[0]
    s = 0.0
    for i in range(n):
        s = s + x[i] * k
    return (s,)
"""
TYPES = {"x": "float64[:]", "k": "float64"}


def test_a_sum_is_a_grid_and_one_block():
    text, program = emitted(SUM, **TYPES)
    first, second = kernel_bodies(text)
    assert first.startswith("def f_k1(err, n, x, k, s_parts):")
    assert "for i in range(thread, n, cuda.blockDim.x * cuda.gridDim.x):" in first
    assert second == (
        "def f_k2(err, blocks, s_parts, s_slot):\n"
        "    whole_float64 = cuda.shared.array(BLOCK, np.float64)\n"
        "    s = np.float64(0.0)\n"
        "    s_part_1 = np.float64(0.0)\n"
        "    for k_1 in range(cuda.threadIdx.x, blocks, cuda.blockDim.x):\n"
        "        part = s_parts[k_1]\n"
        "        s_part_1 = s_part_1 + part\n"
        "    whole_float64[cuda.threadIdx.x] = s_part_1\n"
        "    cuda.syncthreads()\n"
        "    width = BLOCK // 2\n"
        "    while width > 0:\n"
        "        if cuda.threadIdx.x < width:\n"
        "            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + "
        "whole_float64[cuda.threadIdx.x + width]\n"
        "        cuda.syncthreads()\n"
        "        width = width // 2\n"
        "    s = s + whole_float64[0]\n"
        "    cuda.syncthreads()\n"
        "    if cuda.threadIdx.x == 0:\n"
        "        s_slot[0] = s"
    )
    assert host_function(text) == (
        "    k = np.float64(k)\n"
        "    s = dev.empty((1,), np.float64)\n"
        "    n = x.shape[0]\n"
        "    blocks = dev.blocks(n, BLOCK)\n"
        "    s_parts = dev.empty((blocks,), np.float64)\n"
        "    dev.launch(f_k1, blocks, BLOCK, err, n, x, k, s_parts)\n"
        "    dev.launch(f_k2, 1, BLOCK, err, blocks, s_parts, s)\n"
        "    return (s,)"
    )
    assert program.params == [
        HostParam("x", "float64", 1, True),
        HostParam("k", "float64", 0, False),
    ]
    assert program.results == [HostResult("slot", "float64")]
    assert program.stats.launches == 2 and program.stats.syncs == 0


def test_kernels_are_described_with_their_parameters():
    _, program = emitted(SUM, **TYPES)
    flag = ("err", "int64*")
    assert program.kernels == [
        Kernel(
            "f_k1",
            (flag, ("n", "int64"), ("x", "float64*"), ("k", "float64"), ("s_parts", "float64*")),
            "grid",
            "",
        ),
        Kernel(
            "f_k2",
            (flag, ("blocks", "int64"), ("s_parts", "float64*"), ("s_slot", "float64*")),
            "grid",
            "",
        ),
    ]


def test_products_of_matrices_bring_their_kernel():
    _, program = emitted(
        "def f(a, b, c):\n    rt.gemm(False, True, 1.0, a, b, 0.0, c)\n    return (c,)\n",
        a="float64[:, :]", b="float64[:, :]", c="float64[:, :]",
    )  # fmt: skip
    (kernel,) = program.kernels
    assert kernel.name == "gemm_float64" and kernel.kind == "gemm"
    assert program.stats.gemms == 1 and program.results == [HostResult("array", "float64")]


def test_the_same_text_every_time():
    def loss(x, w):
        return np.sum(np.tanh(x @ w))

    texts = {compiled(loss, np.ones((3, 4)), np.ones((4, 2))).lowered for _ in range(2)}
    assert len(texts) == 1


def test_names_of_the_user_do_not_clash():
    def loss(cuda, dev, err, BLOCK):
        thread = cuda * dev
        cell = thread + err
        return np.sum(cell * BLOCK)

    found = compiled(loss, np.ones(3), 2.0, 1.0, np.ones(3))
    names = [p.name for p in found.cuda.params]
    assert not {"cuda", "dev", "err", "BLOCK"} & set(names)
    compile(found.lowered, "<text>", "exec")


def test_the_fields_are_those_of_the_contract():
    from pathlib import Path

    page = (Path(__file__).parents[4] / "docs" / "design" / "cuda.md").read_text()
    _, program = emitted(SUM, **TYPES)
    for name in (*vars(program), *vars(program.params[0]), *vars(program.kernels[0])):
        assert f"`{name}`" in page, name
