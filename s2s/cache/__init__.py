"""The on-disk cache, shared between processes.

- `store.py`: the cache directory and its files: ownership checks, checksums (seals), atomic writes,
  and the platform key that all entries depend on.  Start here.
- `stable_identity.py`: process-independent keys of functions, classes and objects, by which another
  process recognises them.

The contents are defined elsewhere: specialisations in `s2s.dispatch.persistent`, machine code in
`s2s.backends.native.object_code` and `s2s.codegen.numba_bridge.numba_cache`.

This folder may import `errors`, `objects` and the compiler (`transforms`).
"""
