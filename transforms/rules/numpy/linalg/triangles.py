"""`tril` and `triu`: the lower and upper triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....ir.builder import Builder
from ....ir.nodes import Array, Type
from ....ir.op_registry import Rule, register
from ...operation_text import call_text

Attrs = dict[str, Any]


def _infer(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any) -> Type:
    return Array(types[0].dtype, types[0].shape)


def _declare(name: str, function: Any, doc: str) -> None:
    register(
        Rule(
            name,
            "opaque",
            _infer,
            evaluate=function,
            text=lambda args, attrs, types: call_text(
                f"np.{name}", args, {"k": attrs["k"] or None}
            ),
            pullback=lambda b, g, out, args, attrs, wanted: {0: b.emit(name, g, **attrs)},
            pushforward=lambda b, dots, out, args, attrs: b.emit(name, dots[0], **attrs),
            batching=lambda m: m.emit(name, m.args[0], **m.attrs),
            differentiable=(0,),
            doc=doc,
        )
    )


_declare("tril", np.tril, "the elements up to the k-th diagonal, 0 above")
_declare("triu", np.triu, "the elements from the k-th diagonal on, 0 below")
