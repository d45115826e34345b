"""Skipping of work on zero adjoints, on loop-level IR.

The adjoint of a minimum, a maximum or a hinge may be zero.  Its multiples then add nothing.

- `skip_zero_updates.py`: guards loops that add multiples of a scalar that may be zero.  This is the
  entry of the folder: start reading here.
- `shorten_minmax_sweep.py`: runs the reverse sweep of a minimum or maximum only from the first
  iteration with a contribution until the adjoint is zero.
- `save_argminmax.py`: saves the argmin or argmax for that sweep instead of all compared values.

This folder may import all other folders of `lower`: `checks`, `loops`, `memory`, `scalars`,
`analysis`, `ops`, `build` and `loop_ir`.
"""
