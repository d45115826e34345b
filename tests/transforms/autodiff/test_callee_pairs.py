"""The adjoint of a call as a pair of functions: what crosses, and derivatives of every order."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.autodiff.activity import dependences
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import Assign, Call, ListOf, Module, Save, calls_in, walk
from s2s.transforms.specialise import specialise
from tests import oracle

R = np.random.default_rng(0)
X = R.uniform(0.5, 1.5, size=5)


def module_of(f: Callable[..., Any], *args: Any) -> Module:
    values = dict(zip(inspect.signature(f).parameters, args))
    made = specialise(f, {k: describe(v) for k, v in values.items()}, values, keep=True)
    return reverse(made.module, (made.params[0].name,), 0, made.facts)


def signature(module: Module, name: str) -> tuple[list[str], int]:
    """The user's names of the parameters of a function, and the number of its results."""
    f = module.functions[name]
    return [p.user or p.name for p in f.params], len(f.results)


# ---------------------------------------------------------------- what crosses


def only_its_result(x):
    y = np.tanh(x)
    return y


def only_its_argument(x):
    y = np.sin(x)
    return y


def an_inner_value(x):
    y = np.sin(x)
    return np.sum(np.exp(y) * y)


def test_results_and_arguments_are_not_saved_again() -> None:
    def f(x):
        return np.sum(only_its_result(x) + only_its_argument(x))

    module = module_of(f, X)
    assert "only_its_result_fwd" not in module.functions
    params, results = signature(module, "only_its_result_rev")
    assert params == ["x", "y", "out_bar"] and results == 1, "x for its size"
    assert signature(module, "only_its_argument_rev")[0][0] == "x"


def test_inner_values_are_results_of_the_forward_half() -> None:
    def f(x):
        return an_inner_value(x) * 2.0

    module = module_of(f, X)
    saved = signature(module, "an_inner_value_fwd")[1] - 1
    assert saved >= 1 and "an_inner_value" not in [*calls_in(module.main.body)]
    call = next(s for s in module.main.body if isinstance(s, Call))
    assert len(call.targets) == 1 + saved
    assert not any(isinstance(s, Save) for s in walk(module.main.body))


def test_the_saved_values_of_a_call_in_a_loop_are_saved_in_each_iteration() -> None:
    def f(x):
        for _ in range(x.shape[0]):
            x = x * an_inner_value(x)
        return np.sum(x)

    module = module_of(f, X)
    (loop, *_) = (s for s in module.main.body if hasattr(s, "body"))
    call = next(s for s in loop.body if isinstance(s, Call))
    kept = {s.value.name for s in loop.body if isinstance(s, Save)}
    assert {v.name for v in call.targets[1:]} <= kept


def looped(x):
    for k in range(x.shape[0]):
        x = x * np.sin(x[k])
    return np.sum(x)


def test_what_a_loop_saves_crosses_on_stacks() -> None:
    def f(x):
        return looped(x) * 2.0

    module = module_of(f, X)
    fwd, rev = (module.functions[f"looped_{half}"] for half in ("fwd", "rev"))
    for half in (fwd, rev):
        pairs = half.notes["inout"]
        assert pairs and all(
            isinstance(half.params[p].type, ListOf) and isinstance(half.results[r].type, ListOf)
            for r, p in pairs
        )
        assert not any(isinstance(s, Save) for s in walk(half.body))
    created = [s for s in module.main.body if isinstance(s, Assign) and s.op.attrs.get("tape")]
    assert len(created) == len(fwd.notes["inout"])


# ---------------------------------------------------------------- which parameters


def two(x, y):
    a = x * x
    b = y * y
    return a, b


def test_results_depend_on_some_parameters_only() -> None:
    def f(x):
        a, _ = two(x, x * 3.0)
        return np.sum(a)

    module = module_of(f, X)
    assert dependences(module.functions["two"]) == (frozenset({0}), frozenset({1}))
    (rev,) = (name for name in module.functions if name.endswith("_rev"))
    assert len(module.functions[rev].results) == 1, "y does not influence what is seeded"


def test_one_reverse_function_for_all_calls() -> None:
    """The first layer's input is constant; its adjoint is computed and not used."""

    def dense(x, W):
        z = x @ W
        return np.tanh(z)

    def f(W):
        x = np.ones((2, 3))
        return np.sum(dense(dense(x, W), W))

    module = module_of(f, R.normal(size=(3, 3)))
    assert [name for name in module.functions if "_rev" in name] == ["dense_rev"]


