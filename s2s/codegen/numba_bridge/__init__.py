"""Kernels inside Numba functions: intrinsics, targets, dispatchers and the cache of machine code.

Start reading with `numba_intrinsic.py`, which emits a kernel as an intrinsic of an otherwise empty
Numba function.  `numba_entry.py` has the signature and Python source of that function,
`numba_target.py` the Numba targets with the pass pipeline of s2s, `numba_cache.py` the cache of
compiled functions, `array_table.py` the passing of many arrays as one argument, `external_call.py`
calls of C functions from code that Numba compiles.

May import other modules of `codegen`, `runtime`, `cache`, `errors` and `transforms`.
"""
