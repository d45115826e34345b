"""Sample sizes of long suites: a seeded sample by default, all cases with `S2S_TEST_ALL=1`.

`make test` runs the samples, `make test-all` and `make attack` everything.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

ALL = os.environ.get("S2S_TEST_ALL", "") not in ("", "0")

# Families of parametrised tests, and the number of each that runs by default.
FAMILIES = {
    "tests/attack/test_aot_workspace.py::test_workspaces_and_errors_seen_from_c": 3,
    "tests/attack/test_signals.py::test_ctrl_c_ends_a_compilation_and_the_next_one_is_right": 2,
    "tests/attack/test_sizes.py::test_extreme_numbers": 3,
    "tests/cuda/test_compile_gate.py::test_corpus": 8,
    "tests/cuda/test_emulation.py::test_corpus": 20,
    "tests/cuda/test_gate.py::test_corpus": 12,
    "tests/cuda/test_launches.py::test_rows": 8,
    "tests/fuzz/test_fuzz.py::test_random_programs": 5,
    "tests/s2s/codegen/elementary/test_elementary.py::test_error": 20,
    "tests/s2s/backends/test_backends.py::test_numba": 15,
    "tests/s2s/api/test_jacobian_vmap.py::test_jacobian": 12,
    "tests/s2s/runtime/test_parallel.py::test_corpus_backwards": 12,
    "tests/s2s/runtime/test_races.py::test_no_race": 8,
    "tests/test_calls_modes.py::test_same_results": 160,
    "tests/test_corpus.py::test_against_jax": 25,
    "tests/test_corpus.py::test_case_is_sound": 100,
    "tests/test_corpus.py::test_njit": 8,
    "tests/test_corpus.py::test_native": 20,
    "tests/test_corpus.py::test_numba": 30,
    "tests/test_corpus.py::test_layouts": 100,
    "tests/test_corpus.py::test_single_precision": 120,
    "tests/test_corpus.py::test_value_and_gradient": 450,
    "tests/training/test_against_keras.py::test_layer": 35,
    "tests/training/test_against_keras.py::test_loss": 50,
    "tests/transforms/lower/loop_ir/test_round_trip.py::test_lowered_programs": 8,
    "tests/transforms/lower/loops/test_unroll_and_jam.py::test_gradients_are_the_same": 10,
    "tests/transforms/lower/memory/test_carried_zeros.py::test_the_same_gradient": 25,
    "tests/transforms/rules/test_every_function.py::test_spellings": 5,
    "tests/transforms/rules/test_every_rule.py::test_rule": 100,
    "tests/transforms/rules/test_jax.py::test_gradients_agree": 60,
    "tests/transforms/rules/library/test_library.py::test_order": 2,
    "tests/transforms/specialise/calls/test_random_calls.py::test_call": 80,
    "tests/transforms/specialise/calls/test_calls.py::test_compiled_by_numba": 2,
}


def sampled(names: Sequence[str]) -> set[str]:
    """The names of the tests that run."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(name.partition("[")[0], []).append(name)
    chosen = (sample(found, FAMILIES.get(f, len(found))) for f, found in families.items())
    return {name for found in chosen for name in found}


def sample(cases: Sequence[T], n: int, seed: int = 0) -> list[T]:
    """A fixed sample of `n` cases, in order; all cases with `S2S_TEST_ALL`."""
    if ALL or len(cases) <= n:
        return list(cases)
    chosen = sorted(random.Random(seed).sample(range(len(cases)), n))
    return [cases[i] for i in chosen]


def count(sampled: int, full: int) -> int:
    """The number of cases that a generator yields."""
    return full if ALL else sampled
