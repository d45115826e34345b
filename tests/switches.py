"""Optimisations that can be switched off, to see that they change nothing but the speed.

`pytest --without all tests/test_corpus.py` runs tests without any of them, `--without gather,hoist`
without some; `--threads-everywhere` runs every loop on threads that may be, however short.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

# What stands in for an optimisation that is switched off.
SWITCHES: dict[str, tuple[str, Any]] = {
    "simplify": ("pipeline.simplify", lambda module, facts=None: module),
    "powers": ("pipeline.by_quotients", lambda module: module),
    "twice": ("simplify.cse._Sharing.stays", lambda self, stmt: True),
    "recompute": ("checkpoint.rematerialize.cost", lambda op: np.inf),
    "few": ("lower.lower.count_few", lambda function, facts: None),
    "fuse": ("lower.lower.as_values", lambda function, facts: function),
    "layout": ("lower.lower.turn", lambda body, params, shares, em: None),
    "twins": ("lower.lower.pair", lambda body, params, shares, em: None),
    "interchange": ("lower.lower.interchange", lambda body, shares: None),
    "siblings": ("lower.loops.fusion.Merger.block", lambda self, stmts: stmts),
    "scalarise": ("lower.lower.scalarise", lambda body, params: None),
    "checks": ("lower.lower.drop_settled", lambda body, shares, integers: body),
    "checks ahead": ("lower.lower.check_ahead", lambda body, visible, shares: body),
    "apart": ("lower.lower.take_apart", lambda body, visible, shares, fresh: body),
    "selects": ("lower.lower.choose", lambda body, params, fresh: None),
    "shifted": ("lower.lower.part_shifted", lambda body, visible, shares, fresh: body),
    "at will": ("lower.lower.backwards_at_will", lambda body, shares, visible: []),
    "registers": ("lower.lower.sum_up", lambda body, dtypes, visible, shares, fresh, places: body),
    "multiples": ("lower.lower.spell_multiples", lambda body: None),
    "gather": ("lower.lower.gather", lambda body, shares: None),
    "insides": ("lower.lower.part_insides", lambda body, shares: None),
    "rounds": ("lower.lower.keep_zeros", lambda body, shares, fresh: None),
    "unread": ("lower.lower.drop_unread", lambda body: None),
    "first touch": ("lower.lower.touch_first", lambda body: None),
    "zeroed": ("lower.lower.write_over", lambda body, visible, shares, fresh: None),
    "unchosen": ("lower.lower.skip_unchosen", lambda body, given, params, shares, em: None),
    "passed on": ("lower.sparsity.skip_zero_updates.shortened", lambda body, numbers, shares: []),
    "last chosen": (
        "lower.sparsity.skip_zero_updates.keep_last",
        lambda body, sweeps, numbers, fresh: None,
    ),
    "gemm update": ("lower.lower.accumulate", lambda body, matrices, shares: None),
    "mirror": ("lower.lower.mirror", lambda body, shares: None),
    "rows": ("lower.lower.join_rows", lambda body, sizes, shares, fresh: None),
    "narrow": ("lower.lower.narrow", lambda body, params: None),
    "wrap": ("lower.lower.cut_wrapping", lambda body: None),
    "additions": ("lower.lower.spell_additions", lambda body, dtypes: None),
    "forwards": ("lower.lower.run_forwards", lambda body, shares, visible: None),
    "jam": ("lower.lower.jam", lambda body, dtypes, visible, shares, fresh: None),
    "abreast": (
        "lower.lower.run_abreast",
        lambda body, dtypes, visible, shares, fresh: None,
    ),
    "copies": ("lower.lower.read_in_place", lambda body, shares, fresh: None),
    "window": ("lower.lower.keep_windows", lambda body, params, owned, shares, fresh: None),
    "hoist": ("lower.lower.hoist", lambda body: None),
    "room": ("lower.lower.make_room", lambda body: None),
    "borders": ("lower.lower.write_borders_once", lambda body: None),
    "within": ("lower.lower.stay_within", lambda body, params: None),
    "unchecked": ("lower.lower.leave_unchecked", lambda body, params: None),
    "waiting": ("lower.lower.wait_less", lambda body: None),
}

# With these values every loop that may be shared out is, however short.
EVERY_LOOP: dict[str, int] = {
    "lower.analysis.parallel_profit.WORTH": 1,
    "lower.analysis.parallel_profit.BESIDE_PRODUCTS": 1,
    "lower.loops.parallelize.START": 0,
    "lower.loops.parallelize.GRAIN": 1,
    "lower.loops.parallelize.PER_ELEMENT": 0,
}


@contextmanager
def threads_everywhere() -> Iterator[None]:
    """Loops run on threads by themselves wherever they may, on a machine with one core as well."""
    with ExitStack() as stack:
        for path, value in EVERY_LOOP.items():
            stack.enter_context(mock.patch(f"s2s.transforms.{path}", value))
        # Not by NUMBA_NUM_THREADS, which must not change once Numba has started its own threads.
        stack.enter_context(mock.patch("s2s.runtime.thread_pool.count", lambda: 3))
        yield


@contextmanager
def switched_off(*names: str) -> Iterator[None]:
    with ExitStack() as stack:
        for path, off in map(SWITCHES.__getitem__, names):
            stack.enter_context(mock.patch(f"s2s.transforms.{path}", off))
        yield
