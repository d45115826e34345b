import pytest

from s2s.cuda.kernel_text import block_of, kernel_texts, with_block
from tests.s2s.cuda.texts import HEADER, REDUCTION, SCATTER, Program, kernel


def one(body, *params):
    return kernel_texts(HEADER + body, Program((kernel("k", *params),)))["k"]


def test_names_and_comments_do_not_matter():
    body = "@cuda.jit\ndef k(err, {x}):\n    {why}for {i} in range(3):\n        {x}[{i}] = {i}\n"
    first = one(body.format(x="x", i="i", why="# L1: x\n    "), "err: int64*", "x: float64*")
    other = one(body.format(x="y", i="cell", why=""), "e: int64*", "y: float64*")
    assert first.text == other.text and first.digest == other.digest
    assert first.symbol == f"s2s_{first.digest[:16]}"


def test_types_and_blocks_matter():
    body = "@cuda.jit\ndef k(err, x):\n    x[0] = 1\n"
    first = one(body, "err: int64*", "x: float64*")
    assert first.digest != one(body, "err: int64*", "x: float32*").digest
    assert first.block == 0  # the text does not depend on it
    found = {kernel_texts(with_block(REDUCTION.lowered, b), REDUCTION.cuda)["loss_k1"].digest
             for b in (2, 64)}  # fmt: skip
    assert len(found) == 2


def test_device_functions_are_part_of_the_kernels_that_call_them():
    found = kernel_texts(SCATTER.lowered, SCATTER.cuda)
    assert "def squared(" in found["scatter_k2"].text
    assert "def squared(" not in found["scatter_k1"].text


def test_the_number_of_threads_of_a_block():
    assert block_of(REDUCTION.lowered) == 128
    assert block_of(with_block(REDUCTION.lowered, 64)) == 64
    with pytest.raises(ValueError, match="power of 2"):
        with_block(REDUCTION.lowered, 96)
