"""Random numbers: drawn once, inactive, the same on every backend."""

import numpy as np

from . import N, arr, case, num, value


@case(num(), num(0.5, 1.5), value(3), tags="random", wrt=(0, 1))
def reparameterised_draws(mu, sigma, seed):
    rng = np.random.default_rng(seed)
    x = mu + sigma * rng.normal(size=(4, 2))
    y = rng.normal(mu, sigma, size=3)
    return np.sum(x**2) + np.sum(np.tanh(y)) + rng.normal(mu, sigma) ** 2


@case(arr(3), arr(3, low=0.5, high=1.5), value(5), tags="random", wrt=(0, 1))
def location_and_scale(loc, scale, seed):
    rng = np.random.default_rng(seed)
    out = np.sum(np.sin(rng.normal(loc, scale))) + np.sum(rng.laplace(loc, scale, (2, 3)) ** 2)
    out += np.sum(np.tanh(rng.gumbel(loc, scale))) + np.sum(np.tanh(rng.logistic(loc, scale)))
    out += np.sum(rng.uniform(loc, loc + scale) ** 2) + np.sum(rng.exponential(scale) ** 2)
    out += np.sum(np.log(rng.lognormal(loc, scale))) + np.sum(rng.rayleigh(scale))
    return out + np.sum(rng.gamma(2.0, scale))


@case(arr(N + 1), value(7), tags="random loops")
def noise_in_a_loop(x, seed):
    rng = np.random.default_rng(seed)
    total = 0.0
    for i in range(x.shape[0]):
        u = rng.random()
        step = x[i] * rng.standard_normal()
        if u > 0.4:
            x = x * (1.0 + 0.1 * u)
        total += np.sin(step) * np.sum(x * rng.uniform(size=x.shape[0]))
    return total


@case(arr(3), value(11), tags="random while")
def draws_until_one_is_large(x, seed):
    rng = np.random.default_rng(seed)
    total = np.sum(x)
    while rng.random() < 0.8:
        total = np.sin(total) + x[rng.integers(3)] * rng.normal(1.0, 0.1)
    return total


@case(arr(4), value(1), tags="random")
def order_and_choice(x, seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(x)
    z = x.copy()
    rng.shuffle(z)
    rows = rng.permutation(x.reshape(2, 2))
    picked = rng.choice(x, size=3) * rng.choice(4, 3, replace=False)
    weighted = rng.choice(x, p=np.array([0.1, 0.2, 0.3, 0.4]))
    return y[0] ** 2 * y[1] + z[3] ** 3 + np.sum(np.sin(rows[0])) + np.sum(picked**2) + weighted


@case(arr(3), value(2), tags="random")
def counts_and_other_distributions(x, seed):
    rng = np.random.default_rng(seed)
    k = rng.poisson(3.0, size=3) + rng.binomial(5, 0.5, 3) + rng.integers(1, 4, endpoint=True)
    w = rng.beta(2.0, 3.0, 3) + rng.standard_t(4.0, 3) + rng.chisquare(2.0) + rng.weibull(1.5, 3)
    rates = rng.poisson(np.array([1.0, 5.0, 9.0]))
    return np.sum(x**2 * k) + np.sum(np.sin(x) * w) + np.sum(x * rates)


@case(arr(3), tags="random")
def legacy_generator(x):
    np.random.seed(3)
    i = np.random.randint(0, 3)
    noise = np.random.rand(3) + np.random.randn(3) + np.random.uniform(-1.0, 1.0, size=3)
    order = np.random.permutation(3)
    picked = np.random.choice(x, 2)
    return np.sum(x[order] * noise) ** 2 + np.random.normal(x[i], 0.5) ** 2 + np.sum(picked**2)


@case(arr(3), value(4), tags="random functions")
def draws_in_a_helper(x, seed):
    rng = np.random.default_rng(seed)

    def dropout(h, keep):
        mask = rng.random(h.shape) < keep
        return h * mask / keep

    return np.sum(dropout(np.tanh(dropout(x, 0.8)), 0.6) ** 2)


@case(arr(3), value(6), tags="random float32")
def single_precision_draws(x, seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(3, dtype=np.float32) * rng.random(3, dtype=np.float32)
    return np.sum(x**2 * z) + rng.random(dtype=np.float32) * x[0]


@case(arr(3), value(9), tags="random branches")
def branch_on_a_draw(x, seed):
    rng = np.random.default_rng(seed)
    total = 0.0
    for i in range(3):
        if rng.random() < 0.5:
            total += np.sin(x[i]) * rng.normal()
        else:
            total -= x[i] ** 2
    for _ in range(rng.integers(1, 3)):
        total = total * np.cos(total)
    return total
