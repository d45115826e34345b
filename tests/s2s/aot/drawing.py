"""Functions that draw random numbers, by generator method."""

from __future__ import annotations

from typing import Any

import numpy as np

import s2s


def drawing(method: str) -> tuple[np.random.Generator, Any]:
    generator = np.random.default_rng(7)

    def standard_normal(x):
        s = 0.0
        for _ in range(10):
            s += generator.standard_normal()
        return x * s

    def random(x):
        s = 0.0
        for _ in range(10):
            s += generator.random()
        return x * s

    def gumbel(x):
        return x * generator.gumbel()

    functions = (standard_normal, random, gumbel)
    return generator, s2s.function({f.__name__: f for f in functions}[method])