def test_a_tape_knows_what_a_result_does_not_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(x, y):
        with s2s.GradientTape() as tape:
            tape.watch([x, y])
            a, b = two(x, y)
            z = np.sum(a)
        gx, gy = tape.gradient(z, [x, y])
        return gx, gy is None

    for mode in ("inline", "keep", "keep+inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        gx, none = s2s.function(step, backend="loops")(X, X)
        assert none is True
        np.testing.assert_allclose(gx, 2.0 * X)


# ---------------------------------------------------------------- derivatives of every order


def inner(x, k):
    s = x * k
    return np.sin(s) * x


def middle(x, n):
    for i in range(n):
        x = inner(x, 0.3 + i) + 0.1 * x
    return x


def branching(x, y):
    s = np.sum(x * y)
    if s > 1.0:
        z = inner(x, s)
    else:
        z = inner(y, 2.0) * s
    return z, s


def nested(x):
    y = middle(inner(x, 1.5), 3)
    z, s = branching(y, x)
    return np.sum(z * z) + s * s


def compiled(mode: str, make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("S2S_CALLS", mode)
    return make()(X)


V = R.normal(size=5)
ORDERS: dict[str, Callable[[], Any]] = {
    "grad": lambda: s2s.grad(nested, backend="loops"),
    "jvp": lambda: lambda x: s2s.jvp(nested, backend="loops")(x, V),
    "hvp": lambda: lambda x: s2s.hvp(nested, backend="loops")(x, V),
    "hessian": lambda: s2s.hessian(nested, backend="loops"),
    "jacobian": lambda: s2s.jacobian(lambda x: middle(x, 2), backend="loops"),
    "vmap of grad": lambda: lambda x: s2s.vmap(s2s.grad(nested))(np.stack([x, x * 0.5, x + 0.1])),
    "jvp of grad": lambda: lambda x: s2s.jvp(s2s.grad(nested), backend="loops")(x, V),
    "grad of grad": lambda: s2s.grad(lambda x: np.sum(s2s.grad(nested)(x) * V), backend="loops"),
    "third order": lambda: s2s.grad(
        lambda x: np.sum(s2s.grad(lambda u: np.sum(s2s.grad(nested)(u) * V))(x) * V),
        backend="loops",
    ),
}


@pytest.mark.parametrize("mode", ["keep", "keep+inline"])
@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")
    want = compiled("inline", ORDERS[order], monkeypatch)
    got = compiled(mode, ORDERS[order], monkeypatch)
    oracle.assert_close(got, want, 1e-9, f"{order}, {mode}")


@pytest.mark.parametrize("mode", ["keep", "keep+inline"])
def test_against_finite_differences_and_forward_mode(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S2S_CALLS", mode)
    g = s2s.grad(nested, backend="loops")(X)
    (want,) = oracle.finite_differences(nested, (X,), {}, ("x",))
    oracle.assert_close(g, want, 1e-6, "gradient")
    _, dot = s2s.jvp(nested, backend="loops")(X, V)
    np.testing.assert_allclose(dot, np.dot(g, V), rtol=1e-10)


@pytest.mark.parametrize("mode", ["keep", "keep+inline"])
def test_complex_adjoints_are_conjugated_at_calls(mode: str, monkeypatch: Any) -> None:
    def rotate(z, w):
        u = z * w
        return u * np.exp(z)

    def f(z):
        return np.sum(np.abs(rotate(rotate(z, 1.0 + 2.0j), 0.5j)) ** 2)

    z = R.normal(size=3) + 1j * R.normal(size=3)
    want = compiled_at(f, z, "inline", monkeypatch)
    np.testing.assert_allclose(compiled_at(f, z, mode, monkeypatch), want, rtol=1e-10)


def compiled_at(f: Any, x: Any, mode: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("S2S_CALLS", mode)
    return s2s.grad(f, backend="loops")(x)


@pytest.mark.parametrize("mode", ["keep", "keep+inline"])
def test_nested_tapes_and_gradients_in_branches(mode: str, monkeypatch: Any) -> None:
    def step(x, c):
        with s2s.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with s2s.GradientTape() as tape:
                tape.watch(x)
                y = nested(x)
            g = tape.gradient(y, x)
            s = np.sum(g * g)
        if c > 0.0:
            h = outer.gradient(s, x)
        else:
            h = outer.gradient(y, x)
        return g, h, outer.gradient(s, x)

    results = {}
    for each in ("inline", mode):
        monkeypatch.setenv("S2S_CALLS", each)
        f = s2s.function(step, backend="loops")
        results[each] = [f(X, 1.0), f(X, -1.0)]
    oracle.assert_close(results[mode], results["inline"], 1e-9, mode)
