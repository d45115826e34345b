"""Compares every function of numpy, numpy.linalg, numpy.fft, scipy.special and scipy.linalg with
the library.

The names are those of the modules.  For each supported one `call_of` is a call of it.  The value,
dtype and shape are compared with NumPy's for every dtype, for special values, for empty and 0-d
arrays; first and second derivatives are compared with differences.

    python -m tests.attack.functions > docs/functions.md     (the table; takes some minutes)
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

import s2s
from s2s.errors import S2SError
from s2s.transforms.rules import SURFACES
from s2s.transforms.rules.library import LIBRARY

MODULES = {
    "numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft,
    "scipy.special": scipy.special, "scipy.linalg": scipy.linalg,
}  # fmt: skip
SHORT = {"numpy": "np", "numpy.linalg": "np.linalg", "numpy.fft": "np.fft",
         "scipy.special": "special", "scipy.linalg": "linalg"}  # fmt: skip
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
KINDS = {
    "bool": ["bool"],
    "integers": INTEGERS,
    "floats": ["float32", "float64"],
    "complex": ["complex64", "complex128"],
}
DTYPES = [d for dtypes in KINDS.values() for d in dtypes]
SHAPES = ("plain", "special", "empty", "0-d")


def names(module: str) -> list[str]:
    """The public functions and ufuncs of a module."""
    found = MODULES[module]
    return [
        n for n in sorted(dir(found))
        if not n.startswith("_")
        and n != "test"
        and callable(getattr(found, n))
        and not inspect.isclass(getattr(found, n))
    ]  # fmt: skip


def paths() -> list[str]:
    return [f"{module}.{name}" for module in MODULES for name in names(module)]


def is_supported(path: str) -> bool:
    """True if the function is supported under its name or an alias, as `numpy.pow` is
    `numpy.power`."""
    return path in SURFACES or path in LIBRARY or id(function_of(path)) in _supported()


def function_of(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(MODULES[module], name)


@functools.cache
def _supported() -> set[int]:
    return {id(function_of(p)) for p in paths() if p in SURFACES or p in LIBRARY}


# ---------------------------------------------------------------- how each one is called

# `x` and `y` are vectors, `m` is a matrix, `q` a square one, `p` a positive definite one, all of
# the tested dtype. `k` holds small integers, `n` is 3.  Statements may precede the result.
_CALLS: dict[str, str] = {}


def _calls(module: str, form: str, text: str) -> None:
    for name in text.split():
        _CALLS[f"{module}.{name}"] = form.replace("@", f"{SHORT[module]}.{name}")


_calls("numpy", "@(x, y)", """
append allclose array_equal array_equiv convolve correlate cross dot inner intersect1d isclose isin
kron outer polyadd polymul polysub setdiff1d setxor1d union1d vdot tensordot broadcast_arrays cov
corrcoef can_cast result_type promote_types
""")  # fmt: skip
_calls(
    "numpy",
    "@(m)",
    """
diagonal fliplr flipud hsplit matrix_transpose rot90 trace transpose tril triu cov tril_indices_from
triu_indices_from vander
""",
)
_calls(
    "numpy",
    "@((x, y))",
    """
column_stack concat concatenate dstack hstack row_stack stack vstack lexsort
""",
)
_calls(
    "numpy",
    "@(n)",
    """
