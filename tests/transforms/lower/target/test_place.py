"""Where scalars live."""

from __future__ import annotations

from s2s.transforms.lower.target.place import Placement
from tests.cuda.compiling import emitted
from tests.transforms.lower.loop_ir_text import expr, ir


def test_expressions():
    placement = Placement({"s"})
    assert placement.is_host(expr("x.shape[0] + n"))
    assert not placement.is_host(expr("x[0] + 1.0"))
    assert not placement.is_host(expr("s * 2.0", s="float64"))


def test_statements():
    placement = Placement({"s"})
    assert placement.is_host_only(ir("k = n + 1\nif k > 3:\n    k = 3"))
    assert not placement.is_host_only(ir("x[0] = 1.0"))
    assert not placement.is_host_only(ir("s = 1.0", s="float64"))


def test_a_scalar_that_a_kernel_assigns_is_on_the_device_everywhere():
    """`s` starts as a literal; the loop makes it a device scalar, and so `t`."""
    text, program = emitted(
        """
def f(x, n):
    s = 1.0
    for i in range(n):
        s = s + x[i]
    t = s * 2.0
    return (s, t, n)
""",
        x="float64[:]",
    )
    assert [r.kind for r in program.results] == ["slot", "slot", "host"]
    assert "s = dev.empty((1,), np.float64)" in text and "t = dev.empty((1,), np.float64)" in text
