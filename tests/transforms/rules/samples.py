"""Inputs for every rule: shapes that broadcast, every axis, empty arrays and 0-d ones.

`SAMPLES` lists them by operation; `test_every_rule.py` fails for a rule without samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from s2s.transforms.rules import RULES, SURFACES

from .judge import Sample

SAMPLES: dict[str, list[Sample]] = {}
_RNG = np.random.default_rng(11)


def add(
    op: str,
    *args: Any,
    build: Callable[..., Any] | None = None,
    expected: Any = None,
    attrs: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Add a sample.  By default `build` emits the operation itself on all arguments, with
    `attrs`."""
    given = attrs or {}

    def emit(b: Any, *operands: Any) -> Any:
        return b.emit(op, *operands, **given)

    note = options.pop("note", ",".join(f"{k}={v}" for k, v in given.items()))
    sample = Sample(op, args, build or emit, expected, note=note, **options)
    SAMPLES.setdefault(op, []).append(sample)


def uniform(low: float, high: float, *shape: int) -> np.ndarray:
    return np.asarray(_RNG.uniform(low, high, shape))


def number(low: float = 0.3, high: float = 0.9) -> np.float64:
    return np.float64(_RNG.uniform(low, high))


def call(path: str, *before: Any, **keywords: Any) -> Callable[..., Any]:
    """Call a surface on all operands, as part of a sample."""
    return lambda b, *xs: SURFACES[path](b, *xs, *before, **keywords)


SHAPES: list[tuple[int, ...]] = [(3,), (2, 3), (), (0,), (2, 0)]

# ---------------------------------------------------------------- elementwise, one operand

DOMAINS = {
    **dict.fromkeys("sin cos tan arctan tanh sinh cosh exp exp2 expm1 arcsinh erf erfc".split(),
                    (-1.4, 1.4)),
    **dict.fromkeys("absolute fabs negative positive square degrees radians".split(), (-2.0, 2.0)),
    **dict.fromkeys("sign floor ceil trunc rint signbit spacing isnan isinf isfinite".split(),
                    (0.6, 0.9)),
    **dict.fromkeys("log log2 log10 log1p sqrt cbrt reciprocal".split(), (0.3, 3.0)),
    **dict.fromkeys("arcsin arccos arctanh erfinv".split(), (-0.8, 0.8)),
    **dict.fromkeys("erfcx expit".split(), (-2.0, 6.0)),
    **dict.fromkeys("lgamma gamma digamma".split(), (0.4, 4.0)),
    "arccosh": (1.2, 3.0),
    "ndtri": (0.01, 0.95),
    "erfcinv": (0.02, 1.9),
}  # fmt: skip


def numpys(op: str) -> Callable[..., Any]:
    return getattr(np, op, None) or RULES[op].evaluate  # type: ignore[return-value]


for _op, _domain in DOMAINS.items():
    for _shape in SHAPES:
        add(_op, uniform(*_domain, *_shape), expected=numpys(_op))
    add(_op, np.float64(_domain[0] * 0.4 + _domain[1] * 0.6), expected=numpys(_op))

# ---------------------------------------------------------------- elementwise, two operands

PAIRS: list[tuple[Any, Any]] = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), (2,)),
    ((2, 0), (1, 1)),
    ((0,), None),
    ((2, 3), None),
    (None, (3,)),
    (None, None),
]
BINARY = {
    **dict.fromkeys("add subtract multiply strong_mul maximum minimum fmax fmin clip_low clip_high"
                    " logaddexp logaddexp2 arctan2 hypot copysign heaviside".split(),
                    ((-2.0, 2.0), (-2.0, 2.0))),
    **dict.fromkeys("divide floor_divide remainder fmod".split(), ((2.1, 2.9), (1.1, 1.4))),
    **dict.fromkeys("power float_power".split(), ((0.3, 2.0), (-1.5, 2.5))),
    **dict.fromkeys("beta betaln".split(), ((0.4, 4.0), (0.4, 4.0))),
    **dict.fromkeys("less less_equal greater greater_equal equal not_equal logical_and logical_or"
                    " logical_xor".split(), ((-2.0, 2.0), (-2.0, 2.0))),
}  # fmt: skip
_EXPECTED = {"strong_mul": np.multiply, "clip_low": np.maximum, "clip_high": np.minimum}