bartlett blackman diag_indices eye hamming hanning identity tri tril_indices triu_indices empty ones
zeros arange fftfreq rfftfreq
""",
)
_calls("numpy", "@(x, 0.3)", "quantile nanquantile")
_calls("numpy", "@(x, 30)", "percentile nanpercentile")
_calls("numpy", "@(x, 1)", "partition argpartition roll repeat tile")
_calls("numpy", "@(k)", "bincount")
_CALLS |= {
    "numpy.apply_along_axis": "np.apply_along_axis(np.sum, 0, m)",
    "numpy.apply_over_axes": "np.apply_over_axes(np.sum, m, [0])",
    "numpy.array_split": "np.array_split(x, 2)",
    "numpy.astype": "np.astype(x, np.float64)",
    "numpy.block": "np.block([x, y])",
    "numpy.broadcast_shapes": "np.broadcast_shapes(x.shape, (1,))",
    "numpy.broadcast_to": "np.broadcast_to(x, (2, *x.shape))",
    "numpy.choose": "np.choose(k % 2, (x, y))",
    "numpy.clip": "np.clip(x, 0, 2)",
    "numpy.compress": "np.compress(k > 0, x)",
    "numpy.extract": "np.extract(k > 0, x)",
    "numpy.delete": "np.delete(x, 0)",
    "numpy.diag_indices_from": "np.diag_indices_from(q)",
    "numpy.digitize": "np.digitize(x, np.array([0, 1]))",
    "numpy.dsplit": "np.dsplit(m[:, :, None], 1)",
    "numpy.hsplit": "np.hsplit(m, 2)",
    "numpy.vsplit": "np.vsplit(m, 3)",
    "numpy.split": "np.split(m, 3)",
    "numpy.einsum": "np.einsum('i,i->', x, y)",
    "numpy.expand_dims": "np.expand_dims(x, 0)",
    "numpy.fill_diagonal": "q = q.copy(); np.fill_diagonal(q, 1); q",
    "numpy.fromfunction": "np.fromfunction(lambda i: i * 2, (n,))",
    "numpy.fromiter": "np.fromiter([1.0, 2.0], dtype=np.float64)",
    "numpy.full": "np.full(n, 2.5)",
    "numpy.full_like": "np.full_like(x, 1)",
    "numpy.geomspace": "np.geomspace(1.0, 8.0, 4)",
    "numpy.linspace": "np.linspace(0.0, 1.0, 5)",
    "numpy.logspace": "np.logspace(0.0, 1.0, 5)",
    "numpy.histogram": "np.histogram(x, 3)",
    "numpy.histogram_bin_edges": "np.histogram_bin_edges(x, 3)",
    "numpy.indices": "np.indices((2, 3))",
    "numpy.insert": "np.insert(x, 1, 1)",
    "numpy.interp": "np.interp(x, np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0]))",
    "numpy.issubdtype": "np.issubdtype(x.dtype, np.floating)",
    "numpy.ix_": "np.ix_(k, k)",
    "numpy.kaiser": "np.kaiser(n, 2.0)",
    "numpy.ldexp": "np.ldexp(x, 2)",
    "numpy.left_shift": "np.left_shift(x, 1)",
    "numpy.right_shift": "np.right_shift(x, 1)",
    "numpy.matvec": "np.matvec(q, q[0])",
    "numpy.vecmat": "np.vecmat(q[0], q)",
    "numpy.matmul": "np.matmul(q, m)",
    "numpy.meshgrid": "np.meshgrid(x, y)",
    "numpy.moveaxis": "np.moveaxis(m, 0, 1)",
    "numpy.swapaxes": "np.swapaxes(m, 0, 1)",
    "numpy.rollaxis": "np.rollaxis(m, 1)",
    "numpy.permute_dims": "np.permute_dims(m, (1, 0))",
    "numpy.pad": "np.pad(x, 1)",
    "numpy.piecewise": "np.piecewise(x, [k > 0], [lambda v: v * 2, 1])",
    "numpy.place": "x = x.copy(); np.place(x, k > 0, [1]); x",
    "numpy.putmask": "x = x.copy(); np.putmask(x, k > 0, y); x",
    "numpy.put": "x = x.copy(); np.put(x, [0], [1]); x",
    "numpy.put_along_axis": "m = m.copy(); np.put_along_axis(m, np.array([[0]]), 1, 1); m",
    "numpy.take": "np.take(x, [0, 1])",
    "numpy.take_along_axis": "np.take_along_axis(m, np.array([[0], [1], [0]]), 1)",
    "numpy.polyfit": "np.polyfit(np.arange(4.0), m[0], 1)",
    "numpy.polyval": "np.polyval(x[:3], y)",
    "numpy.ravel_multi_index": "np.ravel_multi_index((1, 2), (3, 4))",
    "numpy.unravel_index": "np.unravel_index(5, (3, 4))",
    "numpy.reshape": "np.reshape(x, (-1, 1))",
    "numpy.resize": "np.resize(x, (2, 3))",
    "numpy.searchsorted": "np.searchsorted(np.array([0.0, 1.0, 2.0]), x)",
    "numpy.select": "np.select([k > 0], [x], 0)",
    "numpy.sum": "np.sum(x)",
    "numpy.where": "np.where(k > 0, x, y)",
    "numpy.average": "np.average(x)",
    "numpy.isscalar": "np.isscalar(n)",
    "numpy.iterable": "np.iterable(x)",
    "numpy.gradient": "np.gradient(x)",
    "numpy.vander": "np.vander(x, 3)",
    "numpy.unstack": "np.unstack(m)",
    "numpy.tri": "np.tri(n)",
}
_calls("numpy.linalg", "@(q)", "cond det eig eigvals inv matrix_rank qr slogdet svd svdvals trace")
_calls("numpy.linalg", "@(p)", "cholesky eigh eigvalsh")
_calls("numpy.linalg", "@(m)", "diagonal matrix_norm matrix_transpose norm pinv vector_norm")
_calls("numpy.linalg", "@(q, q[0])", "solve")
_calls("numpy.linalg", "@(q, m)", "matmul")
_calls("numpy.linalg", "@(q[0], q[1])", "cross outer vecdot")
_CALLS |= {
    "numpy.linalg.lstsq": "np.linalg.lstsq(m.T, m[0], rcond=None)[0]",
    "numpy.linalg.matrix_power": "np.linalg.matrix_power(q, 3)",
    "numpy.linalg.multi_dot": "np.linalg.multi_dot([q, q, m])",
    "numpy.linalg.tensordot": "np.linalg.tensordot(q, m, axes=1)",
    "numpy.linalg.tensorinv": "np.linalg.tensorinv(q, ind=1)",
    "numpy.linalg.tensorsolve": "np.linalg.tensorsolve(q, q[0])",
    "numpy.fft.fftfreq": "np.fft.fftfreq(n)",
    "numpy.fft.rfftfreq": "np.fft.rfftfreq(n)",
}
_calls("numpy.fft", "@(m)", "fft2 fftn ifft2 ifftn irfft2 irfftn rfft2 rfftn")
_calls("scipy.special", "@(x, y)", """
beta betaln huber kl_div pseudo_huber rel_entr xlog1py xlogy
""")  # fmt: skip
_calls("scipy.special", "@(2, x)", "iv ive jn jv polygamma")
_CALLS["scipy.special.multigammaln"] = "special.multigammaln(x + 3, 2)"
_calls("scipy.linalg", "@(q)", "det eig eigvals expm inv lu_factor qr svd svdvals")
_calls("scipy.linalg", "@(p)", "cho_factor cholesky eigh eigvalsh")
_calls("scipy.linalg", "@(m)", "norm pinv")
_calls("scipy.linalg", "@(q, q[0])", "solve")
_calls("scipy.linalg", "@(x)", "circulant hankel toeplitz")
_CALLS |= {
    "scipy.linalg.block_diag": "linalg.block_diag(q, m)",
    "scipy.linalg.cho_solve": "linalg.cho_solve(linalg.cho_factor(p), p[0])",
    "scipy.linalg.lu_solve": "linalg.lu_solve(linalg.lu_factor(q), q[0])",
    "scipy.linalg.solve_banded": "linalg.solve_banded((1, 1), q, q[0])",
    "scipy.linalg.solve_triangular": "linalg.solve_triangular(q, q[0])",
}

# The range of arguments in which differences approximate the derivative; the default is 0.2 to 0.9.
_DOMAINS = {
    "arccosh": (1.2, 3.0), "acosh": (1.2, 3.0), "gamma": (1.2, 3.0), "gammaln": (1.2, 3.0),
    "loggamma": (1.2, 3.0), "digamma": (1.2, 3.0), "psi": (1.2, 3.0), "polygamma": (1.2, 3.0),
}  # fmt: skip
# Functions that select or count, or whose order is random: differences do not approximate a
# derivative.
_NO_DIFFERENCES = set(
    """
