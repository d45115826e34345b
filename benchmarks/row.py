"""A row of the benchmarks: one computation, with a factory of the callable for each peer.

A factory imports its library, so that a process loads only the libraries it measures, and a peer
that is not installed is a dash in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

OURS, PRIMAL, HAND = "s2s", "primal", "by hand"
JAX, TORCH, TORCH_COMPILED = "JAX", "PyTorch", "torch.compile"
TF_EAGER, TF_FUNCTION, TF_XLA = "TF eager", "tf.function", "TF XLA"
AUTOGRAD = "autograd"
NJIT, NATIVE = "njit", "native"  # ours on other back ends; OURS is the default, Numba's


# The competitors. The hand-written adjoint is a lower bound, the primal a unit of measure.
RIVALS = (JAX, TORCH, TORCH_COMPILED, TF_EAGER, TF_FUNCTION, TF_XLA, AUTOGRAD)
# The first installed one of these is the reference for results.
REFERENCES = (JAX, TORCH, AUTOGRAD, HAND, OURS)


@dataclass
class Runner:
    """`run` computes once and waits for the result. `read` returns the arrays to be compared; it is
    called once, before timing."""

    run: Callable[[], Any]
    read: Callable[[], list[np.ndarray]]
    backend: str = ""  # of s2s, where it is not the default


Maker = Callable[[], Runner]


@contextmanager
def on_backend(name: str) -> Iterator[None]:
    """Runs with another default back end of s2s."""
    if not name:
        yield
        return
    from s2s.call import backend_choice

    before, backend_choice.DEFAULT = backend_choice.DEFAULT, name
    try:
        yield
    finally:
        backend_choice.DEFAULT = before


def made_for(backend: str, maker: Maker) -> Maker:
    """The same computation by s2s on another back end."""

    def make() -> Runner:
        with on_backend(backend):
            runner = maker()
        return Runner(runner.run, runner.read, backend)

    return make


@dataclass
class Row:
    name: str
    group: str
    title: str
    makers: dict[str, Maker]
    dtype: str = "float64"
    # Largest distance from the reference, relative to its size, array by array.
    tolerance: float = 1e-8
    # Targets: speedup over the best peer, and over JAX.
    ahead_of_best: float = 1.0
    ahead_of_jax: float = 1.0
    # True for one reverse sweep, whose time is compared with that of the primal.
    reverse: bool = True

    def __post_init__(self) -> None:
        for backend in (NJIT, NATIVE) if OURS in self.makers else ():
            self.makers[backend] = made_for(backend, self.makers[OURS])


GROUPS = ("training", "loops", "second order", "overhead")


def distance(found: list[np.ndarray], right: list[np.ndarray]) -> float:
    """The largest relative distance of two arrays, in their norms."""
    if len(found) != len(right):
        raise ValueError(f"{len(found)} results where the reference has {len(right)}")
    worst = 0.0
    for a, b in zip(found, right):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if a.shape != b.shape:
            raise ValueError(f"a result of shape {a.shape} where the reference has {b.shape}")
        size = float(np.linalg.norm(b))
        apart = float(np.linalg.norm(a - b))
        # A NaN counts as infinitely far.
        relative = apart / size if size > 0.0 else apart
        worst = relative if not relative <= worst else worst
    return worst
