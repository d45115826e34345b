"""Lowering of the operations of the IR to loop IR, one handler per operation.

A handler is registered with `@handles("sum", …)` (`build/context.py`).  It takes the context and
the assignment, and returns the result as a `Value` (`build/lazy_array.py`), mostly virtual.

Start with `elementwise.py` and `scalar_ops.py` (elementwise operations), `broadcast.py` (index maps
of broadcasting), `indexing.py` and `view.py` (index maps of subscripts and views).  `store.py`
lowers writes.  `reduction.py` and `contraction.py` emit loop nests and gemm calls;
`contraction_order.py` and `strided_gemm.py` belong to the latter.  `create.py` holds constructors,
`lists.py` and `stacks.py` growable lists, `linalg.py`, `fft.py` and `random.py` calls of the
runtime, `records.py` structured arrays, and `bit_shift.py` shifts with NumPy's semantics.

Of the lowering, this folder may import `build` and `loop_ir`; of the compiler, `ir` and the layer
of `frontend`, `rules` and `simplify`.
"""
