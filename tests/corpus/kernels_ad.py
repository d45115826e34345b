"""Programs of benchmarks and test suites of automatic differentiation: mixtures, bundle adjustment,
recurrent cells, determinants, inner optimisers, and short functions of every kind."""

import functools
import math
from collections import namedtuple
from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import N, arr, build, case, ints, listed, num, pair, value

# ---------------------------------------------------------------- mixtures


def logsumexp(x):
    mx = np.max(x)
    emx = np.exp(x - mx)
    return np.log(sum(emx)) + mx


def logsumexpvec(x):
    """The same of each row."""
    mx = np.max(x, 1)
    mx = np.reshape(mx, (-1, 1))
    return np.reshape(np.log(np.sum(np.exp(x - mx), 1)) + np.reshape(mx, (-1,)), (-1,))


def constructL(d, icf):
    L = np.zeros((d, d))
    Lparamidx = d
    for i in range(d):
        for j in range(i + 1, d):
            L[j, i] = icf[Lparamidx]
            Lparamidx += 1
    return L


def Qtimesx(Qdiag, L, x):
    return Qdiag * x + L @ x


@case(
    arr(2),
    arr(2, 2),
    arr(2, 3),
    arr(3, 2),
    pair(value(0.5), value(1)),
    wrt=("alphas", "means", "icf"),
    tags="kernels ad",
)
def gmm_objective(alphas, means, icf, x, wishart):
    gamma, m = wishart
    n, d = x.shape
    k = alphas.size
    Qdiags = np.exp(icf[:, :d])
    sum_qs = np.sum(icf[:, :d], 1)
    Ls = [constructL(d, curr_icf) for curr_icf in icf]
    slse = 0.0
    for ix in range(n):
        lse = np.zeros(k)
        for ik in range(k):
            q = Qtimesx(Qdiags[ik], Ls[ik], x[ix] - means[ik])
            lse[ik] = alphas[ik] + sum_qs[ik] - 0.5 * np.sum(np.square(q))
        slse = slse + logsumexp(lse)
    prior = 0.0
    for ik in range(k):
        prior += 0.5 * gamma**2 * (np.sum(Qdiags[ik] ** 2) + np.sum(Ls[ik] ** 2)) - m * sum_qs[ik]
    const = -n * d * 0.5 * math.log(2 * math.pi)
    return const + slse - n * logsumexp(alphas) + prior


@case(arr(2, 3), tags="kernels ad")
def log_sum_exp_rows(x):
    return logsumexpvec(x).sum()


# ---------------------------------------------------------------- bundle adjustment

N_CAM_PARAMS = 11
ROT_IDX = 0
C_IDX = 3
F_IDX = 6
X0_IDX = 7
RAD_IDX = 9


def radial_distort(rad_params, proj):
    rsq = np.sum(np.square(proj))
    L = 1.0 + rad_params[0] * rsq + rad_params[1] * rsq * rsq
    return proj * L


def rodrigues_rotate_point(rot, X):
    sqtheta = np.sum(np.square(rot))
    if sqtheta != 0.0:
        theta = np.sqrt(sqtheta)
        costheta = np.cos(theta)
        sintheta = np.sin(theta)
        theta_inverse = 1.0 / theta
        w = theta_inverse * rot
        w_cross_X = np.cross(w, X)
        tmp = np.dot(w, X) * (1.0 - costheta)
        return X * costheta + w_cross_X * sintheta + w * tmp
    return X + np.cross(rot, X)


def project(cam, X):
    Xcam = rodrigues_rotate_point(cam[ROT_IDX : ROT_IDX + 3], X - cam[C_IDX : C_IDX + 3])
    distorted = radial_distort(cam[RAD_IDX : RAD_IDX + 2], Xcam[0:2] / Xcam[2])
    return distorted * cam[F_IDX] + cam[X0_IDX : X0_IDX + 2]


@case(
    arr(2, 11),
    arr(3, 3, low=2.0, high=3.0),
    arr(4),
    value(np.array([[0, 0], [1, 1], [0, 2], [1, 0]])),
    arr(4, 2),
    wrt=("cams", "X", "w"),
    tags="kernels ad",
)
def bundle_adjustment(cams, X, w, obs, feats):
    p = obs.shape[0]
    reproj_err = np.empty((p, 2))
    for i in range(p):
        camIdx = obs[i, 0]
        ptIdx = obs[i, 1]
        reproj_err[i] = w[i] * (project(cams[camIdx], X[ptIdx]) - feats[i])
    w_err = 1.0 - np.square(w)
    return np.sum(reproj_err**2) + np.sum(w_err**2)


