"""Programs with tapes, in TensorFlow's API.  TensorFlow runs them for the oracle
(`make_oracle.py`), and `s2s.tf`, compiled and in plain Python, for the tests."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

tf: Any = importlib.import_module(os.environ.get("S2S_ORACLE", "s2s.tf"))


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


START = {"w": floats(0.5, -1.0, 2.0), "u": floats(1.0, 2.0, 3.0), "k": floats(2.0, 2.0, 2.0)}
w, u = tf.Variable(START["w"]), tf.Variable(START["u"])
k = tf.Variable(START["k"], trainable=False)
b = tf.Variable(np.float32(0.3))


def inner_steps_that_assign(x: Any) -> Any:
    """Inner steps that assign: outer gradients sum over all reads."""
    with tf.GradientTape() as outer:
        total = tf.reduce_sum(w * 0.0)
        for _ in range(3):
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum((w * x - u) ** 2)
            g = inner.gradient(loss, w)
            w.assign_sub(0.05 * g)
            total = total + loss
        final = tf.reduce_sum((w * x - u) ** 2) + total
    return outer.gradient(final, [w, u])


def inner_steps_on_values(x: Any) -> Any:
    """Inner steps on values: the outer gradient flows through the inner ones."""
    with tf.GradientTape() as outer:
        fast = w * 1.0
        for _ in range(3):
            with tf.GradientTape() as inner:
                inner.watch(fast)
                loss = tf.reduce_sum((fast * x - u) ** 2)
            g = inner.gradient(loss, fast)
            fast = fast - 0.05 * g
        final = tf.reduce_sum((fast * x - u) ** 2)
    return outer.gradient(final, [w, u]), final


def gradient_penalty(x: Any) -> Any:
    """A penalty on the gradient with respect to the input."""
    with tf.GradientTape() as tape:
        with tf.GradientTape() as gt:
            gt.watch(x)
            score = tf.reduce_sum(tf.tanh(x * w + b))
        gx = gt.gradient(score, x)
        pen = (tf.reduce_sum(gx * gx) - 1.0) ** 2
        loss = pen + score
    return tape.gradient(loss, [w, b])


def second_derivatives(x: Any) -> Any:
    """Second derivatives with respect to the input."""
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t1:
            t1.watch(x)
            y = tf.tanh(x * w) * u
        dy = t1.gradient(y, x)
    d2y = t2.gradient(dy, x)
    return dy, d2y


def third_derivatives(x: Any) -> Any:
    """Three tapes."""
    with tf.GradientTape() as a:
        a.watch(x)
        with tf.GradientTape() as bb:
            bb.watch(x)
            with tf.GradientTape() as c:
                c.watch(x)
                y = tf.reduce_sum(x**4)
            g1 = c.gradient(y, x)
        g2 = bb.gradient(g1, x)
    return a.gradient(g2, x), g1, g2


def stopped_recording(x: Any) -> Any:
    """Values computed while recording is stopped."""
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        h = w * x
        with t.stop_recording():
            s = h * h
            q = s * w
        y = tf.reduce_sum(h * q) + tf.reduce_sum(s * u)
        with t.stop_recording():
            g = t.gradient(y, w)
        z = tf.reduce_sum(y * g)
    return g, t.gradient(z, [w, u, x]), t.gradient(y, [w, u, x, h]), t.gradient(y, s)


def reset_in_between(x: Any) -> Any:
    """Values computed before a reset."""
    with tf.GradientTape(persistent=True) as t:
        h = w * x
        t.reset()
        y = tf.reduce_sum(h * u * w)
    return t.gradient(y, [w, u, h])


def not_trained(x: Any) -> Any:
    """A Variable that is not trained, watched and assigned."""
    with tf.GradientTape(persistent=True) as t:
        t.watch(k)
        y = tf.reduce_sum(k * w * x)
        k.assign(w * 1.0)
        z = tf.reduce_sum(k * k) + y
    return t.gradient(y, [k, w]), t.gradient(z, [k, w])


def several_targets(x: Any) -> Any:
    """Several targets, seeds, structures."""
    with tf.GradientTape(persistent=True) as t:
        y = w * x
        z = u * y
        s = tf.reduce_sum(z)
    return (
        t.gradient([y, z, s], [w, u]),
        t.gradient([y, z], [w, u], output_gradients=[x, w * 1.0]),
        t.gradient({"a": y, "b": s}, {"w": w, "l": [u, b]}),
    )


def jacobians(x: Any) -> Any:
    """Jacobians with respect to several sources."""
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.tanh(x * w) * u * b
        m = tf.matmul(tf.reshape(x, (3, 1)), tf.reshape(w, (1, 3)))
    return t.jacobian(y, [x, w, b]), t.jacobian(m, x), t.jacobian(b * 1.0, w), t.jacobian(m, [w, k])


def batch_jacobians(x: Any) -> Any:
    """Jacobians row by row."""
    X = tf.reshape(x, (3, 1)) * tf.reshape(w, (1, 3))
    with tf.GradientTape(persistent=True) as t:
        t.watch(X)
        y = tf.matmul(tf.tanh(X), tf.reshape(u, (3, 1)) * tf.reshape(w, (1, 3)))
    return t.batch_jacobian(y, X)


def variable_as_target(x: Any) -> Any:
    """A Variable as the target."""
    with tf.GradientTape(persistent=True) as t:
        y = w * 1.0
    return t.gradient(w, w), t.gradient([w, y], [w, u])


def zeros(x: Any) -> Any:
    """Zeros for unconnected sources."""
    with tf.GradientTape(persistent=True) as t:
        y = tf.reduce_sum(w * x)
    return t.gradient(
        y, [w, u, k, x], unconnected_gradients=tf.UnconnectedGradients.ZERO
    ), t.jacobian(y, u, unconnected_gradients="zero")


def inside_the_block(x: Any) -> Any:
    """Gradients inside the tape's own block."""
    with tf.GradientTape(persistent=True) as t:
        y = w * w * x
        g = t.gradient(y, w)
        z = tf.reduce_sum(g * y)
        h = t.gradient(z, w)
    return g, h, t.gradient(h, w), t.gradient(z, [w, x])


