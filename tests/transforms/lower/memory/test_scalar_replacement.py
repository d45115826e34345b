"""Buffers used at one index per iteration become scalars, exactly where that is the same."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.scalar_replacement import replace_by_scalars
from tests.transforms.lower.loop_ir_text import dedented, ir, run_body, text

MADE = "t = np.empty((n,), np.float64)\n"


def replaced(source: str, params: str = "xyn") -> str:
    body = ir(source)
    replace_by_scalars(body, [*params])
    return text(body)


def test_text():
    source = """
        t = np.empty((n,), np.float64)
        for i in range(n):
            t[i] = x[i] * 2.0
            y[i] = t[i] + t[i]
        """
    assert replaced(source) == dedented(
        """
        for i in range(n):
            t = x[i] * 2.0
            y[i] = t + t
        """
    )
    body = ir(source)
    replace_by_scalars(body, [])
    x = np.arange(3.0)
    np.testing.assert_array_equal(run_body(body, x=x, y=x, n=3)["y"], x * 4.0)


@pytest.mark.parametrize(
    ("inside", "want"),
    [
        ("t[i] = x[i]\nt[i] += 1.0\ny[i] = t[i]", "t = x[i]\nt = t + 1.0\ny[i] = t"),
        ("t[i] = x[i]\nt[i] = t[i] * 2.0\ny[i] = t[i]", "t = x[i]\nt = t * 2.0\ny[i] = t"),
        (
            "t[i] = x[i]\nif x[i] > 0.0:\n    t[i] = 0.0\ny[i] = t[i]",
            "t = x[i]\nif x[i] > 0.0:\n    t = np.float64(0.0)\ny[i] = t",
        ),
        (
            "t[i] = 0.0\nfor j in range(n):\n    t[i] += x[j]\ny[i] = t[i]",
            "t = np.float64(0.0)\nfor j in range(n):\n    t = t + x[j]\ny[i] = t",
        ),
        ("t[0] = x[i]\ny[i] = t[0]", "t = x[i]\ny[i] = t"),
        ("t[i - 1] = x[i]\ny[i] = t[i - 1]", "t = x[i]\ny[i] = t"),
        ("t[i] = x[i]", "t = x[i]"),
    ],
)
def test_one_index(inside, want):
    lines = "\n    ".join(inside.splitlines())
    lets = "\n    ".join(want.splitlines())
    assert replaced(f"{MADE}for i in range(n):\n    {lines}") == f"for i in range(n):\n    {lets}"


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param("t[i] = x[i]\ny[i] = t[i - 1]", id="another index"),
        pytest.param("y[i] = t[i]\nt[i] = x[i]", id="read first"),
        pytest.param("t[i] = t[i] + x[i]", id="reads itself first"),
        pytest.param("t[i] += x[i]\ny[i] = t[i]", id="accumulated first"),
        pytest.param("if x[i] > 0.0:\n    t[i] = x[i]\ny[i] = t[i]", id="stored in a branch"),
        pytest.param("k = i\nt[k] = x[i]\nk = n\ny[i] = t[k]", id="the index changes"),
        pytest.param("t[i] = x[i]\ns = t.shape[0]", id="its size is read"),
        pytest.param("t[i] = x[i]\nv = t.reshape((n, 1))", id="it has a view"),
        pytest.param("t[z[i]] = x[i]\ny[i] = t[z[i]]", id="a loaded index"),
        pytest.param(
            "t[i] = x[i]\nfor i in range(n):\n    y[i] = t[i]", id="an inner loop of that variable"
        ),
    ],
)
def test_buffers_that_stay(inside):
    lines = "\n    ".join(inside.splitlines())
    source = f"{MADE}for i in range(n):\n    {lines}"
    body = ir(source, z="int64[:]")
    replace_by_scalars(body, ["x", "y", "z", "n"])
    assert text(body) == source


def test_what_is_used_outside_the_loop_stays():
    loop = "for i in range(n):\n    t[i] = x[i]\n    y[i] = t[i]\n"
    for source in (MADE + loop + "s = t[0]", MADE + MADE + loop, loop):
        assert replaced(source.rstrip()) == source.rstrip()
    assert replaced((MADE + loop).rstrip(), params="t") == (MADE + loop).rstrip()


def test_a_dtype_is_kept():
    body = ir(
        "t = np.empty((n,), np.float32)\nfor i in range(n):\n    t[i] = x[i]\n    t[i] += x[i]",
        x="float32[:]",
    )
    replace_by_scalars(body, [])
    lets = [s for s in L.walk(body) if isinstance(s, L.Let)]
    assert [s.expr.dtype for s in lets] == ["float32", "float32"]
