"""`check_grads`: compares gradients of s2s with finite differences of the plain function."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .api import functions
from .api.directional import hvp, jvp
from .call import bind_arguments, tree_copy
from .errors import S2STypeError, UnsupportedError, WrongGradient
from .public_names import listing
from .transforms.frontend.pytree import (
    ArraySpec,
    Path,
    ScalarSpec,
    Step,
    describe,
    follow,
    path_text,
    spec_leaves,
)
from .transforms.frontend.signature import signature
from .transforms.ir.lazy import lazy_property

__all__ = ["Entry", "Report", "WrongGradient", "check_grads"]
__dir__ = listing(__name__)

Run = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Entry:
    """One partial derivative: its location, the value of s2s, the numerical value, and their
    difference in units of the tolerance."""

    where: str
    reverse: float
    numeric: float
    excess: float

    @property
    def error(self) -> float:
        """The relative error, with respect to the larger of the two values."""
        size = max(abs(self.reverse), abs(self.numeric))
        return abs(self.reverse - self.numeric) / size if size else 0.0

    def __str__(self) -> str:
        return (
            f"{self.where}: s2s {self.reverse:.9g}, differences {self.numeric:.9g}, "
            f"relative error {self.error:.2g}"
        )


@dataclass
class Report:
    """The result of `check_grads`.  `skipped` are entries at a kink, where finite differences are
    not valid; `sampled` means that large arrays were checked in part; `crossed` are comparisons of
    one mode or order with another."""

    function: str
    checked: int = 0
    entries: list[Entry] = field(default_factory=list)
    crossed: list[Entry] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    sampled: bool = False
    judge: str = "finite differences"

    @property
    def ok(self) -> bool:
        return not self.wrong

    @property
    def wrong(self) -> list[Entry]:
        return [e for e in (*self.entries, *self.crossed) if e.excess > 1.0]

    @property
    def worst(self) -> Entry | None:
        return max((*self.entries, *self.crossed), key=lambda e: e.excess, default=None)

    def __str__(self) -> str:
        wrong = self.wrong
        head = f"gradient of {self.function}: {self.checked} entries against {self.judge}"
        if self.sampled:
            head += " (a sample)"
        if self.skipped:
            head += f", {len(self.skipped)} skipped at kinks ({', '.join(self.skipped[:3])})"
        lines = [f"{head}: {'right' if not wrong else f'{len(wrong)} wrong'}"]
        if wrong:
            lines.append(f"worst  {self.worst}")
            others = [e for e in sorted(wrong, key=lambda e: -e.excess) if e is not self.worst]
            lines += [f"also   {e}" for e in others[:4]]
        elif self.worst is not None:
            lines.append(f"worst  {self.worst}")
        return "\n".join(lines)


def check_grads(
    f: Any,
    /,
    *args: Any,
    wrt: bind_arguments.Wrt | None = None,
    order: int = 1,
    eps: float | None = None,
    rtol: float | None = None,
    samples: int = 100,
    backend: str | None = None,
    **kwargs: Any,
) -> Report:
    """Compare the gradient of `f` with finite differences of the plain Python function, and
    with a complex step where the function is analytic and runs on complex numbers.  The tangent
    in a random direction must agree with the gradient.  With `order=2`, Hessian-vector products are
    compared with differences of gradients, and the Hessian must be symmetric.

    `f` is a plain function, or an object made by s2s.  `wrt` is by default that of the object,
    or else every argument that holds floats.  A result that is not a single scalar is contracted
    with random weights.  Of each array at most `samples` entries are checked.  Raises
    WrongGradient with a report of the worst entry, or returns the report.
    """
    if order not in (1, 2):
        raise UnsupportedError("check_grads: order is 1 or 2", advice="check the gradient of f")
    subject = _Subject(f, args, kwargs, wrt, backend)
    report = Report(subject.name)
    value, gradients = subject.differentiate()
    _check_value(subject, value)
    step = 1e-3 if eps is None else eps
    for name, gradient in zip(subject.wrt, gradients):
        root: Path = (("arg", name),)
        for path, spec in spec_leaves(describe(subject.arguments[name]), root):
            if not tree_copy.is_inexact(spec):
                continue
            assert isinstance(spec, (ArraySpec, ScalarSpec))
            parts = _parts(np.asarray(follow(gradient, path[1:])))
            for unit, part in parts if spec.dtype.startswith("complex") else parts[:1]:
                _check_leaf(report, subject, path, part, unit, step, rtol, samples)
    if rtol is None:
        rtol = 1e-3 if _is_single(subject) else 1e-6
    if report.ok:
        _check_forward(report, subject, gradients, rtol)
        if order == 2:
            _check_second(report, subject, step, rtol)
    if not report.ok:
        raise WrongGradient(report)
    return report


# ---------------------------------------------------------------- the function under test


class _Subject:
    """The function, its arguments by name, and a scalar projection of its result."""

    def __init__(
        self,
        f: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        wrt: bind_arguments.Wrt | None,
        backend: str | None,
    ) -> None:
        target = f.python if isinstance(f, functions.Function) else f
        self.options: dict[str, Any] = {"backend": backend}
        has_aux = False
        if isinstance(f, functions.Function):
            options = f._shared.options
            has_aux = options.has_aux
            self.options = {
                "backend": backend or options.backend,
                "static_argnames": options.static,
                "boundscheck": options.boundscheck,
                "parallel": options.parallel,
            }
        found = bind_arguments.unwrap(target)
        self.function = found.function
        self.name = found.function.__qualname__
        binder = bind_arguments.Binder(found.function)
        bound = binder.bind((*found.prefix, *args), {**found.fixed, **kwargs})
        self.arguments: dict[str, Any] = dict(zip(binder.names, bound))
        method = bind_arguments.is_method(found.function)
        names = binder.countable(found, method)
        if wrt is not None:
            self.wrt = bind_arguments.resolve_wrt(wrt, names, self.name)
        elif isinstance(f, functions.Gradient):
            self.wrt = f._specialiser("vjp").wrt
        else:
            static = self.options.get("static_argnames", ())
            self.wrt = tuple(
                n for n in names if n not in static and tree_copy.has_floats(self.arguments[n])
            )
            if not self.wrt:
                raise S2STypeError(f"{self.name}: no argument holds floats")
        self.result = self.call(self.arguments)
        self.weights = _weights(self.result[0] if has_aux else self.result)
        self.has_aux = has_aux

    def call(self, arguments: dict[str, Any]) -> Any:
        """Call the plain function on copies of its arguments, which it may write into."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for name, p in signature(self.function).parameters.items():
            value = tree_copy.copy_leaves(arguments[name])
            if p.kind is p.VAR_POSITIONAL:
                positional += value
            elif p.kind is p.VAR_KEYWORD:
                keywords.update(value)
            elif p.kind is p.KEYWORD_ONLY:
                keywords[name] = value
            else:
                positional.append(value)
        with np.errstate(all="ignore"):
            return self.function(*positional, **keywords)

    def number(self, arguments: dict[str, Any]) -> Any:
        """The scalar that is differentiated."""
        result = self.call(arguments)
        if self.has_aux:
            result = result[0]
        return sum(np.sum(follow(result, steps) * w) for steps, w in self.weights)

    def differentiate(self) -> tuple[Any, tuple[Any, ...]]:
        """The value and gradients, computed by s2s."""
        arguments = [tree_copy.copy_leaves(v) for v in self.arguments.values()]
        if len(self.weights) == 1 and not self.weights[0][0] and np.ndim(self.weights[0][1]) == 0:
            gradient = functions.value_and_grad(
                self.function, wrt=self.wrt, has_aux=self.has_aux, **self.options
            )
            parameters = signature(self.function).parameters.values()
            if all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
                value, gradients = gradient(*arguments)
            else:
                value, gradients = _call_by_name(gradient, parameters, arguments)
            return (value[0] if self.has_aux else value), gradients
        gradient = functions.value_and_grad(self.projected, wrt=self.wrt, **self.options)
        return gradient(*arguments)

    @lazy_property
    def projected(self) -> Any:
        return _projected(self)

    def along(self, transform: Any, directions: tuple[Any, ...]) -> Any:
        """A directional derivative, computed by s2s; one direction per `wrt`."""
        first, *rest = (tree_copy.copy_leaves(v) for v in self.arguments.values())
        return transform(self.projected, wrt=self.wrt, **self.options)(first, directions, *rest)

    def directions(self, seed: int) -> tuple[Any, ...]:
        """Random directions with the structure of the arguments."""
        rng = np.random.default_rng(seed)

        def draw(leaf: Any) -> Any:
            drawn: Any = rng.uniform(-1.0, 1.0, np.shape(leaf))
            if np.iscomplexobj(leaf):
                drawn = drawn + 1j * rng.uniform(-1.0, 1.0, np.shape(leaf))
            return drawn.astype(leaf.dtype) if isinstance(leaf, np.ndarray) else drawn.item()

        return tuple(tree_copy.map_leaves(self.arguments[name], draw) for name in self.wrt)


