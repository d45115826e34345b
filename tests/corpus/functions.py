"""Helpers, lambdas, closures, functions as arguments, defaults, recursion; errors and prints."""

# ruff: noqa: B007

import functools
import math

import numpy as np

from . import N, arr, case, num, value


def _square(x):
    return x * x


def _poly(x, a, b=2.0, *, c=0.5):
    return a * x * x + b * x + c


@case(num(), tags="functions helpers jax")
def calls_helper(x):
    return _square(x) + _square(_square(x) + 1.0)


@case(num(), tags="functions defaults jax")
def helper_with_defaults(x):
    return _poly(x, 1.0) + _poly(x, x, 3.0) + _poly(x, b=x, a=2.0) + _poly(x, 1.0, c=x)


@case(num(), tags="functions defaults jax")
def default_arguments(x, k=3.0, n=2):
    return x**n * k


@case(
    num(),
    num(),
    tags="functions keyword jax",
    kw={"scale": num(), "shift": num()},
    wrt=("x", "scale"),
)
def keyword_only(x, y, *, scale, shift=0.0):
    return x * scale + y * shift * x


@case(
    num(),
    tags="functions static jax",
    kw={"mode": value("double"), "times": value(3)},
    static=("mode", "times"),
)
def static_arguments(x, mode="single", times=1):
    for _ in range(times):
        x = x * 2.0 if mode == "double" else x
        x = np.sin(x)
    return x


@case(num(), tags="functions lambda jax")
def local_lambda(x):
    f = lambda t: t * t + x  # noqa: E731
    g = lambda t, k=2.0: f(t) * k  # noqa: E731
    return f(x) + g(x) + (lambda u: u**3)(x)


@case(num(), num(), wrt=(0, 1), tags="functions nested jax")
def local_function(x, y):
    def inner(t):
        return t * y + x

    def outer(t):
        return inner(inner(t))

    return outer(x) * inner(y)


def _apply(f, x, n):
    for _ in range(n):
        x = f(x)
    return x


@case(num(), N, tags="functions passed")
def function_as_argument(x, n):
    return _apply(np.sin, x, n) + _apply(lambda t: t * x, x, n) + _apply(_square, x, 2)


@case(num(), value(math.sin), tags="functions passed")
def function_from_outside(x, f):
    return f(x) * f(x * x)


@case(num(), N, tags="functions passed")
def functions_in_a_table(x, n):
    table = (np.sin, np.cos, _square)
    names = {"sq": _square, "tanh": np.tanh}
    s = 0.0
    for f in table:
        s += f(x)
    for i in range(n):
        s = names["sq"](s) * 0.5 + names["tanh"](x)
    return s


def _factorial_like(x, n):
    if n <= 0:
        return 1.0
    return x * n * _factorial_like(x, n - 1)


@case(num(0.3, 0.8), N, tags="functions recursion")
def recursive_helper(x, n):
    return _factorial_like(x, n) + x


@case(num(0.3, 0.8), N, tags="functions recursion")
def recursive_itself(x, n):
    if n == 0:
        return np.sin(x)
    return x * recursive_itself(x * 0.9, n - 1) + 0.1


def _even(x, n):
    return x if n == 0 else _odd(x * x, n - 1)


def _odd(x, n):
    return x * 3.0 if n == 0 else _even(x + 0.5, n - 1)


@case(num(0.3, 0.8), N, tags="functions recursion")
def mutual_recursion(x, n):
    return _even(x, n) + x


def _fib(x, n):
    if n < 2:
        return x + n
    return _fib(x, n - 1) * _fib(x, n - 2)


@case(num(0.3, 0.8), N, tags="functions recursion")
def tree_recursion(x, n):
    return _fib(x, n)


def _closures():
    k = 2.5
    table = np.array([0.5, -0.25, 1.5])

    @case(arr(3), tags="functions closure jax")
    def closure_over_scalar_and_array(x):
        return np.sum(k * x * table) + table[0] * x[1] ** 2

    def helper(t):
        return t * k

    @case(num(), tags="functions closure jax")
    def closure_over_function(x):
        return helper(x) * helper(x + 1.0)


_closures()

GLOBAL_SCALE = 1.5
GLOBAL_TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])


@case(arr(2), tags="functions globals jax")
def global_numbers_and_arrays(x):
    return np.sum(GLOBAL_TABLE @ x) * GLOBAL_SCALE


def _make_scaler(k):
    def scale(t):
        return t * k

    return scale


@case(num(), num(), wrt=(0, 1), tags="functions closure jax")
def closure_made_inside(x, y):
    f = _make_scaler(y)
    g = _make_scaler(x)
    return f(x) + g(y) * f(1.0)


@case(num(), tags="functions partial")
def with_partial(x):
    f = functools.partial(_poly, a=3.0, c=1.0)
    return f(x) * f(x, b=x)


def _sum_all(*xs, **named):
    s = 0.0
    for x in xs:
        s += x * x
    for k in named:
        s += named[k]
    return s


