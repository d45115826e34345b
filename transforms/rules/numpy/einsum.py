"""`einsum`, in a normal form that is closed under differentiation.

In normal form every operand has distinct labels, and every label is in the result or in at least
two operands.  `contract` brings any expression to that form: diagonals are read by index, labels of
one operand alone are summed first, and broadcast axes of size 1 are squeezed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Type
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import iota, require_equal, require_static, size_of, value_error
from ..declare import as_operand
from ..promotion import join_dtypes
from .bilinear import LETTERS, array_or_scalar, multilinear_pushforward, transpose_matrices
from .indexing import advanced_axes_position
from .shape_functions import transposed

Attrs = dict[str, Any]


# ---------------------------------------------------------------- the operation


def _split(subscripts: str) -> tuple[list[str], str]:
    inputs, out = subscripts.split("->")
    return inputs.split(","), out


def _infer(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any) -> Type:
    labels, out = _split(attrs["subscripts"])
    dims: dict[str, Dim] = {}
    for letters, t in zip(labels, types, strict=True):
        assert len(letters) == len(set(letters)) == t.ndim, attrs
        for letter, dim in zip(letters, t.shape):
            dims.setdefault(letter, dim)
    return array_or_scalar(join_dtypes(types), tuple(dims[letter] for letter in out))


def _pullback(
    b: Builder, g: Sym, out: Any, args: Sequence[Sym], attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    labels, result = _split(attrs["subscripts"])
    bars: dict[int, Any] = {}
    for k in wanted:
        others = [a for i, a in enumerate(args) if i != k]
        subscripts = [s for i, s in enumerate(labels) if i != k]
        bars[k] = contract(b, [g, *others], [result, *subscripts], labels[k])
    return bars


def _text(args: Sequence[Text], attrs: Attrs, types: Sequence[Any]) -> Text:
    operands = "".join(f", {wrap(a, TERNARY)}" for a in args)
    return f'np.einsum("{attrs["subscripts"]}"{operands})', ATOM


register(
    Rule(
        "einsum",
        "contract",
        _infer,
        evaluate=lambda *xs, subscripts: np.einsum(subscripts, *xs),
        text=_text,
        pullback=_pullback,
        pushforward=multilinear_pushforward("einsum"),
        doc="sums of products over named axes",
    )
)


# ---------------------------------------------------------------- normal form


def contract(b: Builder, xs: list[Sym], labels: list[str], out: str) -> Sym:
    """Emit the einsum of `xs` in normal form, or as simpler operations where these suffice."""
    xs, labels = list(xs), list(labels)
    for k in range(len(xs)):
        xs[k], labels[k] = _diagonal(b, xs[k], labels[k])
    _unify(b, xs, labels)
    factor: Sym | None = None
    for k in range(len(xs)):
        others = out + "".join(labels[:k] + labels[k + 1 :])
        xs[k], labels[k] = _sum_alone(b, xs[k], labels[k], others)
        if not labels[k]:
            factor = xs[k] if factor is None else factor * xs[k]
    left = [(x, s) for x, s in zip(xs, labels, strict=True) if s]
    if not left:
        assert factor is not None
        return factor
    if len(left) == 1:
        (x, s), = left  # fmt: skip
        result = transposed(b, x, [s.index(letter) for letter in out])
    else:
        result = _as_matmul(b, left, out) if len(left) == 2 else None
        if result is None:
            subscripts = ",".join(s for _, s in left) + "->" + out
            result = b.emit("einsum", *(x for x, _ in left), subscripts=subscripts)
    return result if factor is None else result * factor


def _diagonal(b: Builder, x: Sym, letters: str) -> tuple[Sym, str]:
    """`x` with repeated labels replaced by a diagonal, `x[i, i]`, and its new labels."""
    repeated = [c for c in dict.fromkeys(letters) if letters.count(c) > 1]
    if not repeated:
        return x, letters
    ranges = []
    for k, c in enumerate(repeated):
        first, *rest = (i for i, letter in enumerate(letters) if letter == c)
        for axis in rest:
            require_equal(
                b,
                x.type.shape[first],
                x.type.shape[axis],
                lambda axis=axis, first=first: (size_of(b, x, first), size_of(b, x, axis)),
                "ValueError",
                lambda m, n, c=c: (
                    f"dimensions in single operand for collapsing index '{c}' don't match (",
                    m,
                    " != ",
                    n,
                    ")",
                ),
            )
        along = iota(b, size_of(b, x, first))
        axes = tuple(i for i in range(len(repeated)) if i != k)
        ranges.append(b.emit("expand_dims", along, axes=axes) if axes else along)
    items = tuple(("array", repeated.index(c) + 1) if c in repeated else ("all",) for c in letters)
    rest = [c for c in letters if c not in repeated]
    at = advanced_axes_position(items)
    assert at is not None
    return b.emit("index", x, *ranges, items=items), "".join(rest[:at] + repeated + rest[at:])


def _unify(b: Builder, xs: list[Sym], labels: list[str]) -> None:
    """Ensure one size per label, in place.

    An axis of size 1 that is broadcast against a longer one is squeezed; other differences are
    checked."""
    one = Dim.of(1)
    for c in dict.fromkeys("".join(labels)):
        holders = [k for k, s in enumerate(labels) if c in s]

        def dim(k: int, c: str = c) -> Dim:
            return b.facts.canonical(xs[k].type.shape[labels[k].index(c)])

        main = next((k for k in holders if dim(k) != one), holders[0])
        for k in holders:
            if k == main or dim(k) == dim(main):
                continue
            relation = b.facts.relate(dim(main), dim(k))
            if relation in ("left1", "right1"):
                narrow, main = (k, main) if relation == "right1" else (main, k)
                at = labels[narrow].index(c)
                xs[narrow] = b.emit("squeeze", xs[narrow], axes=(at,))
                labels[narrow] = labels[narrow].replace(c, "")
                continue
            require_equal(
                b,
                dim(main),
                dim(k),
                lambda k=k, main=main, c=c: (
                    size_of(b, xs[main], labels[main].index(c)),
                    size_of(b, xs[k], labels[k].index(c)),
                ),
                "ValueError",
                lambda m, n, c=c: (f"einsum: operands differ in size along '{c}': ", m, " and ", n),
            )


def _sum_alone(b: Builder, x: Sym, letters: str, others: str) -> tuple[Sym, str]:
    """`x` summed over the labels that are not in `others`, and its remaining labels."""
    axes = tuple(i for i, c in enumerate(letters) if c not in others)
    if not axes:
        return x, letters
    dtype = x.dtype
    every = len(axes) == len(letters)
    name = "any" if dtype == "bool" else "sum"
    x = b.emit(name, x, axis=None if every else axes, keepdims=False)
    return x.astype(dtype), "".join(c for c in letters if c in others)


def _as_matmul(b: Builder, left: list[tuple[Sym, str]], out: str) -> Sym | None:
    """A contraction of two operands as `@`, `outer` or `*`; None if none of them fits."""
    (x, s), (y, t) = left
    if s == t == out:
        return x * y
    both = [c for c in s if c in t]
    summed = [c for c in both if c not in out]
    if not both and len(s) == len(t) == 1:
        return b.emit("outer", x, y) if out == s + t else b.emit("outer", y, x)
    lead = len(both) - 1
    if len(summed) != 1 or not s[:lead] == t[:lead] == out[:lead]:
        return None
    if len(s) - lead > 2 or len(t) - lead > 2 or (lead and min(len(s), len(t)) - lead < 2):
        return None
    if s[lead:].replace(summed[0], "") + t[lead:].replace(summed[0], "") != out[lead:]:
        (x, s), (y, t) = left[::-1]
    if s[-1] != summed[0]:
        x = transpose_matrices(x)
    if t[lead] != summed[0]:
        y = transpose_matrices(y)
    return x @ y


# ---------------------------------------------------------------- the surface


@surface("numpy.einsum")
def einsum(b: Builder, *operands: Any, optimize: Any = False) -> Sym:
    if not isinstance(operands[0], str):
        operands = _from_lists(b, operands)
    text = require_static(operands[0], "subscripts").replace(" ", "")
    xs = [as_operand(b, x) for x in operands[1:]]
    labels, out = _explicit(b, text, [x.ndim for x in xs])
    made = contract(b, xs, labels, out)
    diagonal = len(xs) == 1 and set(labels[0]) == set(out) and len(out) < len(labels[0])
    return b.view(made, writeable=True) if diagonal else made


def _from_lists(b: Builder, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The string form of einsum(x, [0, 1], y, [1, 2], [0, 2]): ints become letters."""

    def letters(sublist: Any) -> str:
        order = LETTERS[26:] + LETTERS[:26]
        return "".join(
            "..." if n is Ellipsis else order[n] for n in require_static(sublist, "sublist")
        )

    pairs = len(operands) // 2
    text = ",".join(letters(operands[2 * k + 1]) for k in range(pairs))
    if len(operands) % 2:
        text += "->" + letters(operands[-1])
    return (text, *operands[: 2 * pairs : 2])


