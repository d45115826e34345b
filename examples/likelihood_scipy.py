"""Fit a likelihood written for Numba with SciPy, by exact gradients and Hessian products.

A mixture of two normal distributions, with an ordinary loop over the data.  The function is
already `@njit`; s2s reads its source.
"""

from __future__ import annotations

import argparse

import numba
import numpy as np
from scipy.optimize import minimize

import s2s


@numba.njit
def negative_log_likelihood(p, data):
    share = 1.0 / (1.0 + np.exp(-p[0]))
    total = 0.0
    for x in data:
        a = (x - p[1]) / np.exp(p[3])
        b = (x - p[2]) / np.exp(p[4])
        one = share * np.exp(-0.5 * a * a - p[3])
        two = (1.0 - share) * np.exp(-0.5 * b * b - p[4])
        total -= np.log(one + two)
    return total / len(data)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=20_000)
    n = options.parse_args().samples

    rng = np.random.default_rng(0)
    first = rng.random(n) < 0.3
    data = np.where(first, rng.normal(-2.0, 0.5, n), rng.normal(1.0, 1.5, n))
    start = np.array([0.0, -1.0, 2.0, 0.0, 0.0])

    value_and_gradient = s2s.value_and_grad(negative_log_likelihood)
    product = s2s.hvp(negative_log_likelihood)
    found = minimize(
        value_and_gradient, start, args=(data,), jac=True, hessp=product, method="trust-ncg"
    )
    hessian = s2s.hessian(negative_log_likelihood)(found.x, data)
    spread = np.sqrt(np.diag(np.linalg.inv(hessian)) / n)

    p = found.x
    share = 1.0 / (1.0 + np.exp(-p[0]))
    print(f"{found.nit} steps of a trust-region method, {found.nfev} values and gradients, "
          f"{found.nhev} Hessian products")  # fmt: skip
    print("parameter        true   found    +/-")
    rows = [
        ("share of first", 0.3, share, spread[0] * share * (1 - share)),
        ("first mean", -2.0, p[1], spread[1]),
        ("second mean", 1.0, p[2], spread[2]),
        ("first spread", 0.5, np.exp(p[3]), spread[3] * np.exp(p[3])),
        ("second spread", 1.5, np.exp(p[4]), spread[4] * np.exp(p[4])),
    ]
    for name, true, value, error in rows:
        print(f"{name:15s}{true:7.2f}{value:8.3f}{error:8.3f}")


if __name__ == "__main__":
    main()
