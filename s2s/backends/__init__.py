"""Back ends: a compiled specialisation becomes a kernel that can be called.

Start with `backends.py`: the list of back ends, and how each makes a kernel.

- `build_kernel.py`: lowered source to machine code through Numba, with the on-disk cache.
- `native/`: `backend="native"`, whose kernels are entered without Numba at run time.  Only
  `backends.py` may import it.

Which back end runs a call is decided in `s2s.call.backend_choice`.

This folder may import `call`, `kernels_numba`, `codegen`, `runtime`, `cache`, `kernels`, `objects`,
`errors` and the compiler (`transforms`).
"""
