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


PROGRAM = """
import numpy as np

def mean_square(w, x):
    r = x @ w
    return np.mean(r * r)
"""


def test_commands_for_functions_on_a_device(tmp_path, monkeypatch, capsys):
    from s2s.cli.main import main

    (tmp_path / "model.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    given = ["model.py:mean_square", "--args", "float64[4], float64[5,4]"]
    device = [*given, "--target", "cuda-emulated"]
    assert main(["show", *device, "--level", "lowered"]) == 0
    assert "@cuda.jit" in capsys.readouterr().out
    assert main(["show", *given, "--level", "ptx"]) == 0
    assert ".visible .entry s2s_" in capsys.readouterr().out
    assert main(["show", *device, "--level", "asm"]) != 0
    assert "use --level ptx" in capsys.readouterr().err
    assert main(["bench", *device, "--seconds", "0.01"]) == 0
    assert "backend cuda-emulated" in capsys.readouterr().out
    assert main(["bench", *device, "--backend", "loops"]) != 0
    assert "leave one of them out" in capsys.readouterr().err
    assert main(["report", *device, "--seconds", "0.01"]) == 0
    assert "On the device (cuda-emulated)" in (tmp_path / "report.html").read_text("utf-8")
