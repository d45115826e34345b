"""Tensors of the `tf` namespace are immutable values; in `s2s` itself arrays are NumPy's.

A program is generated for every augmented operator, every kind of tensor and every position of such
a statement; the value of the other name must not change."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
import s2s.tf as tf
from s2s.objects.tensor import Immutable
from tests.scale import sample


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def is_tensor(value: Any) -> bool:
    return isinstance(value, Immutable) and not value.flags.writeable


# ---------------------------------------------------------------- generated

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@"]

# Statements that create a tensor `x` from a 2 by 2 array `a`.
KINDS = {
    "constant": "x = tf.constant(a)",
    "convert": "x = tf.convert_to_tensor(a)",
    "variable": "x = tf.convert_to_tensor(tf_variable)",
    "read": "x = tf_variable.read_value()",
    "identity": "x = tf.identity(a)",
    "reshape": "x = tf.reshape(a, [2, 2])",
    "part": "x = tf.concat([tf.constant(a), tf.constant(a)], 0)[:2]",
    "gathered": "x = tf.gather(tf.constant(a), [0, 1])",
    "operator": "x = tf.constant(a) * 1.0",
    "of variables": "x = tf_variable * 1.0",
    "unary": "x = -(-tf.constant(a))",
    "function": "x = tf.abs(a)",
    "transposed": "x = tf.transpose(tf.transpose(a))",
    "layer": "x = tf_layer(a)",
    "split": "x = tf.split(tf.concat([a, a], 0), 2)[0]",
    "unstacked": "x = tf.unstack(tf.stack([a, a]))[1]",
    "where": "x = tf.where(a > 0.0, a, a)",
}

# Statements that modify a second name of `x`; its last name is `h`.
PLACES = {
    "name": "h = x\n{indent}h {op}= y",
    "own name": "first = x\n{indent}h = x\n{indent}h {op}= y\n{indent}x = first",
    "list": "box = [x]\n{indent}box[0] {op}= y\n{indent}h = box[0]",
    "dict": "box = {{'k': x}}\n{indent}box['k'] {op}= y\n{indent}h = box['k']",
    "view": "h = x[:]\n{indent}h {op}= y",
    "branch": "h = x\n{indent}if float(flag) > 0.0:\n{indent}    h {op}= y",
    "both branches": (
        "if float(flag) > 0.0:\n{indent}    h = x\n{indent}else:\n{indent}    h = x * 2.0\n"
        "{indent}h {op}= y"
    ),
    "loop": "h = x\n{indent}for _ in range(n):\n{indent}    h {op}= y",
    "helper": "h = changed_{name}(x, y)",
    "object": "box = Box()\n{indent}box.x = x\n{indent}box.x {op}= y\n{indent}h = box.x",
}

HEADER = """
import numpy as np
import s2s.tf as tf

tf_variable = tf.Variable(np.array([[1.5, 2.0], [3.0, 0.5]]))


class Through(tf.keras.layers.Layer):
    def call(self, x):
        return x


class Box:
    def __init__(self):
        self.x = None


tf_layer = Through()
"""

A = np.array([[1.5, 2.0], [3.0, 0.5]])
Y = np.array([[2.0, 1.0], [0.5, 3.0]])


def program(name: str, op: str, kind: str, place: str) -> str:
    """Three variants of a program: plain, inside a tape's block, and compiled."""
    indent = "    "
    change = PLACES[place].format(op=op, indent=indent, name=name)
    deeper = PLACES[place].format(op=op, indent=2 * indent, name=name)
    return f"""
def changed_{name}(v, y):
    v {op}= y
    return v


def plain_{name}(a, y, flag, n):
    {KINDS[kind]}
    {change}
    return x, h


def taped_{name}(a, y, flag, n):
    with tf.GradientTape() as tape:
        {KINDS[kind]}
        {deeper}
    return x, h


compiled_{name} = tf.function(plain_{name})
"""


CASES = [(op, kind, place) for op in OPERATORS for kind in KINDS for place in PLACES]


def test_augmented_assignment_binds_anew(tmp_path: Path) -> None:
    chosen = sample(CASES, 8)
    text = HEADER + "".join(program(f"f{i}", *case) for i, case in enumerate(chosen))
    file = tmp_path / "generated_tf_values.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("generated_tf_values", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wrong = []
    for i, (op, kind, place) in enumerate(chosen):
        want = eval(f"A {op} Y", {"A": A, "Y": Y})
        for way in ("plain", "taped", "compiled"):
            a, y = A.copy(), Y.copy()
            try:
                x, h = getattr(module, f"{way}_f{i}")(a, y, 1.0, 1)
            except Exception as error:
                wrong.append((op, kind, place, way, f"{type(error).__name__}: {error}"))
                continue
            same = np.array_equal(x, A) and np.array_equal(a, A) and np.array_equal(y, Y)
            fits = np.allclose(h, want) and is_tensor(x) and is_tensor(h)
            if not (same and fits):
                wrong.append((op, kind, place, way, "changed" if not same else "another value"))
    assert not wrong, f"{len(wrong)} of {3 * len(chosen)}: {wrong[:5]}"


