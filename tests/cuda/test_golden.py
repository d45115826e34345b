"""Golden files: the texts of some programs for CUDA, so that changes to them are visible.

`pytest tests/cuda/test_golden.py --update-golden` rewrites them.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from s2s.transforms.lower.target.host_writer import HEADER
from tests.corpus import load
from tests.cuda.compiling import compiled

FOLDER = Path(__file__).parent / "golden"
CASES = load()
NAMES = [
    "sum_of_squares", "matrix_matrix", "softmax_cross_entropy", "layer_normalisation",
    "two_layer_network", "heat_by_slices", "scatter_repeated_last_wins",
]  # fmt: skip


def text_of(name: str) -> str:
    """The text of a program, with line numbers relative to its `def`."""
    case = CASES[name]
    args, kwargs = case.arguments(case.trips[-1], np.float64)
    assert not kwargs
    text = compiled(case.function, *args, wrt=case.wrt).lowered
    lines, first = inspect.getsourcelines(case.function)
    offset = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))
    return re.sub(
        r"(\bL|_L|\.py:)(\d+)", lambda m: m[1] + str(int(m[2]) - first - offset + 1), text
    )


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, update_golden: bool) -> None:
    text = text_of(name)
    assert text.startswith(HEADER)
    compile(text, name, "exec")
    path = FOLDER / f"{name}.py"
    if update_golden:
        path.write_text(text)
    assert text == path.read_text()
