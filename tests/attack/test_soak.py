"""Short forms of the long runs of `tests/attack/soak.py`."""

from __future__ import annotations

import pytest

from tests import scale
from tests.attack import soak

pytest.importorskip("numba")


@pytest.mark.parametrize("kind", soak.KINDS)
def test_steps_of_plain_tapes_leave_nothing_behind(kind: str) -> None:
    rows = list(soak.run_steps(kind, scale.count(1_200, 20_000)))
    (begin, _, early, _, _, _), (end, _, late, _, _, loss) = rows[4], rows[-1]
    # A leak of one object per step would show as many blocks as steps; Python's own caches take
    # some dozens.
    assert late - early < (end - begin) // 2
    assert loss < 1e-3


def test_what_a_killed_process_leaves_in_the_cache_is_never_used() -> None:
    times = scale.count(3, 200)
    killed, wrong = soak.run_kills(times, seed=1)
    assert killed == times
    assert not wrong, wrong[0]