for _op, (_left, _right) in BINARY.items():
    for _p, _q in PAIRS:
        _x = number(*_left) if _p is None else uniform(*_left, *_p)
        _y = number(*_right) if _q is None else uniform(*_right, *_q)
        add(_op, _x, _y, expected=_EXPECTED.get(_op) or numpys(_op), single=_op != "float_power")
    add(
        _op,
        uniform(*_left, 3),
        build=lambda b, x, op=_op: b.emit(op, x, 1.25),
        expected=lambda x, op=_op: (_EXPECTED.get(op) or numpys(op))(x, 1.25),
        single=_op != "float_power",
        note="python number",
    )
# The step to the next float is too small for differences.
add("nextafter", uniform(0.3, 0.9, 3), uniform(1.0, 2.0, 3), expected=np.nextafter, order=1)
for _n in (0, 1, 2, 3, -1, 0.5):
    add(
        "power",
        uniform(0.4, 1.7, 2, 3),
        build=lambda b, x, n=_n: x**n,
        expected=lambda x, n=_n: x**n,
        note=f"n={_n}",
    )
for _op in ("polygamma", "jv", "iv", "ive"):
    for _n in (0, 1, 2, 3):
        for _shape in ((2, 3), (0,), ()):
            _x = uniform(0.6, 3.0, *_shape)
            add(_op, _x, build=lambda b, x, op=_op, n=_n: b.emit(op, n, x), note=f"n={_n}")

# ---------------------------------------------------------------- elementwise, three operands

_MASK = np.array([[True, False, True], [False, True, True]])
for _x, _y in [((2, 3), (3,)), ((3,), (2, 1)), ((), (2, 3))]:
    add("where", _MASK, uniform(-1, 1, *_x), uniform(-1, 1, *_y), expected=np.where)
add("where", np.zeros(0, bool), np.zeros(0), np.float64(0.5), expected=np.where)
add("where", np.True_, np.float64(0.3), np.float64(0.5), expected=lambda c, x, y: x)
for _shape in SHAPES:
    add("clip", uniform(-2, 2, *_shape), np.float64(-0.5), np.float64(0.7), expected=np.clip)
add("clip", uniform(-2, 2, 2, 3), uniform(-1, -0.3, 3), uniform(0.2, 0.8, 2, 1), expected=np.clip)
for _shape in SHAPES:
    add("cast", uniform(0, 1, *_shape), attrs={"dtype": "float64"}, single=False)
add("cast", uniform(0, 1, 3), attrs={"dtype": "int64"}, single=False)
add("cast", np.arange(3), attrs={"dtype": "float64"})

# ---------------------------------------------------------------- logic, bits, integers

_I, _J = np.array([[3, -4, 5]]), np.array([[2], [6]])
for _op in "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm".split():
    add(_op, abs(_I), _J, expected=numpys(_op))
    add(_op, np.zeros(0, int), np.int64(3), expected=numpys(_op))
for _op in ("invert", "logical_not"):
    add(_op, _MASK, expected=numpys(_op))
    add(_op, np.True_, expected=numpys(_op))

# ---------------------------------------------------------------- reductions and scans


def _reduced(op: str, axis: Any, keepdims: bool, **more: Any) -> Callable[..., Any]:
    one = axis[0] if op in ("argmax", "argmin") and axis else axis
    return lambda x: getattr(np, op)(x, axis=one, keepdims=keepdims, **more)


def _axes(rank: int) -> Iterable[tuple[int, ...] | None]:
    return [None, *((i,) for i in range(rank)), *([(0, 1), (0, 2)] if rank == 3 else [])]


