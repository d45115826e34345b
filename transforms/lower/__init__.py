"""Lowering: memory form -> loop-level IR -> source of a Python module that Numba compiles.

`lower(module, facts)` in `lower.py` is the entry point; start reading there.  `loop_ir/nodes.py` is
the grammar of the loop-level IR.  Nothing is imported here, because code generation needs the table
of operations in `loop_ir` without the compiler.  The folders, from the lowest layer up:

- `loop_ir`: nodes, traversal and the Python printer.
- `build`, `ops`: translation of the operations of the memory form to loop-level IR.
- `analysis`: dependence, aliasing, liveness, ranges, cost models.
- `checks`, `loops`, `memory`, `scalars`: transformations; none of them imports another.
- `sparsity`: transformations that skip work on zeros.
- `target`: the CUDA target, which turns loop IR into kernels and a host function.

May import `ir`, `runtime`, `frontend`, `rules` and `simplify` of the compiler, but not `autodiff`,
`batch` or `checkpoint`, which are siblings.  Numba and LLVM are never imported.
"""
