"""The memory that compiled code allocates, computed from its lowered source."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.cli.workspace import workspace


def swing(x, steps):
    for _ in range(steps):
        x = x + 0.1 * np.sin(x)
    return np.sum(x)


def growing(x):
    while x < 100.0:
        x = x * x + 1.0
    return x


def apart(x):
    a = x[::-1] * 2.0
    b = np.sort(a)
    c = b[::-1] * b
    return np.sort(c)[0]


def of(gradient, *args):
    specialiser, bound = gradient._bind(gradient._mode, args, {})
    return workspace(*specialiser.find(bound, "python"))


def test_what_is_saved_is_counted():
    saved = 8 * 1000 * 50
    assert saved <= of(s2s.grad(swing), np.ones(1000), 50) <= saved + 4 * 8000


def test_arrays_that_are_not_in_use_together_are_not_added():
    function = s2s.function(apart)
    most = of(function, np.ones(1000))
    assert 16000 <= most < 8000 * function.lowered.count("np.empty(")


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (growing, (1.0,)),
        (lambda x: np.linalg.det(x), (np.eye(3),)),
        (lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2), (np.ones(8),)),
    ],
)
def test_what_only_the_run_tells(f, args):
    assert of(s2s.grad(f), *args) is None
