"""Golden files: the emitted code of some functions, so that changes to it are visible in reviews.

`pytest tests/test_golden.py --update-golden` rewrites them."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.corpus import load
from tests.corpus.known import KNOWN
from tests.golden_programs import PROGRAMS
from tests.judge import transform

FOLDER = Path(__file__).parent / "golden"
CASES = load()

NAMES = [
    "polynomial", "two_arguments", "augmented_arithmetic", "swap_and_chain", "walrus_in_condition",
    "nonlinear_recurrence", "sum_of_squares", "triangular_nest", "break_and_continue_nested",
    "for_else_broken", "return_from_nested", "newton_square_root", "while_in_for", "if_elif_else",
    "branch_per_element", "cumulative_sum", "heat_by_slices", "swapped_buffers",
    "write_through_slice", "scatter_repeated_last_wins", "mask_from_values",
    "broadcast_everything", "softmax_cross_entropy", "layer_normalisation", "matrix_matrix",
    "einsum_batched", "nested_dataclass", "helper_in_loop", "append_vectors_then_stack",
    "two_layer_network", "kalman_filter", "columns_by_transposing",
]  # fmt: skip


def emitted(name: str) -> str:
    """The code for a case, with line numbers relative to the function's `def`, so that a golden
    file does not change when lines are added above the function."""
    case = CASES[name]
    args, kwargs = case.arguments(case.trips[-1], np.float64)
    text = transform(case, "python").source_for(*args, **kwargs)
    lines, first = inspect.getsourcelines(case.function)
    offset = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))

    def relative(match: re.Match[str]) -> str:
        number = int(match[2])
        inside = first <= number < first + len(lines)
        return match[1] + str(number - first - offset + 1 if inside else number)

    return re.sub(r"(\bL|_L|\.py:)(\d+)", relative, text)


@pytest.mark.parametrize("name", [
    pytest.param(n, marks=[pytest.mark.xfail(reason=KNOWN[n])] if n in KNOWN else [])
    for n in NAMES
])  # fmt: skip
def test_golden(name: str, update_golden: bool) -> None:
    text = emitted(name)
    path = FOLDER / f"{name}.py"
    if update_golden:
        path.write_text(text)
    assert path.exists(), "no golden file: run with --update-golden and review it"
    assert text == path.read_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, update_golden: bool) -> None:
    text = str(PROGRAMS[name]())
    path = FOLDER / f"{name}.py"
    if update_golden:
        path.write_text(text)
    assert path.exists(), "no golden file: run with --update-golden and review it"
    assert text == path.read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_golden_is_readable(path: Path) -> None:
    text = path.read_text()
    ast.parse(text)
    assert max(map(len, text.splitlines())) <= 88
    assert path.stem in {*NAMES, *PROGRAMS}, "a golden file of no test"


def test_emission_does_not_depend_on_the_process() -> None:
    """Emitted code is byte-identical under another hash seed."""
    names = [n for n in NAMES if n not in KNOWN][:6]
    script = (
        f"from tests.test_golden import emitted\nprint('\\n'.join(emitted(n) for n in {names!r}))"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert texts[0] == texts[1]
