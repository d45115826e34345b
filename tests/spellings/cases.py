"""Expressions with equal results under TensorFlow and `s2s.tf`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.pages import ROOT, functions, rows

PAGE = (ROOT / "docs/for-tensorflow-users.md").read_text(encoding="utf-8")

# `x` has 3 elements, `m` is 2 by 3, `s` is symmetric and positive; all are watched.
EXPRESSIONS = """
tf.abs(x)
tf.negative(x) + tf.sign(x)
tf.square(x) + tf.sqrt(tf.abs(x)) + tf.math.rsqrt(tf.abs(x)) + tf.math.reciprocal(x)
tf.exp(x) + tf.math.expm1(x) + tf.math.log(tf.abs(x)) + tf.math.log1p(tf.abs(x))
tf.sin(x) * tf.cos(x) + tf.tan(x)
tf.asin(x / 3.0) + tf.acos(x / 3.0) + tf.atan(x) + tf.sinh(x) + tf.cosh(x) + tf.tanh(x)
tf.floor(x) * x + tf.math.ceil(x) * x + tf.round(x) * x
tf.sigmoid(x) + tf.math.softplus(x) + tf.nn.relu(x) + tf.nn.softmax(x) + tf.nn.gelu(x)
tf.nn.l2_loss(m) + tf.keras.activations.softplus(x) + tf.keras.activations.tanh(x)
tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.constant([0.0, 1.0, 0.3]), logits=x)
tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros([3]), logits=100.0 * (x - 0.5))
tf.nn.softmax_cross_entropy_with_logits(labels=[[0.0, 0.0, 1.0], [0.5, 0.25, 0.25]], logits=m)
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant([2, 0]), logits=m)
tf.add(x, 1.0) + tf.subtract(x, 2.0) + tf.multiply(x, 3.0) + tf.divide(x, 4.0)
tf.pow(tf.abs(x), 2.5) + tf.math.squared_difference(x, 0.3) + tf.atan2(x, 2.0)
tf.maximum(x, 0.1) + tf.minimum(x, 0.2) + tf.clip_by_value(x, -0.9, 0.9)
tf.where(tf.logical_and(x > 0.0, tf.less(x, 1.0)), x, x * x)
tf.where(tf.logical_or(tf.equal(x, 0.5), tf.logical_not(tf.greater_equal(x, 0.0))), x, 0.0)
tf.reduce_sum(m) + tf.reduce_mean(m) + tf.reduce_prod(m) + tf.reduce_max(m) + tf.reduce_min(m)
tf.reduce_sum(m, axis=0) + tf.reduce_mean(m, axis=[0]) * tf.reduce_prod(m, axis=0)
tf.reduce_max(m, axis=1, keepdims=True) * m
tf.math.reduce_std(m, axis=0) + tf.math.reduce_variance(m, axis=0)
tf.reduce_logsumexp(m, axis=1) + tf.reduce_logsumexp(m)
tf.reduce_any(m > 1.0, axis=0)
tf.reduce_all(m > -9.0)
tf.cumsum(m) + tf.cumsum(m, axis=1)
tf.argmax(m)
tf.argmin(m, axis=1)
tf.matmul(m, m, transpose_b=True)
tf.matmul(m, m, transpose_a=True)
tf.linalg.matvec(m, x)
tf.tensordot(m, x, 1) + tf.einsum("ij,ij->i", m, m)
tf.norm(m) + tf.norm(m, axis=1, keepdims=True)
tf.eye(3) * x + tf.linalg.diag(x) + tf.linalg.diag_part(s) * tf.linalg.trace(s)
tf.linalg.solve(s, tf.reshape(x, [3, 1])) + tf.linalg.inv(s) * tf.linalg.det(s)
tf.linalg.cholesky(s)
tf.zeros([3]) + tf.ones([3]) + tf.zeros_like(x) + tf.ones_like(x) + tf.fill([3], 2.0) + x
tf.cast(tf.range(3), tf.float32) * x + tf.cast(tf.range(1, 7, 2), tf.float32)
tf.linspace(0.0, 1.0, 3) * x
tf.one_hot([0, 2, 2], 3) * x
tf.cast(x, tf.float64)
tf.cast(x, tf.int32)
tf.constant([1.0, 2.0, 3.0]) * tf.convert_to_tensor([1, 2, 3], dtype=tf.float32) * tf.identity(x)
tf.reshape(m, [3, -1])
tf.transpose(m) + tf.transpose(m, perm=[1, 0])
tf.expand_dims(x, 0) * tf.squeeze(tf.expand_dims(m, 1))
tf.broadcast_to(x, [2, 3]) + tf.tile(x, [2])[:3]
tf.pad(m, [[1, 0], [0, 2]])
tf.concat([m, m * m], axis=0)
tf.concat([m, m * m], 1)
tf.stack([x, 2.0 * x], axis=1)
tf.unstack(m)[1] * tf.unstack(m, axis=1)[0][0]
tf.split(m, 3, axis=1)[2] + tf.split(m, [1, 2], axis=1)[1]
tf.gather(x, [2, 0, 0])
tf.gather(m, [2, 0], axis=1)
tf.gather_nd(m, tf.stack([[0, 1, 1], [2, 0, 2]], axis=1))
tf.add_n([x, x * x, 2.0 * x])
tf.math.unsorted_segment_sum(tf.transpose(m), tf.constant([3, 0, 3]), 4)
tf.nn.conv2d(tf.reshape(m, [1, 2, 3, 1]), tf.reshape(s, [3, 3, 1, 1]), 1, "SAME")
tf.nn.conv2d(tf.reshape(s, [1, 3, 3, 1]), tf.reshape(m, [2, 3, 1, 1]), [1, 1, 1, 1], "VALID")
tf.nn.max_pool2d(tf.reshape(s, [1, 3, 3, 1]), 2, [2, 1], "SAME")
tf.nn.bias_add(m, x)
tf.boolean_mask(x, x > 0.0)
tf.reverse(m, axis=[1]) * m
tf.sort(x) * x
tf.asinh(x) + tf.acosh(tf.abs(x) + 1.5) + tf.atanh(x / 3.0)
tf.math.erf(x) + tf.math.erfc(x) + tf.math.lgamma(tf.abs(x)) + tf.math.digamma(tf.abs(x))
tf.math.log_sigmoid(x) + tf.math.softmax(x) + tf.math.log_softmax(x)
tf.math.divide_no_nan(x, tf.constant([0.0, 2.0, 3.0]) * x) + tf.math.xlogy(x, tf.abs(x))
tf.math.floormod(x, 0.7) + tf.where(tf.math.is_nan(x), x, tf.cast(tf.math.is_finite(x), tf.float32))
tf.math.reduce_euclidean_norm(m, axis=1) + tf.math.reduce_euclidean_norm(m)
tf.math.l2_normalize(m, axis=1) + tf.nn.l2_normalize(m, axis=[0, 1])
tf.cumsum(m, axis=1, reverse=True) + tf.cumsum(m, exclusive=True) + tf.math.cumprod(m, axis=1)
tf.cumsum(m, axis=1, exclusive=True, reverse=True)
tf.math.top_k(m, k=2)[0]
tf.math.top_k(m, 2)[1]
tf.nn.avg_pool2d(tf.reshape(s, [1, 3, 3, 1]), 2, [2, 1], "SAME")
tf.nn.conv1d(tf.reshape(s, [1, 3, 3]), tf.reshape(m, [2, 3, 1]), 1, "SAME")
tf.nn.dropout(x, 0.0) + tf.nn.moments(m, axes=[0])[1] + tf.nn.moments(m, [0, 1], keepdims=True)[0]
tf.nn.embedding_lookup(m, tf.constant([1, 0, 1]))
tf.repeat(m, 2, axis=1) + tf.repeat(x, 2)
tf.roll(m, 1, axis=1) * m
tf.meshgrid(x, x[:2])[0] * tf.meshgrid(x, x[:2])[1]
tf.meshgrid(x, x[:2], indexing="ij")[0]
tf.pad(m, [[1, 1], [0, 2]], "REFLECT")
tf.pad(m, [[1, 1], [0, 2]], mode="SYMMETRIC") + tf.pad(m, [[1, 1], [0, 2]], constant_values=1.5)
tf.slice(m, [0, 1], [1, -1]) * tf.slice(m, [1, 0], [1, 2])
tf.tensor_scatter_nd_update(m, [[0, 1], [1, 2]], x[:2])
tf.tensor_scatter_nd_add(m, [[0], [0]], tf.stack([x, x * x]))
tf.gather(x, tf.argsort(x)) * x
tf.linalg.logdet(s) + tf.linalg.slogdet(s)[1]
tf.linalg.triangular_solve(s, tf.reshape(x, [3, 1]), lower=False)
tf.linalg.triangular_solve(s, tf.transpose(m), adjoint=True)
tf.linalg.band_part(s, 0, -1) + tf.linalg.band_part(s, 1, 0)
tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), [0, x])[1]
tf.keras.losses.mse(m, s[:2]) + tf.keras.losses.mae(m, s[:2])
tf.keras.losses.MeanSquaredError()(m, s[:2]) + tf.keras.losses.Huber(0.5)(m, s[:2])
tf.keras.losses.huber(m, s[:2], delta=0.5) + tf.keras.losses.cosine_similarity(m, s[:2])
tf.keras.losses.sparse_categorical_crossentropy(tf.constant([2, 0]), m, from_logits=True)
tf.keras.losses.categorical_crossentropy(tf.nn.softmax(s[:2]), m, from_logits=True)
tf.keras.losses.binary_crossentropy(tf.constant([[0.0, 1.0, 1.0]]), tf.sigmoid(m[:1]))
tf.keras.losses.hinge(tf.constant([[-1.0, 1.0, 1.0]]), m[:1])
tf.keras.losses.squared_hinge(tf.constant([[0.0, 1.0, 1.0]]), m[:1])
tf.keras.losses.poisson(tf.abs(m), tf.exp(m))
tf.keras.losses.kld(tf.nn.softmax(m), tf.nn.softmax(s[:2]))
tf.stop_gradient(x) * x
tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x, lambda: x)
tf.vectorized_map(lambda row: row * tf.reduce_sum(row), m)
tf.recompute_grad(lambda v: tf.sin(v) * v)(x)
tf.shape(m)[1] + tf.size(m) + tf.rank(m)
x[:, tf.newaxis] * m[0]
""".strip().splitlines()

START = """
x = tf.constant([0.5, -1.0, 2.0])
m = tf.constant([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
s = tf.constant([[2.0, 0.5, 0.1], [0.5, 3.0, -0.4], [0.1, -0.4, 1.0]])
"""


def text_of(expression: str) -> str:
    """The text of a file that evaluates an expression and differentiates it with respect to its
    inputs."""
    return (
        f"{START}\n"
        "with tf.GradientTape() as tape:\n"
        "    tape.watch([x, m, s])\n"
        f"    value = {expression}\n"
        "found = tape.gradient(value, [x, m, s]) if differentiable(value) else []\n"
        "gradients = [None if g is None else tf.convert_to_tensor(g) for g in found]\n"
    )


def differentiable(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def numbers(value: Any) -> Any:
    """Values as JSON data."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return [numbers(v) for v in value]
    if isinstance(value, dict):
        return {key: numbers(v) for key, v in value.items()}
    return np.asarray(value).tolist()


def run(text: str, name: str, tf: Any, folder: Path) -> dict[str, Any]:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    namespace = {"tf": tf, "np": np, "differentiable": differentiable, "__name__": "__main__"}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace


def outcomes(tf: Any, folder: Path) -> dict[str, Any]:
    found = {}
    for number, expression in enumerate(EXPRESSIONS):
        done = run(text_of(expression), f"case_{number}", tf, folder)
        found[expression] = numbers([done["value"], done["gradients"]])
    return found


def page_outcomes(tf: Any, folder: Path, side: int) -> dict[str, Any]:
    """The outcomes of the rows of the page's tables, by the left cell: of the left or the right
    cell."""
    start = functions(PAGE).replace("import s2s.tf as tf\n", "")
    if side == 0:
        start = start.replace("import s2s\n", "")
    found = {}
    for number, row in enumerate(rows(PAGE)):
        text = f"{start}\nvalue = {row[side]}\n"
        found[row[0]] = numbers(run(text, f"row_{side}_{number}", tf, folder)["value"])
    return found