numpy.frexp numpy.union1d numpy.setxor1d numpy.histogram numpy.histogram_bin_edges numpy.unwrap
numpy.empty numpy.empty_like
numpy.linalg.eig numpy.linalg.eigvals numpy.linalg.eigh numpy.linalg.svd numpy.linalg.matrix_rank
scipy.linalg.eig scipy.linalg.eigvals scipy.linalg.eigh scipy.linalg.svd
""".split()
)


def call_of(path: str) -> str:
    """The statements, separated by semicolons, of which the last is the result."""
    if path in _CALLS:
        return _CALLS[path]
    module, _, name = path.rpartition(".")
    function = function_of(path)
    args = "x, y" if isinstance(function, np.ufunc) and function.nin == 2 else "x"
    return f"{SHORT[module]}.{name}({args})"


_NAMES = ("x", "y", "m", "q", "p", "k", "n")


def arguments(path: str) -> list[str]:
    text = call_of(path)
    tree = ast.parse(text)
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return [n for n in _NAMES if n in read]


def _source(number: int, path: str) -> str:
    *statements, result = (part.strip() for part in call_of(path).split(";"))
    args, gap = ", ".join(arguments(path)), "\n    "
    body = gap.join([*statements, f"return {result}"])
    return f"def call_{number}({args}):{gap}{body}\n"


@functools.cache
def programs() -> dict[str, Any]:
    """The calls as functions of a module, by path."""
    every = paths()
    text = "import numpy as np\nfrom scipy import linalg, special\n\n\n" + "\n\n".join(
        _source(i, path) for i, path in enumerate(every)
    )
    file = Path(tempfile.mkdtemp()) / "called_functions.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return {path: getattr(module, f"call_{i}") for i, path in enumerate(every)}


# ---------------------------------------------------------------- inputs


def special_values(dtype: str) -> list[Any]:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return [False, True]
    if kind in "iu":
        ends = np.iinfo(dtype)
        return [0, 1, 2, 7, int(ends.max), *([-1, -7, int(ends.min)] if kind == "i" else [])]
    tiny = float(np.finfo(dtype).smallest_subnormal)
    large = float(np.finfo(dtype).max) / 4
    reals = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, large, -large, tiny, -tiny]
    if kind == "f":
        return reals
    return [
        0j,
        1 + 1j,
        -2.5 + 0.5j,
        1j,
        complex(np.inf, 0),
        complex(0, -np.inf),
        complex(np.nan, 1),
    ]


def random_array(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0, 5, shape).astype(dtype)
    real = rng.uniform(0.2, 0.9, shape)
    return (real + 1j * rng.uniform(0.2, 0.9, shape) if kind == "c" else real).astype(dtype)


def inputs(path: str, dtype: str, shape: str) -> Iterator[dict[str, Any]]:
    """Arguments: `shape` is "plain", "special", "empty" or "0-d"."""
    rng = np.random.default_rng(7)
    values = np.array(special_values(dtype), dtype)
    matrices = {
        "m": random_array(rng, dtype, 3, 4),
        "q": random_array(rng, dtype, 3, 3) + np.eye(3, dtype=dtype),
    }
    matrices["p"] = matrices["q"] if dtype == "bool" else (
        matrices["q"] @ matrices["q"].T.conj() + np.eye(3, dtype=dtype)
    ).astype(dtype)  # fmt: skip
    fixed = {"n": 3}
    wanted = arguments(path)

    def chosen(vectors: dict[str, Any]) -> dict[str, Any]:
        size = np.size(vectors["x"])
        k = np.arange(size) % 3
        k = k if np.ndim(vectors["x"]) else np.array(1)
        every = {**vectors, **matrices, **fixed, "k": k}
        return {n: every[n] for n in wanted}

    if shape == "plain":
        x, y = random_array(rng, dtype, 5), random_array(rng, dtype, 5)
        yield chosen({"x": x, "y": y})
    elif shape == "special":
        if "x" in wanted:
            pairs = np.array([(a, b) for a in values for b in values], dtype)
            both = {"x": pairs[:, 0].copy(), "y": pairs[:, 1].copy()}
            yield chosen(both if "y" in wanted else {"x": values, "y": values})
        elif np.dtype(dtype).kind in "fc":
            for v in (0.0, np.nan):
                yield {n: np.full_like(a, v) if n in matrices else a for n, a in
                       chosen({"x": values, "y": values}).items()}  # fmt: skip
    elif shape == "empty":
        empty = np.zeros(0, dtype)
        if {"x", "m", "q", "p"} & set(wanted):
            made = chosen({"x": empty, "y": empty})
            yield {n: a[:0] if n == "m" else a[:0, :0] if n in "qp" else a
                   for n, a in made.items()}  # fmt: skip
    elif shape == "0-d" and "x" in wanted:
        for v in values[: 1 if np.dtype(dtype).kind != "f" else 6]:
            yield chosen({"x": np.array(v, dtype), "y": np.array(values[1], dtype)})


# ---------------------------------------------------------------- judging


@dataclass
class Outcome:
    """`verdict` is "right", "refused", "nothing" (NumPy itself refuses), "known" or "wrong"."""

    verdict: str
    detail: str = ""


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _copies(values: dict[str, Any]) -> dict[str, Any]:
    return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values.items()}


@dataclass(frozen=True)
class Difference:
    """The difference of a result from NumPy's, with both results if shape and dtype are equal."""

    text: str
    got: Any = None
    want: Any = None
    exact: bool = False


