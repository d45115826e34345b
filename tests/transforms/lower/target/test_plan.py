"""Numbers of a plan."""

from __future__ import annotations

from tests.cuda.compiling import emitted


def test_loops_of_the_host():
    """A loop with a grid in it, and one that only launches kernels of one thread."""
    _, program = emitted(
        """
def f(x, y, steps, n):
    for k in range(steps):
        for i in range(n):
            y[i] = y[i] + x[i]
        y[0] = 2.0 * y[1]
    for k in range(steps):
        t = np.empty((n,), np.float64)
        t[0] = y[k]
        y[k + 1] = t[0]
    return ()
""",
        x="float64[:]", y="float64[:]",
    )  # fmt: skip
    stats = program.stats
    assert (stats.host_loops, stats.glue_loops) == (2, 1)
    assert (stats.launches, stats.grids, stats.threads) == (3, 1, 2)
    assert [v.kind for v in program.verdicts] == ["host", "grid", "host"]


def test_synchronisations():
    _, program = emitted(
        """
def f(x, n):
    k = x[0]
    y = np.empty((k,), np.float64)
    for i in range(k):
        y[i] = 1.0
    return (y,)
""",
        x="int64[:]",
    )
    assert program.stats.syncs == 2