_DISTINCT = _RNG.permutation(24).reshape(2, 3, 4) / 10.0 - 1.05
for _op in "sum mean prod max min var std any all argmax argmin count_nonzero".split():
    for _x in (_DISTINCT, _DISTINCT[0], _DISTINCT[0, 0]):
        for _axis in _axes(_x.ndim):
            if _op.startswith("arg") and _axis is not None and len(_axis) > 1:
                continue
            for _keep in (False, True):
                _attrs: dict[str, Any] = {"axis": _axis, "keepdims": _keep}
                _order = 2 if _x.ndim < 3 and not _keep else 1
                add(_op, _x, attrs=_attrs, expected=_reduced(_op, **_attrs), order=_order)
    if _op in ("var", "std"):
        _attrs = {"axis": (1,), "keepdims": False, "ddof": 1}
        add(_op, _DISTINCT[0], attrs=_attrs, expected=_reduced(_op, **_attrs))
    if _op not in ("mean", "var", "std"):
        _attrs = {"axis": (1,), "keepdims": False}
        add(_op, np.zeros((0, 3)), attrs=_attrs, expected=_reduced(_op, **_attrs))
    if _op in ("sum", "prod", "any", "all"):
        _attrs = {"axis": None, "keepdims": False}
        add(_op, np.zeros(0), attrs=_attrs, expected=_reduced(_op, **_attrs))
add("prod", np.array([0.0, 2.0, 3.0]), attrs={"axis": None, "keepdims": False}, note="a zero")
for _x in (_DISTINCT, _DISTINCT[0], np.zeros((0, 2))):
    for _axis in range(_x.ndim):
        add("cumsum", _x, attrs={"axis": _axis}, expected=lambda x, a=_axis: np.cumsum(x, a))

# ---------------------------------------------------------------- shapes

_C = uniform(-1, 1, 2, 3, 4)
for _axes_ in ((0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)):
    add("transpose", _C, attrs={"axes": _axes_}, expected=lambda x, a=_axes_: np.transpose(x, a))
for _x, _sizes in ((_C, (4, 6)), (_C, (24,)), (uniform(0, 1, 1), ()), (np.zeros((2, 0)), (0, 5)),
                   (np.asarray(0.5), (1, 1))):  # fmt: skip
    add(
        "reshape", _x, note=str(_sizes),
        build=lambda b, x, s=_sizes: b.emit("reshape", x, *s),
        expected=lambda x, s=_sizes: np.reshape(x, s),
    )  # fmt: skip
for _x, _sizes in ((uniform(0, 1, 3), (2, 3)), (uniform(0, 1, 2, 1), (4, 2, 3)),
                   (np.asarray(0.5), (3,)), (uniform(0, 1, 1), (0,)),
                   (np.float64(0.5), (2, 2))):  # fmt: skip
    add(
        "broadcast_to", _x, note=str(_sizes),
        build=lambda b, x, s=_sizes: b.emit("broadcast_to", x, *s),
        expected=lambda x, s=_sizes: np.broadcast_to(x, s),
    )  # fmt: skip
for _p, _q in (((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2,)), ((1,), (0,)), ((2, 3), (2, 3))):
    add("broadcast_like", uniform(0, 1, *_p), uniform(0, 1, *_q), constants=(1,),
        expected=lambda x, y: np.broadcast_to(x, y.shape))  # fmt: skip
    add("unbroadcast", uniform(0, 1, *_q), uniform(0, 1, *_p), constants=(1,))
add("unbroadcast", uniform(0, 1, 2, 3), np.float64(0.5), constants=(1,))
for _axes_ in ((0,), (1,), (0, 2), (3,)):
    add("expand_dims", _C, attrs={"axes": _axes_},
        expected=lambda x, a=_axes_: np.expand_dims(x, a))  # fmt: skip