def _size(x: Any) -> Any:
    return np.abs(np.asarray(x, np.float64))


def difference(
    got: Any, want: Any, rtol: float = 0.0, exact: bool = False, terms: float = 0.0
) -> Difference | None:
    """Compare results.  The tolerance of floats is 64 ulp, or `rtol`; unless `exact`, it is also
    relative to the largest element and to the largest of the `terms` of a sum."""
    ours, theirs = _leaves(got), _leaves(want)
    if len(ours) != len(theirs):
        return Difference(f"{len(ours)} results for {len(theirs)}")
    for g, w in zip(ours, theirs):
        if isinstance(w, (np.dtype, type, str, bool, int)) or w is None:
            if not np.all(g == w):
                return Difference(f"{g!r} for {w!r}")
            continue
        g, w = np.asarray(g), np.asarray(w)
        if g.shape != w.shape:
            return Difference(f"shape {g.shape} for {w.shape}")
        if g.dtype != w.dtype:
            return Difference(f"dtype {g.dtype} for {w.dtype}")
        same = _equal_elements(g, w, rtol, exact, terms)
        if not np.all(same):
            at = np.argwhere(~np.atleast_1d(same))[0]
            one = tuple(at) if g.ndim else ()
            text = f"{g[one]!r} for {w[one]!r} at {tuple(int(i) for i in at)}"
            return Difference(text, g, w, exact)
    return None


