"""Helpers for training loops, independent of layers and optimizers.

`gradient_clipping.py` clips gradients by value, norm and global norm.  `flatten_params.py` packs
nested parameters into one vector and back.  `history.py` records and plots scalars over a run;
`progress_bar.py` wraps tqdm.  The files do not depend on each other; start with any of them.

s2s compiles `gradient_clipping.py` and `flatten_params.py` when user programs call them.  This
folder may import `s2s.objects`, but none of the folders above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..public_names import lazy_names, listing

if TYPE_CHECKING:
    from .flatten_params import flatten
    from .gradient_clipping import clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
    from .history import History

__all__ = [
    "History", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "flatten", "global_norm",
]  # fmt: skip
__getattr__ = lazy_names(
    __name__,
    {
        "History": ".history",
        "clip_by_global_norm": ".gradient_clipping",
        "clip_by_norm": ".gradient_clipping",
        "clip_by_value": ".gradient_clipping",
        "flatten": ".flatten_params",
        "global_norm": ".gradient_clipping",
    },
)
__dir__ = listing(__name__)
