"""`with` statements that change nothing that compiled code does."""

from __future__ import annotations

from ...syntax import core as c
from ...syntax.printer import show


def is_errstate(node: c.With) -> bool:
    """`with np.errstate(divide="ignore")`, which states what holds in compiled code anyway: no
    warning, no error."""
    return bool(node.items) and all(
        isinstance(item.value, c.Call)
        and show(item.value.function) in ("np.errstate", "numpy.errstate", "errstate")
        and all(
            isinstance(k.value, c.Const) and k.value.value in ("ignore", "warn")
            for k in item.value.keywords
        )
        for item in node.items
    )
