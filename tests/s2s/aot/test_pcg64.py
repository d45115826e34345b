"""PCG64 over the state of a library: NumPy's numbers, in any order of the three kinds."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from s2s.aot import pcg64
from s2s.codegen.llvm_utils import INT
from s2s.errors import UnsupportedError
from tests.s2s.codegen.machine_code import DOUBLE, linked

KINDS = {"s2s.pcg.long": INT, "s2s.pcg.short": ir.IntType(32), "s2s.pcg.double": DOUBLE}


@pytest.fixture(scope="module")
def draw() -> dict[str, Any]:
    module = ir.Module()
    for make in (pcg64._next_double, pcg64._next_uint32, pcg64._next_uint64):
        assert make(module) is make(module)
    function = linked(module)
    return {name: function(name, kind, INT) for name, kind in KINDS.items()}


def state_of(generator: np.random.Generator) -> np.ndarray[Any, Any]:
    return pcg64.state_words(generator, "rng")


@pytest.mark.parametrize("seed", [0, 1, 2**70])
def test_draws_equal_those_of_numpy(draw, seed) -> None:
    theirs = np.random.default_rng(seed)
    state = state_of(theirs)
    bits: Any = theirs.bit_generator.ctypes  # type: ignore[attr-defined]
    rng = random.Random(3)
    for _ in range(500):
        kind = rng.choice([*KINDS])
        found = draw[kind](state.ctypes.data)
        name = {"long": "next_uint64", "short": "next_uint32", "double": "next_double"}
        expected = getattr(bits, name[kind.rpartition(".")[2]])(bits.state_address)
        if kind != "s2s.pcg.double":
            width = 64 if kind == "s2s.pcg.long" else 32
            found, expected = found % 2**width, expected % 2**width
        assert found == expected
        np.testing.assert_array_equal(state, state_of(theirs))


def test_words_hold_the_whole_state() -> None:
    generator = np.random.default_rng(5)
    generator.integers(0, 10, dtype=np.uint32)  # leaves half of a draw
    words = [int(w) for w in state_of(generator)]
    state: Any = generator.bit_generator.state
    assert words[0] + (words[1] << 64) == state["state"]["state"]
    assert words[2] + (words[3] << 64) == state["state"]["inc"]
    assert words[4:] == [state["has_uint32"], state["uinteger"]] and words[4] == 1
    assert len(words) == pcg64.WORDS


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.PCG64DXSM])
def test_other_generators_are_refused(kind) -> None:
    with pytest.raises(UnsupportedError, match=f"self.rng draws from {kind.__name__}"):
        pcg64.state_words(np.random.Generator(kind(0)), "self.rng")


def test_the_state_behind_it_is_not_touched(draw) -> None:
    state = np.concatenate([state_of(np.random.default_rng(1)), np.full(4, 7, np.uint64)])
    for name in KINDS:
        for _ in range(5):
            draw[name](state.ctypes.data)
    assert (state[pcg64.WORDS :] == 7).all()
    assert ctypes.sizeof(ctypes.c_uint64) * pcg64.WORDS == 48