# ---------------------------------------------------------------- examples


def test_a_second_name() -> None:
    x = tf.constant([1.0, 2.0])
    h = x
    h *= 0.5
    assert x.numpy().tolist() == [1.0, 2.0] and h.numpy().tolist() == [0.5, 1.0]


def scaled(images: Any) -> Any:
    images /= 255.0
    return images


def test_a_compiled_step_leaves_its_argument() -> None:
    step = tf.function(scaled)
    for images in (np.full((2, 2), 255.0, np.float32), tf.fill([2, 2], 255.0)):
        for _ in range(3):
            assert step(images).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]
        assert np.all(np.asarray(images) == 255.0)


def test_arrays_in_structures_are_values_too() -> None:
    @tf.function
    def step(batch: Any, pair: Any) -> Any:
        x = batch["x"]
        x += 1.0
        first, second = pair
        second -= first
        return x, second

    batch, pair = {"x": np.zeros(2)}, (np.ones(2), np.full(2, 3.0))
    for _ in range(2):
        x, second = step(batch, pair)
        assert x.numpy().tolist() == [1.0, 1.0] and second.numpy().tolist() == [2.0, 2.0]


def test_a_gradient_that_was_kept() -> None:
    w = tf.Variable([1.0, 2.0])
    total: Any = None
    kept = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        g = tape.gradient(loss, w)
        kept.append(g)
        if total is None:
            total = g
        else:
            total += g
    assert [k.numpy().tolist() for k in kept] == [[2.0, 4.0]] * 3
    assert total.numpy().tolist() == [6.0, 12.0]


def test_gradients_in_compiled_code() -> None:
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(n: int) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        g = tape.gradient(loss, w)
        total = g
        for _ in range(n):
            total += g
        return g, total

    g, total = step(2)
    assert g.numpy().tolist() == [2.0, 4.0] and total.numpy().tolist() == [6.0, 12.0]


def test_sums_that_begin_with_a_tensor_of_rank_0() -> None:
    @tf.function
    def total(x: Any, start: Any, n: int) -> Any:
        s = tf.constant(0.0)
        first = start
        for i in tf.range(n):
            s += x[i]
            start += x[i]
        return s, start, first

    x = np.arange(4.0, dtype=np.float32)
    for n in (0, 1, 3):
        got = [float(v) for v in total(x, tf.constant(10.0), n)]
        assert got == [float(np.sum(x[:n])), 10.0 + float(np.sum(x[:n])), 10.0]