add("expand_dims", np.float64(0.5), attrs={"axes": (0,)}, expected=lambda x: np.array([x]))
add("squeeze", uniform(0, 1, 1, 3, 1), attrs={"axes": (0, 2)}, expected=lambda x: x[0, :, 0])
add("squeeze", uniform(0, 1, 2, 1), attrs={"axes": (1,)}, expected=lambda x: x[:, 0])
for _axis in range(2):
    add("concatenate", uniform(0, 1, 2, 3), uniform(0, 1, 2, 3), np.zeros((0, 3) if not _axis
        else (2, 0)), attrs={"axis": _axis},
        expected=lambda *xs, a=_axis: np.concatenate(xs, a))  # fmt: skip
for _axis in range(3):
    add("stack", uniform(0, 1, 2, 3), uniform(0, 1, 2, 3), attrs={"axis": _axis},
        expected=lambda *xs, a=_axis: np.stack(xs, a))  # fmt: skip
for _shape in SHAPES:
    for _op in ("copy", "same"):
        add(_op, uniform(0, 1, *_shape), expected=lambda x: x)
add("stop_gradient", uniform(0, 1, 3), expected=lambda x: x, constants=(0,))
add(
    "stop_gradient", uniform(0, 1, 3), note="a constant factor",
    build=lambda b, x: b.emit("stop_gradient", np.sin(x)) * 0.0 + x, order=1,
)  # fmt: skip
add("literal", np.float64(0.5), expected=lambda x: x, constants=(0,))

# ---------------------------------------------------------------- reading and writing parts

_PLACES = np.array([[2, 0], [2, 1]])
INDICES: list[tuple[str, tuple[Any, ...], tuple[Any, ...], Any]] = [
    ("int", (("int", 1), ("all",)), (1,), np.s_[1]),
    ("ints", (("int", 1), ("int", 2)), (1, -1), np.s_[1, -1]),
    ("slice", (("slice", 1, 2, None), ("all",)), (1, 3), np.s_[1:3]),
    ("step", (("all",), ("slice", None, None, 1)), (-2,), np.s_[:, ::-2]),
    ("new", (("new",), ("int", 1), ("all",)), (0,), np.s_[None, 0]),
    ("array", (("array", 1), ("all",)), (_PLACES,), np.s_[_PLACES]),
    ("arrays", (("array", 1), ("array", 2)), (_PLACES, _PLACES), np.s_[_PLACES, _PLACES]),
    ("mixed", (("array", 1), ("slice", 2, None, None)), (_PLACES[0], 1), np.s_[_PLACES[0], 1:]),
    ("empty", (("slice", 1, 2, None), ("all",)), (2, 2), np.s_[2:2]),
]


def _operand(b: Any, value: Any) -> Any:
    """A static scalar, or an index array from a list."""
    if not isinstance(value, np.ndarray):
        return value
    return b.emit("pack", *map(int, value.ravel()), shape=value.shape, dtype="int64")


for _name, _items, _operands, _index in INDICES:
    _x = uniform(-1, 1, 3, 4)

    def _read(b: Any, x: Any, items: Any = _items, operands: Any = _operands) -> Any:
        return b.emit("index", x, *(_operand(b, o) for o in operands), items=items)

    add("index", _x, build=_read, expected=lambda x, i=_index: x[i], note=_name)
    _moved = tuple((kind, *(p if p is None else p + 1 for p in places)) for kind, *places in _items)
    for _op in ("update", "update_add"):

        def _write(b: Any, x: Any, v: Any, op: str = _op, items: Any = _moved,
                   operands: Any = _operands) -> Any:  # fmt: skip
            places = (_operand(b, o) for o in operands)
            return b.emit(op, x, v, *places, path=(("index", items),))

        def _written(x: Any, v: Any, op: str = _op, i: Any = _index) -> Any:
            out = x.copy()
            if op == "update":
                out[i] = v
            else:
                np.add.at(out, i, v)
            return out

        if "new" in _name:
            continue
        add(_op, _x, uniform(-1, 1, *_x[_index].shape), build=_write, expected=_written, note=_name)
        add(_op, _x, np.float64(0.4), build=_write, expected=_written, note=f"{_name},number")
