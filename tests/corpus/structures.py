"""Arguments that are tuples, lists, dicts, namedtuples and dataclasses; structured arrays."""

# ruff: noqa: B007

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import N, arr, build, case, listed, made, num, pair, value


class Layer(NamedTuple):
    W: Any
    b: Any


@dataclass
class Params:
    scale: float
    weights: Any
    bias: Any


@dataclass(frozen=True)
class Model:
    first: Layer
    second: Layer
    gain: float


@case(pair(num(), num()), tags="structures tuple jax")
def tuple_argument(p):
    a, b = p
    return a * b + p[0] ** 2 * p[-1]


@case(listed(arr(3), arr(2)), tags="structures list jax")
def list_argument(ws):
    s = 0.0
    for w in ws:
        s += np.sum(w * w)
    return s + ws[0][1] * ws[1][0] * len(ws)


@case(build(dict, W=arr(3, 2), b=arr(2)), arr(4, 3), tags="structures dict jax")
def dict_argument(params, x):
    return np.sum(np.tanh(x @ params["W"] + params["b"]))


@case(build(dict, W=arr(3, 2), b=arr(2)), tags="structures dict jax")
def dict_iteration(params):
    s = 0.0
    for name, v in params.items():
        s += np.sum(v * v) * (2.0 if name == "W" else 1.0)
    for k in params:
        s += np.sum(params[k])
    for v in params.values():
        s += np.sum(np.sin(v))
    return s if "W" in params else 0.0


@case(build(Layer, W=arr(3, 2), b=arr(2)), arr(3), tags="structures namedtuple jax")
def namedtuple_argument(layer, x):
    W, b = layer
    return np.sum(np.tanh(x @ layer.W + layer.b)) + np.sum(W[0] * b)


@case(build(Params, scale=num(), weights=arr(3), bias=arr(3)), tags="structures dataclass jax")
def dataclass_argument(p):
    return np.sum(p.scale * p.weights**2 + p.bias) * p.scale


@case(
    build(
        Model,
        first=build(Layer, arr(2, 3), arr(3)),
        second=build(Layer, arr(3, 1), arr(1)),
        gain=num(),
    ),
    arr(4, 2),
    wrt=(0, 1),
    tags="structures nested jax",
)
def nested_dataclass(m, x):
    h = np.tanh(x @ m.first.W + m.first.b)
    return np.sum(h @ m.second.W + m.second.b) * m.gain


@case(
    build(
        dict,
        layers=listed(build(dict, W=arr(2, 2), b=arr(2)), build(dict, W=arr(2, 2), b=arr(2))),
        scale=num(),
    ),
    arr(2),
    tags="structures nested jax",
)
def nested_dict_of_lists(params, x):
    for layer in params["layers"]:
        x = np.tanh(layer["W"] @ x + layer["b"])
    return np.sum(x) * params["scale"]


@case(build(dict, W=arr(2)), arr(2), wrt=("x", "p"), tags="structures wrt jax")
def wrt_by_name_in_other_order(p, x):
    return np.sum(p["W"] * x * x)


@case(pair(arr(3), pair(num(), arr(2))), tags="structures nested jax")
def nested_tuples(t):
    x, (s, y) = t
    return np.sum(x) * s + y @ y


@case(arr(3), tags="structures local jax")
def local_dict_and_tuple(x):
    d = {"a": x * 2.0, "b": np.sum(x)}
    d["c"] = d["a"] * d["b"]
    t = (d["a"], d["c"])
    return np.sum(t[0] * t[1]) + d["b"]


@case(arr(3), tags="structures local jax")
def local_namedtuple(x):
    p = Layer(x * x, b=np.sin(x))
    q = p._replace(b=p.b * 2.0)
    return np.sum(p.W * q.b)


@case(arr(3), tags="structures local jax")
def local_dataclass(x):
    p = Params(scale=2.0, weights=x, bias=x * x)
    p.scale = p.scale + x[0]
    return np.sum(p.weights * p.bias) * p.scale


def _sums(a, b):
    return a + b, a * b


@case(num(), num(), wrt=(0, 1), tags="structures returns jax")
def helper_returns_tuple(x, y):
    s, p = _sums(x, y)
    t = _sums(s, p)
    return t[0] * t[1]


@case(num(), tags="structures aux jax", has_aux=True)
def auxiliary_tuple(x):
    y = x * x
    return y * 2.0, y


@case(arr(3), tags="structures aux jax", has_aux=True)
def auxiliary_dict(x):
    h = np.sin(x)
    return np.sum(h), {"hidden": h, "count": 3, "pair": (h[0], x)}


_POINTS = np.zeros(3, dtype=[("x", np.float64), ("y", np.float64), ("kind", np.int64)])
_POINTS["x"] = [0.1, 0.2, 0.3]
_POINTS["y"] = [1.0, -1.0, 0.5]
_POINTS["kind"] = [0, 1, 0]


@case(num(), value(_POINTS), tags="structures records")
def structured_fields(k, r):
    s = 0.0
    for i in range(r.shape[0]):
        s += k * r[i]["x"] ** 2 + r["y"][i] * k**2
    return s + np.sum(r["x"]) * k


@case(num(), value(_POINTS.view(np.recarray)), tags="structures records")
def record_attributes(k, r):
    s = 0.0
    for i in range(len(r)):
        if r[i].kind == 0:
            s += k * r[i].x
        else:
            s += k * k * r[i].y
    return s


@case(num(), value(_POINTS), tags="structures records")
def over_records(k, r):
    s = 0.0
    for p in r:
        s += np.sin(k * p["x"]) * p["y"]
    return s


class Body(NamedTuple):
    pos: Any
    vel: Any


@case(build(Body, arr(3), arr(3)), N, tags="structures state")
def namedtuple_carried_by_loop(body, n):
    for _ in range(n):
        acc = -body.pos
        body = Body(body.pos + 0.1 * body.vel, body.vel + 0.1 * acc)
    return np.sum(body.pos**2) + np.sum(body.vel * body.pos)


@case(num(), N, tags="structures state")
def tuple_carried_by_loop(x, n):
    state = (x, 1.0)
    for i in range(n):
        a, b = state
        state = (a * b, b + a)
    return state[0] + state[1]


@case(build(dict, x=arr(3), y=arr(3)), N, tags="structures state")
def dict_carried_by_loop(state, n):
    s = dict(state)
    for _ in range(n):
        s["x"] = s["x"] + 0.1 * s["y"]
        s["y"] = s["y"] - 0.1 * s["x"]
    return np.sum(s["x"] * s["y"])


@case(
    made(lambda rng, n, dtype: {"x": rng.uniform(-1, 1, 3).astype(dtype)}),
    tags="structures written",
)
def writes_array_in_dict(state):
    state["x"][0] = state["x"][1] * 2.0
    state["x"] *= 3.0
    return np.sum(state["x"] ** 2)


@case(pair(), num(), wrt=1, tags="structures empty jax")
def empty_tuple_argument(nothing, x):
    s = x
    for v in nothing:
        s = s * v
    return s * s


@case(build(dict, w_01=arr(2), s=num()), tags="structures text")
def keys_from_text(p):
    width, name = 2, "swim"
    key = f"{name[1]}_{1:0{width}d}"
    quoted = f"{name!r:>8}"
    weight = 3.0 if quoted == "  'swim'" else 0.0
    return weight * np.sum(p[key]) * p[name[:1]] + (p["s"] if name[::-2] == "mw" else 0.0)