def _equal_elements(g: Any, w: Any, rtol: float, exact: bool, terms: float) -> Any:
    if w.dtype.kind not in "fc":
        return g == w
    rtol = rtol or 64 * float(np.finfo(w.dtype).eps)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=terms)
        large = exact or scale >= np.sqrt(np.finfo(w.dtype).max)
        smallest = float(np.finfo(w.dtype).tiny)
        atol = smallest if large else max(rtol * float(scale), smallest)
        return np.isclose(g, w, rtol=rtol, atol=atol, equal_nan=True)


# The compared value where NumPy does not define the order of some elements.
_COMPARED: dict[str, Callable[..., Any]] = {
    "numpy.partition": lambda out, x: (out[1], np.sort(out[:1]), np.sort(out[2:])),
    "numpy.argpartition": lambda out, x: (
        x[out[1]], np.sort(x[out[:1]]), np.sort(x[out[2:]]), np.sort(out)
    ),
}  # fmt: skip


REFUSALS = (S2SError,)


def run(path: str, values: dict[str, Any], shape: str = "plain", backend: str = "loops") -> Outcome:
    """Compare one call with NumPy."""
    program = programs()[path]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want, raised = program(**_copies(values)), None
        except Exception as error:
            want, raised = None, error
        try:
            got = s2s.function(program, backend=backend)(**_copies(values))
        except s2s.InternalCompilerError as error:
            return Outcome("wrong", f"internal error: {error}".split("\n")[0])
        except REFUSALS as error:
            return Outcome("nothing" if raised else "refused", str(error).split("\n")[0])
        except Exception as error:
            if raised is not None:
                return Outcome("nothing", f"{type(error).__name__}")
            text = f"raises {type(error).__name__}: {error}".split("\n")[0]
            return _judged(path, values, shape, Difference(text))
    if raised is not None:
        text = f"gives {_leaves(got)[0]!r}, NumPy raises {raised!r}"[:160]
        return _judged(path, values, shape, Difference(text))
    if path in ("numpy.empty", "numpy.empty_like"):
        return Outcome("right")
    if path in _COMPARED and np.size(got) > 1:
        got, want = (_COMPARED[path](v, values["x"]) for v in (got, want))
    # Near the zeros of a function only the absolute error is small.
    of_zeros = shape == "plain" or path.rpartition(".")[2][0] == "j"
    exact = isinstance(function_of(path), np.ufunc) and not of_zeros
    arrays = [] if isinstance(function_of(path), np.ufunc) else values.values()
    whole = [v for v in arrays if isinstance(v, np.ndarray) and v.dtype.kind in "iu"]
    terms = max((float(np.max(_size(v), initial=0)) for v in whole), default=0.0)
    return _judged(path, values, shape, difference(got, want, exact=exact, terms=terms))


