import subprocess
import sys

import numpy as np
import pytest

from s2s.cuda import devices
from s2s.cuda.execution import Call
from s2s.cuda.host_module import HostModule
from tests.s2s.cuda.texts import REDUCTION, SOFTMAX


def test_launches_of_the_host_function(monkeypatch):
    launched = []
    monkeypatch.setattr(Call, "launch", lambda self, kernel, *a: launched.append(
        (kernel.__name__, *a[:2])))  # fmt: skip
    device = devices.device("cuda-emulated")
    for block, blocks in ((None, 3), (64, 5)):
        launched.clear()
        module = HostModule(REDUCTION.lowered, REDUCTION.cuda, block)
        x = device.from_host(np.zeros(300))
        _, results = module.run("loss", device, (x,), lambda error: error)
        assert launched == [("loss_k1", blocks, block or 128), ("loss_k2", 1, 1)]
        assert [r.shape for r in results] == [(1,), (300,)]


def test_zero_sizes_launch_nothing():
    device = devices.device("cuda-emulated")
    module = HostModule(SOFTMAX.lowered, SOFTMAX.cuda)
    _, (y,) = module.run("softmax", device, (device.empty((0, 3), float),), lambda error: error)
    assert y.shape == (0, 3)


def test_cuda_packages_are_not_imported(tmp_path):
    """Neither by s2s, nor by the host function."""
    program = """
import sys, s2s, numpy as np
from s2s.cuda.host_module import HostModule
from tests.s2s.cuda.texts import REDUCTION
HostModule(REDUCTION.lowered, REDUCTION.cuda)
print([n for n in sys.modules if n.split(".")[0] in ("cuda", "numba_cuda", "nvmath", "numba")])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    done = subprocess.run(
        [sys.executable, "-c", "import sys, s2s; print('s2s.cuda' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"


def test_a_launch_of_no_blocks_is_an_internal_error():
    device = devices.device("cuda-emulated")
    module = HostModule(REDUCTION.lowered, REDUCTION.cuda)
    call = Call(device, module.kernels, lambda error: error)
    with pytest.raises(AssertionError, match="0 blocks"):
        call.launch(module._space["loss_k2"], 0, 1)
