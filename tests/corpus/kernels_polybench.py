"""The classic loop kernels, as benchmark collections write them in NumPy: a kernel writes into its
arguments, and a small driver reduces them to a scalar."""

import numpy as np

from . import arr, case, num, value


def kernel_jacobi_1d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


@case(value(3), arr(6), arr(6), wrt=("A", "B"), tags="kernels polybench")
def jacobi_1d(TSTEPS, A, B):
    kernel_jacobi_1d(TSTEPS, A, B)
    return np.sum(A**2) + np.sum(B)


def kernel_jacobi_2d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


@case(value(3), arr(5, 4), arr(5, 4), wrt=("A", "B"), tags="kernels polybench")
def jacobi_2d_kernel(TSTEPS, A, B):
    kernel_jacobi_2d(TSTEPS, A, B)
    return np.sum(A * A) + B.mean()


@case(value(3), value(5), arr(5, 5), wrt="A", tags="kernels polybench")
def jacobi_2d_loops(tsteps, n, A):
    B = np.zeros_like(A)
    B[:] = A
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, 1 + j] + A[1 + i, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, 1 + j] + B[1 + i, j] + B[i - 1, j])
    return (A**3).sum()


def kernel_heat_3d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, 0:-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, 0:-2])
            + B[1:-1, 1:-1, 1:-1]
        )


@case(value(3), arr(4, 4, 3), arr(4, 4, 3), wrt=("A", "B"), tags="kernels polybench")
def heat_3d(TSTEPS, A, B):
    kernel_heat_3d(TSTEPS, A, B)
    return np.sum(A[1] * B[1])


@case(value(2), value(4), arr(4, 4), wrt="A", tags="kernels polybench")
def seidel_2d(TSTEPS, N, A):
    for t in range(0, TSTEPS - 1 + 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2]
                + A[i - 1, 1:-1]
                + A[i - 1, 2:]
                + A[i, 2:]
                + A[i + 1, :-2]
                + A[i + 1, 1:-1]
                + A[i + 1, 2:]
            )
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
    return np.sum(A**2)


@case(value(2), value(4), arr(4, 4), wrt="A", tags="kernels polybench")
def seidel_2d_loops(tsteps, n, A):
    for t in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0
    return np.sum(A**2)


