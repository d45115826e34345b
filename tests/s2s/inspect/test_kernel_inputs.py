"""The parameters of a kernel before the call."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from s2s.inspect.kernel_inputs import KernelInputs


def before(params: Any, written: Any = (), random: bool = False) -> KernelInputs:
    compiled = types.SimpleNamespace(
        params=[types.SimpleNamespace(path=(("arg", f"p{k}"),)) for k in range(len(params))]
    )
    entry: Any = types.SimpleNamespace(compiled=compiled, written=list(written))
    return KernelInputs(entry, params, random)


def test_parameters_that_the_kernel_changes_are_copied() -> None:
    written, read, rng = np.zeros(2), np.ones(2), np.random.default_rng(0)
    made = before((written, read, rng), written=[0])
    written[:] = 5.0
    first = rng.random()
    for _ in range(2):  # each run gets its own copies
        values = made.values()
        assert values[(("arg", "p1"),)] is read
        assert values[(("arg", "p0"),)].tolist() == [0.0, 0.0]
        values[(("arg", "p0"),)][:] = 9.0
        assert values[(("arg", "p2"),)].random() == first
    assert written.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("random", [True, False])
def test_the_state_of_the_global_generator(random: bool) -> None:
    np.random.seed(3)
    made = before((), random=random)
    first = np.random.rand()
    made.values()
    assert (np.random.rand() == first) is random
