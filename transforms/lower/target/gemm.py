"""The kernel of matrix products: tiles of 16 × 16 elements in shared memory.

It is used where no library is available, and by the tests.
"""

from __future__ import annotations


def gemm_kernel_name(dtype: str) -> str:
    return f"gemm_{dtype}"


def gemm_kernel_params(dtype: str) -> tuple[tuple[str, str], ...]:
    """The parameters after the error flag, with their types."""
    array = f"{dtype}*"
    return (
        ("swap_a", "bool"), ("swap_b", "bool"), ("m", "int64"), ("n", "int64"), ("k", "int64"),
        ("alpha", dtype), ("a", array), ("a_at", "int64"), ("b", array), ("b_at", "int64"),
        ("beta", dtype), ("c", array), ("c_at", "int64"), ("batch", "int64"),
        ("a_step", "int64"), ("b_step", "int64"), ("c_step", "int64"),
    )  # fmt: skip


def gemm_kernel(dtype: str) -> str:
    """The text of the kernel, for blocks of 256 threads.

    A row of a tile has 17 elements, so that the elements of a column are in different banks of
    shared memory.
    """
    names = ", ".join(["err", *(name for name, _ in gemm_kernel_params(dtype))])
    return f"""@cuda.jit
def {gemm_kernel_name(dtype)}({names}):
    if err[0] != 0:
        return
    tile_a = cuda.shared.array(272, np.{dtype})
    tile_b = cuda.shared.array(272, np.{dtype})
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
        total = np.{dtype}(0.0)
        for p in range(0, k, 16):
            value = np.{dtype}(0.0)
            if i < m and p + column < k:
                if swap_a:
                    value = a[a_first + (p + column) * m + i]
                else:
                    value = a[a_first + i * k + p + column]
            tile_a[row * 17 + column] = value
            value = np.{dtype}(0.0)
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
            if beta == np.{dtype}(0.0):
                c[at] = alpha * total
            else:
                c[at] = alpha * total + beta * c[at]
"""
