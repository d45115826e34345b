"""Programs of the corpus as one library: its results equal those of the lowered code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.aot import build
from tests import oracle
from tests.corpus import load
from tests.judge import transform
from tests.s2s.aot.programs import needs_compiler

NAMES = [
    "while_true_with_break", "append_vectors_then_stack", "stack_discipline", "alias_moves_in_loop",
    "halves_of_one_buffer", "triangular_nest", "branch_rebinds_array", "two_that_change_places",
    "scatter_repeated_last_wins",
]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Any:
    cases = load()
    wanted = {}
    for name in NAMES:
        case = cases[name]
        args, _ = case.arguments(case.trips[-1], np.float64)
        wanted[name] = transform(case, "loops"), tuple(args)
    return build(wanted, out=tmp_path_factory.mktemp("aot") / "corpus").load()


@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_lowered_code(library, name) -> None:
    case = load()[name]
    function = transform(case, "loops")
    for n in case.trips[-2:]:
        given, again = (case.arguments(n, np.float64)[0] for _ in range(2))
        found, expected = getattr(library, name)(*given), function(*again)
        oracle.assert_close(found, expected, 1e-9, name)
        oracle.assert_close(given, again, 1e-9, f"arguments of {name}")