def kernel_fdtd_2d(TMAX, ex, ey, hz, _fict_):
    for t in range(TMAX):
        ey[0, :] = _fict_[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


@case(
    value(3),
    arr(3, 4),
    arr(3, 4),
    arr(3, 4),
    arr(3),
    wrt=("ex", "ey", "hz", "_fict_"),
    tags="kernels polybench",
)
def fdtd_2d(TMAX, ex, ey, hz, _fict_):
    kernel_fdtd_2d(TMAX, ex, ey, hz, _fict_)
    return np.sum(hz**2) + np.sum(ex * ey)


def kernel_adi(TSTEPS, N, u):
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    DX = 1.0 / N
    DY = 1.0 / N
    DT = 1.0 / TSTEPS
    B1 = 2.0
    B2 = 1.0
    mul1 = B1 * DT / (DX * DX)
    mul2 = B2 * DT / (DY * DY)
    a = -mul1 / 2.0
    b = 1.0 + mul2
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for t in range(1, TSTEPS + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -d * u[j, 0 : N - 2]
                + (1.0 + 2.0 * d) * u[j, 1 : N - 1]
                - f * u[j, 2:N]
                - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -f / (d * p[1 : N - 1, j - 1] + e)
            q[1 : N - 1, j] = (
                -a * v[0 : N - 2, j]
                + (1.0 + 2.0 * a) * v[1 : N - 1, j]
                - c * v[2:N, j]
                - d * q[1 : N - 1, j - 1]
            ) / (d * p[1 : N - 1, j - 1] + e)
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]


@case(value(2), value(5), arr(5, 5), wrt="u", tags="kernels polybench")
def adi(TSTEPS, N, u):
    kernel_adi(TSTEPS, N, u)
    return np.sum(u * u)


def _spd(rng, n, dtype):
    a = rng.uniform(-1.0, 1.0, (4, 4))
    return (a @ a.T + 2.0 * np.eye(4)).astype(dtype)


def spd():
    from . import made

    return made(_spd)


def kernel_cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


@case(spd(), wrt="A", tags="kernels polybench")
def cholesky(A):
    kernel_cholesky(A)
    return 2.0 * np.sum(np.log(np.diag(A)))


@case(spd(), arr(4), wrt=("A", "b"), tags="kernels polybench")
def cholesky_loops_kernel(A, b):
    n = len(A)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = 0
            for k in range(j):
                s += L[i][k] * L[j][k]
            if i == j:
                L[i][j] = (A[i][i] - s) ** 0.5
            else:
                L[i][j] = (A[i][j] - s) / L[j][j]
    y = np.zeros(n)
    for i in range(n):
        y[i] = (b[i] - L[i, :i] @ y[:i]) / L[i, i]
    return y @ y


def kernel_lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


@case(spd(), wrt="A", tags="kernels polybench")
def lu(A):
    kernel_lu(A)
    return np.sum(np.log(np.abs(np.diag(A)))) + A[0, 1] * A[2, 0]


def kernel_ludcmp(A, b):
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(A.shape[0]):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


@case(spd(), arr(4), wrt=("A", "b"), tags="kernels polybench")
def ludcmp(A, b):
    x, y = kernel_ludcmp(A, b)
    return x @ x + y[-1]


def kernel_durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@case(arr(5, low=0.1, high=0.4), wrt="r", tags="kernels polybench")
def durbin(r):
    y = kernel_durbin(r)
    return np.sum(y**2)


def kernel_gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


@case(arr(4, 3), wrt="A", tags="kernels polybench")
def gramschmidt(A):
    Q, R = kernel_gramschmidt(A)
    return np.sum(Q * np.arange(12.0).reshape(4, 3)) + np.sum(R**2)


@case(num(), num(), arr(4, 4), arr(4, 3), wrt=("alpha", "beta", "C", "A"), tags="kernels polybench")
def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return np.sum(C**2)


@case(
    num(),
    num(),
    arr(4, 4),
    arr(4, 3),
    arr(4, 3),
    wrt=("alpha", "beta", "C", "A", "B"),
    tags="kernels polybench",
)
def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]
    return np.sum(C**2)


@case(num(), arr(4, 4), arr(4, 3), wrt=("alpha", "A", "B"), tags="kernels polybench")
def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha
    return np.sum(B**2)


@case(
    num(),
    num(),
    arr(3, 4),
    arr(3, 3),
    arr(3, 4),
    wrt=("alpha", "beta", "C", "A", "B"),
    tags="kernels polybench",
)
def symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2
    return np.sum(C**2)


def kernel_gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@case(
    num(),
    num(),
    arr(3, 3),
    arr(3),
    arr(3),
    arr(3),
    arr(3),
    arr(3),
    arr(3),
    arr(3),
    arr(3),
    wrt=("alpha", "beta", "A", "u1", "v2", "x", "y", "z"),
    tags="kernels polybench",
)
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    kernel_gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z)
    return np.sum(w) + x @ x


@case(
    num(),
    num(),
    arr(3, 3),
    arr(3, 3),
    arr(3),
    wrt=("alpha", "beta", "A", "B", "x"),
    tags="kernels polybench",
)
def gesummv(alpha, beta, A, B, x):
    r = alpha * A @ x + beta * B @ x
    return (r**2).sum()


