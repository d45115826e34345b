"""Each field of `Parameters`, by what the choice of a memory layout makes of it."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.parameters import Parameters
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.layout import choose_layout
from tests.transforms.lower.loop_ir_text import ir, text

# Reads and writes down the columns.
BODY = """
    for j in range(x.shape[0]):
        for k in range(x.shape[1]):
            for i in range(x.shape[0]):
                y[i, k] += x[i, k]
    return ()
    """


def chosen(outs: str = "", escaping: str = "", dtype: str = "float64") -> str:
    body = ir(BODY, x=f"{dtype}[:, :]", y=f"{dtype}[:, :]")
    sizes: dict[str, tuple[L.Expr, ...]] = {n: (L.Size(n, 0), L.Size(n, 1)) for n in "xy"}
    params = Parameters(dict.fromkeys("xy", dtype), sizes, frozenset(outs), set(escaping))
    choose_layout(body, params, lambda a, b: a == b, Emitter({*"xyijk"}))
    return text(body)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_and_sizes_of_a_copy(dtype):
    assert f"x_turned = np.empty((x.shape[1], x.shape[0]), np.{dtype})" in chosen(dtype=dtype)


def test_an_out_buffer_is_not_read():
    assert "y_turned" not in chosen()  # an argument that is written to
    after = chosen(outs="y")
    assert "y[i_1, j_1] = y_turned[j_1, i_1]" in after and " = y[" not in after


def test_the_caller_sees_an_escaping_array_if_the_call_fails():
    assert "y_turned" not in chosen(outs="y", escaping="y")
    assert "x_turned" not in chosen(escaping="x")
