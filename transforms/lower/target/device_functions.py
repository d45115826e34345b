"""The functions by which kernels compute the operations of the table `OPS`: those of the module
`math`, of libdevice, or device functions, whose text the module of kernels contains.

An operation that has no function here is unavailable on the target; its entry in `OPS` says so.
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from ..loop_ir.conversions import kind

# Functions of the module `math`.
_MATH = {
    **{f"np.{name}": name for name in (
        "exp expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sqrt hypot copysign fabs "
        "degrees radians isnan isinf isfinite"
    ).split()},
    "np.arcsin": "asin", "np.arccos": "acos", "np.arctan": "atan", "np.arctan2": "atan2",
    "np.arcsinh": "asinh", "np.arccosh": "acosh", "np.arctanh": "atanh",
    "np.deg2rad": "radians", "np.rad2deg": "degrees", "np.power": "pow", "np.ldexp": "ldexp",
    "rt.erf": "erf", "rt.erfc": "erfc", "rt.fmod": "fmod", "rt.float_power": "pow",
}  # fmt: skip
# Functions of libdevice: in double precision; with the suffix "f" in single precision.
_LIBDEVICE = {
    "np.floor": "floor", "np.ceil": "ceil", "np.rint": "rint", "np.trunc": "trunc",
    "np.exp2": "exp2", "rt.cbrt": "cbrt",
}  # fmt: skip
# Functions that are the identity for real numbers.
_IDENTITIES = ("np.conj", "np.real")
# The names of device functions, in single precision where that differs.
_DEVICE = {
    "np.gcd": "gcd", "np.lcm": "lcm",
    "np.logaddexp": "logaddexp", "np.logaddexp2": "logaddexp2", "np.signbit": "signbit",
    "rt.sinc": "sinc", "rt.heaviside": "heaviside", "rt.expit": "expit", "rt.to_int": "to_int",
    "rt.natural_power": "natural_power", "rt.trip_count": "trip_count",
    "rt.arange_count": "arange_count", "rt.slice_start": "slice_start",
    "rt.slice_stop": "slice_stop",
}  # fmt: skip
# Device functions with one text for integers and one for floats.
_BY_KIND = {
    "rt.floor_divide": "floor_divide", "rt.remainder": "remainder", "np.sign": "sign",
    "np.reciprocal": "reciprocal", "rt.fmod": "fmod",
}  # fmt: skip


def kernel_function(function: str, dtypes: tuple[str, ...]) -> str | None:
    """The function that kernels call for arguments of these dtypes: "math.exp", "libdevice.ceilf",
    the name of a device function, "" for the identity; None if there is none."""
    is_float = kind(dtypes[0]) == "f"
    if function in _IDENTITIES:
        return ""
    if function == "abs":
        return "abs"
    if function in _BY_KIND and (not is_float or function not in _MATH):
        return f"{'float' if is_float else 'int'}_{_BY_KIND[function]}"
    if function in _MATH:
        return f"math.{_MATH[function]}"
    if function in _LIBDEVICE:
        suffix = "f" if dtypes[0] == "float32" else ""
        return f"libdevice.{_LIBDEVICE[function]}{suffix}"
    return _DEVICE.get(function)


def available_functions() -> set[str]:
    """The functions of the table of operations that kernels may call."""
    return {*_MATH, *_LIBDEVICE, *_IDENTITIES, *_DEVICE, *_BY_KIND, "abs"}


def device_function_text(name: str) -> str:
    """The text of a device function."""
    return f'@cuda.jit(device=True, inline="always")\n{_TEXTS[name].strip()}\n'


def zero_of(dtype: str) -> L.Lit:
    return L.Lit(False if dtype == "bool" else 0, dtype)


_TEXTS = {
    "gcd": """
def gcd(x, y):
    x = abs(x)
    y = abs(y)
    while y != 0:
        rest = x % y
        x = y
        y = rest
    return x
""",
    "lcm": """
def lcm(x, y):
    a = abs(x)
    b = abs(y)
    while b != 0:
        rest = a % b
        a = b
        b = rest
    return abs(x) // a * abs(y) if a != 0 else a