def _judged(path: str, values: dict[str, Any], shape: str, found: Difference | None) -> Outcome:
    if found is None:
        return Outcome("right")
    known = path in KNOWN and KNOWN[path].excuses(values, shape, found)
    return Outcome("known" if known else "wrong", found.text)


def refusal(path: str) -> list[str]:
    """True if an unsupported function is refused by name."""
    try:
        s2s.function(programs()[path], backend="loops")(**next(inputs(path, "float64", "plain")))
    except s2s.InternalCompilerError as error:
        return [f"internal error: {error}".split("\n")[0]]
    except S2SError:
        return []
    except Exception as error:
        return [f"raises {type(error).__name__}: {error}".split("\n")[0]]
    return ["is computed"]


def derivatives(path: str, backend: str = "loops") -> Outcome:
    """Compare first and second derivatives with differences."""
    program = programs()[path]
    low, high = _DOMAINS.get(path.rpartition(".")[2], (0.2, 0.9))
    values = next(inputs(path, "float64", "plain"))
    for name in ("x", "y"):
        if name in values:
            values[name] = (values[name] - 0.2) / 0.7 * (high - low) + low
    floats = [n for n, v in values.items() if np.asarray(v).dtype == np.float64 and n != "n"]
    if not floats or path in _NO_DIFFERENCES:
        return Outcome("nothing")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = _leaves(program(**_copies(values)))
        except Exception:
            return Outcome("nothing")
        kinds = {np.asarray(r).dtype.kind for r in results}
        if not kinds & set("fc"):
            return Outcome("nothing")
        try:
            return _against_differences(path, program, values, floats, backend)
        except s2s.InternalCompilerError as error:
            return Outcome("wrong", f"internal error: {error}".split("\n")[0])
        except REFUSALS as error:
            return Outcome("refused", str(error).split("\n")[0])


_HARNESS = """import numpy as np
import s2s
from called_functions import {name} as program


def weigh(values):
    total = 0.0
    for v in values:
        w = np.cos(np.arange(np.size(v)) + 1.0)
        part = np.reshape(v, (-1,))
        total = total + np.sum(w * np.real(part)) + np.sum(w * w * np.imag(part))
    return total


def value({args}):
    out = program({args})
    return weigh({leaves})


def slope({args}, {ways}):
    gradients = s2s.grad(value, wrt={wrt})({args})
    return {products}
"""


def _against_differences(
    path: str, program: Any, values: dict[str, Any], floats: list[str], backend: str
) -> Outcome:
    out = program(**_copies(values))
    parts = out if isinstance(out, (tuple, list)) else None
    chosen = range(len(parts)) if parts is not None else ()
    leaves = [f"out[{i}]" for i in chosen if np.asarray(parts[i]).dtype.kind in "fc"]  # type: ignore[index]
    args = ", ".join(values)
    single = len(floats) == 1
    text = _HARNESS.format(
        name=program.__name__, args=args,
        leaves=f"[{', '.join(leaves) if parts is not None else 'out'}]",
        ways=", ".join(f"way_{n}" for n in floats), wrt=tuple(floats),
        products=" + ".join(
            f"np.sum(way_{n} * {'gradients' if single else f'gradients[{i}]'})"
            for i, n in enumerate(floats)
        ),
    )  # fmt: skip
    file = Path(tempfile.mkdtemp()) / f"derivatives_of_{path.replace('.', '_')}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    rng = np.random.default_rng(3)
    ways = {n: rng.normal(size=np.shape(values[n])) for n in floats}
    if "p" in ways:  # a symmetric matrix stays one
        ways["p"] = ways["p"] + ways["p"].T
    given = {f"way_{n}": w for n, w in ways.items()}

    def moved(t: float) -> dict[str, Any]:
        return {n: v + t * ways[n] if n in ways else v for n, v in _copies(values).items()}

    first = s2s.function(module.slope, backend=backend)
    want = _difference(lambda t: module.value(**moved(t)))
    got = float(first(**_copies(values), **given))
    if not np.isclose(got, want, rtol=2e-5, atol=2e-6):
        return Outcome("wrong", f"first derivative {got:.8g}, differences {want:.8g}")
    second = s2s.grad(module.slope, wrt=tuple(floats), backend=backend)
    found = second(**_copies(values), **given)
    found = [found] if single else list(found)
    got = float(sum(np.sum(ways[n] * g) for n, g in zip(floats, found)))
    want = _difference(lambda t: float(first(**moved(t), **given)))
    if not np.isclose(got, want, rtol=1e-4, atol=2e-6):
        return Outcome("wrong", f"second derivative {got:.8g}, differences {want:.8g}")
    return Outcome("right")


