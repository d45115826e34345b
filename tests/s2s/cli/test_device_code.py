import pytest

pytest.importorskip("numba_cuda")

import numpy as np

import s2s
from s2s.cli import device_code
from s2s.cli.exit_codes import CommandError
from s2s.cuda import assembler


def square(x):
    return np.sum(x * x)


GIVEN = ((np.ones(3),), {})


@pytest.mark.parametrize("f", (s2s.grad(square), s2s.grad(square, target="cuda-emulated")))
def test_ptx(f):
    text = device_code.text(f, GIVEN, "ptx", "10.0")
    assert text.startswith("// square_vjp_k1\n")
    assert ".target sm_100" in text and ".visible .entry s2s_" in text


def test_sass():
    if assembler.tool("ptxas") is None or assembler.tool("nvdisasm") is None:
        pytest.skip("the tools are not installed")
    assert "EXIT" in device_code.text(s2s.grad(square), GIVEN, "sass", "8.0")


def test_a_wrong_capability():
    with pytest.raises(CommandError, match="--cc eight"):
        device_code.text(s2s.grad(square), GIVEN, "ptx", "eight")
