import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128


@cuda.jit
def two_layer_network_vjp_k1(err, cells, w1_n1, h_2_n1, h_2, h_n1, h, b1):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(thread, cells, cuda.blockDim.x * cuda.gridDim.x):
        i = cell // w1_n1
        j = cell % w1_n1
        h_2[i * h_2_n1 + j] = math.tanh(h[i * h_n1 + j] + b1[j])


@cuda.jit
def two_layer_network_vjp_k2(err, cells_1, w2_n1, pred_n1, pred, b2, y_n1, y, t_bar_n1, t_bar, out_bar, acc_parts):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_part = np.float64(0.0)
    for cell in range(thread, cells_1, cuda.blockDim.x * cuda.gridDim.x):
        i = cell // w2_n1
        j = cell % w2_n1
        pred_1 = pred[i * pred_n1 + j] + b2[j]
        # L4: return np.sum((pred - y) ** 2)
        t = pred_1 - y[i * y_n1 + j]
        t_2 = t
        acc_part = acc_part + t_2 * t_2
        t_bar[i * t_bar_n1 + j] = out_bar * 2.0 * t
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
def two_layer_network_vjp_k3(err, w2_n1, b2_bar, x_n0, t_bar_n1, t_bar, cells_2, w1_n1, h_1_bar_n1, h_1_bar, h_bar_n1, h_bar, h_2_n1, h_2):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, w2_n1, cuda.blockDim.x * cuda.gridDim.x):
        b2_bar[i] = np.float64(0.0)
        for k in range(x_n0):
            b2_bar[i] += t_bar[k * t_bar_n1 + i]
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(thread, cells_2, cuda.blockDim.x * cuda.gridDim.x):
        i = cell // w1_n1
        j = cell % w1_n1
        h_1_bar[i * h_1_bar_n1 + j] = h_bar[i * h_bar_n1 + j] * (1.0 - h_2[i * h_2_n1 + j] * h_2[i * h_2_n1 + j])


@cuda.jit
def two_layer_network_vjp_k4(err, blocks, acc_parts, out_slot):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    # L3: pred = h @ w2 + b2
    acc = np.float64(0.0)
    acc_part_1 = np.float64(0.0)
    for k_2 in range(cuda.threadIdx.x, blocks, cuda.blockDim.x):
        part = acc_parts[k_2]
        acc_part_1 = acc_part_1 + part
    whole_float64[cuda.threadIdx.x] = acc_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + whole_float64[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    acc = acc + whole_float64[0]
    cuda.syncthreads()
    out = acc
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out_slot[0] = out


@cuda.jit
def two_layer_network_vjp_k6(err, w1_n1, b1_bar, x_n0, h_1_bar_n1, h_1_bar):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, w1_n1, cuda.blockDim.x * cuda.gridDim.x):
        b1_bar[i] = np.float64(0.0)
        for k_1 in range(x_n0):
            b1_bar[i] += h_1_bar[k_1 * h_1_bar_n1 + i]


@cuda.jit
def gemm_float64(err, swap_a, swap_b, m, n, k, alpha, a, a_at, b, b_at, beta, c, c_at, batch, a_step, b_step, c_step):
    if err[0] != 0:
        return
    tile_a = cuda.shared.array(272, np.float64)
    tile_b = cuda.shared.array(272, np.float64)
    row = cuda.threadIdx.x // 16
    column = cuda.threadIdx.x % 16
    down = (m + 15) // 16
    across = (n + 15) // 16
    for tile in range(cuda.blockIdx.x, batch * down * across, cuda.gridDim.x):
        which = tile // (down * across)
        i = tile % (down * across) // across * 16 + row
        j = tile % across * 16 + column
        a_first = a_at + which * a_step
        b_first = b_at + which * b_step
        c_first = c_at + which * c_step
        total = np.float64(0.0)
        for p in range(0, k, 16):
            value = np.float64(0.0)
            if i < m and p + column < k:
                if swap_a:
                    value = a[a_first + (p + column) * m + i]
                else:
                    value = a[a_first + i * k + p + column]
            tile_a[row * 17 + column] = value
            value = np.float64(0.0)
            if p + row < k and j < n:
                if swap_b:
                    value = b[b_first + j * k + p + row]
                else:
                    value = b[b_first + (p + row) * n + j]
            tile_b[row * 17 + column] = value
            cuda.syncthreads()
            for q in range(16):
                total = total + tile_a[row * 17 + q] * tile_b[q * 17 + column]
            cuda.syncthreads()
        if i < m and j < n:
            at = c_first + i * n + j
            if beta == np.float64(0.0):
                c[at] = alpha * total
            else:
                c[at] = alpha * total + beta * c[at]


