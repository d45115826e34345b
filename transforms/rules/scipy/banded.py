"""Banded linear systems, in SciPy's diagonal ordered form: `ab[u + i - j, j] == a[i, j]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.op_registry import surface
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim
from ...runtime import matrix_helpers as helpers
from ..axes_and_sizes import iota, require_equal, require_static, size_of, unsupported_error
from ..numpy.linalg.matrix_rules import as_column, as_row, declare_matrix_op, scipy_matrix

Attrs = dict[str, Any]


def _shifted_columns(ab: Sym, shift: Sym) -> tuple[Sym, Sym]:
    """For each entry of `ab`, its column index plus `shift`, and a mask of those in range.

    `shift` has one value per row of `ab`.  Indices out of range are clipped."""
    b = ab.b
    n = size_of(b, ab, 1)
    at = as_row(iota(b, n)) + as_column(shift)
    inside = (at >= 0) & (at < n)
    return b.emit("maximum", b.emit("minimum", at, b.sym(n) - 1), 0), inside


def _diagonals(b: Builder, attrs: Attrs) -> Sym:
    return iota(b, attrs["lower"] + attrs["upper"] + 1)


def _transposed(ab: Sym, attrs: Attrs) -> Sym:
    """The bands of the transposed matrix."""
    b = ab.b
    lower, upper = attrs["lower"], attrs["upper"]
    k = _diagonals(b, attrs)
    at, inside = _shifted_columns(ab, k - lower)
    items = (("array", 1), ("array", 2))
    found = b.emit("index", ab, as_column(upper + lower - k), at, items=items)
    return b.emit("where", inside, found, 0.0)


def _solve_transposed(ab: Sym, rhs: Sym, attrs: Attrs) -> Sym:
    """The solution of the transposed system."""
    turned = {"lower": attrs["upper"], "upper": attrs["lower"]}
    return ab.b.emit("solve_banded", _transposed(ab, attrs), rhs, **turned)


def _rows(ab: Sym, x: Sym, attrs: Attrs) -> tuple[Sym, Sym]:
    """For each entry of `ab`, the row of x with the entry's matrix row, and a mask."""
    at, inside = _shifted_columns(ab, _diagonals(ab.b, attrs) - attrs["upper"])
    return ab.b.emit("index", x, at, items=(("array", 1), *[("all",)] * (x.ndim - 1))), inside


def _pullback(
    b: Builder, g: Sym, out: Sym, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    ab = args[0]
    w = _solve_transposed(ab, g, attrs)
    bars: dict[int, Any] = {1: w}
    if 0 in wanted:
        rows, inside = _rows(ab, w, attrs)
        products = rows * out
        if out.ndim == 2:
            products = b.emit("sum", products, axis=(2,), keepdims=False)
        bars[0] = b.emit("where", inside, -products, 0.0)
    return {k: bars[k] for k in wanted}


def _pushforward(b: Builder, dots: Any, out: Sym, args: Sequence[Sym], attrs: Attrs) -> Sym:
    ab, (ab_dot, change) = args[0], dots
    if ab_dot is not None:
        # The bands of the transposed matrix hold rows of the matrix: the sum over the bands is the
        # matrix-vector product.
        turned = {"lower": attrs["upper"], "upper": attrs["lower"]}
        bands = _transposed(b.sym(ab_dot), attrs)
        rows, _ = _rows(ab, out, turned)
        bands = as_column(bands) if out.ndim == 2 else bands
        moved = b.emit("sum", bands * rows, axis=(0,), keepdims=False)
        change = -moved if change is None else change - moved
    return b.emit("solve_banded", ab, change, **attrs)


def _text(args: Sequence[Text], attrs: Attrs, types: Any) -> Text:
    parts = [*(wrap(a, TERNARY) for a in args), repr(attrs["lower"]), repr(attrs["upper"])]
    return f"solve_banded({', '.join(parts)})", ATOM


declare_matrix_op(
    "solve_banded",
    (2, 2),
    lambda b, ab, rhs: ab[1:] + rhs[1:],
    evaluate=helpers.solve_banded,
    text=_text,
    pullback=_pullback,
    pushforward=_pushforward,
    differentiable=(0, 1),
    stacks=False,
    doc="the x with a @ x == b, of a matrix given by its diagonals",
)


@surface("scipy.linalg.solve_banded")
def solve_banded(
    builder: Builder,
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Sym:
    lower, upper = (int(n) for n in require_static(tuple(l_and_u), "l_and_u"))
    x, y = (scipy_matrix(builder, v, check_finite, small="float64") for v in (ab, b))
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise unsupported_error(
            builder, "scipy.linalg.solve_banded of stacks", "loop over the systems"
        )
    count = lower + upper + 1
    require_equal(
        builder,
        x.type.shape[0],
        Dim.of(count),
        lambda: (size_of(builder, x, 0), count),
        "ValueError",
        lambda m, n: (
            "invalid values for the number of lower and upper diagonals: "
            f"l+u+1 ({count}) does not equal ab.shape[0] (",
            m,
            ")",
        ),
    )
    require_equal(
        builder,
        x.type.shape[1],
        y.type.shape[0],
        lambda: (size_of(builder, x, 1), size_of(builder, y, 0)),
        "ValueError",
        lambda m, n: ("shapes of ab and b are not compatible.",),
    )
    return builder.emit("solve_banded", x, y, lower=lower, upper=upper)
