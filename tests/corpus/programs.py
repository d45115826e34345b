"""Complete programs: simulators, likelihoods, filters, networks."""

import math

import numba
import numpy as np

from . import N, arr, build, case, ints, num, value


@case(num(0.5, 1.0), num(0.5, 1.0), N, wrt=(0, 1), tags="programs ode")
def runge_kutta_pendulum(theta, omega, n):
    def rhs(th, om):
        return om, -math.sin(th) - 0.1 * om

    h = 0.1
    for _ in range(n):
        k1, l1 = rhs(theta, omega)
        k2, l2 = rhs(theta + 0.5 * h * k1, omega + 0.5 * h * l1)
        k3, l3 = rhs(theta + 0.5 * h * k2, omega + 0.5 * h * l2)
        k4, l4 = rhs(theta + h * k3, omega + h * l3)
        theta += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        omega += h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
    return theta**2 + omega


@case(arr(3), arr(3), N, wrt=(0, 1), tags="programs ode")
def lorenz(state, p, n):
    x, y, z = state[0], state[1], state[2]
    for _ in range(n):
        dx = p[0] * (y - x)
        dy = x * (p[1] - z) - y
        dz = x * y - p[2] * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
    return x * x + y * z


@case(arr(3, 2), arr(3, 2), arr(3, low=0.5, high=1.0), N, wrt=(0, 1, 2), tags="programs nbody")
def n_body(pos, vel, mass, n):
    pos = pos.copy()
    vel = vel.copy()
    for _ in range(n):
        for i in range(3):
            for j in range(3):
                if i != j:
                    d = pos[j] - pos[i]
                    r2 = d[0] * d[0] + d[1] * d[1] + 0.5
                    vel[i] += 0.1 * mass[j] * d / (r2 * np.sqrt(r2))
        pos += 0.1 * vel
    return np.sum(pos * pos) + np.sum(vel * vel)


@case(num(), num(0.5, 1.5), arr(N), wrt=(0, 1, 2), tags="programs likelihood")
def normal_log_likelihood(mu, sigma, x):
    ll = 0.0
    for i in range(x.shape[0]):
        z = (x[i] - mu) / sigma
        ll += -0.5 * z * z - math.log(sigma) - 0.5 * math.log(2.0 * math.pi)
    return ll


@case(arr(3), arr(N, 3), ints(N, low=0, high=2), wrt=(0,), tags="programs likelihood")
def logistic_regression(w, x, y):
    z = x @ w
    return np.sum(np.log1p(np.exp(-z * (2.0 * y - 1.0)))) + 0.1 * np.sum(w * w)


@case(arr(3), arr(N), wrt=0, tags="programs likelihood")
def mixture_of_gaussians(p, x):
    w = 1.0 / (1.0 + np.exp(-p[0]))
    total = 0.0
    for v in x:
        a = w * np.exp(-0.5 * (v - p[1]) ** 2)
        b = (1.0 - w) * np.exp(-0.5 * (v - p[2]) ** 2)
        total += np.log(a + b)
    return total


@case(arr(4, low=0.2, high=0.8), arr(N), wrt=(0, 1), tags="programs filter")
def kalman_filter(p, obs):
    m, v = 0.0, 1.0
    ll = 0.0
    for t in range(obs.shape[0]):
        m, v = p[0] * m, p[0] * p[0] * v + p[1]
        s = v + p[2]
        k = v / s
        r = obs[t] - m
        ll -= 0.5 * (r * r / s + np.log(s))
        m, v = m + k * r, (1.0 - k) * v
    return ll * p[3]


@case(arr(2, 2), arr(2), ints(N, low=0, high=2), wrt=(0, 1), tags="programs hmm")
def hidden_markov_forward(trans, start, obs):
    a = np.exp(trans) / np.sum(np.exp(trans), axis=1, keepdims=True)
    alpha = np.exp(start) / np.sum(np.exp(start))
    emit = np.array([[0.7, 0.3], [0.2, 0.8]])
    ll = 0.0
    for t in range(obs.shape[0]):
        alpha = (alpha @ a) * emit[:, obs[t]]
        z = np.sum(alpha)
        ll += np.log(z)
        alpha = alpha / z
    return ll


