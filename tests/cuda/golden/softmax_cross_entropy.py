import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128


@cuda.jit
def softmax_cross_entropy_vjp_k1(err, z_n0, z_1, z, t):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        z_1[i] = z[i] * t


@cuda.jit
def softmax_cross_entropy_vjp_k2(err, z_1, acc_slot, z_n0, acc_parts):
    if err[0] != 0:
        return
    # L3: e = np.exp(z - np.max(z))
    acc = z_1[0]
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if thread == 0:
        acc_slot[0] = acc
    acc_part = acc
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        t_3 = z_1[i]
        acc_part = t_3 if t_3 > acc_part or t_3 != t_3 else acc_part
    shared = cuda.shared.array(BLOCK, np.float64)
    shared[cuda.threadIdx.x] = acc_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            other = shared[cuda.threadIdx.x + width]
            if other > shared[cuda.threadIdx.x] or other != other:
                shared[cuda.threadIdx.x] = other
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_parts[cuda.blockIdx.x] = shared[0]


@cuda.jit
def softmax_cross_entropy_vjp_k3(err, acc_parts, blocks, acc_slot, e_slot, z_n0, e_2, z_1, acc_1_parts):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    # L3: e = np.exp(z - np.max(z))
    acc = acc_parts[0]
    acc_part_1 = acc
    for k in range(1 + cuda.threadIdx.x, blocks, cuda.blockDim.x):
        part = acc_parts[k]
        acc_part_1 = part if part > acc_part_1 or part != part else acc_part_1
    whole_float64[cuda.threadIdx.x] = acc_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            other = whole_float64[cuda.threadIdx.x + width]
            if other > whole_float64[cuda.threadIdx.x] or other != other:
                whole_float64[cuda.threadIdx.x] = other
        cuda.syncthreads()
        width = width // 2
    acc = whole_float64[0]
    cuda.syncthreads()
    e = acc
    cuda.syncthreads()
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if thread == 0:
        acc_slot[0] = acc
        e_slot[0] = e
    acc_1_part = np.float64(0.0)
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        e_2[i] = math.exp(z_1[i] - e)
        # L4: p = e / np.sum(e)
        acc_1_part = acc_1_part + e_2[i]
    shared = cuda.shared.array(BLOCK, np.float64)
    shared[cuda.threadIdx.x] = acc_1_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared[cuda.threadIdx.x] = shared[cuda.threadIdx.x] + shared[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_1_parts[cuda.blockIdx.x] = shared[0]


@cuda.jit
def softmax_cross_entropy_vjp_k4(err, blocks_1, acc_1_parts, p_slot, z_n0, p_1, e_2, p_bar):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    # L3: e = np.exp(z - np.max(z))
    acc_1 = np.float64(0.0)
    acc_1_part_1 = np.float64(0.0)
    for k_1 in range(cuda.threadIdx.x, blocks_1, cuda.blockDim.x):
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
    p = acc_1
    cuda.syncthreads()
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if thread == 0:
        p_slot[0] = p
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        p_1[i] = e_2[i] / p
        p_bar[i] = np.float64(0.0)


@cuda.jit
def softmax_cross_entropy_vjp_k5(err, p_1, out_bar, p_bar, acc_2_slot, out_slot):
    if err[0] != 0:
        return
    # L5: return -np.log(p[1])
    out = -math.log(p_1[1])
    t_4 = -out_bar / p_1[1]
    p_bar[1] += t_4
    # L4: p = e / np.sum(e)
    acc_2 = np.float64(0.0)
    acc_2_slot[0] = acc_2
    out_slot[0] = out


@cuda.jit
def softmax_cross_entropy_vjp_k6(err, z_n0, p_bar, p_1, p_slot, acc_2_parts):
    if err[0] != 0:
        return
    p = p_slot[0]
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_2_part = np.float64(0.0)
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        acc_2_part = acc_2_part + -p_bar[i] * p_1[i] / p
    shared = cuda.shared.array(BLOCK, np.float64)
    shared[cuda.threadIdx.x] = acc_2_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared[cuda.threadIdx.x] = shared[cuda.threadIdx.x] + shared[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_2_parts[cuda.blockIdx.x] = shared[0]


@cuda.jit
def softmax_cross_entropy_vjp_k7(err, acc_2_slot, blocks_2, acc_2_parts, acc_3_slot, acc_4_slot):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    acc_2 = acc_2_slot[0]
    # L4: p = e / np.sum(e)
    acc_2_part_1 = np.float64(0.0)
    for k_2 in range(cuda.threadIdx.x, blocks_2, cuda.blockDim.x):
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
    # L3: e = np.exp(z - np.max(z))
    acc_3 = np.float64(0.0)
    acc_4 = np.float64(0.0)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        acc_2_slot[0] = acc_2
        acc_3_slot[0] = acc_3
        acc_4_slot[0] = acc_4


@cuda.jit
def softmax_cross_entropy_vjp_k8(err, z_n0, e_1_bar, p_bar, p_slot, acc_2_slot, e_2, e_4, z_1, e_slot, acc_3_parts, acc_4_parts):
    if err[0] != 0:
        return
    p = p_slot[0]
    acc_2 = acc_2_slot[0]
    e = e_slot[0]
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_3_part = np.float64(0.0)
    acc_4_part = np.float64(0.0)
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        e_1_bar[i] = (p_bar[i] / p + acc_2) * e_2[i]
        acc_3_part = acc_3_part + -e_1_bar[i]
        e_4[i] = z_1[i] == e
        acc_4_part = acc_4_part + np.float64(e_4[i] != 0)
    shared = cuda.shared.array(BLOCK, np.float64)
    shared[cuda.threadIdx.x] = acc_3_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared[cuda.threadIdx.x] = shared[cuda.threadIdx.x] + shared[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_3_parts[cuda.blockIdx.x] = shared[0]
    shared1 = cuda.shared.array(BLOCK, np.float64)
    shared1[cuda.threadIdx.x] = acc_4_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared1[cuda.threadIdx.x] = shared1[cuda.threadIdx.x] + shared1[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_4_parts[cuda.blockIdx.x] = shared1[0]


@cuda.jit
def softmax_cross_entropy_vjp_k9(err, acc_3_slot, acc_4_slot, blocks_3, acc_3_parts, acc_4_parts, acc_5_slot, t_5_slot):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    acc_3 = acc_3_slot[0]
    acc_4 = acc_4_slot[0]
    # L3: e = np.exp(z - np.max(z))
    acc_3_part_1 = np.float64(0.0)
    for k_3 in range(cuda.threadIdx.x, blocks_3, cuda.blockDim.x):
        part_3 = acc_3_parts[k_3]
        acc_3_part_1 = acc_3_part_1 + part_3
    whole_float64[cuda.threadIdx.x] = acc_3_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + whole_float64[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    acc_3 = acc_3 + whole_float64[0]
    cuda.syncthreads()
    acc_4_part_1 = np.float64(0.0)
    for k_4 in range(cuda.threadIdx.x, blocks_3, cuda.blockDim.x):
        part_4 = acc_4_parts[k_4]
        acc_4_part_1 = acc_4_part_1 + part_4
    whole_float64[cuda.threadIdx.x] = acc_4_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + whole_float64[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    acc_4 = acc_4 + whole_float64[0]
    cuda.syncthreads()
    t_5 = acc_3 / acc_4
    acc_5 = np.float64(0.0)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        acc_3_slot[0] = acc_3
        acc_4_slot[0] = acc_4
        acc_5_slot[0] = acc_5
        t_5_slot[0] = t_5


@cuda.jit
def softmax_cross_entropy_vjp_k10(err, z_n0, e_1_bar, e_4, t_5_slot, z_bar_1, t, z, acc_5_parts):
    if err[0] != 0:
        return
    t_5 = t_5_slot[0]
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    acc_5_part = np.float64(0.0)
    for i in range(thread, z_n0, cuda.blockDim.x * cuda.gridDim.x):
        e_1_bar[i] += np.float64(e_4[i] != 0) * t_5
        # L2: z = z * t
        z_bar_1[i] = e_1_bar[i] * t
        acc_5_part = acc_5_part + e_1_bar[i] * z[i]
    shared = cuda.shared.array(BLOCK, np.float64)
    shared[cuda.threadIdx.x] = acc_5_part
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared[cuda.threadIdx.x] = shared[cuda.threadIdx.x] + shared[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        acc_5_parts[cuda.blockIdx.x] = shared[0]


@cuda.jit
def softmax_cross_entropy_vjp_k11(err, acc_5_slot, blocks_4, acc_5_parts, t_bar_slot):
    if err[0] != 0:
        return
    whole_float64 = cuda.shared.array(BLOCK, np.float64)
    acc_5 = acc_5_slot[0]
    # L3: e = np.exp(z - np.max(z))
    acc_5_part_1 = np.float64(0.0)
    for k_5 in range(cuda.threadIdx.x, blocks_4, cuda.blockDim.x):
        part_5 = acc_5_parts[k_5]
        acc_5_part_1 = acc_5_part_1 + part_5
    whole_float64[cuda.threadIdx.x] = acc_5_part_1
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            whole_float64[cuda.threadIdx.x] = whole_float64[cuda.threadIdx.x] + whole_float64[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    acc_5 = acc_5 + whole_float64[0]
    cuda.syncthreads()
    t_bar = acc_5
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        acc_5_slot[0] = acc_5
        t_bar_slot[0] = t_bar


FAILURES = []


@np.errstate(all="ignore")
def softmax_cross_entropy_vjp(dev, z, t, out_bar, z_bar_1):
    err, err_values = dev.begin(FAILURES)
    t = np.float64(t)
    out_bar = np.float64(out_bar)
    acc = dev.empty((1,), np.float64)
    acc_2 = dev.empty((1,), np.float64)
    acc_3 = dev.empty((1,), np.float64)
    acc_4 = dev.empty((1,), np.float64)
    acc_5 = dev.empty((1,), np.float64)
    e = dev.empty((1,), np.float64)
    out = dev.empty((1,), np.float64)
    p = dev.empty((1,), np.float64)
    t_5 = dev.empty((1,), np.float64)
    t_bar = dev.empty((1,), np.float64)
    # L2: z = z * t
    z_1 = dev.empty((z.shape[0],), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k1, dev.blocks(z.shape[0], BLOCK), BLOCK, err, z.shape[0], z_1, z, t)
    # L3: e = np.exp(z - np.max(z))
    if z.shape[0] == 0:
        raise ValueError("zero-size array to reduction operation maximum which has no identity (elementwise.py:3: np.max(z))")
    blocks = dev.blocks(z.shape[0], BLOCK)
    acc_parts = dev.empty((blocks,), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k2, blocks, BLOCK, err, z_1, acc, z.shape[0], acc_parts)
    e_2 = dev.empty((z.shape[0],), np.float64)
    blocks_1 = dev.blocks(z.shape[0], BLOCK)
    acc_1_parts = dev.empty((blocks_1,), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k3, blocks_1, BLOCK, err, acc_parts, blocks, acc, e, z.shape[0], e_2, z_1, acc_1_parts)
    p_1 = dev.empty((z.shape[0],), np.float64)
    if 1 >= z.shape[0]:
        raise IndexError("index out of bounds for axis 0 (elementwise.py:5: p[1])")
    p_bar = dev.empty((z.shape[0],), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k4, dev.blocks(z.shape[0], BLOCK), BLOCK, err, blocks_1, acc_1_parts, p, z.shape[0], p_1, e_2, p_bar)
    dev.launch(softmax_cross_entropy_vjp_k5, 1, 1, err, p_1, out_bar, p_bar, acc_2, out)
    # L4: p = e / np.sum(e)
    blocks_2 = dev.blocks(z.shape[0], BLOCK)
    acc_2_parts = dev.empty((blocks_2,), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k6, blocks_2, BLOCK, err, z.shape[0], p_bar, p_1, p, acc_2_parts)
    # L3: e = np.exp(z - np.max(z))
    e_1_bar = dev.empty((z.shape[0],), np.float64)
    e_4 = dev.empty((z.shape[0],), np.bool_)
    dev.launch(softmax_cross_entropy_vjp_k7, 1, BLOCK, err, acc_2, blocks_2, acc_2_parts, acc_3, acc_4)
    blocks_3 = dev.blocks(z.shape[0], BLOCK)
    acc_3_parts = dev.empty((blocks_3,), np.float64)
    acc_4_parts = dev.empty((blocks_3,), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k8, blocks_3, BLOCK, err, z.shape[0], e_1_bar, p_bar, p, acc_2, e_2, e_4, z_1, e, acc_3_parts, acc_4_parts)
    dev.launch(softmax_cross_entropy_vjp_k9, 1, BLOCK, err, acc_3, acc_4, blocks_3, acc_3_parts, acc_4_parts, acc_5, t_5)
    blocks_4 = dev.blocks(z.shape[0], BLOCK)
    acc_5_parts = dev.empty((blocks_4,), np.float64)
    dev.launch(softmax_cross_entropy_vjp_k10, blocks_4, BLOCK, err, z.shape[0], e_1_bar, e_4, t_5, z_bar_1, t, z, acc_5_parts)
    dev.launch(softmax_cross_entropy_vjp_k11, 1, BLOCK, err, acc_5, blocks_4, acc_5_parts, t_bar)
    return (out, t_bar)