""",
    "logaddexp": """
def logaddexp(x, y):
    if x == y:
        return x + 0.6931471805599453
    d = x - y
    if d > 0:
        return x + math.log1p(math.exp(-d))
    if d <= 0:
        return y + math.log1p(math.exp(d))
    return d + 0.0
""",
    "logaddexp2": """
def logaddexp2(x, y):
    if x == y:
        return x + 1.0
    d = x - y
    if d > 0:
        return x + 1.4426950408889634 * math.log1p(math.exp(-d * 0.6931471805599453))
    if d <= 0:
        return y + 1.4426950408889634 * math.log1p(math.exp(d * 0.6931471805599453))
    return d + 0.0
""",
    "signbit": """
def signbit(x):
    return math.copysign(1.0, x) < 0.0
""",
    "sinc": """
def sinc(x):
    y = 3.141592653589793 * x
    return math.sin(y) / y if x != 0 else 1.0
""",
    "heaviside": """
def heaviside(x, at_zero):
    if x < 0:
        return 0.0
    if x > 0:
        return 1.0
    return at_zero + 0.0 if x == 0 else x + 0.0
""",
    "expit": """
def expit(x):
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)
""",
    "to_int": """
def to_int(x):
    if abs(x) < 9223372036854775808.0:
        return np.int64(x)
    return np.int64(-9223372036854775807 - 1)
""",
    "natural_power": """
def natural_power(x, n):
    out = x * 0 + 1
    while n > 0:
        if n & 1:
            out = out * x
        n = n >> 1
        if n > 0:
            x = x * x
    return out
""",
    "trip_count": """
def trip_count(start, stop, step):
    if step > 0:
        return (stop - start - 1) // step + 1 if start < stop else 0
    return (start - stop - 1) // -step + 1 if start > stop else 0
""",
    "arange_count": """
def arange_count(start, stop, step):
    steps = (stop - start) / step
    if steps != steps:
        return -1
    if not steps < 4611686018427387904.0:
        return 4611686018427387904
    return np.int64(libdevice.ceil(steps)) if steps > 0 else 0
""",
    "slice_start": """
def slice_start(given, start, n, step):
    if not given:
        return 0 if step > 0 else n - 1
    if start < 0:
        start = start + n
        if start < 0:
            return 0 if step > 0 else -1
    if start >= n:
        return n if step > 0 else n - 1
    return start
""",
    "slice_stop": """
def slice_stop(given, stop, n, step):
    if not given:
        return n if step > 0 else -1
    if stop < 0:
        stop = stop + n
        if stop < 0:
            return 0 if step > 0 else -1
    if stop >= n:
        return n if step > 0 else n - 1
    return stop
""",
    "int_floor_divide": """
def int_floor_divide(x, y):
    return x // y if y != 0 else x * 0
""",
    "int_remainder": """
def int_remainder(x, y):
    return x % y if y != 0 else x * 0
""",
    "int_fmod": """
def int_fmod(x, y):
    if y == 0:
        return x * 0
    rest = x % y
    return rest - y if rest != 0 and (x < 0) != (y < 0) else rest
""",
    "int_sign": """
def int_sign(x):
    return 1 if x > 0 else (-1 if x < 0 else 0)
""",
    "int_reciprocal": """
def int_reciprocal(x):
    return 1 // x if x != 0 else x * 0
""",
    "float_floor_divide": """
def float_floor_divide(x, y):
    if y == 0:
        return x / y
    rest = math.fmod(x, y)
    whole = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        whole = whole - 1.0
    if whole == 0:
        return math.copysign(0.0, x / y)
    down = libdevice.floor(whole)
    return down + 1.0 if whole - down > 0.5 else down
""",
    "float_remainder": """
def float_remainder(x, y):
    rest = math.fmod(x, y)
    if rest == 0:
        return math.copysign(0.0, y)
    return rest + y if (y < 0) != (rest < 0) else rest
""",
    "float_sign": """
def float_sign(x):
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return 0.0 if x == 0 else x + 0.0
""",
    "float_reciprocal": """
def float_reciprocal(x):
    return 1.0 / x
""",
}
