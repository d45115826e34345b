"""Operations that the compiler emits itself and that have no NumPy function of the same meaning.

`value_operations.py` holds copies, sizes, record fields, tape slots (`restore`), `undef` and named
literals.  `update.py` holds functional array updates (`update`, `update_add`), the value form of
assignments to an index.  `lists.py` holds growing lists.  `identity.py` holds `same` and
`stop_gradient`.  `log_domain_rules.py` holds the operations that `autodiff/log_domain.py` inserts.

Start with `value_operations.py`, then `update.py`.  The folder may import `transforms/ir`, the
helpers in `rules/` and `rules/numpy/`.
"""
