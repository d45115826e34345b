import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128


@cuda.jit
def matrix_matrix_vjp_k1(err, acc_slot):
    if err[0] != 0:
        return
    # L2: return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b)) + np.sum(np.matmul(a, b) ...
    acc = np.float64(0.0)
    acc_slot[0] = acc


@cuda.jit
def matrix_matrix_vjp_k2(err, acc_1_slot):
    if err[0] != 0:
        return
    # L2: return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b)) + np.sum(np.matmul(a, b) ...
    acc_1 = np.float64(0.0)
    acc_1_slot[0] = acc_1


@cuda.jit
def matrix_matrix_vjp_k3(err, cells, b_n1, t_n1, t, t_3_n1, t_3, t_6_n1, t_6, t_6_bar_n1, t_6_bar, out_bar, t_10_n1, t_10, t_12_n1, t_12, t_bar_n1, t_bar, acc_parts, acc_1_parts, acc_2_parts):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_part = np.float64(0.0)
    acc_1_part = np.float64(0.0)
    acc_2_part = np.float64(0.0)
    for cell in range(thread, cells, cuda.blockDim.x * cuda.gridDim.x):
        i = cell // b_n1
        j = cell % b_n1
        t_9 = t[i * t_n1 + j]
        t_1 = t_9 * t_9
        acc_part = acc_part + t_1
        acc_1_part = acc_1_part + t_3[i * t_3_n1 + j]
        t_7 = t_6[i * t_6_n1 + j] * 3.0
        acc_2_part = acc_2_part + t_7
        t_6_bar[i * t_6_bar_n1 + j] = out_bar * 3.0
        t_10[i * t_10_n1 + j] = out_bar
        t_12[i * t_12_n1 + j] = out_bar
        t_bar[i * t_bar_n1 + j] = out_bar * 2.0 * t[i * t_n1 + j]
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
    shared1 = cuda.shared.array(BLOCK, np.float64)
    shared1[cuda.threadIdx.x] = acc_1_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared1[cuda.threadIdx.x] = shared1[cuda.threadIdx.x] + shared1[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_1_parts[cuda.blockIdx.x] = shared1[0]
    shared2 = cuda.shared.array(BLOCK, np.float64)
    shared2[cuda.threadIdx.x] = acc_2_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared2[cuda.threadIdx.x] = shared2[cuda.threadIdx.x] + shared2[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_2_parts[cuda.blockIdx.x] = shared2[0]


@cuda.jit
def matrix_matrix_vjp_k4(err, acc_slot, acc_1_slot, blocks, acc_parts, acc_1_parts, acc_2_parts, out_slot):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    acc = acc_slot[0]
    acc_1 = acc_1_slot[0]
    # L2: return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b)) + np.sum(np.matmul(a, b) ...
    acc_2 = np.float64(0.0)
    acc_part_1 = np.float64(0.0)
    for k in range(cuda.threadIdx.x, blocks, cuda.blockDim.x):
        part = acc_parts[k]
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
    acc_1_part_1 = np.float64(0.0)
    for k_1 in range(cuda.threadIdx.x, blocks, cuda.blockDim.x):
        part_1 = acc_1_parts[k_1]
        acc_1_part_1 = acc_1_part_1 + part_1
    whole_float64[cuda.threadIdx.x] = acc_1_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + whole_float64[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    acc_1 = acc_1 + whole_float64[0]
    cuda.syncthreads()
    acc_2_part_1 = np.float64(0.0)
    for k_2 in range(cuda.threadIdx.x, blocks, cuda.blockDim.x):
        part_2 = acc_2_parts[k_2]
        acc_2_part_1 = acc_2_part_1 + part_2
    whole_float64[cuda.threadIdx.x] = acc_2_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + whole_float64[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    acc_2 = acc_2 + whole_float64[0]
    cuda.syncthreads()
    out = acc + acc_1 + acc_2
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        acc_slot[0] = acc
        acc_1_slot[0] = acc_1
        out_slot[0] = out


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
def matrix_matrix_vjp(dev, a, b, out_bar, a_bar, b_bar):
    err, err_values = dev.begin(FAILURES)
    out_bar = np.float64(out_bar)
    acc = dev.empty((1,), np.float64)
    acc_1 = dev.empty((1,), np.float64)
    out = dev.empty((1,), np.float64)
    # L2: return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b)) + np.sum(np.matmul(a, b) ...
    t = dev.empty((a.shape[0], b.shape[1]), np.float64)
    dev.gemm(gemm_float64, False, False, t.shape[0], t.shape[1], a.shape[1], np.float64(1.0), a, 0, b, 0, np.float64(0.0), t, 0)
    t_3 = dev.empty((a.shape[0], b.shape[1]), np.float64)
    dev.launch(matrix_matrix_vjp_k1, 1, 1, err, acc)
    dev.gemm(gemm_float64, False, False, t_3.shape[0], t_3.shape[1], a.shape[1], np.float64(1.0), a, 0, b, 0, np.float64(0.0), t_3, 0)
    t_6 = dev.empty((a.shape[0], b.shape[1]), np.float64)
    dev.launch(matrix_matrix_vjp_k2, 1, 1, err, acc_1)
    dev.gemm(gemm_float64, False, False, t_6.shape[0], t_6.shape[1], a.shape[1], np.float64(1.0), a, 0, b, 0, np.float64(0.0), t_6, 0)
    t_6_bar = dev.empty((a.shape[0], b.shape[1]), np.float64)
    t_10 = dev.empty((a.shape[0], b.shape[1]), np.float64)
    t_12 = dev.empty((a.shape[0], b.shape[1]), np.float64)
    t_bar = dev.empty((a.shape[0], b.shape[1]), np.float64)
    cells = a.shape[0] * b.shape[1]
    blocks = dev.blocks(cells, BLOCK)
    acc_parts = dev.empty((blocks,), np.float64)
    acc_1_parts = dev.empty((blocks,), np.float64)
    acc_2_parts = dev.empty((blocks,), np.float64)
    dev.launch(matrix_matrix_vjp_k3, blocks, BLOCK, err, cells, b.shape[1], t.shape[1], t, t_3.shape[1], t_3, t_6.shape[1], t_6, t_6_bar.shape[1], t_6_bar, out_bar, t_10.shape[1], t_10, t_12.shape[1], t_12, t_bar.shape[1], t_bar, acc_parts, acc_1_parts, acc_2_parts)
    dev.launch(matrix_matrix_vjp_k4, 1, BLOCK, err, acc, acc_1, blocks, acc_parts, acc_1_parts, acc_2_parts, out)
    dev.gemm(gemm_float64, False, True, a_bar.shape[0], a_bar.shape[1], t_6_bar.shape[1], np.float64(1.0), t_6_bar, 0, b, 0, np.float64(0.0), a_bar, 0)
    dev.gemm(gemm_float64, True, False, b_bar.shape[0], b_bar.shape[1], a.shape[0], np.float64(1.0), a, 0, t_6_bar, 0, np.float64(0.0), b_bar, 0)
    dev.gemm(gemm_float64, False, True, a_bar.shape[0], a_bar.shape[1], t_10.shape[1], np.float64(1.0), t_10, 0, b, 0, np.float64(1.0), a_bar, 0)
    dev.gemm(gemm_float64, True, False, b_bar.shape[0], b_bar.shape[1], a.shape[0], np.float64(1.0), a, 0, t_12, 0, np.float64(1.0), b_bar, 0)
    dev.gemm(gemm_float64, False, True, a_bar.shape[0], a_bar.shape[1], t_bar.shape[1], np.float64(1.0), t_bar, 0, b, 0, np.float64(1.0), a_bar, 0)
    dev.gemm(gemm_float64, True, False, b_bar.shape[0], b_bar.shape[1], a.shape[0], np.float64(1.0), a, 0, t_bar, 0, np.float64(1.0), b_bar, 0)
    return (out,)