# ---------------------------------------------------------------- recurrent cells


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_cell(weight, bias, hidden, cell, _input):
    hsize = hidden.shape[0]
    gates = np.concatenate((_input, hidden, _input, hidden)) * weight + bias
    forget = sigmoid(gates[0:hsize])
    ingate = sigmoid(gates[hsize : 2 * hsize])
    outgate = sigmoid(gates[2 * hsize : 3 * hsize])
    change = np.tanh(gates[3 * hsize :])
    cell = cell * forget + ingate * change
    hidden = outgate * np.tanh(cell)
    return (hidden, cell)


@case(
    arr(2, 8), arr(2, 8), arr(4, 2), arr(3, 2), wrt=("main_w", "main_b", "state"), tags="kernels ad"
)
def lstm_objective(main_w, main_b, state, sequence):
    total = 0.0
    count = 0
    _input = sequence[0]
    all_states = [s for s in state]
    for t in range(0, len(sequence) - 1):
        x = _input * 0.5
        for i in range(0, 4, 2):
            h, c = lstm_cell(main_w[i // 2], main_b[i // 2], all_states[i], all_states[i + 1], x)
            all_states[i] = h
            all_states[i + 1] = c
            x = h
        ypred = x * 1.5
        ynorm = ypred - np.log(sum(np.exp(ypred), 2))
        ygold = sequence[t + 1]
        total += sum(ygold * ynorm)
        count += ygold.shape[0]
        _input = ygold
    return -total / count


def _lstm_params(i, h):
    keys = ["Wf", "Wi", "Wo", "Wc"]
    return build(dict, **{k: arr(i + h, h) for k in keys}, b=arr(4, h))


@case(_lstm_params(2, 3), arr(N, 2), wrt="params", tags="kernels ad")
def lstm_dict(params, xs):
    hidden = params["b"].shape[1]
    h, c = np.zeros(hidden), np.zeros(hidden)
    for x in xs:
        z = np.hstack([x, h])
        f = sigmoid(z @ params["Wf"] + params["b"][0])
        i = sigmoid(z @ params["Wi"] + params["b"][1])
        o = sigmoid(z @ params["Wo"] + params["b"][2])
        c = f * c + i * np.tanh(z @ params["Wc"] + params["b"][3])
        h = o * np.tanh(c)
    return np.sum(h)


# ---------------------------------------------------------------- determinants, recursion


def minor(A, i, j):
    n = A.shape[0]
    M = np.zeros((n - 1, n - 1))
    for r in range(n - 1):
        for c in range(n - 1):
            M[r, c] = A[r if r < i else r + 1, c if c < j else c + 1]
    return M


@case(arr(3, 3), tags="kernels ad")
def det_by_minors_3(A):
    det = 0.0
    for j in range(3):
        m = minor(A, 0, j)
        det += (-1) ** j * A[0, j] * (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])
    return det


# ---------------------------------------------------------------- iterations inside


def naive_euler(w):
    def norm(x):
        return np.sqrt(np.sum(x * x))

    charges = np.array([[10.0, 10.0 - w], [10.0, 0.0]])
    x_initial = np.array([0.0, 8.0])
    xdot_initial = np.array([0.75, 0.0])
    delta_t = 1e-1

    def accel(x):
        total = np.zeros(2)
        for p in charges:
            d = x - p
            total = total + d / norm(d) ** 3
        return total

    x = x_initial
    xdot = xdot_initial
    steps = 0
    while x[1] > 0 and steps < 6:
        x = x + delta_t * xdot
        xdot = xdot + delta_t * accel(x)
        steps += 1
    delta_t_f = -x[1] / xdot[1]
    x_t_f = x + delta_t_f * xdot
    return x_t_f[0] ** 2


@case(num(0.5, 1.0), tags="kernels ad")
def particle(w):
    return naive_euler(w)


@case(arr(2), arr(2), wrt=("x1", "x2"), tags="kernels ad")
def saddle(x1, x2):
    def f(a, b):
        return (a[0] ** 2 + a[1] ** 2) - (b[0] ** 2 + b[1] ** 2) + a @ b

    eta = 0.1
    for _ in range(4):
        g1 = 2 * x1 + x2
        g2 = -2 * x2 + x1
        x1, x2 = x1 - eta * g1, x2 + eta * g2
    return f(x1, x2)


@case(arr(4, 2), arr(2, 2), wrt=("points", "centroids"), tags="kernels ad")
def kmeans_cost(points, centroids):
    cost = 0.0
    for p in points:
        best = np.inf
        for c in centroids:
            d = np.sum((p - c) ** 2)
            best = min(best, d)
        cost += best
    return cost


@case(arr(4, 2), arr(2, 2), wrt=("points", "centroids"), tags="kernels ad")
def kmeans_broadcast(points, centroids):
    a = np.sum(points**2, axis=1)
    b = np.sum(centroids**2, 1)
    d = a[:, None] + b[None, :] - 2 * points.dot(centroids.T)
    labels = np.argmin(d, axis=1)
    return np.min(d, axis=1).sum() + np.sum(d[np.arange(len(points)), labels])


@case(arr(5, 3), arr(3), value(0.1), wrt=("x", "ys"), tags="kernels ad")
def least_squares_descent(x, ys, lr):
    w = np.zeros(3)
    for it in range(5):
        r = x @ w - np.concatenate([ys, ys[:2]])
        grad = 2.0 * x.T @ r / x.shape[0]
        w -= lr * grad
    return np.linalg.norm(x @ w) + w[0]


@case(arr(4), value(2), wrt="x", tags="kernels ad")
def ode_rk4(x, s):
    """The state is an array of constant length; its derivative is a function of the state."""

    def f(y):
        dy = np.empty_like(y)
        dy[0] = x[0]
        for i in range(1, len(y)):
            dy[i] = x[i] * y[i - 1]
        return dy

    y = np.zeros(x.size)
    h = 1.0 / s
    for _ in range(s):
        k1 = f(y)
        k2 = f(y + h * k1 / 2)
        k3 = f(y + h * k2 / 2)
        k4 = f(y + h * k3)
        y += h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return y[-1] + np.sum(y)


# ---------------------------------------------------------------- short functions of suites


@case(num(), num(), wrt=(0, 1), tags="kernels ad")
def overwriting_args(x, y):
    x = x * y
    y = x + y
    x = x * x
    return x - y


@case(num(0.5, 1.0), tags="kernels ad")
def gradients_through_ternary(x):
    return x * 2 if x > 0.7 else (x**3 if x > 0.6 else -x)


@case(num(0.5, 1.5), value(4), wrt="x", tags="kernels ad")
def taylor_sine(x, terms=10):
    ans = currterm = x
    i = 0
    while abs(currterm) > 0.001:
        currterm = -currterm * x**2 / ((2 * i + 3) * (2 * i + 2))
        ans = ans + currterm
        i += 1
    return ans


@case(arr(4), tags="kernels ad")
def rosenbrock(x):
    return sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


@case(arr(3), tags="kernels ad")
def list_of_terms(x):
    terms = []
    for i in range(len(x)):
        terms.append(x[i] ** (i + 1))
    return sum(terms) + max(terms) + np.prod(np.array(terms))


@case(arr(3, 4), tags="kernels ad")
def axes_galore(x):
    a = np.mean(x, axis=(0, 1))
    b = np.var(x, 0, ddof=1).max()
    c = x.swapaxes(0, 1).reshape(2, -1).std(-1).min()
    d = np.einsum("ij,ij->i", x, x)
    return a + b + c + d @ d


@case(arr(4), arr(3), wrt=(0, 1), tags="kernels ad")
def outer_and_tensordot(a, b):
    m = np.outer(a, b)
    t = np.tensordot(m, m, axes=([0], [0]))
    return np.trace(t) + np.inner(b, t @ b) + np.tensordot(m, m)


Params = namedtuple("Params", ["w", "b"])


@dataclass
class Layer:
    weights: np.ndarray
    bias: np.ndarray

    def __call__(self, x):
        return np.tanh(np.dot(x, self.weights) + self.bias)


def init_unused(m, n, rng=None):
    return [Params(np.zeros((m, n)), np.zeros(n))]


@case(
    listed(build(Params, arr(2, 3), arr(3)), build(Params, arr(3, 2), arr(2))),
    arr(4, 2),
    arr(4, 2),
    wrt="params",
    tags="kernels ad",
)
def mlp_namedtuples(params, inputs, targets, *, l2: Optional[float] = 0.1):
    """A classifier: negative log likelihood and a penalty."""
    assert len(params) == 2, "two layers"
    acts = inputs
    for i, (w, b) in enumerate(params):
        acts = acts @ w + b
        if i < len(params) - 1:
            acts = np.tanh(acts)
    logits = acts - np.log(np.sum(np.exp(acts), axis=1, keepdims=True))
    penalty = sum(np.sum(layer.w**2) for layer in params)
    return -np.sum(logits * targets) + l2 * penalty


@case(
    pair(build(Layer, arr(2, 3), arr(3)), build(Layer, arr(3, 1), arr(1))),
    arr(4, 2),
    wrt="layers",
    tags="kernels ad",
)
def layers_as_callables(layers, x):
    return functools.reduce(lambda h, layer: layer(h), layers, x).sum()


@case(arr(3), value("tanh"), wrt="x", tags="kernels ad")
def activation_by_name(x, kind):
    if kind == "tanh":
        act = np.tanh
    elif kind == "relu":
        act = lambda v: np.maximum(v, 0)  # noqa: E731
    else:
        raise ValueError(kind)
    return act(x).sum()


ACTIVATIONS = {"tanh": np.tanh, "sigmoid": sigmoid}


@case(arr(3), value("sigmoid"), wrt="x", tags="kernels ad")
def activation_by_table(x, kind="tanh"):
    return np.sum(ACTIVATIONS[kind](x))


@case(arr(3), arr(3, 3), wrt=(0, 1), tags="kernels ad")
def power_iteration_kernel(v, A):
    for _ in range(4):
        v = A @ v + 0.1
        v = v / np.linalg.norm(v)
    return v @ A @ v


@case(num(1.0, 2.0), tags="kernels ad")
def newton_square_root_kernel(a):
    x = a
    for _ in range(20):
        nx = 0.5 * (x + a / x)
        if abs(nx - x) < 1e-10:
            break
        x = nx
    return x


@case(arr(3, low=0.2, high=1.0), arr(4), ints(4, low=0, high=3), wrt=("p", "x"), tags="kernels ad")
def categorical_likelihood(p, x, labels):
    logp = np.log(p / p.sum())
    one_hot = np.zeros((labels.size, p.size))
    one_hot[np.arange(labels.size), labels] = 1
    return -(one_hot * logp).sum() + np.sum(x * logp[labels])


@case(arr(3), tags="kernels ad")
def shadowed_builtins(x):
    sum = 0.0
    for id in range(len(x)):
        max = x[id] * x[id]
        sum += max
    return sum


@case(arr(3), tags="kernels ad")
def temporaries_of_other_types(x):
    t = 0
    for i in range(3):
        t = x[i] * i
        r = t if i else 0
        t = int(i) + 1
        r = r * t
    t = x * r
    t = t.sum()
    return t


@case(arr(3, 3), tags="kernels ad")
def debug_and_docstring(x: np.ndarray, scale: float = 2.0) -> float:
    """Returns a number.

    :param x: a matrix
    """
    if __debug__:
        assert x.ndim == 2
    out: float = 0.0
    n: int = x.shape[0]
    for i in range(n):
        out = out + scale * x[i, n - 1 - i]
    return float(out)


@case(arr(4), tags="kernels ad")
def reduce_over_map(x):
    total = functools.reduce(lambda a, b: a * 0.5 + b, [x[0], x[1], x[2]])
    squares = list(map(lambda v: v * v, [x[0], x[3]]))
    return total + squares[0] * squares[1] + math.prod([x[1], x[2]])


@case(arr(2, 3), arr(3, 2), wrt=(0, 1), tags="kernels ad")
def dot_methods(a, b):
    c = a.dot(b)
    d = a.T.dot(b.T)
    e = np.matmul(a, b)
    return c.sum() * d.mean() + (e.T @ c).trace() + np.vdot(c, e)
