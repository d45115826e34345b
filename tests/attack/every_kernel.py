"""Calls every routine of linear algebra, FFT and matrix products, and gradients of all kinds, once.

python -m tests.attack.every_kernel results.npz

The first run compiles and writes the results; later runs load machine code from the cache, and
exit with 1 if a result differs.  So a later run is short enough for valgrind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import s2s
from tests.attack.gradients import PLAIN

RNG = np.random.default_rng(11)


def matrix(m: int, n: int, dtype: Any) -> Any:
    return (RNG.normal(size=(m, n)) + 3.0 * np.eye(m, n)).astype(dtype)


def decompositions(x, tall):  # type: ignore[no-untyped-def]
    symmetric = x @ x.T + np.eye(x.shape[0], dtype=x.dtype)
    values, vectors = np.linalg.eigh(symmetric)
    q, r = np.linalg.qr(tall)
    u, s, vh = np.linalg.svd(tall, full_matrices=False)
    return (
        np.sum(np.linalg.cholesky(symmetric)) + np.sum(values * values) + np.sum(vectors[0] ** 2)
        + np.sum(q[0]) + np.sum(r * r) + np.sum(s) + np.sum((u[0] @ vh) ** 2)
        + np.sum(np.linalg.pinv(tall)) + np.linalg.norm(tall, 2) + np.linalg.norm(tall, "nuc")
    )  # fmt: skip


def systems(x, b):  # type: ignore[no-untyped-def]
    return (
        np.sum(np.linalg.solve(x, b)) + np.sum(np.linalg.inv(x)) + np.linalg.slogdet(x)[1]
        + np.linalg.det(x / 8.0) + np.linalg.cond(x)
        + np.sum(np.linalg.lstsq(x, b, rcond=None)[0])
    )  # fmt: skip


def transforms(x):  # type: ignore[no-untyped-def]
    z = np.fft.fft(x)
    back = np.fft.ifft(z * z)
    half = np.fft.rfft(x) * 0.5
    return np.sum(np.abs(z)) + np.sum(np.real(back)) + np.sum(np.fft.irfft(half) ** 2)


def chain(x, y):  # type: ignore[no-untyped-def]
    return np.sum(np.tanh(x @ y) @ y.T)


def results() -> Iterator[tuple[str, Any]]:
    for dtype in (np.float64, np.float32):
        name = dtype.__name__
        for n in (3, 30):  # plain loops and LAPACK
            x, b = matrix(n, n, dtype), matrix(n, 2, dtype)
            yield f"systems {n} {name}", s2s.grad(systems, wrt=(0, 1))(x, b)
            tall = matrix(n + 4, n, dtype)
            yield f"decompositions {n} {name}", s2s.grad(decompositions, wrt=(0, 1))(x, tall)
        for n in (8, 30, 34):  # radices 2 to 5, and a large prime factor
            yield f"transforms {n} {name}", s2s.grad(transforms)(matrix(1, n, dtype)[0])
        for n in (2, 20, 90):  # three variants of the matrix product
            yield (
                f"chain {n} {name}",
                s2s.grad(chain)(matrix(n, n + 1, dtype), matrix(n + 1, n, dtype)),
            )
    for f, x in PLAIN:
        yield f.__name__, s2s.grad(f)(x)


def main(path: Path) -> int:
    found = {}
    for name, value in results():
        parts = value if isinstance(value, tuple) else (value,)
        found |= {f"{name} {i}": np.asarray(part) for i, part in enumerate(parts)}
    if not path.exists():
        np.savez(path, **found)
        return 0
    known = np.load(path)
    wrong = [k for k in found if not np.allclose(found[k], known[k], rtol=1e-3, atol=1e-3)]
    print(f"{len(found)} results, {len(wrong)} wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