def _difference(f: Any) -> float:
    """A central difference of fourth order."""
    h = 1e-3
    return float((8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h))


@dataclass(frozen=True)
class Deviation:
    """An accepted deviation from NumPy, with its reason: the dtypes and kinds of input, and there
    the elements, the tolerance or the kind of difference."""

    why: str
    dtypes: tuple[str, ...] = tuple(DTYPES)
    shapes: tuple[str, ...] = SHAPES
    at: Callable[..., Any] | None = None  # of the arguments: a mask of elements
    rtol: float = 0.0
    kind: str = ""  # the beginning of the difference's description

    def excuses(self, values: dict[str, Any], shape: str, found: Difference) -> bool:
        array = next(v for v in values.values() if isinstance(v, np.ndarray))
        if array.dtype.name not in self.dtypes or shape not in self.shapes:
            return False
        if self.kind:
            return found.text.startswith(self.kind)
        if found.got is None:
            return False
        if self.at is None:
            return not difference(found.got, found.want, self.rtol)
        everywhere = ~np.broadcast_to(self.at(**values), np.shape(found.want))
        return not difference(
            np.asarray(found.got)[everywhere], found.want[everywhere], exact=found.exact
        )


_FLOATS = tuple(KINDS["floats"])
_WHOLE = ("bool", *INTEGERS)
_SMALL = ("bool", "int8", "int16", "uint8", "uint16")


def _subnormal(*arrays: Any) -> Any:
    tiny = np.finfo(np.float64).tiny
    return functools.reduce(np.logical_or, [(v != 0) & (np.abs(v) < tiny) for v in arrays])


_SUBNORMAL = "SciPy overflows for subnormal numbers, for which there are finite values"
_EMPTY_DTYPE = "of an empty array of integers NumPy gives integers, here float64"
_AMOS = "SciPy gives NaN for very large and subnormal arguments, here the value or the limit"

KNOWN: dict[str, Deviation] = {
    **dict.fromkeys(
        ("scipy.special.beta", "scipy.special.betaln"),
        Deviation(
            "SciPy takes no integers below -2**31 for poles, overflows for subnormal numbers and"
            " loses digits for large ones",
            shapes=("special",),
            at=lambda x, y: (_size(x) > 100) | (_size(y) > 100) | _subnormal(x, y),
        ),
    ),
    **dict.fromkeys(
        (f"scipy.special.{n}" for n in "erfcinv gammaln loggamma".split()),
        Deviation(_SUBNORMAL, ("float64",), ("special",), at=lambda x: _subnormal(x)),
    ),
    **dict.fromkeys(
        ("scipy.special.iv", "scipy.special.ive"),
        Deviation(_AMOS, shapes=("special",), at=lambda x: (_size(x) > 1e9) | _subnormal(x)),
    ),
    **dict.fromkeys(
        (f"scipy.special.{n}" for n in "j0 j1 jn jv".split()),
        Deviation("SciPy loses digits for large arguments", at=lambda x: _size(x) > 1e4),
    ),
    "scipy.special.kl_div": Deviation(
        "SciPy overflows where x / y does, although the result is finite",
        ("float64",), ("special",),
        at=lambda x, y: _subnormal(x, y),
    ),
    "scipy.special.pseudo_huber": Deviation(
        "SciPy squares the quotient of its arguments, which overflows; here the value or the limit",
        _FLOATS, ("special",),
        at=lambda x, y: (_size(x) > 1e150) | (_size(y) > 1e150) | _subnormal(x, y),
    ),
    "scipy.linalg.det": Deviation(
        "SciPy computes float32 and small integers in float32, here float64",
        (*_SMALL, "float32"), rtol=1e-6,
    ),
    "scipy.linalg.expm": Deviation(
        "SciPy's result is right to 12 digits, here to 15", (*INTEGERS, "float64"), rtol=2e-12
    ),
    "scipy.linalg.lu_solve": Deviation(
        "a singular matrix is refused by a LinAlgError, where SciPy warns and gives infinities",
        _FLOATS, ("special",), kind="raises LinAlgError: singular matrix",
    ),
    **dict.fromkeys(
        ("scipy.linalg.lu_factor", "scipy.linalg.qr", "numpy.linalg.pinv"),
        Deviation(_EMPTY_DTYPE, _WHOLE, ("empty",), kind="dtype "),
    ),
}  # fmt: skip