@case(num(), num(), wrt=(0, 1), tags="functions star")
def star_arguments(x, y):
    pair = (x, y)
    extra = {"c": x * y}
    return _sum_all(x, y, x * y) + _sum_all(*pair) + _sum_all(x, b=y, **extra)


@case(num(), num(), num(), tags="functions star", wrt=0)
def star_parameter(x, *rest):
    s = x
    for r in rest:
        s = s * r + x
    return s


class Oscillator:
    def __init__(self, k):
        self.k = k

    def force(self, x):
        return -self.k * x

    def energy(self, x):
        return 0.5 * self.k * x * x - self.force(x)

    def __call__(self, x):
        return self.energy(x) * 2.0

    @staticmethod
    def damp(v):
        return v * 0.9

    @property
    def doubled(self):
        return self.k * 2.0


_SPRING = Oscillator(1.7)


@case(num(), tags="functions objects")
def methods_of_object(x):
    return _SPRING.energy(x) + _SPRING(x) * _SPRING.k + Oscillator.damp(x) + _SPRING.doubled * x


@case(num(), value(Oscillator(0.7)), tags="functions objects")
def object_argument(x, osc):
    return osc.energy(x) * osc.k


@case(num(0.2, 0.8), tags="functions docstring jax")
def docstring_and_annotations(x: float, y: "float" = 2.0) -> float:
    """Squares, twice."""
    z: float = x * y
    w: float
    w = z * z  # a comment
    return w


@case(num(0.2, 0.8), N, tags="functions raise")
def raises_unless_positive(x, n):
    if x <= 0:
        raise ValueError(f"x must be positive, got {x}")
    for i in range(n):
        if i > 10:
            raise RuntimeError("too many")
    return x * x


@case(num(0.2, 0.8), tags="functions assert")
def asserts(x):
    assert x > 0.0, "x must be positive"
    y = x * x
    assert y < 10.0
    return y


@case(num(0.2, 0.8), N, tags="functions print")
def prints_once(x, n):
    print("n is", n)
    for i in range(n):
        print(f"step {i}", i * 2, sep=": ")
        x = x * x
    print("done", end="!\n")
    return x


@case(arr(3), tags="functions inplace jax")
def helper_with_vectors(x):
    def normalise(v):
        return v / np.sqrt(np.sum(v * v) + 1.0)

    return np.sum(normalise(normalise(x) * 2.0) * np.arange(3.0))


def _early(x):
    if x > 0.5:
        return x
    for i in range(3):
        x = x * 1.5
        if x > 0.6:
            return x * 2.0
    return -x


@case(arr(N), tags="functions return")
def helper_with_early_returns(x):
    s = 0.0
    for v in x:
        s += _early(v) * v
    return s


@case(arr(N), tags="functions helpers loops")
def helper_in_loop(x):
    s = 1.0
    for i in range(x.shape[0]):
        s = _poly(s, x[i], c=_square(x[i]))
    return s


@case(arr(3), tags="functions shadow")
def names_that_clash(x):
    x_bar = np.sum(x)
    out = x_bar * 2.0
    out_bar = out * x[0]
    d = out_bar
    np_ = d + 1.0
    x_1 = np_ * x[1]
    s_bar = 0.0
    for i in range(3):
        s_bar += x[i] * x_1
    return s_bar + out


@case(num(), tags="functions type")
def compile_time_branches(x):
    if isinstance(x, float) or isinstance(x, np.floating):
        y = x * 2.0
    else:
        y = x * 100.0
    if np.ndim(x) == 0 and len((1, 2)) == 2:
        y = y * x
    return y


def scaled(factor):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return factor * function(*args, **kwargs)

        return wrapper

    return decorate


def swapped(function):
    @functools.wraps(function)
    def wrapper(b, a):
        return function(a, b)

    return wrapper


@scaled(3.0)
def _weighted(x, w=1.0):
    return np.sum(x) * w


@swapped
def _difference(a, b):
    return a - 2.0 * b


@case(arr(3), num(), wrt=(0, 1), tags="functions decorated")
def helpers_with_decorators(x, w):
    return _weighted(x, w=w) + _weighted(x) + _difference(w, x[0]) + _difference(b=w, a=x[1])


@case(arr(N + 1), tags="functions imports")
def imports_inside(x):
    import math as m

    import scipy.special
    from numpy import sin as sine
    from numpy.linalg import norm

    def inner(v):
        from scipy import special

        return special.expit(v)

    return m.sqrt(2.0) * np.sum(sine(x)) + norm(x) + scipy.special.erf(x[0]) + inner(x[-1])


@case(arr(N + 1), num(), N, wrt=(0, 1), tags="functions del loops branches")
def names_forgotten(x, s, n):
    y = x * s
    z = y + 1.0
    del y
    for i in range(n):
        t, u = z[i] * s, i
        s += t
        del t, u
    y = s
    if s > 0.5:
        w = y * y
        y = w
        del w
    del x, z
    return y
