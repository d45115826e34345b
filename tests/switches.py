"""Optimisations that can be switched off, to test that they do not change results.

`pytest --without all tests/test_corpus.py` runs tests without any of them, `--without
scatter_to_gather,hoist_fills` without some; `--threads-everywhere` parallelises every loop for
which that is legal, however short.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

# Replacements of optimisations that are switched off.
SWITCHES: dict[str, tuple[str, Any]] = {
    "simplify": ("pipeline.simplify", lambda module, facts=None: module),
    "reuse_powers": ("pipeline.reuse_powers", lambda module: module),
    "cse": ("simplify.cse._Sharing.stays", lambda self, stmt: True),
    "rematerialize": ("checkpoint.rematerialize.cost", lambda op: np.inf),
    "specialise_small_axes": ("lower.lower.specialise_small_axes", lambda function, facts: None),
    "accumulate_to_value": ("lower.lower.accumulate_to_value", lambda function, facts: function),
    "choose_layout": ("lower.lower.choose_layout", lambda body, params, may_alias, emitter: None),
    "duplicate_layout": (
        "lower.lower.duplicate_layout",
        lambda body, params, may_alias, emitter: None,
    ),
    "interchange_loops": ("lower.lower.interchange_loops", lambda body, may_alias: None),
    "fuse_loops": ("lower.loops.fusion.LoopFusion.block", lambda self, stmts: stmts),
    "replace_by_scalars": ("lower.lower.replace_by_scalars", lambda body, params: None),
    "eliminate_redundant_checks": (
        "lower.lower.eliminate_redundant_checks",
        lambda body, may_alias, integers: body,
    ),
    "hoist_checks": ("lower.lower.hoist_checks", lambda body, escaping, may_alias: body),
    "distribute_calls": (
        "lower.lower.distribute_calls",
        lambda body, escaping, may_alias, new_name: body,
    ),
    "if_convert": ("lower.lower.if_convert", lambda body, params, new_name: None),
    "distribute_shifted": (
        "lower.lower.distribute_shifted",
        lambda body, escaping, may_alias, new_name: body,
    ),
    "reversible_loops": ("lower.lower.reversible_loops", lambda body, may_alias, escaping: []),
    "promote_accumulators": (
        "lower.lower.promote_accumulators",
        lambda body, dtypes, escaping, may_alias, new_name, places: body,
    ),
    "forward_scaled_copies": ("lower.lower.forward_scaled_copies", lambda body: None),
    "scatter_to_gather": ("lower.lower.scatter_to_gather", lambda body, may_alias: None),
    "split_interior": ("lower.lower.split_interior", lambda body, may_alias: None),
    "peel_carried_zeros": (
        "lower.lower.peel_carried_zeros",
        lambda body, may_alias, new_name: None,
    ),
    "eliminate_dead_stores": ("lower.lower.eliminate_dead_stores", lambda body: None),
    "store_first_accumulate": ("lower.lower.store_first_accumulate", lambda body: None),
    "fuse_zero_accumulate": (
        "lower.lower.fuse_zero_accumulate",
        lambda body, escaping, may_alias, new_name: None,
    ),
    "skip_zero_updates": (
        "lower.lower.skip_zero_updates",
        lambda body, given, params, may_alias, emitter: None,
    ),
    "shortened_sweeps": (
        "lower.sparsity.skip_zero_updates.find_shortened_sweeps",
        lambda body, numbers, may_alias: [],
    ),
    "save_argminmax": (
        "lower.sparsity.skip_zero_updates.save_argminmax",
        lambda body, sweeps, numbers, new_name: None,
    ),
    "fuse_gemm_accumulate": (
        "lower.lower.fuse_gemm_accumulate",
        lambda body, matrices, may_alias: None,
    ),
    "reverse_scatter_loops": ("lower.lower.reverse_scatter_loops", lambda body, may_alias: None),
    "collapse_loops": ("lower.lower.collapse_loops", lambda body, sizes, may_alias, new_name: None),
    "contract_arrays": ("lower.lower.contract_arrays", lambda body, params: None),
    "split_wraparound": ("lower.lower.split_wraparound", lambda body: None),
    "canonicalize_accumulate": ("lower.lower.canonicalize_accumulate", lambda body, dtypes: None),
    "reverse_loops": ("lower.lower.reverse_loops", lambda body, may_alias, escaping: None),
    "unroll_and_jam_sums": (
        "lower.lower.unroll_and_jam_sums",
        lambda body, dtypes, escaping, may_alias, new_name: None,
    ),
    "unroll_and_jam": (
        "lower.lower.unroll_and_jam",
        lambda body, dtypes, escaping, may_alias, new_name: None,
    ),
    "forward_copies": ("lower.lower.forward_copies", lambda body, may_alias, new_name: None),
    "carry_in_registers": (
        "lower.lower.carry_in_registers",
        lambda body, params, owned, may_alias, new_name: None,
    ),
    "hoist_allocations": ("lower.lower.hoist_allocations", lambda body: None),
    "hoist_reserve": ("lower.lower.hoist_reserve", lambda body: None),
    "hoist_fills": ("lower.lower.hoist_fills", lambda body: None),
    "eliminate_in_range_checks": (
        "lower.lower.eliminate_in_range_checks",
        lambda body, params: None,
    ),
    "version_checked_loops": ("lower.lower.version_checked_loops", lambda body, params: None),
    "shorten_minmax_recurrence": ("lower.lower.shorten_minmax_recurrence", lambda body: None),
}

# With these values every parallelisable loop is parallelised, however short.
EVERY_LOOP: dict[str, int] = {
    "lower.analysis.parallel_profit.MIN_PARALLEL_WORK": 1,
    "lower.analysis.parallel_profit.MIN_PARALLEL_WORK_WITH_GEMM": 1,
    "lower.loops.parallelize.THREAD_START_COST": 0,
    "lower.loops.parallelize.MIN_CHUNK_WORK": 1,
    "lower.loops.parallelize.MIN_WORK_PER_PRIVATE_ELEMENT": 0,
}


@contextmanager
def threads_everywhere() -> Iterator[None]:
    """Parallelise loops by default wherever that is legal, also on a machine with one core."""
    with ExitStack() as stack:
        for path, value in EVERY_LOOP.items():
            stack.enter_context(mock.patch(f"s2s.transforms.{path}", value))
        # Not by NUMBA_NUM_THREADS, which must not change once Numba has started its own threads.
        stack.enter_context(mock.patch("s2s.runtime.thread_pool.thread_count", lambda: 3))
        yield


@contextmanager
def switched_off(*names: str) -> Iterator[None]:
    with ExitStack() as stack:
        for path, off in map(SWITCHES.__getitem__, names):
            stack.enter_context(mock.patch(f"s2s.transforms.{path}", off))
        yield
