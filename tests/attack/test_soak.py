"""Short forms of the long runs of `tests/attack/soak.py`."""

from __future__ import annotations

import pytest

from tests import scale
from tests.attack import soak

pytest.importorskip("numba")


@pytest.mark.parametrize("kind", soak.KINDS)
def test_steps_of_plain_tapes_leave_nothing_behind(kind: str) -> None:
    rows = list(soak.run_steps(kind, scale.count(2_000, 20_000)))
    early, (_, _, late, _, _, loss) = rows[4][2], rows[-1]
    # A leak of one object per step would be five tenths of the steps.
    assert late - early < rows[0][0] // 2
    assert loss < 1e-3


def test_what_a_killed_process_leaves_in_the_cache_is_never_used() -> None:
    times = scale.count(3, 200)
    killed, wrong = soak.run_kills(times, seed=1)
    assert killed == times
    assert not wrong, wrong[0]
