import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128


@cuda.jit
def scatter_repeated_last_wins_vjp_k1(err, x_n0, y, x):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, x_n0, cuda.blockDim.x * cuda.gridDim.x):
        y[i] = x[i] * x[i]


@cuda.jit
def scatter_repeated_last_wins_vjp_k2(err, t_1, x_n0, y, v, y_4, acc_slot):
    if err[0] != 0:
        return
    # L3: y[np.array([1, 1, 2])] = v * 3.0
    t_1[0] = np.int64(1)
    t_1[1] = np.int64(1)
    t_1[2] = np.int64(2)
    for i in range(3):
        at_2 = t_1[i]
        at_3 = at_2 + x_n0 if at_2 < 0 else at_2
        if at_3 < 0 or at_3 >= x_n0:
            cuda.atomic.cas(err, 0, 0, 1)
            return
        y[at_3] = v[i] * 3.0
        # L3: y[np.array([1, 1, 2])] = v * 3.0
        at_8 = t_1[i]
        at_9 = at_8 + x_n0 if at_8 < 0 else at_8
        y_4[at_9] = i
    # L4: return np.sum(y * y)
    acc = np.float64(0.0)
    acc_slot[0] = acc


@cuda.jit
def scatter_repeated_last_wins_vjp_k3(err, x_n0, y, y_bar, out_bar, acc_parts):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_part = np.float64(0.0)
    for i in range(thread, x_n0, cuda.blockDim.x * cuda.gridDim.x):
        acc_part = acc_part + y[i] * y[i]
        y_bar[i] = out_bar * y[i] * 2.0
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
def scatter_repeated_last_wins_vjp_k4(err, acc_slot, blocks, acc_parts, t_1, x_n0, y_bar, y_4, v_bar, out_slot):
    if err[0] != 0:
        return
    acc = acc_slot[0]
    # L4: return np.sum(y * y)
    for k in range(blocks):
        part = acc_parts[k]
        acc = acc + part
    out = acc
    for i in range(3):
        at_12 = t_1[i]
        at_13 = at_12 + x_n0 if at_12 < 0 else at_12
        at_14 = t_1[i]
        at_15 = at_14 + x_n0 if at_14 < 0 else at_14
        t_3 = y_bar[at_15]
        t_bar = t_3 if y_4[at_13] == i else np.float64(0.0)
        v_bar[i] = t_bar * 3.0
    for i in range(3):
        at_18 = t_1[i]
        at_19 = at_18 + x_n0 if at_18 < 0 else at_18
        y_bar[at_19] = np.float64(0.0)
    acc_slot[0] = acc
    out_slot[0] = out


@cuda.jit
def scatter_repeated_last_wins_vjp_k5(err, x_n0, x_bar, y_bar, x):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, x_n0, cuda.blockDim.x * cuda.gridDim.x):
        x_bar[i] = y_bar[i] * x[i] * 2.0


FAILURES = [
    ('IndexError', 'index out of bounds for axis 0 (indexing.py:3: y[np.array([1, 1, 2])] = v * 3.0)', None, ()),
]


@np.errstate(all="ignore")
def scatter_repeated_last_wins_vjp(dev, x, v, out_bar, x_bar, v_bar):
    err, err_values = dev.begin(FAILURES)
    out_bar = np.float64(out_bar)
    acc = dev.empty((1,), np.float64)
    out = dev.empty((1,), np.float64)
    # L2: y = x * x
    y = dev.empty((x.shape[0],), np.float64)
    dev.launch(scatter_repeated_last_wins_vjp_k1, dev.blocks(x.shape[0], BLOCK), BLOCK, err, x.shape[0], y, x)
    # L3: y[np.array([1, 1, 2])] = v * 3.0
    t_1 = dev.empty((3,), np.int64)
    y_4 = dev.empty((x.shape[0],), np.int64)
    # L4: return np.sum(y * y)
    y_bar = dev.empty((x.shape[0],), np.float64)
    dev.launch(scatter_repeated_last_wins_vjp_k2, 1, 1, err, t_1, x.shape[0], y, v, y_4, acc)
    blocks = dev.blocks(x.shape[0], BLOCK)
    acc_parts = dev.empty((blocks,), np.float64)
    dev.launch(scatter_repeated_last_wins_vjp_k3, blocks, BLOCK, err, x.shape[0], y, y_bar, out_bar, acc_parts)
    dev.launch(scatter_repeated_last_wins_vjp_k4, 1, 1, err, acc, blocks, acc_parts, t_1, x.shape[0], y_bar, y_4, v_bar, out)
    # L2: y = x * x
    dev.launch(scatter_repeated_last_wins_vjp_k5, dev.blocks(x.shape[0], BLOCK), BLOCK, err, x.shape[0], x_bar, y_bar, x)
    return (out,)