def bound_anew(x: Any) -> Any:
    """Names that are rebound."""
    with tf.GradientTape(persistent=True) as t:
        a = w * x
        old = a
        a = a * u
        y = tf.reduce_sum(a * old)
    return t.gradient(y, [a, old, w, u])


def assigned_while_stopped(x: Any) -> Any:
    """A Variable assigned while recording is stopped."""
    with tf.GradientTape(persistent=True) as t:
        y = tf.reduce_sum(w * x)
        with t.stop_recording():
            w.assign_add(x)
            v = w * 2.0
        z = y + tf.reduce_sum(w * w) + tf.reduce_sum(v)
    return t.gradient(z, [w]), t.gradient(z, [v])


def two_tapes(x: Any) -> Any:
    """Two tapes over one block."""
    with tf.GradientTape() as p, tf.GradientTape(watch_accessed_variables=False) as q:
        q.watch(u)
        y = tf.reduce_sum(w * u * x)
        w.assign(u * 1.0)
        y = y + tf.reduce_sum(w * w * u)
    return p.gradient(y, [w, u]), q.gradient(y, [w, u])


def stopped_gradient(x: Any) -> Any:
    """stop_gradient."""
    with tf.GradientTape() as t:
        y = tf.reduce_sum(tf.stop_gradient(w * x) * w * u)
    return t.gradient(y, [w, u])


def conditional_steps(x: Any) -> Any:
    """Variables assigned in branches of a loop."""
    with tf.GradientTape() as t:
        z = tf.reduce_sum(w * 0.0)
        for _ in range(4):
            z = z + tf.reduce_sum(tf.sin(w) * w * u)
            if z > 1.0:
                w.assign(w * 0.5 + x)
            else:
                w.assign_sub(0.1 * w)
                u.assign_add(w * x)
    return t.gradient(z, [w, u]), z


SCENARIOS = {
    f.__name__: f
    for f in (
        inner_steps_that_assign, inner_steps_on_values, gradient_penalty, second_derivatives,
        third_derivatives, stopped_recording, reset_in_between, not_trained, several_targets,
        jacobians, batch_jacobians, variable_as_target, zeros, inside_the_block, bound_anew,
        assigned_while_stopped, two_tapes, stopped_gradient, conditional_steps,
    )
}  # fmt: skip


def outcome(run: Any) -> Any:
    """The result of a program and the final values of the Variables, as plain lists."""
    for variable, start in zip((w, u, k), START.values()):
        variable.assign(start)
    answer = run(tf.constant(floats(0.7, 1.3, -0.4)))
    return plain([answer, [v.numpy() for v in (w, u, k)]])


def plain(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return np.asarray(value).astype(float).tolist()