def kernel_mvt(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A


@case(
    arr(3),
    arr(3),
    arr(3),
    arr(3),
    arr(3, 3),
    wrt=("x1", "x2", "y_1", "y_2", "A"),
    tags="kernels polybench",
)
def mvt(x1, x2, y_1, y_2, A):
    kernel_mvt(x1, x2, y_1, y_2, A)
    return x1 @ x2


@case(arr(3, 4), arr(4), wrt=("A", "x"), tags="kernels polybench")
def atax(A, x):
    y = (A @ x) @ A
    return np.linalg.norm(y)


@case(arr(3, 4), arr(4), arr(3), wrt=("A", "p", "r"), tags="kernels polybench")
def bicg(A, p, r):
    s, q = r @ A, A @ p
    return s.sum() * q.sum()


@case(
    num(),
    num(),
    arr(2, 3),
    arr(3, 4),
    arr(4, 2),
    arr(2, 2),
    wrt=("alpha", "beta", "A", "B", "C", "D"),
    tags="kernels polybench",
)
def k2mm(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D
    return np.sum(D**2)


@case(
    arr(2, 3), arr(3, 4), arr(4, 2), arr(2, 3), wrt=("A", "B", "C", "D"), tags="kernels polybench"
)
def k3mm(A, B, C, D):
    return (A @ B @ C @ D).sum()


@case(
    value(2), value(3), value(4), arr(2, 3, 4), arr(4, 4), wrt=("A", "C4"), tags="kernels polybench"
)
def doitgen(NR, NQ, NP, A, C4):
    A[:] = np.reshape(np.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))
    return np.sum(A**2)


@case(
    value(2), value(3), value(4), arr(2, 3, 4), arr(4, 4), wrt=("A", "C4"), tags="kernels polybench"
)
def doitgen_loops(nr, nq, np_, A, C4):
    total = np.zeros(np_)
    for r in range(nr):
        for q in range(nq):
            for p in range(np_):
                total[p] = 0.0
                for s in range(np_):
                    total[p] += A[r, q, s] * C4[s, p]
            for p in range(np_):
                A[r, q, p] = total[p]
    return np.sum(A**2)


@case(value(3), value(5.0), arr(5, 3), wrt="data", tags="kernels polybench")
def covariance(M, float_n, data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
    return np.sum(cov**2)


@case(value(3), value(5.0), arr(5, 3), wrt="data", tags="kernels polybench")
def correlation_kernel(M, float_n, data):
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * stddev
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1 : M, i] = corr[i, i + 1 : M] = data[:, i] @ data[:, i + 1 : M]
    return np.sum(corr * np.arange(9.0).reshape(3, 3))


def match(b1, b2):
    if b1 + b2 == 3:
        return 1
    else:
        return 0


@case(value(5), value(np.array([0, 3, 1, 2, 2])), gradient=False, tags="kernels polybench")
def nussinov(N, seq):
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@case(arr(4, 4, low=0.1), wrt="path", tags="kernels polybench")
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return np.sum(path**2)


@case(value(4), arr(4, 4, low=0.1), wrt="path", tags="kernels polybench")
def floyd_warshall_loops(n, path):
    for k in range(n):
        for i in range(n):
            tmp = path[i, k] + path[k, :]
            for j in range(n):
                path[i, j] = path[i, j] if path[i, j] < tmp[j] else tmp[j]
    return np.sum(path**2)


@case(arr(4, 4), arr(4), wrt=("L", "b"), tags="kernels polybench")
def trisolv(L, b):
    x = np.zeros_like(b)
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / (L[i, i] + 3.0)
    return x.sum()


@case(num(0.2, 0.3), arr(3, 4), wrt=("alpha", "imgIn"), tags="kernels polybench")
def deriche(alpha, imgIn):
    k = (
        (1.0 - np.exp(-alpha))
        * (1.0 - np.exp(-alpha))
        / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    )
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)
    c1 = c2 = 1
    y1 = np.empty_like(imgIn)
    y1[:, 0] = a1 * imgIn[:, 0]
    y1[:, 1] = a1 * imgIn[:, 1] + a2 * imgIn[:, 0] + b1 * y1[:, 0]
    for j in range(2, imgIn.shape[1]):
        y1[:, j] = a1 * imgIn[:, j] + a2 * imgIn[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.empty_like(imgIn)
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * imgIn[:, -1]
    for j in range(imgIn.shape[1] - 3, -1, -1):
        y2[:, j] = (
            a3 * imgIn[:, j + 1] + a4 * imgIn[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
        )
    imgOut = c1 * (y1 + y2)
    y1[0, :] = a5 * imgOut[0, :]
    y1[1, :] = a5 * imgOut[1, :] + a6 * imgOut[0, :] + b1 * y1[0, :]
    for i in range(2, imgIn.shape[0]):
        y1[i, :] = a5 * imgOut[i, :] + a6 * imgOut[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * imgOut[-1, :]
    for i in range(imgIn.shape[0] - 3, -1, -1):
        y2[i, :] = (
            a7 * imgOut[i + 1, :] + a8 * imgOut[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
        )
    imgOut[:] = c2 * (y1 + y2)
    return np.sum(imgOut**2)
