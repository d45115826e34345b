"""The CUDA target: from the loop IR of a routine to the text of kernels and a host function.

`docs/design/cuda.md` describes the text and the run time that executes it.  Start with `emit.py`.

- `place.py`: which scalars are on the host, and which on the device.
- `nests.py`, `partition.py`: grids, loops on the host, and statements on one thread.
- `induction.py`, `expand.py`: rewrites before the plan: induction variables, runtime routines.
- `supported.py`: refusals.
- `kernel_writer.py`, `host_writer.py`, `gemm.py`, `device_functions.py`: the text.
- `plan.py`, `symbols.py`, `program.py`: the plan, types of names, the description of a program.

May import the other folders of `lower` except `sparsity`; nothing but `lower.py` imports it.
"""
