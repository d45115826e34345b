"""Generator of docs/rules.md, from the tables of rules, surfaces and library programs.

python -m s2s.transforms.rules > docs/rules.md      (or: make rules)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ..ir.op_registry import RULES, SURFACES, Rule
from .library import LIBRARY
from .library.declare_program import KINKS

_INTRO = """# Rules

The functions that s2s can differentiate. This page is generated (`make rules`) from the
declarations in the compiler.

A function *differentiable in* `x` and `y` may be differentiated with respect to either; its other
parameters are constants to the derivative. Functions with — are supported in programs, but their
results (indices, counts, truth values, integers) carry no derivative. Every rule serves reverse and
forward mode and consists of operations that have rules themselves, so derivatives of any order
follow; `tests/transforms/rules/test_every_rule.py` checks value,
reverse, forward and second order of each, in float64 and float32. At kinks the
[conventions](kinks.md) hold. A function that is missing here is refused by name; define it with
[`s2s.defrule`](derivatives.md#derivatives-of-your-own), or [write a rule](writing-a-rule.md).
"""
_GROUPS = {
    "builtins": "Python",
    "functools": "Python",
    "itertools": "Python",
    "operator": "Python",
    "math": "math",
    "cmath": "cmath",
    "statistics": "statistics",
    "numpy": "NumPy",
    "numpy.ndarray": "Methods and attributes of arrays",
    "scipy.special": "scipy.special",
}
# Parameter names of NumPy that stand for differentiable operands.
_DIFFERENTIABLE_NAMES = set(
    """a x y b m v c p q r f z w A ab x1 x2 a1 a2 arr ary ar array arrays arrs arys tup data xi
    iter iterable iterables seq value values val vals fill_value weights aweights xp fp left right
    loc scale mu df sigma low high mean initial start stop step base exp a_min a_max min max choices
    choicelist default object coordinates number delta beta dx nan posinf neginf prepend append
    to_end to_begin varargs operands self lu_and_piv c_and_lower real imag keywords args lam
    """.split()
)
# Programs and surfaces whose results are indices, counts and truth values: no derivative.
_NONDIFFERENTIABLE = set(
    """argsort argpartition lexsort searchsorted isin in1d intersect1d union1d setdiff1d setxor1d
    array_equal array_equiv digitize nonzero flatnonzero argwhere isclose allclose shape ndim size
    itemsize nbytes indices diag_indices triu_indices tril_indices diag_indices_from
    triu_indices_from tril_indices_from unravel_index ravel_multi_index ix_ isscalar iterable
    result_type promote_types can_cast issubdtype broadcast_shapes factorial perm comb isqrt gcd
    lcm isposinf isneginf nanargmax nanargmin hanning hamming blackman bartlett tri eye identity
    zeros ones empty zeros_like ones_like empty_like ndarray lt le gt ge eq ne matrix_rank round
    around floor ceil trunc int bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_
    iscomplexobj isrealobj iscomplex isreal integers permutation shuffle choice poisson binomial
    geometric default_rng fftfreq rfftfreq""".split()
)

# Differentiable parameters of functions for which `_DIFFERENTIABLE_NAMES` is wrong.
_EXPLICIT: dict[str, tuple[str, ...]] = {
    "numpy.arange": ("start", "step"),
    "numpy.bincount": ("weights",),
    "numpy.choose": ("choices",),
    "numpy.clip": ("a", "a_min", "a_max"),
    "numpy.full_like": ("fill_value",),
    "numpy.histogram": ("weights",),
    "numpy.ldexp": ("x1",),
    "numpy.ndarray.choose": ("choices",),
    "numpy.ndarray.clip": ("x", "min", "max"),
    "numpy.polyder": ("p",),
    "numpy.polyint": ("p", "k"),
    "numpy.rollaxis": ("a",),
    "numpy.where": ("x", "y"),
    "builtins.max": ("all",),
    "builtins.min": ("all",),
    "math.ldexp": ("x1",),
    "math.prod": ("iterable", "start"),
    "scipy.special.polygamma": ("x",),
    "scipy.stats.lognorm.logpdf": ("x", "s", "loc", "scale"),
}
# Draws with a location or scale: differentiable in these parameters.
_LOCATION_SCALE_DRAWS = {
    **dict.fromkeys("normal laplace gumbel logistic".split(), ("loc", "scale")),
    **dict.fromkeys("exponential rayleigh gamma".split(), ("scale",)),
    "uniform": ("low", "high"),
    "lognormal": ("mean", "sigma"),
}
_REFUSED = ("eig", "eigvals")  # their surfaces only raise UnsupportedError with advice


def render_page() -> str:
    """The text of docs/rules.md."""
    parts = [_INTRO]
    groups: dict[str, list[str]] = {}
    for path in sorted({**SURFACES, **LIBRARY}):
        if not path.startswith("s2s.") and path.rpartition(".")[2] not in _REFUSED:
            groups.setdefault(_group(path), []).append(path)
    for title in sorted(groups, key=_rank):
        parts.append(f"## {title}\n\n{_functions(groups[title])}")
    parts.append(f"## Operations\n\n{_OPERATIONS}\n{_operations()}")
    return "\n".join(parts)


def _group(path: str) -> str:
    module = path.rpartition(".")[0]
    if module.startswith("numpy.") and module.count(".") == 1 and module not in _GROUPS:
        # Methods of ufuncs are listed with the functions.
        return "NumPy" if f"{module}" in SURFACES else module
    return "scipy.stats" if module.startswith("scipy.stats.") else _GROUPS.get(module, module)


def _rank(title: str) -> tuple[int, str]:
    first = ["NumPy", "Methods and attributes of arrays", "Python", "math", "scipy.special"]
    return (first.index(title), "") if title in first else (len(first), title)


# ---------------------------------------------------------------- functions


def _functions(paths: Iterable[str]) -> str:
    rows: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        by = ", ".join(differentiable_in(path))
        rows.setdefault((by, _kinks(path, _rule_of(path))), []).append(path)
    lines = ["| function | differentiable in | at kinks |", "|---|---|---|"]
    # Functions without a derivative come last.
    for (by, kinks), names in sorted(rows.items(), key=lambda row: (not row[0][0], row[1][0])):
        shown = ", ".join(f"`{_short(n)}`" for n in names)
        lines.append(f"| {shown} | {_code(by)} | {kinks} |")
    return "\n".join(lines) + "\n"


def _short(path: str) -> str:
    for module, shown in (("numpy.ndarray.", "x."), ("numpy.", "np."), ("builtins.", "")):
        if path.startswith(module):
            return shown + path[len(module) :]
    return path


def _code(names: str) -> str:
    return ", ".join(f"`{n}`" for n in names.split(", ")) if names else "—"


def _rule_of(path: str) -> Rule | None:
    """The rule of the operation that a function emits, if it emits one of the same name."""
    if path in LIBRARY and path not in SURFACES:
        return None
    module, _, name = path.rpartition(".")
    name = {"amax": "max", "amin": "min"}.get(name, name)
    alike = module in ("numpy", "numpy.ndarray", "numpy.linalg", "math", "builtins")
    return RULES.get(SURFACES[path].__name__) or (RULES.get(name) if alike else None)


def _kinks(path: str, rule: Rule | None) -> str:
    return rule.kinks if rule is not None else KINKS.get(path, "")


def differentiable_in(path: str) -> tuple[str, ...]:
    """The names of the differentiable parameters of a function."""
    name = path.rpartition(".")[2]
    rule = _rule_of(path)
    if path in _EXPLICIT:
        return _EXPLICIT[path]
    if path.startswith("numpy.random."):
        return _LOCATION_SCALE_DRAWS.get(name, ())
    if name in _NONDIFFERENTIABLE or (rule is not None and rule.differentiable == ()):
        return ()
    if rule is not None and rule.partials is not None:
        return tuple(_names(rule.partials)[i] for i in rule.differentiable or ())
    function: Callable[..., Any] = SURFACES[path] if path in SURFACES else LIBRARY[path]
    names = _names(function)[1 if path in SURFACES else 0 :]
    if path.startswith("numpy.ndarray.") and names:
        names = ["x", *(n for n in names[1:] if n != "x")]
    candidates = [n for n in names if n in _DIFFERENTIABLE_NAMES]
    plain = [n for n in candidates if n not in ("args", "keywords", "initial", "mean")]
    return tuple(plain) or tuple("operands" for n in candidates[:1])


def _names(function: Callable[..., Any]) -> list[str]:
    kinds = inspect.Parameter
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.name != "out" or p.kind is not kinds.KEYWORD_ONLY]


# ---------------------------------------------------------------- operations

_OPERATIONS = """What programs are made of after translation, and what a new rule may be written
with. Operands are counted from 0.
"""


def _operations() -> str:
    lines = [
        "| operation | kind | differentiable in | at kinks | meaning |",
        "|---|---|---|---|---|",
    ]
    for name in sorted(RULES):
        rule = RULES[name]
        by = "all" if rule.differentiable is None else ", ".join(map(str, rule.differentiable))
        cells = [f"`{name}`", rule.kind, by or "—", rule.kinks, _meaning(rule)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _meaning(rule: Rule) -> str:
    text = " ".join(rule.doc.split()).replace("|", "\\|")
    return text or "as NumPy's"
