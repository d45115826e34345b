"""Helpers for training loops, independent of layers and optimizers.

`gradient_clipping.py` clips gradients by value, norm and global norm.  `flatten_params.py` packs
nested parameters into one vector and back.  `history.py` records and plots scalars over a run;
`progress_bar.py` wraps tqdm.  The files do not depend on each other; start with any of them.

s2s compiles `gradient_clipping.py` and `flatten_params.py` when user programs call them.  This
folder may import `s2s.objects`, but none of the folders above it.
"""
