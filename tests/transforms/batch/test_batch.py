"""A batched function gives the results of each element alone."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.batch import batch
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import For, Module, is_float, walk
from s2s.transforms.ir.symbolic_dims import Dim
from tests.corpus import Case, load
from tests.transforms.batches import case_of, check_batch, floats, outcome, specialised

CASES = load()
# A sample of the programs runs each time; it does not change when programs are added.
SAMPLE = 9


def sample(turn: int) -> list[str]:
    return [n for n in sorted(CASES) if zlib.crc32(n.encode()) % SAMPLE == turn]


# The interpreter cannot run the adjoint of an array that is initially unbound.
UNBOUND = {"gauss_seidel_kernel"}


def refused(check: Callable[[], Any]) -> None:
    """Run a check of a program; skip it if it is refused, because it writes to an unmapped array or
    its writes cannot be analysed."""
    try:
        check()
    except UnsupportedError as error:
        assert "written to by every element" in str(error) or "share memory" in str(error)


@pytest.mark.parametrize("name", sample(0))
def test_corpus(name: str) -> None:
    for n in CASES[name].trips[-2:]:
        refused(lambda: check_choices(CASES[name], n))  # noqa: B023


def check_choices(case: Case, n: int) -> None:
    spec, values = specialised(case, n)
    names = floats(spec)
    choices = [names, names[:1], names[1:]]
    for mapped in filter(None, choices[: 1 if len(names) == 1 else 3]):
        refused(lambda: check_batch(spec.module, values, mapped, spec.facts))  # noqa: B023


def adjoint(case: Case, n: int, dtype: Any = np.float64) -> tuple[Module, list[Any], Any]:
    spec, values = specialised(case, n, dtype)
    wrt = tuple(p.name for p in spec.params if p.path[0] == ("arg", case.wrt[0]))
    wrt = tuple(p.name for p in spec.params if p.name in wrt and is_float(p.type))
    vjp = reverse(spec.module, wrt, 0, spec.facts)
    seed = np.dtype(vjp.main.params[-1].type.dtype).type(0.7)
    return vjp, [*values, seed], spec.facts


def differentiable(case: Case) -> bool:
    return case.gradient and not case.has_aux and case.name not in UNBOUND


@pytest.mark.parametrize("name", [n for n in sample(1) if differentiable(CASES[n])])
def test_adjoints_of_many_seeds(name: str) -> None:
    """Control flow depends on the primal alone, so the forward part is unchanged."""

    def check() -> None:
        vjp, values, facts = adjoint(CASES[name], CASES[name].trips[-1])
        if is_float(vjp.main.results[0].type) and vjp.main.results[0].type.ndim == 0:
            made = check_batch(vjp, values, [vjp.main.params[-1].name], facts)
            assert 0 not in made.main.notes["batched"]

    refused(check)


@pytest.mark.parametrize("name", [n for n in sample(2) if differentiable(CASES[n])])
def test_adjoints_of_many_elements(name: str) -> None:
    def check() -> None:
        vjp, values, facts = adjoint(CASES[name], CASES[name].trips[-1])
        mapped = [p.name for p in vjp.main.params if is_float(p.type)]
        check_batch(vjp, values, mapped, facts)

    refused(check)


# ---------------------------------------------------------------- what elements may differ in


def relu_steps(x, n):
    s = 0.0
    while s < 4.0 and n > 0:
        s += x * x + 0.5
        n -= 1
    return s


def ragged(x, k):
    head = x[:k]
    tail = np.zeros(k)
    tail[: k // 2] = 1.0
    return head.sum() * 2.0 + (head * tail).sum(), x[x > 0.0].sum()


def grown(x, k):
    items = [x[0]]
    for _ in range(k):
        items.append(items[-1] * x[1])
    return items[-1] + len(items)


def common_list(x, k):
    items = []
    for i in range(3):
        items.append(x[i] * k)
    items[1] = items[0] + 1.0
    return np.array(items)


def picked(x, i, j):
    y = x[:, i] * x[j]
    x2 = x.copy()
    x2[i, 1:] = 5.0
    x2[j] += y[1]
    return x2, x[[0, 1], i], x[i, :2], x[j, i], x2[i:, j].sum()


def separated(z, i):
    w = z.copy()
    w[i, :, 1] = z[1, :, i]
    return z[i, :, [0, 1]], w, z[[0, 1], :, [1, 0]]


def checked(x, k):
    if x[k] > 100.0:
        raise ValueError(f"{x[k]} is too large")
    return math.sqrt(x[k] * x[k]) + x[k]


def weak(x, k):
    return x * k, np.where(x > k, x, k), -k + x, k > 1, k < 0.5 or k == 2


def broadcast(x, k):
    return (
        x * k + np.outer(x[0], x[1]),
        x @ x.T,
        x[0] @ x,
        x @ x[0],
        np.full(3, k),
        np.full((2, 2), k),
    )


def reduced(x, k):
    return (
        x.sum(),
        x.max(axis=0),
        x.argmax(),
        x.argmin(axis=1),
        x.mean(axis=(0, 1)),
        np.cumsum(x, 1),
    )


V = np.array([0.3, -0.8, 1.4, 0.2])
M = np.array([[0.3, -0.8, 1.4], [0.9, 0.1, -0.4], [-1.2, 0.7, 0.6]])
Z = np.arange(27.0).reshape(3, 3, 3) / 7.0
PROGRAMS = [
    (relu_steps, (0.3, 7)),
    (ragged, (V, 2)),
    (grown, (V, 2)),
    (common_list, (V, 0.5)),
    (picked, (M, 1, 2)),
    (separated, (Z, 2)),
    (checked, (V, 1)),
    (weak, (V, 0.25)),
    (weak, (V.astype(np.float32), 0.25)),
    (weak, (V, 2)),
    (broadcast, (M, 0.25)),
    (reduced, (M, 0.25)),
]


@pytest.mark.parametrize("function, args", PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_mapped_over(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Map over each subset of the parameters, integers included."""
    spec, values = specialised(case_of(function, args), 0)
    names = [p.name for p in spec.params]
    for choice in range(1, 2 ** len(names)):
        mapped = [n for k, n in enumerate(names) if choice >> k & 1]
        check_batch(spec.module, values, mapped, spec.facts)


