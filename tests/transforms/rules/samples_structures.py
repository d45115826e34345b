"""Samples of lists, matrix functions and complex numbers: programs with float arguments and results
that contain the operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2s.transforms.ir.nodes import Array, ListOf, Scalar
from s2s.transforms.rules import SURFACES

from .samples import add, number, uniform

# ---------------------------------------------------------------- lists


def _listed(b: Any, *values: Any) -> Any:
    """A list of these values."""
    type_ = values[0].type
    elem = Array(type_.dtype, type_.shape) if type_.ndim else Scalar(type_.dtype)
    made = b.emit("list_new", type=ListOf(elem))
    for v in values:
        made = b.emit("list_append", made, v)
    return made


def _stacked(b: Any, items: Any) -> Any:
    return b.emit("list_stack", items)


def _with_set(b: Any, x: Any, y: Any, z: Any) -> Any:
    return _stacked(b, b.emit("list_set", _listed(b, x, y), 0, z))


def _with_drop(b: Any, x: Any, y: Any, z: Any) -> Any:
    return _stacked(b, b.emit("list_drop", _listed(b, x, y, z)))


def _with_get(b: Any, x: Any, y: Any, z: Any) -> Any:
    return b.emit("list_get", _listed(b, x, y, z), 1) * x


def _unstacked(b: Any, x: Any, y: Any, z: Any) -> Any:
    rows = b.emit("list_unstack", b.emit("stack", x, y, z, axis=0))
    return b.emit("list_get", rows, 2) * y


def _zeroed(b: Any, x: Any, y: Any, z: Any) -> Any:
    return _stacked(b, b.emit("list_zeros_like", _listed(b, x, y))) + z


def _counted(b: Any, x: Any, y: Any, z: Any) -> Any:
    return b.emit("list_len", _listed(b, x, y, z)) * x


_VECTORS = [uniform(-1, 1, 2) for _ in range(3)]
_NUMBERS = [number() for _ in range(3)]
for _op, _build, _want in (
    ("list_new", lambda b, *v: _stacked(b, _listed(b, *v)), lambda *v: np.stack(v)),
    ("list_append", lambda b, *v: _stacked(b, _listed(b, *v)), lambda *v: np.stack(v)),
    ("list_stack", lambda b, *v: _stacked(b, _listed(b, *v)), lambda *v: np.stack(v)),
    ("list_set", _with_set, lambda x, y, z: np.stack([z, y])),
    ("list_drop", _with_drop, lambda x, y, z: np.stack([x, y])),
    ("list_get", _with_get, lambda x, y, z: x * y),
    ("list_unstack", _unstacked, lambda x, y, z: y * z),
    ("list_zeros_like", _zeroed, lambda x, y, z: np.stack([z, z])),
    ("list_len", _counted, lambda x, y, z: 3 * x),
):
    add(_op, *_VECTORS, build=_build, expected=_want, note="vectors")
    if _op != "list_unstack":
        add(_op, *_NUMBERS, build=_build, expected=_want, note="numbers")

# ---------------------------------------------------------------- products

_SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3, 2)),
           ((2, 3), (2, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3))]  # fmt: skip
for _p, _q in _SHAPES:
    add("matmul", uniform(-1, 1, *_p), uniform(-1, 1, *_q), expected=np.matmul)
for _p, _q in (((2,), (3,)), ((0,), (3,))):
    add("outer", uniform(-1, 1, *_p), uniform(-1, 1, *_q), expected=np.outer)
for _text, *_sizes in (
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("i,j,k->kij", (2,), (3,), (2,)),
    ("ij,j->i", (2, 0), (0,)),
):
    add(
        "einsum",
        *(uniform(-1, 1, *s) for s in _sizes),
        attrs={"subscripts": _text},
        expected=lambda *xs, t=_text: np.einsum(t, *xs),
    )

# ---------------------------------------------------------------- matrix functions


def surface(path: str, *more: Any, part: Any = None, **keywords: Any) -> Any:
    def build(b: Any, *xs: Any) -> Any:
        out = SURFACES[path](b, *xs, *more, **keywords)
        return out if part is None else out[part]

    return build


def regular(*shape: int) -> np.ndarray:
    return uniform(-1, 1, *shape) * 0.4 + 1.5 * np.eye(shape[-1])


def definite(b: Any, x: Any) -> Any:
    """A positive definite matrix computed from x."""
    product = x @ SURFACES["numpy.matrix_transpose"](b, x)
    return product + b.emit("eye", 3, 3, 0, dtype=x.dtype)


def both(b: Any, x: Any) -> Any:
    """A symmetric matrix computed from x."""
    return x + SURFACES["numpy.matrix_transpose"](b, x)


for _shape in ((3, 3), (2, 3, 3), (0, 0)):
    add("inv", regular(*_shape), build=surface("numpy.linalg.inv"), expected=np.linalg.inv)
    add("det", regular(*_shape), build=surface("numpy.linalg.det"), expected=np.linalg.det)
    for _part, _op in enumerate(("slogdet_sign", "slogdet_log")):
        add(_op, regular(*_shape), build=surface("numpy.linalg.slogdet", part=_part),
            expected=lambda x, p=_part: np.linalg.slogdet(x)[p])  # fmt: skip
for _p, _q in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((0, 0), (0,))):
    add("solve", regular(*_p), uniform(-1, 1, *_q), build=surface("numpy.linalg.solve"),
        expected=np.linalg.solve)  # fmt: skip
add("cofactor", regular(3, 3))
add("expm", uniform(-1, 1, 3, 3), order=2)
add("cholesky", uniform(-1, 1, 3, 3),
    build=lambda b, x: b.emit("cholesky", definite(b, x)))  # fmt: skip
for _lower in (True, False):
    for _trans in (0, 1):
        add(
            "solve_triangular", regular(3, 3), uniform(-1, 1, 3, 2), note=f"{_lower},{_trans}",
            build=surface("scipy.linalg.solve_triangular", lower=_lower, trans=_trans),
        )  # fmt: skip
for _shift, _axis in ((1, 0), (-1, 1), (7, 1)):
    add(
        "roll",
        uniform(-1, 1, 2, 3),
        attrs={"shift": _shift, "axis": _axis},
        expected=lambda x, s=_shift, a=_axis: np.roll(x, s, a),
    )
for _op in ("tril", "triu"):
    for _k in (0, 1, -1):
        add(_op, uniform(-1, 1, 2, 3, 4), build=surface(f"numpy.{_op}", k=_k), note=f"k={_k}",
            expected=lambda x, op=_op, k=_k: getattr(np, op)(x, k))  # fmt: skip
add("qr_q", regular(3, 3), build=surface("numpy.linalg.qr", part=0))
add("qr_q", uniform(-1, 1, 4, 2), build=surface("numpy.linalg.qr", part=1), note="r")
_SPREAD = np.diag([1.0, 2.0, 3.5]) + 0.1 * uniform(-1, 1, 3, 3)
add("eigh_values", _SPREAD,
    build=lambda b, x: SURFACES["numpy.linalg.eigvalsh"](b, both(b, x)))  # fmt: skip
# Vectors are unique up to their sign, on which sin() in the judge depends; their squares are
# unique.
add("eigh_vectors", _SPREAD,
    build=lambda b, x: np.square(SURFACES["numpy.linalg.eigh"](b, both(b, x))[1]))  # fmt: skip
add("svd_values", _SPREAD, build=surface("numpy.linalg.svd", compute_uv=False))
add("svd_vectors", _SPREAD,
    build=lambda b, x: np.square(
        SURFACES["numpy.linalg.svd"](b, x, full_matrices=False)[0]
    ))  # fmt: skip
add("pinv", uniform(-1, 1, 4, 2), build=surface("numpy.linalg.pinv"), expected=np.linalg.pinv)


def _factored(b: Any, x: Any, y: Any) -> Any:
    return SURFACES["scipy.linalg.lu_solve"](b, SURFACES["scipy.linalg.lu_factor"](b, x), y)


for _op in ("lu_compact", "lu_pivots", "pivot_order"):
    add(_op, regular(3, 3), uniform(-1, 1, 3, 2), build=_factored, expected=np.linalg.solve)
add("lu_compact", regular(3, 3))
for _p in ((4,), (4, 2)):
    add(
        "solve_banded", uniform(0.2, 0.4, 3, 4) + [[0], [1], [0]], uniform(-1, 1, *_p),
        build=lambda b, ab, y: SURFACES["scipy.linalg.solve_banded"](b, (1, 1), ab, y),
    )  # fmt: skip

# ---------------------------------------------------------------- complex numbers


def _parts(b: Any, z: Any) -> Any:
    return b.emit("real", z) + 2.0 * b.emit("imag", z)


for _x, _axis in ((uniform(-1, 1, 6), 0), (uniform(-1, 1, 3, 5), 0), (uniform(-1, 1, 3, 5), 1)):
    for _norm in ("backward", "ortho", "forward"):
        _attrs: dict[str, Any] = {"axis": _axis, "norm": _norm}
        _note = f"{_axis},{_norm}"
        for _op, _more in (("fft", {"inverse": False}), ("fft", {"inverse": True}), ("rfft", {})):
            add(
                _op, _x, note=_note, single=False,
                build=lambda b, x, op=_op, a={**_attrs, **_more}: _parts(b, b.emit(op, x, **a)),
            )  # fmt: skip
        add(
            "irfft", _x, note=_note, single=False,
            build=lambda b, x, a=_attrs, n=_x.shape[_axis]: b.emit(
                "irfft", np.square(b.emit("rfft", x, **a)), n, **a
            ),
        )  # fmt: skip
for _op in ("real", "imag", "conjugate"):
    add(
        _op, uniform(-1, 1, 4), single=False,
        build=lambda b, x, op=_op: _parts(
            b, b.emit("fft", b.emit(op, b.emit("fft", x, axis=0, inverse=False, norm="ortho")),
                      axis=0, inverse=False, norm="ortho"),
        ),
    )  # fmt: skip
for _n in (2, 6):
    add("resize", uniform(-1, 1, 4), note=str(_n),
        build=lambda b, x, n=_n: b.emit("resize", x, n, axis=0))  # fmt: skip
