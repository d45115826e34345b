"""Memory of its own, by the order of statements."""

from __future__ import annotations

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.target.fresh_buffers import fresh_after, fresh_in, with_fresh
from tests.cuda.compiling import emitted

NEW = L.Alloc("new", "float64", (L.Name("n"),))
OLD_IS_NEW = L.Rebind("old", "new")


def test_an_allocation_is_new_memory():
    assert fresh_after(NEW, frozenset()) == {"new"}


def test_a_name_bound_to_it_ends_that():
    assert fresh_after(OLD_IS_NEW, frozenset({"new", "other"})) == {"other"}
    assert fresh_after(L.View("flat", "new", ()), frozenset({"new"})) == frozenset()
    assert fresh_in([NEW, L.If(L.TRUE, [OLD_IS_NEW])], frozenset({"new", "other"})) == {"other"}


def test_what_may_alias():
    query = with_fresh(lambda a, b: True, frozenset({"new"}))
    assert query("new", "new") and query("old", "other") and not query("old", "new")


STEPS = """
def f(x, n, steps):
    old = np.empty((n,), np.float64)
    for i in range(n):
        old[i] = x[i]
    for k in range(steps):
        new = np.empty((n,), np.float64)
        for i in range(n):
            new[i] = old[n - 1 - i]
        old = new
    return (old,)
"""


def test_steps_with_new_memory_are_grids():
    _, program = emitted(STEPS, x="float64[:]")
    assert [v.kind for v in program.verdicts] == ["grid", "host", "grid"]


def test_steps_in_the_same_memory_are_not():
    source = STEPS.replace("        old = new\n", "").replace(
        "        for i in range(n):\n            new",
        "        new = old\n        for i in range(n):\n            new",
    )
    _, program = emitted(source, x="float64[:]")
    assert [v.kind for v in program.verdicts if v.kind != "host"] == ["grid", "thread"]
