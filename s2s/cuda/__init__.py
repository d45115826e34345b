"""The run time of the CUDA target: compiles the kernels of an emitted module, owns device memory,
launches, reports errors.  docs/design/cuda.md is the contract with the compiler.

`kernel_text.py` extracts kernels from an emitted module, `compiler.py` compiles a kernel to PTX,
`assembler.py` assembles it.  `host_module.py` executes the host function; the object `dev` that it
takes is in `execution.py`, and works on one of two devices: `emulated_device.py` runs the kernels'
LLVM IR on the CPU (`retarget.py`, `emulator.py`, `shadow_memory.py`), `cuda_device.py` runs them on
a GPU.
`device_array.py` holds the arrays that users see.

This folder and the CUDA packages are imported only if the target is used.
"""