def _call_by_name(gradient: Any, parameters: Any, arguments: list[Any]) -> Any:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for p, value in zip(parameters, arguments):
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            keywords.update(value)
        elif p.kind is p.KEYWORD_ONLY:
            keywords[p.name] = value
        else:
            positional.append(value)
    return gradient(*positional, **keywords)


def _projected(subject: _Subject) -> Any:
    """Generate a function of the same parameters whose result is the scalar projection."""
    space: dict[str, Any] = {"np": np, "function": subject.function}
    terms = []
    for k, (steps, weights) in enumerate(subject.weights):
        space[f"weights_{k}"] = weights
        terms.append(f"np.sum({path_text((('', 'result'), *steps))} * weights_{k})")
    result = "result, _ = " if subject.has_aux else "result = "
    calls = []
    for name, p in signature(subject.function).parameters.items():
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        calls.append(f"{name}={name}" if p.kind is p.KEYWORD_ONLY else star + name)
    text = (
        f"def projected({', '.join(subject.arguments)}):\n"
        f"    {result}function({', '.join(calls)})\n"
        f"    return {' + '.join(terms)}\n"
    )
    filename = f"<check_grads of {subject.name}: {len(linecache.cache)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), space)
    return space["projected"]


def _weights(result: Any) -> list[tuple[tuple[Step, ...], Any]]:
    """Random weights for each float leaf of a result; a single scalar has weight 1."""
    rng = np.random.default_rng(0)
    out: list[tuple[tuple[Step, ...], Any]] = []
    for path, spec in spec_leaves(describe(result), (("", "result"),)):
        leaf = follow(result, path[1:])
        if getattr(spec, "dtype", "").startswith("float"):
            if np.ndim(leaf) == 0:
                out.append((path[1:], 1.0 if path[1:] == () else float(rng.uniform(0.5, 1.5))))
            else:
                weights = rng.uniform(0.5, 1.5, np.shape(leaf))
                out.append((path[1:], weights.astype(leaf.dtype)))
    if not out:
        raise S2STypeError("check_grads: the result of the function holds no floats")
    return out


