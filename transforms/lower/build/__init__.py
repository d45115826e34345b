"""Construction of the loop IR: the state of lowering one function, and lazy arrays.

Start with `lazy_array.py`: an array under construction is a function from an index to a scalar
expression (`Value`), and an `Emitter` appends loop IR statements.  `context.py` holds the state of
lowering one function (`Context`) and decides which values are materialised.  The other files are
analyses that the two rely on:

- `producer_fusion.py`: liveness and uses; which definitions may be fused into their readers
- `symbolic_range.py`: proofs that integers lie in range, from symbolic values and loop bounds
- `affine_array.py`: integer arrays that are affine functions of their index
- `specialise_small_axes.py`: guards that make the sizes of short axes constants

Of the lowering, this folder may import `loop_ir` only; of the compiler, `ir` and the layer of
`frontend`, `rules` and `simplify`.  The handlers in `ops` build on it.
"""
