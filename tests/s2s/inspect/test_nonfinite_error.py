"""The error for a NaN or inf, and the parameters before the call."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from s2s.errors import S2SError
from s2s.inspect.nonfinite_error import KernelInputs, NonFiniteError


def test_text() -> None:
    error = NonFiniteError("log(0) is -inf", ["x is 0.0", "in iteration 3"], advice="use log1p")
    assert str(error) == "log(0) is -inf\n  x is 0.0\n  in iteration 3\nhelp: use log1p"
    assert isinstance(error, FloatingPointError) and isinstance(error, S2SError)
    assert error.details == ["x is 0.0", "in iteration 3"]
    assert str(NonFiniteError("bad", [])) == "bad"


def test_long_advice_is_wrapped() -> None:
    text = str(NonFiniteError("bad", [], advice="word " * 40))
    lines = text.splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 88 and lines[2].startswith("  word")


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
