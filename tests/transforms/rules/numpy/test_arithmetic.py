"""Every elementwise rule against finite differences, and the conventions at kinks."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Array, Scalar
from s2s.transforms.rules import RULES, SURFACES
from tests.transforms.rules.numeric import Trial, call, check_derivatives, numeric_pushforward, run

# Functions of integer order are tested in test_every_rule.py.
DIFFERENTIABLE = sorted(
    n for n, r in RULES.items() if r.partials is not None and 0 in (r.differentiable or ())
)
ELEMENTWISE = sorted(n for n, r in RULES.items() if r.kind == "elementwise" and r.name != "copy")
# Arguments away from kinks; for functions with a restricted domain, a range in it.
POINTS = [(0.3, 0.7, 0.9), (0.62, 0.21, 0.4)]
DOMAINS = {"arccosh": 1.0, "heaviside": 0.1}


def arity(name: str) -> int:
    parameters = inspect.signature(RULES[name].partials).parameters.values()
    return sum(p.kind is not p.KEYWORD_ONLY for p in parameters)


def point(name: str, values: tuple[float, ...]) -> list[float]:
    return [v + DOMAINS.get(name, 0.0) for v in values[: arity(name)]]


def partials_at(name: str, args: list) -> tuple:
    rule = RULES[name]
    keywords = {}
    if "out" in inspect.signature(rule.partials).parameters:
        keywords["out"] = rule.evaluate(*args)
    with np.errstate(all="ignore"):
        found = rule.partials(*args, **keywords)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("values", POINTS)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_partials_of_floats(name, values):
    args = point(name, values)
    for i, partial in enumerate(partials_at(name, args)):
        dots = [1.0 if j == i else None for j in range(len(args))]
        expected = numeric_pushforward(RULES[name].evaluate, args, dots)
        assert float(partial) == pytest.approx(float(expected), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if arity(n) == 2])
def test_derivatives_with_broadcasting(name):
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.2, 0.9, (3, 1)), rng.uniform(0.2, 0.9, 4)
    check_derivatives(name, x, y)
    check_derivatives(name, x, 0.37)
    check_derivatives(name, 0.37, x)
    check_derivatives(name, x, y, static=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if arity(n) == 1])
def test_derivatives_of_one_operand(name, dtype):
    x = np.random.default_rng(4).uniform(0.2, 0.9, (2, 3)) + DOMAINS.get(name, 0.0)
    tolerance = 1e-6 if dtype == "float64" else 2e-4
    check_derivatives(name, x.astype(dtype), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n != "float_power"])
def test_float32_stays_float32(name):
    """No part of an adjoint is computed in float64."""
    args = [np.full(3, v, np.float32) for v in point(name, POINTS[0])]
    trial = Trial(*args)
    out = trial.b.emit(name, *trial.syms)
    assert out.dtype == "float32"
    g = trial.argument(np.ones(3, np.float32))
    RULES[name].pullback(trial.b, g, out, trial.syms, {}, set(range(len(args))))
    assert {s.target.type.dtype for s in trial.b.block} <= {"float32", "bool"}


@pytest.mark.parametrize("name", ["where", "strong_mul", "clip"])
def test_other_derivatives(name):
    x, y = np.array([0.2, -0.4, 1.3]), np.array([0.5, 0.6, -0.7])
    args = {
        "where": (np.array([True, False, True]), x, y),
        "strong_mul": (x, y),
        "clip": (x, 0.0, 1.0),
    }[name]
    check_derivatives(name, *args)


def test_cast_pulls_back_in_the_dtype_of_its_source():
    check_derivatives(
        "cast", np.array([0.5, 1.5], np.float32), dtype="float64", rtol=1e-3, atol=1e-3
    )
    trial = Trial(np.array([1, 2]))
    out = trial.b.emit("cast", trial.syms[0], dtype="float64")
    assert RULES["cast"].pullback(trial.b, out, out, trial.syms, {"dtype": "float64"}, {0}) == {}


# ---------------------------------------------------------------- kinks


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("absolute", (0.0,), (0,)),
        ("maximum", (2.0, 2.0), (0.5, 0.5)),
        ("minimum", (2.0, 2.0), (0.5, 0.5)),
        ("maximum", (3.0, 2.0), (1, 0)),
        ("minimum", (3.0, 2.0), (0, 1)),
        ("fmax", (math.nan, 2.0), (0, 1)),
        ("fmin", (2.0, math.nan), (1, 0)),
        ("clip", (1.0, 1.0, 2.0), (1, 0, 0)),
        ("clip", (2.0, 1.0, 2.0), (1, 0, 0)),
        ("clip", (3.0, 1.0, 2.0), (0, 0, 1)),
        ("clip", (0.0, 1.0, 2.0), (0, 1, 0)),
        ("clip", (0.0, 3.0, 2.0), (0, 0, 1)),
        ("clip_low", (1.0, 1.0), (1, 0)),
        ("clip_high", (1.0, 1.0), (1, 0)),
        ("sqrt", (0.0,), (math.inf,)),
        ("power", (0.0, 0.0), (0, 0)),
        ("power", (0.0, 1.0), (1, 0)),
        ("power", (0.0, 2.0), (0, 0)),
        ("power", (0.0, 3), (0, 0)),
        ("power", (-2.0, 3), (12, math.nan)),
        ("hypot", (0.0, 0.0), (0, 0)),
        ("floor_divide", (3.5, 2.0), (0, 0)),
    ],
)
def test_conventions(name, args, expected):
    args = [np.float64(a) if isinstance(a, float) and name != "power" else a for a in args]
    np.testing.assert_array_equal(np.asarray(partials_at(name, args), float), expected)


def test_power_with_an_exponent_array_is_exact_at_zero():
    x = np.array([0.0, 0.0, 0.0, 2.0, -2.0])
    n = np.array([0.0, 1.0, 2.0, 3.0, 2.0])
    by_base, by_exponent = partials_at("power", [x, n])
    np.testing.assert_array_equal(by_base, [0, 1, 0, 12, -4])
    np.testing.assert_allclose(by_exponent[:4], [0, 0, 0, 8 * math.log(2)])


def pulled(name, *args, g):
    """Pullbacks w.r.t. the first operand, all operands known at run time only."""

    def build(b, *syms):
        out = b.emit(name, *syms[:-1])
        return RULES[name].pullback(b, syms[-1], out, syms[:-1], {}, {0})[0]

    return run(build, *args, g)


@pytest.mark.parametrize("name", ["sqrt", "log", "reciprocal", "cbrt", "log2"])
def test_singular_partials_meet_zero_cotangents(name):
    x_bar = pulled(name, np.array([0.0, 4.0]), g=np.array([0.0, 1.0]))
    assert x_bar[0] == 0 and np.isfinite(x_bar[1])
    assert np.isinf(pulled(name, np.array([0.0]), g=np.array([1.0]))).all()


def test_division_by_zero_under_a_zero_cotangent():
    x, y, g = np.array([1.0, 1.0]), np.array([0.0, 2.0]), np.array([0.0, 1.0])
    np.testing.assert_array_equal(pulled("divide", x, y, g=g), [0.0, 0.5])


def test_strong_mul():
    g, p = np.array([0.0, 0.0, 2.0]), np.array([np.inf, np.nan, 3.0])
    np.testing.assert_array_equal(run(lambda b, g, p: b.emit("strong_mul", g, p), g, p), [0, 0, 6])
    np.testing.assert_array_equal(
        pulled("strong_mul", g, p, g=np.array([0.0, 0.0, 1.0])), [0, 0, 3]
    )


def test_where_does_not_multiply():
    c, x, g = np.array([True, False]), np.ones(2), np.array([np.inf, np.nan])

    def build(b, c, x, g):
        out = b.emit("where", c, x, 1.0)
        return RULES["where"].pullback(b, g, out, (c, x, b.sym(1.0)), {}, {1})[1]

    np.testing.assert_array_equal(run(build, c, x, g), [np.inf, 0.0])


# ---------------------------------------------------------------- emitted code


def emitted(build, *args) -> list[str]:
    """The operations of a pullback, as text."""
    trial = Trial(*args)
    before = len(trial.b.block)
    build(trial.b, *trial.syms)
    return [s.op.name for s in trial.b.block[before:]]


def bar_ops(name, *args, wanted=(0,), consts=()):
    def build(b, *syms):
        operands = (*syms[:-1], *map(b.sym, consts))
        out = b.emit(name, *operands)
        b.block.clear()
        RULES[name].pullback(b, syms[-1], out, operands, {}, set(wanted))

    return emitted(build, *args)


X = np.array([0.5, 0.25])


@pytest.mark.parametrize(
    ("name", "args", "consts", "expected"),
    [
        ("add", (X, X), (), []),
        ("tanh", (X,), (), ["multiply", "subtract", "multiply"]),
        ("exp", (X,), (), ["multiply"]),
        ("cos", (X,), (), ["sin", "negative", "multiply"]),
        ("multiply", (X, X), (), ["multiply"]),
        ("divide", (X,), (3.0,), ["divide"]),
        ("power", (X,), (2,), ["multiply", "multiply"]),
        ("power", (X,), (3,), ["power", "multiply", "multiply"]),
        ("power", (X,), (1,), []),
        ("arctan", (X,), (), ["multiply", "add", "divide"]),
        ("sqrt", (X,), (), ["multiply", "divide", "strong_mul"]),
        ("radians", (X,), (), ["multiply"]),
    ],
)
def test_adjoint_code_is_economical(name, args, consts, expected):
    assert bar_ops(name, *args, np.ones(2), consts=consts) == expected


def test_division_by_what_is_positive_needs_no_strong_product():
    def build(b, x, g):
        y = 1.0 + x**2
        out = b.emit("divide", 1.0, y)
        log = b.emit("log", y)
        b.block.clear()
        RULES["log"].pullback(b, g, log, (y,), {}, {0})
        RULES["divide"].pullback(b, g, out, (b.sym(1.0), y), {}, {1})

    assert "strong_mul" not in emitted(build, X, X)


# ---------------------------------------------------------------- meaning and types

SCALARS = [2, 2.5, np.float32(1.5), np.int64(3), np.int32(2), np.float64(0.5)]
ARRAYS = [np.array([1, 2, 3]), np.array([1.5, 2.0, 0.5]), np.array([1.5, 2.0, 0.5], np.float32)]
INTEGER_ONLY = set(
    "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift gcd lcm".split()
)
BINARY = [
    n for n in ELEMENTWISE if isinstance(getattr(np, n, None), np.ufunc) and getattr(np, n).nin == 2
]
UNARY = [
    n for n in ELEMENTWISE if isinstance(getattr(np, n, None), np.ufunc) and getattr(np, n).nin == 1
]


def is_integer(x) -> bool:
    return np.asarray(x).dtype.kind == "i"


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_of_two_operands_are_numpys(name):
    function = getattr(np, name)
    for x in SCALARS + ARRAYS:
        for y in SCALARS + ARRAYS:
            if name in INTEGER_ONLY and not (is_integer(x) and is_integer(y)):
                continue
            result = run(lambda b, p, q: b.emit(name, p, q), x, y)
            with np.errstate(all="ignore"):
                expected = function(x, y)
            assert np.asarray(result).dtype == expected.dtype, (x, y)
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", UNARY)
def test_dtypes_of_one_operand_are_numpys(name):
    function = getattr(np, name)
    for x in SCALARS + ARRAYS:
        if name in INTEGER_ONLY and not is_integer(x):
            continue
        with np.errstate(all="ignore"):
            expected = function(x)
        result = run(lambda b, p: b.emit(name, p), x)
        assert np.asarray(result).dtype == expected.dtype, x
        np.testing.assert_array_equal(result, expected)


def test_integer_values_are_symbolic():
    trial = Trial(5, 7)
    m, n = trial.syms
    assert str(((m + 1) * n - m).type.value) == "-x0 + x0*x1 + x1"
    assert (m + n - n).type.value == m.type.value
    assert (m // 2).type.value == (m // 2).type.value
    assert (-m).type.value is not None and (m * 2.0).type == Scalar("float64", weak=True)


def test_python_numbers_follow_python():
    def build(b, x, y):
        return (x > y) - (x < y), b.emit("power", 2, -1), x + 1, x & 1

    sign, half, more, bit = run(build, 3, 4)
    assert (sign, half, more, bit) == (-1, 0.5, 4, 1)
    assert [type(v) for v in (sign, half, more, bit)] == [int, float, int, int]


def test_mismatched_constant_shapes_raise_where_they_meet():
    with pytest.raises(
        ValueError, match=r"could not be broadcast together with shapes \(3,\) \(4,\)"
    ):
        run(lambda b, x, y: x + y, np.ones(3), np.ones(4), static=True)


def test_sizes_that_differ_now_may_agree_later():
    trial = Trial(np.ones(3), np.ones(4))
    x, y = trial.syms
    assert str((x + y).type.shape[0]) not in ("x0.0", "x1.0")
    assert trial.b.facts.guards == []


def test_types_of_where():
    trial = Trial(np.array([True, False]), np.ones(2, np.float32), True)
    c, x, flag = trial.syms
    assert trial.b.emit("where", c, x, 0.0).type == Array("float32", c.type.shape)
    assert trial.b.emit("where", flag, 1.0, 2.0).type == Scalar("float64", weak=True)
    assert SURFACES["numpy.where"](trial.b, flag, 1.0, 2.0).type == Scalar("float64")


# ---------------------------------------------------------------- surfaces


def test_numpy_functions_give_numpy_numbers_and_math_pythons():
    trial = Trial(0.5, np.float32(0.5), np.ones(2, np.float32))
    x, y, a = trial.syms
    b = trial.b
    assert SURFACES["numpy.exp"](b, x).type == Scalar("float64")
    assert SURFACES["numpy.add"](b, x, 1.0).type == Scalar("float64")
    assert SURFACES["math.exp"](b, x).type == Scalar("float64", weak=True)
    assert SURFACES["math.exp"](b, y).type == Scalar("float64", weak=True)
    assert SURFACES["numpy.exp"](b, y).type == Scalar("float32")
    assert (SURFACES["math.exp"](b, x) * a).dtype == "float32"
    assert (SURFACES["numpy.exp"](b, x) * a).dtype == "float64"


@pytest.mark.parametrize(
    ("path", "args"),
    [
        ("math.log", (np.float64(2.0),)),
        ("math.log", (np.float64(2.0), 10)),
        ("math.pow", (np.float64(2.0), np.float64(3.0))),
        ("math.floor", (np.float64(-2.5),)),
        ("math.ceil", (np.float64(-2.5),)),
        ("math.trunc", (np.float64(-2.5),)),
        ("math.hypot", (np.float64(3.0), np.float64(4.0), np.float64(12.0))),
        ("math.atan2", (np.float64(3.0), np.float64(4.0))),
        ("math.isnan", (np.float64(3.0),)),
    ],
)
def test_math(path, args):
    expected = getattr(math, path.split(".")[1])(*args)
    result = call(path, *args)
    assert result == pytest.approx(expected) and type(result) is type(expected)


@pytest.mark.parametrize(
    ("path", "args", "expected"),
    [
        ("builtins.abs", (np.float64(-2.0),), 2.0),
        ("builtins.max", (np.float64(1.0), np.float64(3.0), 2), 3.0),
        ("builtins.min", (np.float64(1.0), np.float64(3.0), 2), 1.0),
        ("builtins.max", (np.array([1.0, 5.0]),), 5.0),
        ("builtins.pow", (np.float64(2.0), 3), 8.0),
        ("builtins.divmod", (np.float64(7.5), 2), (3.0, 1.5)),
        ("builtins.round", (np.float64(2.5),), 2),
        ("builtins.round", (np.float64(2.345), 2), round(2.345, 2)),
        ("builtins.float", (np.int64(3),), 3.0),
        ("builtins.int", (np.float64(-3.7),), -3),
        ("builtins.bool", (np.float64(0.0),), False),
        ("builtins.sum", (np.array([1.0, 2.0]),), 3.0),
        ("numpy.float32", (np.float64(1.5),), np.float32(1.5)),
        ("numpy.int64", (np.float64(1.5),), 1),
        ("numpy.round", (np.array([1.26, 2.34]), 1), [1.3, 2.3]),
        ("numpy.round", (np.array([126.0, 234.0]), -1), [130.0, 230.0]),
        ("numpy.clip", (np.array([0.0, 1.0, 2.0]), 0.5, 1.5), [0.5, 1.0, 1.5]),
        ("numpy.clip", (np.array([0.0, 1.0, 2.0]), None, 1.5), [0.0, 1.0, 1.5]),
        ("numpy.ndarray.clip", (np.array([0.0, 1.0, 2.0]), 0.5), [0.5, 1.0, 2.0]),
        ("numpy.where", (np.array([1, 0]), 1.0, 2.0), [1.0, 2.0]),
        ("numpy.maximum", (np.array([1.0, 4.0]), [2.0, 3.0]), [2.0, 4.0]),
    ],
)
def test_surfaces(path, args, expected):
    np.testing.assert_allclose(call(path, *args), expected)


def test_ufunc_keywords_are_refused_by_name():
    for keyword, value in {"out": True, "where": np.array([True, False]), "dtype": int}.items():
        with pytest.raises(UnsupportedError, match=f"numpy.exp with {keyword}="):
            call("numpy.exp", np.ones(2), **{keyword: value})
    with pytest.raises(UnsupportedError, match="out="):
        call("numpy.exp", np.ones(2), np.ones(2))


def test_negative_powers_of_integers_raise():
    with pytest.raises(ValueError, match="negative integer powers"):
        run(lambda b, x, y: b.emit("power", x, y), np.array([2, 3]), np.array([-1, 2]))


def test_every_rule_prints():
    x = ("x", 13)
    for name, rule in RULES.items():
        if rule.kind == "elementwise" and rule.partials is not None:
            n = arity(name)
            types = [Array("float64", ())] * n
            source, _ = rule.text([x] * n, {}, types)
            assert source.count("x") >= n
