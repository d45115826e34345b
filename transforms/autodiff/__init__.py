"""Automatic differentiation of value-form IR, by source transformation.

Start with `reverse.py` (vector-Jacobian products) and `forward.py` (Jacobian-vector products).
Both yield value form again, so derivatives of any order compose.

`activity.py` is activity analysis; `cotangents.py` holds and accumulates adjoints;
`callee_vjps.py` manages the VJPs of called functions; `custom_derivative.py` inlines custom
pullbacks; `revolve.py` emits the sweep over checkpointed loops; `detach_tests.py` prepares
`While` loops.  `log_domain.py` marks quotients and logarithms of sums of exponentials, which are
differentiated through their logarithms.

May import `frontend/`, `rules/`, `simplify/` and `ir/`, but not `batch/`, `checkpoint/` or
`lower/`, which are on the same layer.
"""
