"""Run-time support: memory, threads, linking of object code, locks, and helpers of the process.

Start reading with `jit_link.py`, which compiles, caches and links functions given as LLVM IR or
object code.  `block_pool.py` is the allocator of kernels, `thread_pool.py` runs parallel loops,
`locks.py` defines the lock order, `versions.py` refuses untested versions of Numba and llvmlite,
`overlap.py` tests arrays for shared memory, `ieee_math.py` has Python floats with IEEE arithmetic
for `backend="python"`.  `compile_progress.py`, `gc_pause.py`, `lazy_import.py` and `output_file.py`
are small helpers; `integer_powers.py` defines symbols that LLVM calls.

May import `cache`, `errors`, `kernels` and `transforms`.
"""
