"""Small applications: weather stencils, fluids, particles, networks written in plain NumPy."""

import math

import numba as nb
import numpy as np

from . import arr, bools, case, ints, num, pair, value

BET_M = 0.5
BET_P = 0.5


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    I, J, K = utens_stage.shape[0], utens_stage.shape[1], utens_stage.shape[2]
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)

    for k in range(1):
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        cs = gcv * BET_M
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - ccol[:, :, k]
        correction_term = -cs * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        )
        divided = 1.0 / bcol
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = dcol[:, :, k] * divided

    for k in range(1, K - 1):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
        as_ = gav * BET_M
        cs = gcv * BET_M
        acol = gav * BET_P
        ccol[:, :, k] = gcv * BET_P
        bcol = dtr_stage - acol - ccol[:, :, k]
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k]) - cs * (
            u_stage[:, :, k + 1] - u_stage[:, :, k]
        )
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        )
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = ccol[:, :, k] * divided
        dcol[:, :, k] = (dcol[:, :, k] - (dcol[:, :, k - 1]) * acol) * divided

    for k in range(K - 1, K):
        gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        as_ = gav * BET_M
        acol = gav * BET_P
        bcol = dtr_stage - acol
        correction_term = -as_ * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        dcol[:, :, k] = (
            dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction_term
        )
        divided = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        dcol[:, :, k] = (dcol[:, :, k] - (dcol[:, :, k - 1]) * acol) * divided

    for k in range(K - 1, K - 2, -1):
        datacol = dcol[:, :, k]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])

    for k in range(K - 2, -1, -1):
        datacol = dcol[:, :, k] - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


@case(
    arr(2, 2, 4),
    arr(2, 2, 4),
    arr(3, 2, 4),
    arr(2, 2, 4),
    arr(2, 2, 4),
    num(2.0, 3.0),
    wrt=("utens_stage", "u_stage", "wcon", "u_pos", "dtr_stage"),
    tags="kernels apps",
)
def vertical_advection(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage)
    return np.sum(utens_stage**2)


def hdiff(in_field, out_field, coeff):
    I, J, K = out_field.shape[0], out_field.shape[1], out_field.shape[2]
    lap_field = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :]
        + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :]
        + in_field[1 : I + 3, 0 : J + 2, :]
    )
    res = lap_field[1:, 1 : J + 1, :] - lap_field[:-1, 1 : J + 1, :]
    flx_field = np.where(
        (res * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :])) > 0, 0, res
    )
    res = lap_field[1 : I + 1, 1:, :] - lap_field[1 : I + 1, :-1, :]
    fly_field = np.where(
        (res * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :])) > 0, 0, res
    )
    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff[:, :, :] * (
        flx_field[1:, :, :] - flx_field[:-1, :, :] + fly_field[:, 1:, :] - fly_field[:, :-1, :]
    )


@case(arr(6, 6, 2), arr(2, 2, 2), arr(2, 2, 2), wrt=("in_field", "coeff"), tags="kernels apps")
def horizontal_diffusion(in_field, out_field, coeff):
    hdiff(in_field, out_field, coeff)
    return np.sum(out_field**2)


def getAcc(pos, mass, G, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    I = inv_r3 > 0
    inv_r3[I] = inv_r3[I] ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def getEnergy(pos, vel, mass, G):
    KE = 0.5 * np.sum(mass * vel**2)
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]
    dx = x.T - x
    dy = y.T - y
    dz = z.T - z
    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    I = inv_r > 0
    inv_r[I] = 1.0 / inv_r[I]
    PE = G * np.sum(np.sum(np.triu(-(mass * mass.T) * inv_r, 1)))
    return KE, PE


