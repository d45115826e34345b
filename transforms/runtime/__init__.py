"""Python functions that emitted NumPy-level code calls at run time.

- `helpers.py`: the functions that emitted code imports; start here
- `matrix_helpers.py`: matrix functions that NumPy lacks, such as `expm` and `solve_triangular`
- `special_functions.py`: scalar special functions that Python runs and Numba compiles

The rules evaluate operations with the same functions, and the kernels in `s2s/kernels` and
`s2s/kernels_numba` use them.

This folder belongs to the lowest layer of the compiler.  It may import NumPy and the standard
library only.
"""