def _explicit(b: Builder, text: str, ranks: list[int]) -> tuple[list[str], str]:
    """The labels of each operand and of the result; an ellipsis is replaced by unused letters."""
    subject = "einstein sum subscripts string"
    inputs, arrow, out = text.partition("->")
    labels = inputs.split(",")
    if len(labels) != len(ranks):
        many = "more" if len(ranks) > len(labels) else "fewer"
        raise value_error(b, f"{many} operands provided to einstein sum function than specified")
    for s in (*labels, out):
        rest = s.replace("...", "", 1)
        if not all(c in LETTERS for c in rest):
            raise value_error(b, f"invalid subscript in {subject} {text!r}")
    free = [c for c in LETTERS if c not in text]
    dots = [rank - len(s) + 3 for s, rank in zip(labels, ranks, strict=True) if "..." in s]
    if any(d < 0 for d in dots) or max(dots, default=0) > len(free):
        raise value_error(b, f"{subject} contains too many subscripts for an operand")
    spare = "".join(free[: max(dots, default=0)])
    expanded = []
    for k, (s, rank) in enumerate(zip(labels, ranks, strict=True)):
        width = rank - len(s.replace("...", ""))
        full = s.replace("...", spare[len(spare) - width :] if width else "")
        if len(full) != rank:
            many = "too many subscripts for" if len(full) > rank else "too few subscripts for"
            raise value_error(b, f"{subject} contains {many} operand {k}")
        expanded.append(full)
    every = "".join(expanded)
    if not arrow:
        once = sorted(c for c in set(inputs) & set(LETTERS) if every.count(c) == 1)
        return expanded, spare + "".join(once)
    if spare and "..." not in out:
        raise value_error(b, "the output lacks the '...' of the inputs in the einstein sum")
    out = out.replace("...", spare)
    for c in out:
        if c not in every:
            raise value_error(
                b, f"{subject} included output subscript '{c}' which never appeared in an input"
            )
        if out.count(c) > 1:
            raise value_error(b, f"{subject} includes output subscript '{c}' multiple times")
    return expanded, out
