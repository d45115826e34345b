"""Matrix products in LLVM IR: register tiles, cache blocking, and the calls in kernels.

Start reading with `gemm_call.py`, which emits the calls, then `blocked.py`, the blocked product
c = alpha * a @ b + beta * c.  `tile.py` has the register tiles, `bands.py` the loops over full and
partial tiles, `indexed.py` the product with a matrix that is gathered by index tables, such as a
convolution.  `gemm_names.py` has the symbols of the products that all kernels of a process share
(`codegen/gemm_library`).

May import other modules of `codegen` for building IR (`llvm_utils`, `loop_metadata`,
`llvm_passes`, `type_lowering`, `value_types`), but not `gemm_library`.
"""