add(
    "index", uniform(-1, 1, 2, 3), _MASK, note="mask",
    build=lambda b, x, m: b.emit("index", x, m, items=(("mask", 1),)), expected=lambda x, m: x[m],
)  # fmt: skip
for _op in ("update", "update_add"):
    add(
        _op, uniform(-1, 1, 2, 3), uniform(-1, 1, 2, 3), note="whole",
        build=lambda b, x, v, op=_op: b.emit(op, x, v, path=()),
    )  # fmt: skip
    add(
        _op, uniform(-1, 1, 2, 3), uniform(-1, 1, 3, 2), note="transposed",
        build=lambda b, x, v, op=_op: b.emit(op, x, v, path=(("transpose", (1, 0)),)),
    )  # fmt: skip

# ---------------------------------------------------------------- new arrays

for _op in ("zeros", "ones"):
    for _sizes in ((), (3,), (2, 0)):
        add(
            _op, build=lambda b, op=_op, s=_sizes: b.emit(op, *s, dtype="float32"),
            expected=lambda op=_op, s=_sizes: getattr(np, op)(s, "float32"), note=str(_sizes),
        )  # fmt: skip
for _op in ("zeros_like", "ones_like"):
    for _shape in SHAPES:
        add(_op, uniform(0, 1, *_shape), attrs={"dtype": "float64"}, expected=numpys(_op),
            single=False)  # fmt: skip
for _op, _build in {
    "empty": lambda b, x: b.emit("update", b.emit("empty", 3, dtype="float64"), x, path=()),
    "empty_like": lambda b, x: b.emit(
        "update", b.emit("empty_like", x, dtype="float64"), x, path=()
    ),
}.items():
    add(_op, uniform(0, 1, 3), build=_build, expected=lambda x: x, single=False)
for _sizes in ((), (3,), (2, 0), (2, 3)):
    add(
        "full", np.float64(0.7), note=str(_sizes), single=False,
        build=lambda b, x, s=_sizes: b.emit("full", x, *s, dtype="float64"),
        expected=lambda x, s=_sizes: np.full(s, x),
    )  # fmt: skip
for _shape in SHAPES:
    add("full_like", uniform(0, 1, *_shape), np.float64(0.7), attrs={"dtype": "float64"},
        expected=np.full_like, single=False)  # fmt: skip
add("pack", *(number() for _ in range(6)), attrs={"shape": (2, 3), "dtype": "float64"},
    expected=lambda *xs: np.reshape(xs, (2, 3)), single=False)  # fmt: skip
add("pack", number(), attrs={"shape": (), "dtype": "float64"}, expected=np.asarray, single=False)
add("arange", np.float64(0.3), np.float64(1.9), np.float64(0.45), attrs={"dtype": "float64"},
    expected=np.arange, constants=(1,), single=False)  # fmt: skip
add("arange", build=lambda b: b.emit("arange", 0, 4, 1, dtype="int64"),
    expected=lambda: np.arange(4))  # fmt: skip
for _num in (0, 1, 2, 5):
    for _end in (True, False):
        add(
            "linspace", number(), number(), note=f"{_num},{_end}", single=False,
            build=lambda b, x, y, n=_num, e=_end: b.emit(
                "linspace", x, y, n, endpoint=e, dtype="float64"
            ),
            expected=lambda x, y, n=_num, e=_end: np.linspace(x, y, n, e),
        )  # fmt: skip
for _n, _m, _k in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 0, 0)):
    add("eye", note=f"{_n},{_m},{_k}",
        build=lambda b, n=_n, m=_m, k=_k: b.emit("eye", n, m, k, dtype="float64"),
        expected=lambda n=_n, m=_m, k=_k: np.eye(n, m, k))  # fmt: skip

# ---------------------------------------------------------------- queries

add("shape", uniform(0, 1, 2, 3), attrs={"axis": 1}, expected=lambda x: np.int64(3))
