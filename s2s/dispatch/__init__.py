"""Dispatch: from bound arguments to a compiled specialisation, with compilation on a miss.

Start with `specializations.py`: the in-memory cache of one function in one mode, keyed by the type
keys of the arguments, then by guards.

- `specialization.py`: one specialisation (`Specialization`): runs its kernel and assembles the
  results.
- `persistent.py`: specialisations on disk, shared between processes.
- `recompile_reason.py`: why a specialisation was compiled, for `explain` and warnings.
- `out_arguments.py`: checks of the caller's buffers (`out=`).

This folder may import `backends`, `call`, `codegen`, `runtime`, `cache`, `objects`, `errors` and
the compiler (`transforms`).
"""