def test_what_no_element_needs_alone_is_computed_once() -> None:
    def f(x, y):
        return (np.exp(y).sum() * x).sum() + y.max()

    spec, _ = specialised(case_of(f, (V, V)), 0)
    made = batch(spec.module.main, ["x"], Dim.of("lanes.0"), spec.facts)
    exp = next(s for s in made.body if getattr(getattr(s, "op", None), "name", "") == "exp")
    assert exp.target.type.ndim == 1  # type: ignore[union-attr]
    assert not any(isinstance(s, For) for s in walk(made.body))


def test_an_error_of_one_element_is_raised() -> None:
    spec, _ = specialised(case_of(checked, (V, 1)), 0)
    made = spec.module.with_main(batch(spec.module.main, ["x"], Dim.of(2), spec.facts))
    assert outcome(made, [np.stack([V, V * 1000.0]), 2]) is ValueError


def test_results_of_different_shape_are_refused_at_run_time() -> None:
    def f(x, k):
        return x[:k] * 2.0

    spec, _ = specialised(case_of(f, (V, 1)), 0)
    made = spec.module.with_main(batch(spec.module.main, ["k"], Dim.of(2), spec.facts))
    assert outcome(made, [V, np.array([2, 3])]) is ValueError
    ((value,), _) = outcome(made, [V, np.array([2, 2])])
    np.testing.assert_array_equal(value, np.stack([V[:2] * 2.0] * 2))
