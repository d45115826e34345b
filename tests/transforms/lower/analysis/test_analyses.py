"""Analyses of a whole body: dtypes, aliases and live names, each computed once."""

from __future__ import annotations

from s2s.transforms.lower.analysis.analyses import FunctionAnalyses, buffer_dtypes
from tests.transforms.lower.loop_ir_text import ir, loops_of

BODY = """
    t = np.empty((n,), np.float32)
    for i in range(n):
        u = np.empty((2,), np.int64)
        v = t.reshape((n, 1))
        s = v[i, 0]
    return (s,)
    """


def test_dtypes_of_parameters_and_allocations():
    assert buffer_dtypes(ir(BODY), {"x": "float64"}) == {
        "x": "float64",
        "t": "float32",
        "u": "int64",
    }
    # A parameter that is also allocated, as an out-buffer is, has the parameter's dtype.
    assert buffer_dtypes(ir(BODY), {"t": "float64"})["t"] == "float64"


def test_aliases_and_live_names():
    body, asked = ir(BODY), []

    def may_alias(a, b):
        asked.append((a, b))
        return a == b

    found = FunctionAnalyses(body, {"x": "float64"}, may_alias)
    assert not asked
    assert found.may_alias("v", "t") and not found.may_alias("v", "u")
    assert found.live_after[id(loops_of(body)[0])] == {"s"}
    assert found.live_after is found.live_after and found.may_alias is found.may_alias