@case(
    arr(3, 1, low=0.5),
    arr(3, 3),
    arr(3, 3),
    value(3),
    value(0.1),
    wrt=("mass", "pos", "vel"),
    tags="kernels apps",
)
def nbody_energy(mass, pos, vel, Nt, dt, G=1.0, softening=0.5):
    """Leapfrog; the energies of all steps are stored."""
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = getAcc(pos, mass, G, softening)
    KE = np.ndarray(Nt + 1, dtype=np.float64)
    PE = np.ndarray(Nt + 1, dtype=np.float64)
    KE[0], PE[0] = getEnergy(pos, vel, mass, G)
    t = 0.0
    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = getAcc(pos, mass, G, softening)
        vel += acc * dt / 2.0
        t += dt
        KE[i + 1], PE[i + 1] = getEnergy(pos, vel, mass, G)
    return np.sum(KE) + PE[-1] + t


@case(arr(4), arr(4), arr(4), arr(4), wrt=(0, 1, 2, 3), tags="kernels apps")
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    """Pairwise arc distance between all points of a and b."""
    temp = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    distance_matrix = 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))
    return distance_matrix.sum()


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1
        / dt
        * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    pn = p.copy()
    for q in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]  # dp/dx = 0 at x = 2
        p[0, :] = p[1, :]  # dp/dy = 0 at y = 0
        p[:, 0] = p[:, 1]  # dp/dx = 0 at x = 0
        p[-1, :] = 0  # p = 0 at y = 2