@case(
    arr(2, 3),
    arr(3),
    arr(3, 1),
    arr(1),
    arr(N, 2),
    arr(N, 1),
    wrt=(0, 1, 2, 3),
    tags="programs network jax",
)
def two_layer_network(w1, b1, w2, b2, x, y):
    h = np.tanh(x @ w1 + b1)
    pred = h @ w2 + b2
    return np.sum((pred - y) ** 2)


@case(
    build(dict, wx=arr(2, 3), wh=arr(3, 3), b=arr(3)),
    arr(N, 2),
    wrt=(0, 1),
    tags="programs network",
)
def recurrent_network(p, xs):
    h = np.zeros(3)
    for t in range(xs.shape[0]):
        h = np.tanh(xs[t] @ p["wx"] + h @ p["wh"] + p["b"])
    return np.sum(h * h)


@case(arr(4, 3), arr(3, 3), arr(3, 3), arr(3, 3), wrt=(0, 1, 2, 3), tags="programs network jax")
def attention(x, wq, wk, wv):
    q, k, v = x @ wq, x @ wk, x @ wv
    s = q @ k.T / np.sqrt(3.0)
    s = s - np.max(s, axis=-1, keepdims=True)
    e = np.exp(s)
    return np.sum((e / np.sum(e, axis=-1, keepdims=True)) @ v * x)


@case(arr(5, 5), arr(2, 2), wrt=(0, 1), tags="programs convolution")
def convolution_by_loops(image, kernel):
    out = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            for a in range(2):
                for b in range(2):
                    out[i, j] += image[i + a, j + b] * kernel[a, b]
    return np.sum(np.maximum(out, 0.0) ** 2)


@case(arr(6), arr(3), wrt=(0, 1), tags="programs convolution")
def convolution_by_slices(x, k):
    y = np.zeros(4)
    for j in range(3):
        y += k[j] * x[j : j + 4]
    return np.sum(y * y)