FAILURES = []


@np.errstate(all="ignore")
def two_layer_network_vjp(dev, w1, b1, w2, b2, x, y, out_bar, w1_bar, b1_bar, w2_bar, b2_bar):
    err, err_values = dev.begin(FAILURES)
    out_bar = np.float64(out_bar)
    out = dev.empty((1,), np.float64)
    # L2: h = np.tanh(x @ w1 + b1)
    h = dev.empty((x.shape[0], w1.shape[1]), np.float64)
    dev.gemm(gemm_float64, False, False, h.shape[0], h.shape[1], x.shape[1], np.float64(1.0), x, 0, w1, 0, np.float64(0.0), h, 0)
    h_2 = dev.empty((x.shape[0], w1.shape[1]), np.float64)
    cells = x.shape[0] * w1.shape[1]
    dev.launch(two_layer_network_vjp_k1, dev.blocks(cells, BLOCK), BLOCK, err, cells, w1.shape[1], h_2.shape[1], h_2, h.shape[1], h, b1)
    # L3: pred = h @ w2 + b2
    pred = dev.empty((x.shape[0], w2.shape[1]), np.float64)
    dev.gemm(gemm_float64, False, False, pred.shape[0], pred.shape[1], h_2.shape[1], np.float64(1.0), h_2, 0, w2, 0, np.float64(0.0), pred, 0)
    t_bar = dev.empty((x.shape[0], w2.shape[1]), np.float64)
    cells_1 = x.shape[0] * w2.shape[1]
    blocks = dev.blocks(cells_1, BLOCK)
    acc_parts = dev.empty((blocks,), np.float64)
    dev.launch(two_layer_network_vjp_k2, blocks, BLOCK, err, cells_1, w2.shape[1], pred.shape[1], pred, b2, y.shape[1], y, t_bar.shape[1], t_bar, out_bar, acc_parts)
    h_bar = dev.empty((x.shape[0], w1.shape[1]), np.float64)
    dev.launch(two_layer_network_vjp_k4, 1, BLOCK, err, blocks, acc_parts, out)
    dev.gemm(gemm_float64, False, True, h_bar.shape[0], h_bar.shape[1], t_bar.shape[1], np.float64(1.0), t_bar, 0, w2, 0, np.float64(0.0), h_bar, 0)
    dev.gemm(gemm_float64, True, False, w2_bar.shape[0], w2_bar.shape[1], h_2.shape[0], np.float64(1.0), h_2, 0, t_bar, 0, np.float64(0.0), w2_bar, 0)
    # L2: h = np.tanh(x @ w1 + b1)
    h_1_bar = dev.empty((x.shape[0], w1.shape[1]), np.float64)
    cells_2 = x.shape[0] * w1.shape[1]
    dev.launch(two_layer_network_vjp_k3, max(dev.blocks(w2.shape[1], BLOCK), dev.blocks(cells_2, BLOCK)), BLOCK, err, w2.shape[1], b2_bar, x.shape[0], t_bar.shape[1], t_bar, cells_2, w1.shape[1], h_1_bar.shape[1], h_1_bar, h_bar.shape[1], h_bar, h_2.shape[1], h_2)
    dev.launch(two_layer_network_vjp_k6, dev.blocks(w1.shape[1], BLOCK), BLOCK, err, w1.shape[1], b1_bar, x.shape[0], h_1_bar.shape[1], h_1_bar)
    dev.gemm(gemm_float64, True, False, w1_bar.shape[0], w1_bar.shape[1], x.shape[0], np.float64(1.0), x, 0, h_1_bar, 0, np.float64(0.0), w1_bar, 0)
    return (out,)
