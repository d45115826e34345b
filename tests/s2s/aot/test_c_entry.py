"""Entry points of a library: what they check, in which order, and what they leave as it was."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from s2s.aot import status_codes
from tests.s2s.aot.programs import aligned, c_function, needs_compiler, relaxed, small_library

pytestmark = needs_compiler
POINTER, SIZE = ctypes.c_void_p, ctypes.c_int64
PARTS: dict[str, Any] = {}


def relax(u: Any, trips: int, *, n: Any = None, out: Any = None, workspace: Any = None,
          size: int | None = None) -> int:  # fmt: skip
    function = c_function("parts_relaxed", SIZE, POINTER, SIZE, POINTER, POINTER, SIZE)
    n = len(u) if n is None else n
    if workspace is None:
        workspace = aligned(1 << 16)
    size = 1 << 16 if size is None else size
    place = np.zeros(1) if out is None else out
    PARTS["out"] = place
    data = u if isinstance(u, int) else u.ctypes.data
    out_address = place if isinstance(place, int) else place.ctypes.data
    block = workspace if isinstance(workspace, int) else workspace.ctypes.data
    return function(n, data, trips, out_address, block, size)


def test_a_call_writes_its_argument_and_its_output() -> None:
    u = np.arange(9.0) ** 2
    v = u.copy()
    assert relax(u, 3) == status_codes.OK
    assert PARTS["out"][0] == relaxed(v, 3)
    np.testing.assert_array_equal(u, v)


def test_a_failed_call_restores_what_it_wrote() -> None:
    u = np.arange(9.0) ** 2 - 1.0
    before = u.copy()
    status = relax(u, 3)
    message = c_function("parts_message", ctypes.c_int32, result=ctypes.c_char_p)(status)
    assert message.startswith(b"ValueError: negative")
    np.testing.assert_array_equal(u, before)


def test_sizes() -> None:
    u = np.ones(9)
    for n in (-1, -(2**63), 2**61, 2**62, 2**63 - 1):
        assert relax(u, 1, n=n) == status_codes.SIZES
    # No array is so large: it would contain the output and the workspace, if these are behind it.
    assert relax(u, 1, n=2**50) in (status_codes.OVERLAP, status_codes.WORKSPACE)
    assert relax(u[:0], 0) != status_codes.OK  # u[0] of no elements is an error of the program
    assert (u == 1).all()


def test_pointers() -> None:
    u, workspace = np.ones(9), aligned(1 << 16)
    assert relax(0, 1, n=9) == status_codes.NULL
    assert relax(u, 1, out=0) == status_codes.NULL
    assert relax(u, 1, workspace=0) == status_codes.NULL
    assert relax(u.ctypes.data + 4, 1, n=3) == status_codes.ALIGNMENT
    for shift in (1, 8, 32):
        assert relax(u, 1, workspace=workspace.ctypes.data + shift) == status_codes.ALIGNMENT


def test_overlap() -> None:
    block = aligned(1 << 16).view(np.float64)
    workspace, size = block.ctypes.data, 1 << 15
    inside = block[16:25]
    inside[...] = 1.0
    assert relax(inside, 1, workspace=workspace, size=size) == status_codes.OVERLAP
    beyond = block[size // 8 : size // 8 + 9]
    beyond[...] = 1.0
    assert relax(beyond, 1, workspace=workspace, size=size) == status_codes.OK
    assert relax(beyond, 1, out=beyond[4:5]) == status_codes.OVERLAP
    assert relax(beyond, 1, out=block[size // 8 + 9 :]) == status_codes.OK
    assert (inside == 1.0).all()


def test_a_workspace_that_is_too_small_is_told_the_size_and_not_written_beyond() -> None:
    query = c_function("parts_relaxed_workspace", SIZE, SIZE, result=SIZE)
    need = query(1000, 3)
    u = np.ones(1000)
    for size in (-64, 0, 8, 63, 64, 128, need // 2, need - 64, need - 1):
        workspace = aligned(max(size, 0), fill=0x5A)
        assert relax(u, 3, workspace=workspace, size=size) == status_codes.WORKSPACE
        assert (workspace[max(size, 0) :] == 0x5A).all()
        if size >= 64:
            assert workspace[:8].view(np.int64)[0] == need
        elif size < 8:
            assert (workspace == 0x5A).all()
    workspace = aligned(need, fill=0x5A)
    assert relax(u, 3, workspace=workspace, size=need) == status_codes.OK
    assert (workspace[need:] == 0x5A).all()


def step(x: Any, block: Any) -> tuple[int, float]:
    function = c_function("parts_step", POINTER, POINTER, POINTER, POINTER, SIZE)
    out, workspace = np.zeros(1), aligned(4096)
    status = function(
        x.ctypes.data, out.ctypes.data, block.ctypes.data, workspace.ctypes.data, 4096
    )
    return status, out[0]


@pytest.fixture
def block() -> Any:
    size = small_library().state_bytes
    block = aligned(size, fill=0x5A)
    init = c_function("parts_init", POINTER, SIZE)
    for wrong in (-1, 0, size - 1, -(2**63)):
        assert init(block.ctypes.data, wrong) == status_codes.STATE
    assert init(None, size) == status_codes.NULL
    assert init(block.ctypes.data + 8, size) == status_codes.ALIGNMENT
    assert (block == 0x5A).all()
    assert init(block.ctypes.data, size) == 0
    assert (block[size:] == 0x5A).all()
    return block


def test_the_state_changes_only_if_a_call_succeeds(block) -> None:
    x = np.array([1.0, 2.0, 3.0])
    rng = np.random.default_rng(3)
    for count in (1, 2):
        status, value = step(x, block)
        assert status == 0 and value == pytest.approx(14.0 + rng.random(), rel=1e-15)
        assert block[64:72].view(np.int64)[0] == count
        before = block.copy()
        assert step(np.array([6.0, 0.0, 0.0]), block)[0] >= status_codes.FIRST_PROGRAM_ERROR
        np.testing.assert_array_equal(block, before)


def test_a_state_of_another_library_or_version_is_refused(block) -> None:
    x = np.ones(3)
    for word in range(4):
        other = block.copy()
        other = aligned(len(block))[: len(block)]
        other[...] = block
        other[8 * word] ^= 1
        assert step(x, other)[0] == status_codes.STATE
    assert step(x, block)[0] == 0


def test_the_state_may_not_overlap_with_an_argument(block) -> None:
    assert step(block[128:152].view(np.float64), block)[0] == status_codes.OVERLAP