def cases() -> list[tuple[str, str, str]]:
    """All triples of a supported function, a dtype and a kind of input."""
    return [
        (path, dtype, shape)
        for path in paths() if is_supported(path)
        for dtype in DTYPES
        for shape in SHAPES
    ]  # fmt: skip


def wrong(path: str, dtype: str, shape: str, backend: str = "loops") -> list[str]:
    """A description of the difference for a dtype and a kind of input; empty if there is none but
    known deviations."""
    found = [run(path, values, shape, backend) for values in inputs(path, dtype, shape)]
    return list(dict.fromkeys(o.detail for o in found if o.verdict == "wrong"))


def deviations(path: str) -> set[tuple[str, str]]:
    """The dtypes and kinds of input for which a known deviation occurs."""
    return {
        (dtype, shape)
        for dtype in KNOWN[path].dtypes
        for shape in KNOWN[path].shapes
        for values in inputs(path, dtype, shape)
        if run(path, values, shape).verdict == "known"
    }


# ---------------------------------------------------------------- the table

_INTRO = """# Functions beside NumPy and SciPy

Every public function of `numpy`, `numpy.linalg`, `numpy.fft`, `scipy.special` and `scipy.linalg`.
This page is generated by `python -m tests.attack.functions > docs/functions.md`; each row is the
result of calls of the function. *Yes* means that the value, its dtype and its shape are NumPy's;
*refused* that the call is refused with its line; — that NumPy itself does not accept this dtype.
Derivatives are compared with differences in float64: *2* means that first and second derivatives
agree. `tests/attack/test_functions.py` compares special values (0, -0.0, infinities, NaN, very
large and very small numbers), empty and 0-d arrays in every dtype, except for the deviations in the
remarks.
"""
_COLUMNS = {"bool": "bool", "integers": "int64", "floats": "float64", "complex": "complex128"}


def row(path: str) -> str:
    cells = [_cell(path, dtype) for dtype in _COLUMNS.values()]
    slopes = {"right": "2", "refused": "refused", "wrong": "?"}.get(derivatives(path).verdict, "—")
    remark = KNOWN[path].why if path in KNOWN else ""
    return f"| `{path}` | {' | '.join(cells)} | {slopes} | {remark} |"


def _cell(path: str, dtype: str) -> str:
    verdicts = {run(path, values).verdict for values in inputs(path, dtype, "plain")}
    names = {"right": "yes", "wrong": "?", "known": "see remark", "refused": "refused"}
    return next((names[v] for v in names if v in verdicts), "—")


def page() -> str:
    lines = [_INTRO]
    for module in MODULES:
        here = [f"{module}.{name}" for name in names(module)]
        supported = [p for p in here if is_supported(p)]
        refused = [p.rpartition(".")[2] for p in here if not is_supported(p)]
        lines += [
            f"## {module}", "",
            f"{len(supported)} of {len(here)} functions are supported.", "",
            "| function | bool | integers | floats | complex | derivatives | remark |",
            "|---|---|---|---|---|---|---|",
            *(row(p) for p in supported), "",
            "Refused by name: " + ", ".join(f"`{n}`" for n in refused) + ".", "",
        ]  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    os.environ.setdefault("S2S_BACKEND", "loops")
    sys.stdout.write(page())
