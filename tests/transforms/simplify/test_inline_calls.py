"""The inliner: names, sizes and origins of what is inlined, and the machine level of models."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import Array, Assign, Call, Function, Module, Op, Var, walk
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.pipeline import Request, compile_request
from s2s.transforms.simplify.inline_calls import inline_calls

R = np.random.default_rng(0)


def array(name: str, *dims: str) -> Var:
    return Var(name, Array("float64", tuple(Dim.of(d) for d in dims)))


# ---------------------------------------------------------------- one call


def callee() -> Function:
    x, y = array("x", "x.0"), array("y", "y.0")
    z = array("z", "z.0")
    facts = Facts(equals={"y.0": Dim.of("x.0"), "z.0": Dim.of("x.0")})
    body = [Assign(z, Op("add", (x, y)))]
    return Function("f", [x, y], body, [z, x], notes={"facts": facts})


def test_what_a_call_returns_is_what_the_body_computes() -> None:
    a, b, t, u = array("a", "a.0"), array("b", "a.0"), array("t", "t.0"), array("u", "u.0")
    z = array("z", "z.0")  # the caller's own z
    calls = [Assign(z, Op("sin", (a,))), Call([t, u], "f", (z, b))]
    out = array("out", "t.0")
    main = Function("main", [a, b], [*calls, Assign(out, Op("multiply", (t, u)))], [out])
    facts = Facts(equals={"z.0": Dim.of("a.0")})
    made = inline_calls(Module({"main": main, "f": callee()}, "main"), facts).main
    names = [s.target.name for s in made.body]
    assert names == ["z", "z_1", "out"], "the callee's z has another name"
    assert made.body[2].op.args == (array("z_1"), z), "a parameter that is returned is the argument"
    for symbol in ("t.0", "u.0", "z_1.0"):
        assert facts.canonical(Dim.of(symbol)) == Dim.of("a.0")


def test_functions_that_call_themselves_stay() -> None:
    x, y = array("x", "x.0"), array("y", "x.0")
    loop = Function("g", [x], [Call([y], "g", (x,))], [y], notes={"facts": Facts()})
    t = array("t", "t.0")
    by = Function("h", [x], [Call([t], "g", (x,))], [t], notes={"facts": Facts()})
    u = array("u", "u.0")
    main = Function("main", [x], [Call([u], "h", (x,))], [u])
    made = inline_calls(Module({"main": main, "h": by, "g": loop}, "main"), Facts())
    assert [*made.functions] == ["main", "g"]
    assert [s.function for s in walk(made.main.body) if isinstance(s, Call)] == ["g"]


# ---------------------------------------------------------------- whole programs


def lowered(f: Callable[..., Any], calls: str, wrt: tuple[str, ...], *args: Any) -> Counter[str]:
    """The lines of the lowered source, without names."""
    values = dict(zip(inspect.signature(f).parameters, args))
    specs = {k: describe(v) for k, v in values.items()}
    text = compile_request(Request(f, specs, values, "vjp", wrt, calls=calls)).lowered
    text = re.sub(r"#.*", "", text)
    names = r"\b(?!(?:for|in|range|if|else|np|rt)\b)[A-Za-z_]\w*"
    return Counter(re.sub(names, "_", line) for line in text.splitlines() if line.strip())


def dense(x, W, b):
    z = x @ W + b
    return np.tanh(z)


def mse(guess, y):
    d = guess - y
    return np.mean(d * d)


def mlp(params, x, y):
    h = x
    for W, b in params:
        h = dense(h, W, b)
    return mse(h, y)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def cell(x, h, c, W, U):
    n = h.shape[1]
    z = x @ W + h @ U
    i, f = sigmoid(z[:, :n]), sigmoid(z[:, n : 2 * n])
    g, o = np.tanh(z[:, 2 * n : 3 * n]), sigmoid(z[:, 3 * n :])
    c = f * c + i * g
    return o * np.tanh(c), c


def lstm(W, U, xs):
    h = np.zeros((xs.shape[1], U.shape[0]))
    c = np.zeros_like(h)
    for t in range(xs.shape[0]):
        h, c = cell(xs[t], h, c, W, U)
    return np.sum(h * h)


def windows(x):
    return np.stack([x[:-2], x[1:-1], x[2:]], axis=1)


def convolution(x, W, b):
    w = windows(x)
    z = w @ W + b
    return np.tanh(z)


def cnn(W, b, V, x):
    h = convolution(x, W, b)
    return np.sum((h @ V) ** 2)


PROGRAMS: dict[str, Any] = {
    "mlp": (
        mlp,
        ("params",),
        [(R.normal(size=(m, n)), R.normal(size=n)) for m, n in ((4, 5), (5, 5), (5, 3))],
        R.normal(size=(7, 4)),
        R.normal(size=(7, 3)),
    ),
    "lstm": (
        lstm,
        ("W", "U"),
        R.normal(size=(3, 20)),
        R.normal(size=(5, 20)),
        R.normal(size=(6, 2, 3)),
    ),
    "cnn": (
        cnn,
        ("W", "b", "V"),
        R.normal(size=(3, 4)),
        R.normal(size=4),
        R.normal(size=(4, 2)),
        R.normal(size=9),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_lowered_text_is_that_of_inlining_at_once(name: str) -> None:
    """Up to names and the order of independent statements: saved values are the same."""
    f, wrt, *args = PROGRAMS[name]
    assert lowered(f, "keep+inline", wrt, *args) == lowered(f, "inline", wrt, *args)
    assert lowered(f, "keep", wrt, *args) != lowered(f, "inline", wrt, *args)


def test_an_error_in_a_callee_names_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def root(x):
        if x < 0.0:
            raise ValueError("negative")
        y = np.sqrt(x)
        return y * y

    def f(x):
        return root(x - 1.0) * 2.0

    messages = {}
    for mode in ("inline", "keep", "keep+inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        g = s2s.grad(f, backend="loops")
        assert g(2.0) == pytest.approx(2.0)
        with pytest.raises(ValueError, match="negative") as error:
            g(0.5)
        messages[mode] = str(error.value)
    assert len(set(messages.values())) == 1, messages
