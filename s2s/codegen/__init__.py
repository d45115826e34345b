"""Code generator: lowered source to LLVM IR, and LLVM IR to object code.

Numba infers types, SSA versions and lifetimes for any Python function.  Lowered source has them by
construction, and inferring them again is most of the compile time.  So lowered source is read once
and emitted as LLVM IR: as an intrinsic inside an empty Numba function, where Numba handles
arguments, errors, memory and caching (`numba_bridge/numba_intrinsic.py`), or as a module with a C
calling convention (`kernel_module.py`; listings, `s2s.backends.native`).  Constructs that are not
handled here raise `Unsupported`; Numba then compiles the whole function.

Start reading with `kernel_module.py`, then `type_inference.py`, `statements.py`, `expressions.py`,
`arithmetic.py` and `llvm_passes.py`.  `elementary/` has vectorisable elementary functions, `gemm/`
and `gemm_library/` matrix products, `partition/` the splitting of large kernels into functions.
May import `runtime`, `cache`, `kernels`, `errors` and `transforms`.
"""