@case(
    value(4),
    value(4),
    value(2),
    value(2),
    arr(4, 4),
    arr(4, 4),
    value(0.1),
    value(0.5),
    value(0.5),
    arr(4, 4),
    num(0.5, 1.0),
    num(0.05, 0.1),
    wrt=("u", "v", "p", "rho", "nu"),
    tags="kernels apps",
)
def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    un = np.empty_like(u)
    vn = np.empty_like(v)
    b = np.zeros((ny, nx))
    for n in range(nt):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[0:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[0:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1  # the lid
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return np.sum(u**2) + np.sum(v**2) + np.sum(p)


@case(
    arr(3, 4),
    arr(3, 4, low=0.1),
    value(0.05),
    value(0.5),
    num(0.5, 1.0),
    wrt=("u", "p", "rho"),
    tags="kernels apps",
)
def channel_flow(u, p, dt, dx, rho):
    """Periodic in x: steps until the change is small, at most five."""
    udiff = 1
    stepcount = 0
    while udiff > 0.01 and stepcount < 5:
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
        u[1:-1, -1] = un[1:-1, -1] - dt / (2 * rho * dx) * (p[1:-1, 0] - p[1:-1, -2])
        u[1:-1, 0] = un[1:-1, 0] - dt / (2 * rho * dx) * (p[1:-1, 1] - p[1:-1, -1])
        u[0, :] = 0
        u[-1, :] = 0
        udiff = abs((np.sum(u) - np.sum(un)) / (np.sum(np.abs(u)) + 1.0))
        stepcount += 1
    return np.sum(u**2) + stepcount


def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


@case(arr(2, 2, 2, 3), arr(2, 2, 2, 3), wrt="x", tags="kernels apps")
def softmax_4d(x, w):
    return np.sum(softmax(x) * w)


def relu(x):
    return np.maximum(x, 0)


@case(
    arr(3, 4),
    arr(4, 3),
    arr(3),
    arr(3, 2),
    arr(2),
    arr(3, 2),
    wrt=("w1", "b1", "w2", "b2"),
    tags="kernels apps",
)
def mlp(input, w1, b1, w2, b2, w):
    x = relu(input @ w1 + b1)
    x = softmax(x @ w2 + b2)
    return np.sum(x * w)


def conv2d(input, weights):
    K = weights.shape[0]  # Assuming square kernel
    N = input.shape[0]
    H_out = input.shape[1] - K + 1
    W_out = input.shape[2] - K + 1
    C_out = weights.shape[3]
    output = np.empty((N, H_out, W_out, C_out), dtype=input.dtype)
    for i in range(H_out):
        for j in range(W_out):
            output[:, i, j, :] = np.sum(
                input[:, i : i + K, j : j + K, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return output


@case(
    arr(2, 4, 3, 2), arr(2, 2, 2, 3), arr(3), wrt=("input", "weights", "bias"), tags="kernels apps"
)
def conv2d_bias(input, weights, bias):
    return np.sum((conv2d(input, weights) + bias) ** 2)


def batchnorm2d(x, eps=1e-5):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + eps)


@case(
    arr(2, 3, 3, 2),
    arr(1, 1, 2, 2),
    arr(3, 3, 2, 2),
    arr(1, 1, 2, 2),
    wrt=("input", "conv1", "conv2", "conv3"),
    tags="kernels apps",
)
def resnet_block(input, conv1, conv2, conv3):
    padded = np.zeros((input.shape[0], input.shape[1] + 2, input.shape[2] + 2, conv1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = conv2d(input, conv1)
    x = batchnorm2d(padded)
    x = relu(x)
    x = conv2d(x, conv2)
    x = batchnorm2d(x)
    x = relu(x)
    x = conv2d(x, conv3)
    return np.sum(relu(x + input) ** 2)


def maxpool2d(x):
    output = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            output[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return output


@case(
    arr(2, 7, 7, 1),
    arr(2, 2, 1, 2),
    arr(2),
    arr(2, 2, 2, 3),
    arr(3),
    arr(3, 4),
    arr(4),
    wrt=("conv1", "conv1bias", "conv2", "fc1w", "fc1b"),
    tags="kernels apps",
)
def lenet(input, conv1, conv1bias, conv2, conv2bias, fc1w, fc1b):
    N = input.shape[0]
    x = relu(conv2d(input, conv1) + conv1bias)
    x = maxpool2d(x)
    x = relu(conv2d(x, conv2) + conv2bias)
    x = maxpool2d(x)
    x = np.reshape(x, (N, 3))
    x = relu(x @ fc1w + fc1b)
    return np.sum(x**2)


@case(
    value(np.array([0, 2, 3, 5], dtype=np.uint32)),
    value(np.array([0, 2, 1, 0, 1])),
    arr(5),
    arr(3),
    wrt=("A_val", "x"),
    tags="kernels apps",
)
def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return np.sum(y**2)


@case(arr(8), arr(8, low=0.0), value(3), wrt="data", tags="kernels apps")
def azimint_naive(data, radius, npt):
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask_r12 = np.logical_and((r1 <= radius), (radius < r2))
        values_r12 = data[mask_r12]
        res[i] = values_r12.mean() if values_r12.size > 0 else 0.0
    return np.sum(res**2)


@case(ints(6, low=0, high=255), gradient=False, tags="kernels apps")
def crc16(data, poly=0x8408):
    crc = 0xFFFF
    for b in data:
        cur_byte = 0xFF & b
        for _ in range(0, 8):
            if (crc & 0x0001) ^ (cur_byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur_byte >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@case(arr(4, 4), wrt="a", tags="kernels apps")
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return np.sum((a + trace) ** 2)


@case(
    arr(3, 3, low=-5.0, high=15.0),
    arr(3, 3),
    num(),
    num(),
    num(),
    wrt=("array_1", "array_2", "a", "b", "c"),
    tags="kernels apps",
)
def compute_clip(array_1, array_2, a, b, c):
    return np.sum(np.clip(array_1, 2, 10) * a + array_2 * b + c)


@case(value(4), value(5), num(-0.6, -0.5), num(0.0, 0.1), wrt=("cr", "ci"), tags="kernels apps")
def escape_time(width, maxiter, cr, ci):
    """The Mandelbrot set in real arithmetic: the magnitude of z after it has escaped."""
    total = 0.0
    for i in range(width):
        x, y = 0.0, 0.0
        c0, c1 = cr + 0.5 * i, ci
        n = 0
        while x * x + y * y <= 4 and n < maxiter:
            x, y = x * x - y * y + c0, 2 * x * y + c1
            n += 1
        total += math.log(x * x + y * y + 1.0) + n
    return total


@case(
    value(2),
    value(2),
    value(2),
    value(3),
    value(2),
    ints(3, 2, low=0, high=3),
    arr(2, 2, 3, 2, 2),
    arr(3, 2, 2, 2),
    wrt=("G", "dH"),
    tags="kernels apps",
)
def scattering_energies(Nkz, NE, Nqz, NA, NB, neigh_idx, G, dH):
    """Many loops around small matrix products."""
    Sigma = np.zeros_like(G)
    for k in range(Nkz):
        for E in range(NE):
            for q in range(Nqz):
                for a in range(NA):
                    for b in range(NB):
                        if E - q >= 0:
                            dHG = G[k, E - q, neigh_idx[a, b]] @ dH[a, b]
                            dHD = dH[a, b] * G[q, E, a, 0, 1]
                            Sigma[k, E, a] += dHG @ dHD
    return np.sum(Sigma**2)


@case(arr(4), arr(4, 4), wrt=("x", "B"), tags="kernels apps")
def quadratic_forms(x, B):
    return 0.5 * x.T.dot(B.T).dot(B).dot(x) - np.dot(x, np.ones(len(x)))


@nb.njit(parallel=True)
def pi_like(a):
    acc = 0.0
    for i in nb.prange(a.shape[0]):
        acc += a[i] ** 2 / (1 + a[i] ** 2)
    return acc


@case(arr(5), tags="kernels apps")
def prange_sum(a):
    return 4.0 * pi_like(a)


@nb.vectorize([nb.float64(nb.float64, nb.float64)])
def rel_diff(x, y):
    return 2 * (x - y) / (x + y)


@case(arr(4, low=0.5), arr(4, low=0.5), wrt=(0, 1), tags="kernels apps")
def relative_difference(x, y):
    return np.sum(rel_diff(x, y) ** 2)


@nb.njit(["f8(f8[:,:])", "f8(f4[:,:])"], cache=True)
def sum2d(arr):
    M, N = arr.shape
    result = 0.0
    for i in range(M):
        for j in range(N):
            result += arr[i, j] * (i + 1)
    return result


@case(arr(2, 3), tags="kernels apps")
def eager_signature(a):
    return sum2d(a) ** 2


@nb.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
def unused_guvectorized(x, y, res):
    for i in range(x.shape[0]):
        res[i] = x[i] + y


@case(arr(3, 3), value(10), wrt="image", tags="kernels apps")
def bubble_passes(image, n):
    """A sort in place, whose branches depend on the values."""
    X = image.ravel().copy()
    N = len(X)
    for end in range(N, 1, -1):
        for i in range(end - 1):
            cur = X[i]
            if cur > X[i + 1]:
                tmp = X[i]
                X[i] = X[i + 1]
                X[i + 1] = tmp
    return np.sum(X * np.arange(N))


@case(
    arr(5, low=10.0, high=20.0),
    num(10.0, 20.0),
    value(1.0),
    value(0.05),
    value(0.3),
    wrt=("S", "X"),
    tags="kernels apps",
)
def black_scholes(S, X, T, R, V):
    def cnd(d):
        A1 = 0.31938153
        A2 = -0.356563782
        A3 = 1.781477937
        RSQRT2PI = 0.39894228040143267793994605993438
        K = 1.0 / (1.0 + 0.2316419 * np.abs(d))
        ret_val = RSQRT2PI * np.exp(-0.5 * d * d) * (K * (A1 + K * (A2 + K * A3)))
        return np.where(d > 0, 1.0 - ret_val, ret_val)

    sqrtT = math.sqrt(T)
    d1 = (np.log(S / X) + (R + 0.5 * V * V) * T) / (V * sqrtT)
    d2 = d1 - V * sqrtT
    call = np.zeros_like(S)
    call[:] = S * cnd(d1) - X * np.exp(-R * T) * cnd(d2)
    return call.sum()


@case(pair(arr(3), arr(3)), bools(3), wrt="xy", tags="kernels apps")
def masked_pairs(xy, keep):
    x, y = xy
    kept = x[keep] * y[keep]
    rest = x[~keep]
    return kept.sum() + (rest**2).sum()
