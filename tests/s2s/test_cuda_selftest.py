import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from s2s import cuda_selftest
from s2s.cuda import devices


def test_the_report(capsys):
    assert cuda_selftest.main(["--target", "cuda-emulated"]) == 0
    text = capsys.readouterr().out
    count = 2 * len(cuda_selftest.programs(np.float64, True))
    assert f"{count} of {count} programs agree with the CPU" in text
    assert "cuda-emulated: the kernels run on the CPU" in text


def test_differences_are_reported(monkeypatch):
    def wrong(x):
        return np.sum(x * x)

    gradient = cuda_selftest.value_and_grad

    def changed(function, *, wrt, target):
        made = gradient(function, wrt=wrt, target=target)
        return made if target == "cpu" else lambda *args: (made(*args)[0], np.zeros(3))

    monkeypatch.setattr(cuda_selftest, "value_and_grad", changed)
    found = cuda_selftest.compare(wrong, "x", (np.ones(3),), "cuda-emulated")
    assert "differ" in found.error
    assert "0 of 1 programs agree" in cuda_selftest.report("cuda-emulated", [found])


def test_without_a_driver(capsys, monkeypatch):
    monkeypatch.setattr(devices, "_devices", {})
    assert cuda_selftest.main(["--target", "cuda"]) == 2
    assert "cuda-emulated" in capsys.readouterr().err