def test_maps_of_datasets() -> None:
    data = np.full((4, 2), 255.0, np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(data).map(scaled).batch(2)
    for _ in range(3):
        assert all(np.all(np.asarray(batch) == 1.0) for batch in dataset)
    assert np.all(data == 255.0)


def test_batches_of_a_cached_dataset() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(np.zeros((4, 2), np.float32)).batch(2).cache()
    for _ in range(3):
        for x in dataset:
            assert np.all(np.asarray(x) == 0.0)
            x += 1.0


def test_datasets_do_not_follow_the_arrays_they_were_made_of() -> None:
    data = np.zeros((2, 2))
    dataset = tf.data.Dataset.from_tensor_slices({"x": data, "y": data})
    buffer = np.zeros(1)

    def rows() -> Any:
        for i in range(3):
            buffer[0] = i
            yield buffer

    generated = list(tf.data.Dataset.from_generator(rows))
    data[:] = 7.0
    assert all(np.all(np.asarray(e["x"]) == 0.0) for e in dataset)
    assert [float(g[0]) for g in generated] == [0.0, 1.0, 2.0]
    assert all(is_tensor(e["y"]) for e in dataset.shuffle(2).repeat(2).take(3).prefetch(1))


class Doubles(tf.keras.layers.Layer):
    def call(self, x: Any) -> Any:
        x *= 2.0
        return x


class Shifts(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Doubles()

    def call(self, x: Any) -> Any:
        x += 1.0
        return self.inner(x)


@pytest.mark.parametrize("make", [Doubles, Shifts, lambda: tf.keras.Sequential([Doubles()])])
def test_layers_leave_what_they_are_given(make: Any) -> None:
    layer = make()
    for x in (np.ones((1, 2), np.float32), tf.ones([1, 2])):
        for call in (layer, tf.function(lambda x: layer(x))):
            out = call(x)
            assert np.all(np.asarray(x) == 1.0) and np.all(np.asarray(out) >= 2.0)
            assert is_tensor(out)


def test_functional_models_leave_what_they_are_given() -> None:
    inputs = tf.keras.Input((2,))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(Doubles()(inputs)))
    x = np.ones((1, 2), np.float32)
    assert np.array_equal(model(x), model(x)) and np.all(x == 1.0)
    assert isinstance(model, tf.keras.Model) and isinstance(model, s2s.Model)


def test_layers_are_those_of_both_namespaces() -> None:
    for name in tf.keras.layers.__all__:
        cls = getattr(tf.keras.layers, name)
        native = getattr(s2s.layers, name)
        assert issubclass(cls, native) and cls.__name__ == native.__name__
        assert name == "Input" or issubclass(cls, tf.keras.layers.Layer)
    assert isinstance(tf.keras.layers.Conv2D(1, 1), tf.keras.layers.Layer)


def test_constants_share_no_memory() -> None:
    a = np.array([1.0, 2.0])
    made = [tf.constant(a), tf.convert_to_tensor(a), tf.reshape(a, [2, 1]), tf.squeeze(a)]
    made += [tf.stop_gradient(a), tf.broadcast_to(a, [1, 2]), tf.transpose(a), tf.identity(a)]
    b = made[0].numpy()
    b += 1.0
    a[:] = 9.0
    assert all(np.ravel(np.asarray(t)).tolist() == [1.0, 2.0] for t in made)


def test_variables_as_tensors() -> None:
    v = tf.Variable([1.0, 2.0])
    made = [tf.convert_to_tensor(v), v.value(), v.read_value(), tf.identity(v), v[:], np.asarray(v)]
    average = tf.convert_to_tensor(v)
    v.assign([5.0, 6.0])
    assert all(np.asarray(t).tolist() == [1.0, 2.0] for t in made)
    average = 0.5 * average + 0.5 * v
    kept = average
    average += v
    assert kept.numpy().tolist() == [3.0, 4.0]


def test_what_a_step_returns() -> None:
    v = tf.Variable([1.0, 2.0])
    a = np.array([3.0, 4.0], np.float32)

    @tf.function
    def step(x: Any) -> Any:
        v.assign_add([1.0, 1.0])
        return v, x, v.value(), v[:1]

    first, second = step(a), step(a)
    a[:] = 0.0
    v.assign([9.0, 9.0])
    assert [np.asarray(t).tolist() for t in first] == [[2.0, 3.0], [3.0, 4.0], [2.0, 3.0], [2.0]]
    assert [np.asarray(t).tolist() for t in second] == [[3.0, 4.0], [3.0, 4.0], [3.0, 4.0], [3.0]]
    assert all(map(is_tensor, (*first, *second)))


class State:
    def __init__(self) -> None:
        self.total: Any = None


def test_what_a_step_keeps_in_objects() -> None:
    state = State()
    state.total = tf.zeros([2])

    @tf.function
    def step(g: Any) -> Any:
        state.total += g
        return state.total

    g = np.ones(2, np.float32)
    first = step(g)
    state.total += g
    second = step(g)
    assert first.numpy().tolist() == [1.0, 1.0] and second.numpy().tolist() == [3.0, 3.0]
    assert g.tolist() == [1.0, 1.0] and is_tensor(state.total)


def test_variables_keep_their_operators() -> None:
    v = tf.Variable([1.0, 2.0])
    w = v
    w += 1.0
    assert w is v and v.numpy().tolist() == [2.0, 3.0]

    @tf.function
    def step() -> Any:
        u = v
        u -= 1.0
        return tf.reduce_sum(v)

    assert step() == 3.0 and v.numpy().tolist() == [1.0, 2.0]


def test_tensors_cannot_be_written_to() -> None:
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match="a tensor cannot be written to"):
        x[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        np.add(x, 1.0, out=x)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 3.0

    def writes(x: Any) -> Any:
        x[0] = 3.0
        return x

    def adds(x: Any) -> Any:
        x[0] += 3.0
        return x

    def fills(x: Any) -> Any:
        np.copyto(x, 0.0)
        return x

    for function in (writes, adds, fills):
        with pytest.raises(TypeError, match=r"a tensor cannot be written to(.|\n)*test_tf_values"):
            tf.function(function)(np.ones(2))
        with pytest.raises(TypeError, match="a tensor cannot be written to"):
            s2s.function(function)(x)


def test_an_array_on_one_path_is_refused() -> None:
    @tf.function
    def step(x: Any, flag: float) -> Any:
        h = x
        if flag > 0.0:
            h = np.zeros(2)
        h += 1.0
        return h

    with pytest.raises(s2s.UnsupportedError, match="h is a tensor on one path"):
        step(np.ones(2), 1.0)


def test_copies_and_pickles() -> None:
    x = tf.constant([1.0, 2.0])
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert is_tensor(y) and y.numpy().tolist() == [1.0, 2.0]


def test_parts_are_tensors() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    parts = [x[0], x[0, 1], x[[1, 0]], x[x > 1.0], *x, x > 1.0, -x, 2.0 * x, np.float32(2.0) * x]
    assert all(map(is_tensor, parts))
    assert x[0, 1].numpy() == 2.0 and f"{x[0, 1]:.1f}" == "2.0" and float(x[1, 1]) == 4.0


# ---------------------------------------------------------------- the other side of the boundary


def test_numpy_functions_of_tensors_give_arrays() -> None:
    """As for TensorFlow's tensors; the results are writable."""
    x = tf.constant([1.0, 2.0])
    for made in (np.zeros_like(x), np.copy(x), np.array(x), np.exp(x), x.numpy(), x.copy()):
        other = made
        made += 1.0
        made[0] = 7.0
        assert other[0] == 7.0 and other[1] == made[1]
    assert x.numpy().tolist() == [1.0, 2.0]


def test_numpy_functions_of_tensors_give_arrays_in_compiled_code() -> None:
    @tf.function
    def step(x: Any) -> Any:
        a, b, c = np.zeros_like(x), np.array(x), np.exp(x)
        other = a
        a += 1.0
        b[0] = 7.0
        c[1] = 0.0
        return other, b, c, x

    other, b, c, x = step(np.zeros(2))
    assert other.numpy().tolist() == [1.0, 1.0] and b.numpy().tolist() == [7.0, 0.0]
    assert c.numpy().tolist() == [1.0, 0.0] and x.numpy().tolist() == [0.0, 0.0]


def test_native_arrays_are_numpys() -> None:
    def halved(x: Any) -> Any:
        h = x
        h *= 0.5
        return np.sum(x)

    for function in (halved, s2s.function(halved)):
        x = np.array([2.0, 4.0])
        assert function(x) == 3.0 and x.tolist() == [1.0, 2.0]


def test_native_tensors_are_numpys() -> None:
    w = s2s.Variable(np.array([1.0, 2.0]))
    with s2s.GradientTape() as tape:
        loss = np.sum(w * w)
    g = tape.gradient(loss, w)
    other = g
    g *= 0.5
    g[0] = 7.0
    assert other.tolist() == [7.0, 2.0]
    (batch,) = s2s.data.Dataset.from_tensor_slices(np.ones((2, 1))).batch(2)
    batch[0] = 5.0
    h = w * 1.0
    h[0] = 3.0
    assert batch[0, 0] == 5.0 and h[0] == 3.0


def test_one_native_function_for_arrays_and_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is specialised for tensors and arrays separately."""
    for backend in ("loops", "numba"):
        monkeypatch.setenv("S2S_BACKEND", backend)

        @s2s.function
        def shifted(x: Any) -> Any:
            h = x
            h += 1.0
            return np.sum(x)

        for _ in range(3):
            x, t = np.zeros(2), tf.constant(np.zeros(2))
            assert shifted(t) == 0.0 and np.all(np.asarray(t) == 0.0)
            assert shifted(x) == 2.0 and np.all(x == 1.0)
            assert shifted(x) == 4.0 and np.all(x == 2.0)


def test_one_specialisation_for_arrays_and_tensors_in_steps() -> None:
    @tf.function
    def step(x: Any) -> Any:
        return tf.reduce_sum(x)

    for x in (np.zeros(2), tf.constant(np.zeros(2))):
        step(x)
    assert len(step._specialiser("primal").entries) == 1


def test_nothing_is_copied_where_nobody_could_notice() -> None:
    x = tf.constant([1.0, 2.0])
    assert np.may_share_memory(tf.convert_to_tensor(x), x)
    assert np.may_share_memory(tf.reshape(x, [2, 1]), x)
    assert np.may_share_memory(tf.keras.layers.Flatten()(x[None]), x)
    row = next(iter(tf.data.Dataset.from_tensor_slices(x[None])))
    assert np.may_share_memory(row, x)
