import pytest

import s2s
from s2s.cuda import devices


def test_one_device_for_a_target():
    assert devices.device("cuda-emulated") is devices.device("cuda-emulated")
    with pytest.raises(s2s.S2SValueError, match="is not a device"):
        devices.device("cpu")


def test_release_memory(monkeypatch):
    released = []

    class Device:
        def release(self):
            released.append(self)

    monkeypatch.setattr(devices, "_devices", {"cuda": Device()})
    s2s.release_memory()
    assert len(released) == 1


def test_the_default_target(monkeypatch):
    monkeypatch.delenv("S2S_TARGET", raising=False)
    assert devices.default_target() == "cuda"
    monkeypatch.setenv("S2S_TARGET", "cuda-emulated")
    assert s2s.to_device(1.0).target == "cuda-emulated"
    monkeypatch.setenv("S2S_TARGET", "cpu")
    assert devices.default_target() == "cuda"
