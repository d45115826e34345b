"""`s2s.debug_nans()`: the switch, and which results are checked."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import s2s
from s2s.call import debug_flag


@pytest.fixture(autouse=True)
def off_again():
    yield
    s2s.debug_nans(False)


@pytest.mark.parametrize("backend", ["python", "loops", "numba"])
def test_every_backend(backend):
    def root(x):
        return np.sqrt(x).sum()

    gradient = s2s.grad(root, backend=backend)
    with s2s.debug_nans(), pytest.raises(FloatingPointError) as error:
        gradient(np.array([1.0, 0.0]))
    assert error.value.line == root.__code__.co_firstlineno + 1


def test_good_results_are_not_run_again(monkeypatch):
    monkeypatch.setattr(s2s.inspect.debug_nans, "report", None, raising=False)
    with s2s.debug_nans():
        assert s2s.grad(lambda x: x * x, backend="python")(3.0) == 6.0


def test_auxiliary_results_may_be_anything():
    g = s2s.grad(lambda x: (x * x, np.log(x * 0.0)), has_aux=True, backend="loops")
    with s2s.debug_nans():
        assert g(1.0) == (2.0, -np.inf)


def test_the_switch():
    g = s2s.grad(lambda x: np.sqrt(x), backend="python")
    assert g(0.0) == np.inf
    s2s.debug_nans()
    with pytest.raises(FloatingPointError):
        g(0.0)
    with s2s.debug_nans(False):
        assert g(0.0) == np.inf
    with pytest.raises(FloatingPointError):
        g(0.0)
    s2s.debug_nans(False)
    assert g(0.0) == np.inf and not debug_flag.active
    assert repr(s2s.debug_nans(True)) == "<s2s.debug_nans: on>"


def test_an_error_leaves_the_block():
    with pytest.raises(KeyError), s2s.debug_nans():
        raise KeyError
    assert not debug_flag.active


def test_other_threads():
    g = s2s.grad(lambda x: np.sqrt(x), backend="python")
    errors = []

    def work():
        try:
            g(0.0)
        except FloatingPointError as error:
            errors.append(error)

    with s2s.debug_nans():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(errors) == 4
