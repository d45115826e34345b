"""`target=` and `S2S_TARGET`; test_backend.py of `cuda` has the calls themselves."""

import inspect

import numpy as np
import pytest

import s2s
from s2s.api import device_calls


def square(x):
    return np.sum(x * x)


TRANSFORMS = (
    "function",
    "grad",
    "value_and_grad",
    "jvp",
    "vjp",
    "hvp",
    "jacobian",
    "hessian",
    "vmap",
)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_has_a_target(name):
    transform = getattr(s2s, name)
    assert inspect.signature(transform).parameters["target"].default is None
    assert transform(square, target="cuda-emulated")._shared.options.target == "cuda-emulated"
    with pytest.raises(s2s.S2SValueError, match="target=gpu: there is no such target"):
        transform(square, target="gpu")


def test_the_target_from_outside(monkeypatch):
    monkeypatch.setenv("S2S_TARGET", "cuda-emulated")
    assert s2s.grad(square)._shared.options.target == "cuda-emulated"
    assert s2s.grad(square, target="cpu")._shared.options.target == "cpu"
    assert s2s.grad(square, backend="loops")._shared.options.target == "cpu"
    monkeypatch.setenv("S2S_TARGET", "gpu")
    with pytest.raises(s2s.S2SValueError, match="S2S_TARGET=gpu"):
        s2s.grad(square)


def test_back_ends_are_those_of_the_cpu():
    with pytest.raises(s2s.S2SValueError, match="backend='loops' is a way to run on the CPU"):
        s2s.grad(square, backend="loops", target="cuda")


def test_what_is_not_supported_on_a_device():
    f = s2s.grad(square, target="cuda-emulated")
    with pytest.raises(s2s.S2SValueError, match="out= is not supported"):
        f(np.ones(3), out=np.ones(3))
    with s2s.debug_nans(), pytest.raises(s2s.S2SValueError, match="debug_nans"):
        f(np.ones(3))
    with pytest.raises(s2s.UnsupportedError, match="call it from Python|run on the CPU"):
        _ = f._numba_type_


def test_containers_without_foreign_arrays_stay_what_they_are():
    values = ([1.0, (np.ones(2), None)], {"a": "b"}, 3)
    for before, after in zip(values, device_calls.prepared(values, "cuda-emulated")):
        assert after is before
