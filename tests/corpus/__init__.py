"""The corpus: small functions in the language that s2s supports.

A new case is one function under `@case(...)`, whose arguments are one maker per parameter:

    @case(arr(N + 1), num(), tags="loops")
    def decay(x, k): ...

`N` is the trip count: a case that refers to it is run with N = 0, 1, 2 and 3.  Makers are
seeded by the name of the case, so that arguments are reproducible.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator, int, Any], Any]


@dataclass(frozen=True)
class Size:
    """`scale * N + shift`."""

    scale: int = 1
    shift: int = 0

    def __add__(self, other: int) -> Size:
        return Size(self.scale, self.shift + other)

    def __rmul__(self, other: int) -> Size:
        return Size(self.scale * other, self.shift * other)

    def at(self, n: int) -> int:
        return self.scale * n + self.shift

    def __call__(self, rng: np.random.Generator, n: int, dtype: Any) -> int:
        return self.at(n)


N = Size()


def _shape(sizes: Sequence[int | Size], n: int) -> tuple[int, ...]:
    return tuple(s.at(n) if isinstance(s, Size) else s for s in sizes)


@dataclass(frozen=True)
class Arr:
    """A float array with entries between `low` and `high`."""

    sizes: tuple[int | Size, ...]
    low: float
    high: float

    def __call__(self, rng: np.random.Generator, n: int, dtype: Any) -> Any:
        return rng.uniform(self.low, self.high, _shape(self.sizes, n)).astype(dtype)


def arr(*sizes: int | Size, low: float = -1.0, high: float = 1.0) -> Arr:
    return Arr(sizes, low, high)


@dataclass(frozen=True)
class Call:
    """Any other maker; `parts` are the makers that it contains."""

    make: Maker
    parts: tuple[Any, ...] = ()

    def __call__(self, rng: np.random.Generator, n: int, dtype: Any) -> Any:
        return self.make(rng, n, dtype)


def num(low: float = -1.0, high: float = 1.0) -> Maker:
    """A scalar: a Python float in float64, a NumPy scalar in float32."""

    def make(rng: np.random.Generator, n: int, dtype: Any) -> Any:
        value = rng.uniform(low, high)
        return float(value) if dtype is np.float64 else dtype(value)

    return Call(make)


def pyfloat(low: float = -1.0, high: float = 1.0) -> Maker:
    return Call(lambda rng, n, dtype: float(rng.uniform(low, high)))


def ints(*sizes: int | Size, low: int = 0, high: int = 3) -> Maker:
    make = lambda rng, n, dtype: rng.integers(low, high, _shape(sizes, n))  # noqa: E731
    return Call(make, sizes)


def bools(*sizes: int | Size) -> Maker:
    return Call(lambda rng, n, dtype: rng.uniform(size=_shape(sizes, n)) < 0.5, sizes)


def value(thing: Any) -> Maker:
    """Always the same value (arrays are copied)."""
    copy = lambda: thing.copy() if isinstance(thing, np.ndarray) else thing  # noqa: E731
    return Call(lambda rng, n, dtype: copy())


def made(make: Maker, *parts: Any) -> Maker:
    """A maker from a function; `parts` must contain `N` if it depends on the trip count."""
    return Call(make, parts)


def build(cls: Any, *makers: Any, **named: Any) -> Maker:
    """A maker that calls `cls` (a dataclass, a namedtuple, dict) with made arguments."""

    def make(rng: np.random.Generator, n: int, dtype: Any) -> Any:
        args = [m(rng, n, dtype) for m in makers]
        return cls(*args, **{k: m(rng, n, dtype) for k, m in named.items()})

    return Call(make, (*makers, *named.values()))


def pair(*makers: Any) -> Maker:
    return Call(lambda rng, n, dtype: tuple(m(rng, n, dtype) for m in makers), makers)


def listed(*makers: Any) -> Maker:
    return Call(lambda rng, n, dtype: [m(rng, n, dtype) for m in makers], makers)


def _mentions_trips(part: Any) -> bool:
    if isinstance(part, Size):
        return True
    inner = part.sizes if isinstance(part, Arr) else getattr(part, "parts", ())
    return any(_mentions_trips(p) for p in inner)


# ---------------------------------------------------------------- cases


@dataclass
class Case:
    """`gradient` is False for programs whose result is not a scalar: only their value is
    compared.  `jax` is False where JAX has no such program or another convention."""

    function: Callable[..., Any]
    makers: tuple[Maker, ...]
    keywords: dict[str, Maker]
    wrt: tuple[str, ...]
    single: bool
    tags: tuple[str, ...]
    trips: tuple[int, ...]
    has_aux: bool = False
    gradient: bool = True
    jax: bool | None = None
    static: tuple[str, ...] = ()
    rtol32: float = 2e-4
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self, n: int, dtype: Any) -> tuple[list[Any], dict[str, Any]]:
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), n, self.notes["seed"]])
        args = [make(rng, n, dtype) for make in self.makers]
        return args, {k: make(rng, n, dtype) for k, make in self.keywords.items()}

    def scalar(self, out: Any) -> Any:
        """The differentiated part of a result."""
        return out[0] if self.has_aux else out


CASES: dict[str, Case] = {}


def case(
    *makers: Any,
    tags: str,
    wrt: Any = 0,
    kw: dict[str, Any] | None = None,
    trips: tuple[int, ...] | None = None,
    has_aux: bool = False,
    gradient: bool = True,
    jax: bool | None = None,
    static: tuple[str, ...] = (),
    rtol32: float = 2e-4,
    seed: int = 0,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function to the corpus and return it unchanged."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        assert f.__name__ not in CASES, f"two cases are named {f.__name__}"
        names = list(inspect.signature(f).parameters)
        chosen = wrt if isinstance(wrt, (tuple, list)) else (wrt,)
        keywords = dict(kw or {})
        looped = any(_mentions_trips(m) for m in (*makers, *keywords.values()))
        CASES[f.__name__] = Case(
            function=f,
            makers=tuple(makers),
            keywords=keywords,
            wrt=tuple(names[w] if isinstance(w, int) else w for w in chosen),
            single=not isinstance(wrt, (tuple, list)),
            tags=tuple(tags.split()),
            trips=trips if trips is not None else (0, 1, 2, 3) if looped else (2,),
            has_aux=has_aux,
            gradient=gradient,
            jax=jax,
            static=static,
            rtol32=rtol32,
            notes={"seed": seed},
        )
        return f

    return declare


def load() -> dict[str, Case]:
    """Every case of every theme, in a fixed order."""
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return CASES
