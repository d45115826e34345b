"""The call path: from the arguments of a call to the parameters of a kernel.

Everything here runs in, or is generated for, each call, so its cost is part of the call overhead.

- `bind_arguments.py`: unwraps callables to plain functions, and binds arguments to parameters.
- `type_key.py`: the type key of arguments (types, dtypes, ranks, layouts), for the dispatch cache.
- `guards.py`: the guards of a specialisation, generated as one Python function.
- `call_stub.py`: guards, kernel call, results and side effects as one generated function.
  Start here after `guards.py`.
- `kernel_arguments.py`: conversion of arguments to what kernels take.
- `backend_choice.py`, `debug_flag.py`: the back end of a call, and the switch of `debug_nans`.
- `tree_copy.py`: copies of containers with changed leaves.

This folder may import `codegen`, `runtime`, `cache`, `objects`, `errors` and the compiler
(`transforms`).
"""
