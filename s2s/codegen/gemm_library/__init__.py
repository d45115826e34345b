"""Matrix products that all kernels of a process share, compiled on first use and cached.

Start reading with `gemm_library.py`, which loads the functions and resolves their addresses at run
time.  `gemm_variants.py` emits the dispatch function that kernels call, and its variants by size;
`gemm_dispatch.py` has the loops for small matrices and the dispatch inside ahead-of-time libraries;
`gemv.py` has matrix-vector products; `gemm_objects.py` compiles each function to object code.

May import `codegen.gemm` and other modules of `codegen`, and `runtime.jit_link` for linking.
"""
