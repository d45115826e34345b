import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128


@cuda.jit
def heat_by_slices_vjp_k1(err, u_n0, u_1, u):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, u_n0, cuda.blockDim.x * cuda.gridDim.x):
        u_1[i] = u[i]


@cuda.jit
def heat_by_slices_vjp_k2(err, n_2, t, u_1):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, n_2, cuda.blockDim.x * cuda.gridDim.x):
        t[i] = u_1[i + 1] + 0.1 * (u_1[i] - 2.0 * u_1[i + 1] + u_1[i + 2])


@cuda.jit
def heat_by_slices_vjp_k3(err, n_2, u_1, t):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, n_2, cuda.blockDim.x * cuda.gridDim.x):
        u_1[i + 1] = t[i]


@cuda.jit
def heat_by_slices_vjp_k4(err, u_n0, u_1, u_bar, out_bar, acc_parts):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_part = np.float64(0.0)
    for i in range(thread, u_n0, cuda.blockDim.x * cuda.gridDim.x):
        t_10 = u_1[i]
        acc_part = acc_part + t_10 * t_10
        u_bar[i] = out_bar * 2.0 * u_1[i]
    shared = cuda.shared.array(BLOCK, np.float64)
    shared[cuda.threadIdx.x] = acc_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared[cuda.threadIdx.x] = shared[cuda.threadIdx.x] + shared[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_parts[cuda.blockIdx.x] = shared[0]


@cuda.jit
def heat_by_slices_vjp_k5(err, blocks, acc_parts, n, t_8_bar, n_4, out_slot):
    if err[0] != 0:
        return
    # L5: return np.sum(u**2)
    acc = np.float64(0.0)
    for k in range(blocks):
        part = acc_parts[k]
        acc = acc + part
    out = acc
    # L3: for _ in range(n)
    if 0 < n:
        for i in range(2):
            t_8_bar[i] = np.float64(0.0)
            t_8_bar[i + n_4 + 2] = np.float64(0.0)
    out_slot[0] = out


@cuda.jit
def heat_by_slices_vjp_k6(err, n_4, t_8_bar, u_bar):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, n_4, cuda.blockDim.x * cuda.gridDim.x):
        t_8_bar[i + 2] = u_bar[i + 1]


@cuda.jit
def heat_by_slices_vjp_k7(err, n_6, u_bar, t_8_bar):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, n_6, cuda.blockDim.x * cuda.gridDim.x):
        u_bar[i] += t_8_bar[i] * 0.1 + (t_8_bar[i + 1] + -(t_8_bar[i + 1] * 0.1) * 2.0) + t_8_bar[i + 2] * 0.1


@cuda.jit
def heat_by_slices_vjp_k8(err, count, n_6, u_bar, t_8_bar):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(thread, count, cuda.blockDim.x * cuda.gridDim.x):
        i = n_6 + cell
        u_bar[i] = 0.0 + (t_8_bar[i] * 0.1 + (t_8_bar[i + 1] + -(t_8_bar[i + 1] * 0.1) * 2.0) + t_8_bar[i + 2] * 0.1)


@cuda.jit
def heat_by_slices_vjp_k9(err, count_1, n_8, u_bar, t_8_bar):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(thread, count_1, cuda.blockDim.x * cuda.gridDim.x):
        i = n_8 + cell
        u_bar[i] += t_8_bar[i] * 0.1 + (t_8_bar[i + 1] + -(t_8_bar[i + 1] * 0.1) * 2.0) + t_8_bar[i + 2] * 0.1


FAILURES = []


@np.errstate(all="ignore")
def heat_by_slices_vjp(dev, u, n, out_bar, u_bar):
    err, err_values = dev.begin(FAILURES)
    n = np.int64(n)
    out_bar = np.float64(out_bar)
    out = dev.empty((1,), np.float64)
    # L2: u = u.copy()
    u_1 = dev.empty((u.shape[0],), np.float64)
    dev.launch(heat_by_slices_vjp_k1, dev.blocks(u.shape[0], BLOCK), BLOCK, err, u.shape[0], u_1, u)
    # L3: for _ in range(n)
    n_1 = u.shape[0] - 2
    n_2 = n_1 if n_1 > 0 else 0
    t = dev.empty((n_2,), np.float64)
    # L3: for _ in range(n)
    for __1 in range(n):
        # L4: u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        dev.launch(heat_by_slices_vjp_k2, dev.blocks(n_2, BLOCK), BLOCK, err, n_2, t, u_1)
        dev.launch(heat_by_slices_vjp_k3, dev.blocks(n_2, BLOCK), BLOCK, err, n_2, u_1, t)
    # L5: return np.sum(u**2)
    blocks = dev.blocks(u.shape[0], BLOCK)
    acc_parts = dev.empty((blocks,), np.float64)
    dev.launch(heat_by_slices_vjp_k4, blocks, BLOCK, err, u.shape[0], u_1, u_bar, out_bar, acc_parts)
    # L3: for _ in range(n)
    n_3 = u.shape[0] - 2
    n_4 = n_3 if n_3 > 0 else 0
    t_8_bar = dev.empty((n_4 + 4 if n_4 + 4 > 0 else 0,), np.float64)
    dev.launch(heat_by_slices_vjp_k5, 1, 1, err, blocks, acc_parts, n, t_8_bar, n_4, out)
    # L3: for _ in range(n)
    for __3 in range((n if n >= 0 else 0) - 1, -1, -1):
        # L3: for _ in range(n)
        dev.launch(heat_by_slices_vjp_k6, dev.blocks(n_4, BLOCK), BLOCK, err, n_4, t_8_bar, u_bar)
        # L4: u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        n_5 = n_4 + 2 if n_4 > 0 else 0
        n_6 = 1 if 1 < n_5 else n_5
        n_7 = n_5 if n_5 < n_4 + 1 else n_4 + 1
        n_8 = n_6 if n_6 > n_7 else n_7
        dev.launch(heat_by_slices_vjp_k7, dev.blocks(n_6, BLOCK), BLOCK, err, n_6, u_bar, t_8_bar)
        count = n_8 - n_6
        dev.launch(heat_by_slices_vjp_k8, dev.blocks(count, BLOCK), BLOCK, err, count, n_6, u_bar, t_8_bar)
        count_1 = n_5 - n_8
        dev.launch(heat_by_slices_vjp_k9, dev.blocks(count_1, BLOCK), BLOCK, err, count_1, n_8, u_bar, t_8_bar)
    return (out,)
