"""Partitioning of large kernels into several LLVM functions, which shortens compile time.

Start reading with `outline_nests.py`, which outlines loop nests as functions, then
`split_function.py`, which splits the statements of a long kernel into parts that share a frame.
`shared_frame.py` has the layout of the frame, `part_dedup.py` finds parts that are equal up to
names, `parallel_body.py` outlines the body of a parallel loop for the thread pool.

May import `codegen` modules below `kernel_body.py` (`statements`, `array_values`,
`type_inference`, …), `kernels` and `runtime.jit_link`.
"""