@case(arr(5), arr(5), wrt=(0, 1), tags="programs dynamic")
def soft_dynamic_time_warping(x, y):
    n, m = x.shape[0], y.shape[0]
    d = np.full((n + 1, m + 1), 1e3)
    d[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = (x[i - 1] - y[j - 1]) ** 2
            a, b, e = d[i - 1, j], d[i, j - 1], d[i - 1, j - 1]
            lo = min(a, b, e)
            z = np.exp(lo - a) + np.exp(lo - b) + np.exp(lo - e)
            d[i, j] = c + lo - np.log(z)
    return d[n, m]


@case(num(0.1, 0.3), num(0.05, 0.1), N, wrt=(0, 1), tags="programs epidemic")
def sir_model(beta, gamma, days):
    s, i, r = 0.99, 0.01, 0.0
    peak = 0.0
    for _ in range(days):
        new = beta * s * i
        rec = gamma * i
        s -= new
        i += new - rec
        r += rec
        peak = max(peak, i)
    return peak * 100.0 + r


@case(arr(2, low=0.5, high=1.0), N, tags="programs optimisation")
def unrolled_gradient_descent(p, n):
    x = p[0]
    for _ in range(n):
        g = 2.0 * (x - 1.0) + p[1] * np.cos(x)
        x -= 0.1 * g
    return (x - 1.0) ** 2


@case(arr(6), num(0.5, 1.5), wrt=(0, 1), tags="programs wave")
def wave_equation(u0, c):
    u = u0.copy()
    prev = u0.copy()
    for _ in range(3):
        nxt = np.zeros(6)
        nxt[1:-1] = 2.0 * u[1:-1] - prev[1:-1] + 0.1 * c**2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        prev = u
        u = nxt
    return np.sum(u * u)


@case(arr(3, low=0.1, high=0.5), num(1.0, 1.5), N, wrt=(0, 1), tags="programs finance")
def option_by_tree(p, strike, n):
    up = np.exp(p[0])
    down = 1.0 / up
    q = (np.exp(p[1] * 0.1) - down) / (up - down)
    values = np.zeros(n + 1)
    for k in range(n + 1):
        values[k] = np.maximum(strike * up**k * down ** (n - k) - p[2], 0.0)
    for step in range(n, 0, -1):
        for k in range(step):
            values[k] = np.exp(-p[1] * 0.1) * (q * values[k + 1] + (1.0 - q) * values[k])
    return values[0]


@case(arr(4, 2), arr(2, 2), wrt=(0, 1), tags="programs clustering")
def soft_k_means(x, centres):
    d = np.sum((x[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    w = np.exp(-d)
    w = w / np.sum(w, axis=1, keepdims=True)
    return np.sum(w * d)


@case(arr(N, 2), tags="programs particles")
def lennard_jones(pos):
    e = 0.0
    for i in range(pos.shape[0]):
        for j in range(i):
            dx = pos[i, 0] - pos[j, 0]
            dy = pos[i, 1] - pos[j, 1]
            r2 = dx * dx + dy * dy + 1.0
            s6 = 1.0 / (r2 * r2 * r2)
            e += 4.0 * (s6 * s6 - s6)
    return e


@case(arr(5, low=0.5, high=1.5), arr(5), arr(4), wrt=(0, 1, 2), tags="programs solver")
def tridiagonal_solver(diag, rhs, off):
    # Thomas algorithm on a dominant matrix
    n = diag.shape[0]
    b = diag + 3.0
    d = rhs.copy()
    for i in range(1, n):
        w = off[i - 1] / b[i - 1]
        b[i] -= w * off[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - off[i] * x[i + 1]) / b[i]
    return x @ x


@case(arr(3, 3), arr(3), N, wrt=(0, 1), tags="programs solver")
def conjugate_gradient(m, b, n):
    a = m @ m.T + 3.0 * np.eye(3)
    x = np.zeros(3)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    for _ in range(n):
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return x @ b


@numba.njit
def _njit_helper(x, k):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** k
    return s


@case(arr(4), tags="programs njit")
def calls_njit_helper(x):
    return _njit_helper(x, 2) * _njit_helper(x, 3)


@case(arr(4, low=0.2, high=1.0), value(np.array([[0, 1], [1, 2], [2, 3]])), tags="programs graph")
def message_passing(h, edges):
    for _ in range(2):
        agg = np.zeros_like(h)
        for e in range(edges.shape[0]):
            i, j = edges[e]
            agg[j] += np.tanh(h[i])
            agg[i] += h[j] * 0.5
        h = h + 0.1 * agg
    return np.sum(h**2)


@case(arr(8), tags="programs transform")
def haar_wavelet(x):
    y = x.copy()
    n = 8
    while n > 1:
        half = n // 2
        t = np.empty(n)
        for i in range(half):
            t[i] = (y[2 * i] + y[2 * i + 1]) / np.sqrt(2.0)
            t[half + i] = (y[2 * i] - y[2 * i + 1]) / np.sqrt(2.0)
        y[:n] = t
        n = half
    return np.sum(y**3)


@case(arr(3), arr(N, low=0.0, high=1.0), wrt=0, tags="programs splines")
def piecewise_interpolation(knots, t):
    s = 0.0
    for u in t:
        pos = u * 2.0
        k = min(int(pos), 1)
        f = pos - k
        s += ((1.0 - f) * knots[k] + f * knots[k + 1]) ** 2
    return s


@case(arr(4), num(0.5, 0.9), wrt=(0, 1), tags="programs audio")
def delay_line(x, feedback):
    buf = np.zeros(2)
    pos = 0
    energy = 0.0
    for i in range(x.shape[0]):
        y = x[i] + feedback * buf[pos]
        buf[pos] = y
        pos = (pos + 1) % 2
        energy += y * y
    return energy
