"""Compiled versions of the functions of `s2s.kernels`, registered with Numba.

Importing a module registers its functions.  Start reading with `scalar.py`, which has the matrix
products and scalar functions.  `linalg.py` imports `linalg_solve.py` (linear systems) and
`linalg_factor.py` (orthogonal factorisations, matrix exponential), which call LAPACK through
`lapack.py`.  `fft.py` has Fourier transforms, whose passes are LLVM IR (`fft_llvm.py`); `random.py`
has random draws.

May import `codegen`, `kernels`, `runtime`, `cache` and `transforms`.
"""