def _check_value(subject: _Subject, value: Any) -> None:
    plain = subject.number(subject.arguments)
    same = np.allclose(value, plain, rtol=1e-3 if _is_single(subject) else 1e-8, equal_nan=True)
    if not same:
        raise AssertionError(
            f"value of {subject.name}: s2s {value!r}, but the plain function {plain!r}"
        )


def _is_single(subject: _Subject) -> bool:
    specs = [s for v in subject.arguments.values() for _, s in spec_leaves(describe(v), ())]
    return any(getattr(s, "dtype", "") in ("float32", "complex64") for s in specs)


# ---------------------------------------------------------------- other modes and orders


def _dot(left: Any, right: Any) -> float:
    pairs = zip(tree_copy.floats_of(left), tree_copy.floats_of(right), strict=True)
    return float(sum(np.sum(np.conj(a) * b).real for a, b in pairs))


def _compare(report: Report, where: str, got: float, want: float, tolerance: float) -> None:
    excess = 0.0 if got == want else abs(got - want) / tolerance
    if np.isnan(excess):
        excess = 0.0 if np.isnan(got) and np.isnan(want) else np.inf
    report.crossed.append(Entry(where, got, want, float(excess)))


def _check_forward(report: Report, subject: _Subject, gradients: Any, rtol: float) -> None:
    """Compare forward with reverse mode: one is the transpose of the other."""
    directions = subject.directions(1)
    tangent = float(subject.along(jvp, directions)[1])
    want = _dot(gradients, directions)
    size = sum(float(np.sum(np.abs(g))) for g in tree_copy.floats_of(gradients))
    _compare(report, "tangent, forward mode", tangent, want, rtol * max(abs(want), size) + 1e-14)


