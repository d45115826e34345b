"""The heap in a workspace: blocks do not overlap, are merged when free, and are found again."""

from __future__ import annotations

import ast
import random
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.aot import workspace_heap
from s2s.codegen.llvm_utils import INT, NULL, POINTER
from s2s.codegen.type_lowering import Context
from tests.s2s.codegen.machine_code import VOID, address, emitted


def python(text: str) -> Any:
    space: dict[str, Any] = {}
    exec(compile(ast.parse(text), "<heap>", "exec"), space)
    return next(v for k, v in space.items() if k in ("take", "draw", "clear"))


def compiled(text: str, count: int) -> Any:
    def write(builder: Any, place: Any, *scalars: Any) -> Any:
        context = Context(lambda: pytest.fail("Numba is not needed"))
        return workspace_heap.call(context, builder, text, place, *scalars)

    return emitted(INT, [POINTER, *[INT] * count], write)


@pytest.fixture(scope="module")
def take() -> Any:
    return compiled(workspace_heap.ALLOCATE, 2)


def blocks(heap: Any, total: int) -> list[tuple[int, int, int]]:
    """(start, words, count) of each block; they follow each other to the end."""
    found, at = [], 0
    while at < total:
        assert heap[at] >= 8 and heap[at] % 8 == 0
        found.append((at, int(heap[at]), int(heap[at + 1])))
        at += int(heap[at])
    assert at == total
    return found


def test_blocks_are_taken_and_merged_as_in_python(take) -> None:
    total, plain = 512, python(workspace_heap.ALLOCATE)
    heap = np.full(total + 16, 77)
    heap[:2] = total, 0
    rng, held = random.Random(0), {}
    for _ in range(3000):
        if held and rng.random() < 0.48:
            at = rng.choice([*held])
            heap[at + 1] -= 1
            del held[at]
            continue
        need = 8 * rng.randint(1, 12)
        other = heap.copy()
        (expected,) = plain(other, total, need)
        assert take(address(heap), total, need) == expected
        np.testing.assert_array_equal(heap, other)
        if expected >= 0:
            assert expected not in held and heap[expected] >= need
            held[expected] = need
            heap[expected + 8 : expected + need] = rng.randint(1, 9)
        used = {start for start, _, count in blocks(heap, total) if count}
        assert used == held.keys()
    assert (heap[total:] == 77).all()


def test_all_of_a_heap_can_be_taken(take) -> None:
    heap = np.zeros(64, np.int64)
    heap[0] = 64
    assert take(address(heap), 64, 72) == -1
    assert take(address(heap), 64, 64) == 0 and take(address(heap), 64, 8) == -1
    heap[1] = 0
    assert [take(address(heap), 64, 16) for _ in range(5)] == [0, 16, 32, 48, -1]
    heap[17] = heap[33] = 0
    assert take(address(heap), 64, 32) == 16  # two free neighbours are one block


def test_a_heap_of_no_words_has_none(take) -> None:
    assert take(address(np.zeros(2, np.int64)), 0, 8) == -1


def test_pools() -> None:
    draw, clear = (
        compiled(t, 2) for t in (workspace_heap.ALLOCATE_FROM_POOL, workspace_heap.CLEAR_POOL)
    )
    stride, count = 16, 3
    pool = np.full(stride * count + 8, 9)
    clear(address(pool), stride, count)
    assert pool[1 : stride * count : stride].tolist() == [0, 0, 0] and pool[stride * count + 1] == 9
    assert [draw(address(pool), stride, count) for _ in range(4)] == [0, 16, 32, -1]
    pool[17] = 0
    assert draw(address(pool), stride, count) == 16
    assert (pool[stride * count :] == 9).all()


def test_counts() -> None:
    def write(builder: Any, block: Any, place: Any) -> None:
        workspace_heap.retain(builder, block)
        workspace_heap.retain(builder, block)
        workspace_heap.retain(builder, NULL)
        workspace_heap.release(builder, builder.bitcast(place, POINTER.as_pointer()))

    run = emitted(VOID, [POINTER, POINTER], write)
    block, place = np.array([64, 1]), np.zeros(1, np.int64)
    place[0] = address(block)
    run(address(block), address(place))
    assert block.tolist() == [64, 2] and place[0] == 0
    run(address(block), address(place))  # null is released without effect
    assert block.tolist() == [64, 4]
    run(None, address(place))


def test_data_lies_behind_the_header() -> None:
    def write(builder: Any, start: Any, word: Any) -> Any:
        head, data = workspace_heap.block_at(builder, start, word)
        return builder.sub(builder.ptrtoint(data, INT), builder.ptrtoint(head, INT))

    assert emitted(INT, [POINTER, INT], write)(4096, 24) == 64
    assert isinstance(workspace_heap.WORDS, ir.PointerType)