def _check_second(report: Report, subject: _Subject, step: float, rtol: float) -> None:
    one, two = subject.directions(1), subject.directions(2)
    hessian_one, hessian_two = subject.along(hvp, one), subject.along(hvp, two)
    left, right = _dot(hessian_one, two), _dot(hessian_two, one)
    size = sum(float(np.sum(np.abs(h))) for h in tree_copy.floats_of(hessian_one))
    _compare(report, "Hessian, symmetry", left, right, rtol * max(abs(left), size) + 1e-14)

    def slope(by: float) -> float:
        """The derivative along `two`, after a step along `one`."""
        moved = dict(subject.arguments)
        for name, direction in zip(subject.wrt, one):
            moved[name] = tree_copy.step_along(moved[name], direction, by)
        there = copy.copy(subject)
        there.arguments = moved
        return float(there.along(jvp, two)[1])

    numeric = _five_points(slope, step)
    scale = max(abs(numeric), size) * (1.0 if not _is_single(subject) else 10.0)
    _compare(report, "Hessian, along a direction", left, numeric, rtol * scale + 1e-9)


# ---------------------------------------------------------------- one leaf


def _parts(gradient: Any) -> list[tuple[complex, Any]]:
    """The derivatives with respect to the real and the imaginary part, each with its unit step."""
    return [(1.0, gradient.real), (1j, gradient.imag)]


def _check_leaf(
    report: Report,
    subject: _Subject,
    path: Path,
    gradient: Any,
    unit: complex,
    step: float,
    rtol: float | None,
    samples: int,
) -> None:
    base = {name: tree_copy.in_float64(v) for name, v in subject.arguments.items()}
    name = path[0][1]
    leaf = np.asarray(follow(base[name], path[1:]))
    gradient = np.asarray(gradient)
    if gradient.shape != leaf.shape:
        raise AssertionError(
            f"gradient of {subject.name} with respect to {path_text(path)} has shape "
            f"{gradient.shape}, but should have {leaf.shape}"
        )
    if rtol is None:
        rtol = 1e-3 if _is_single(subject) else 1e-6

    def at(index: tuple[int, ...], by: Any) -> Any:
        return subject.number(
            {**base, name: tree_copy.perturb_element(base[name], path[1:], index, by * unit)}
        )

    here = float(np.real(subject.number(base)))
    indices = list(np.ndindex(leaf.shape))
    if len(indices) > samples:
        report.sampled = True
        chosen = np.random.default_rng(0).choice(len(indices), samples, replace=False)
        indices = [indices[i] for i in sorted(chosen)]
    numeric = {}
    sharp = not np.iscomplexobj(leaf)
    for index in indices:
        h = step * max(1.0, float(abs(leaf[index])))
        difference = _five_points(lambda d, index=index: at(index, d), h)
        exact = _complex_step(lambda d, index=index: at(index, d)) if sharp else None
        noise = 1e-13 * abs(here) / h
        close = exact is not None and abs(exact - difference) <= 1e-5 * abs(exact) + 100 * noise
        sharp = close
        numeric[index] = (exact if close and exact is not None else difference, noise)
    report.judge = "a complex step" if sharp and indices else "finite differences"
    scale = max([abs(v) for v, _ in numeric.values() if np.isfinite(v)], default=0.0)
    for index, (value, noise) in numeric.items():
        reverse = float(gradient[index])
        tolerance = rtol * max(abs(value), scale) + 10 * noise + 1e-14
        deviation = abs(reverse - value)
        excess = 0.0 if reverse == value else deviation / tolerance
        if np.isnan(excess):
            excess = 0.0 if np.isnan(reverse) and np.isnan(value) else np.inf
        where = path_text(path) + (f"[{', '.join(map(str, index))}]" if index else "")
        where += ".imag" if unit == 1j else ""
        h = step * max(1.0, float(abs(leaf[index])))
        if excess > 1.0 and _is_kink(lambda d, index=index: at(index, d), h, here):
            report.skipped.append(where)
            continue
        report.checked += 1
        report.entries.append(Entry(where, reverse, float(value), float(excess)))


def _five_points(at: Callable[[float], Any], h: float) -> float:
    return float((8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h))


def _complex_step(at: Callable[[complex], Any]) -> float | None:
    """The complex-step derivative, exact to rounding; None if the code does not run on complex
    numbers."""
    step = 1e-30
    try:
        out = at(complex(0.0, step))
    except Exception:
        return None
    return float(np.imag(out)) / step if np.iscomplexobj(out) else None


def _is_kink(at: Callable[[float], Any], h: float, here: float) -> bool:
    """True if the one-sided slopes differ, and their difference does not shrink with the step."""

    def jump(h: float) -> float:
        return abs((float(at(h)) - here) - (here - float(at(-h)))) / h

    far, near = jump(h), jump(h / 100)
    return bool(near > 0.5 * far and near > 1e-6 * (1.0 + abs(here)))
