"""Calls of every name of `s2s.tf` with arguments of every kind, for the comparison with TensorFlow.

A case is an expression.  Its outcome is the dtype, shape and elements of its value, and the
gradient of their sum with respect to the inputs it names.  If TensorFlow raises, any outcome of s2s
is accepted."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np

INPUTS = """
f32 = tf.constant([-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5])
f64 = tf.constant([-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5], tf.float64)
g32 = tf.constant([0.5, -1.0, 2.0, 0.0, 0.5, 3.0, -2.0])
g64 = tf.constant([0.5, -1.0, 2.0, 0.0, 0.5, 3.0, -2.0], tf.float64)
i32 = tf.constant([-3, -1, 0, 1, 2, 7])
j32 = tf.constant([2, 3, 1, -2, 2, 3])
i64 = tf.constant([-3, -1, 0, 1, 2, 7], tf.int64)
j64 = tf.constant([2, 3, 1, -2, 2, 3], tf.int64)
p32 = tf.constant([1, 2, 0, 3])
b = tf.constant([True, False, True])
c = tf.constant([False, False, True])
f0 = tf.constant(0.75)
i0 = tf.constant(3)
none = tf.zeros([0])
batch = tf.constant([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
row = tf.constant([0.5, -1.0, 2.0])
cube = tf.constant([[[2.0, 0.5], [0.1, 1.0]], [[1.5, -0.4], [0.3, 3.0]]])
ints = tf.constant([[3, 1, 2], [0, 5, -4]])
edge = tf.constant([-np.inf, -1e30, -100.0, -1e-30, 1e-30, 100.0, 1e30, np.inf, np.nan], tf.float32)
spd = tf.constant([[2.0, 0.5, 0.1], [0.5, 3.0, -0.4], [0.1, -0.4, 1.0]])
spds = tf.constant([[[2.0, 0.5], [0.5, 3.0]], [[1.0, -0.2], [-0.2, 2.0]]])
prob = tf.constant([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
true = tf.constant([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
"""

NAMES = re.findall(r"^(\w+) =", INPUTS, re.MULTILINE)
# The inputs to differentiate with respect to, unless they contain infinities.
FLOATS = ("f32", "f64", "g32", "g64", "f0", "none", "batch", "row", "cube", "spd", "spds", "prob")

ELEMENTWISE = """
abs acos acosh asin asinh atan atanh ceil:math cos cosh exp expm1:math floor log:math log1p:math
negative reciprocal:math round rsqrt:math sigmoid sign sin sinh softplus:math sqrt square tan tanh
erf:math erfc:math lgamma:math digamma:math log_sigmoid:math is_nan:math is_finite:math
zeros_like ones_like identity convert_to_tensor stop_gradient
relu:nn relu6:nn elu:nn selu:nn gelu:nn leaky_relu:nn silu:nn swish:nn softsign:nn
elu:keras.activations exponential:keras.activations gelu:keras.activations
hard_sigmoid:keras.activations leaky_relu:keras.activations linear:keras.activations
relu:keras.activations relu6:keras.activations selu:keras.activations sigmoid:keras.activations
silu:keras.activations softplus:keras.activations softsign:keras.activations tanh:keras.activations
""".split()
UNARY = ["f32", "f64", "i32", "i64", "b", "f0", "none", "batch", "edge"]

ROWWISE = (
    "softmax:nn log_softmax:nn softmax:keras.activations log_softmax:keras.activations".split()
)

REDUCTIONS = """
reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any reduce_logsumexp
reduce_std:math reduce_variance:math reduce_euclidean_norm:math
""".split()
REDUCED = ["({x})", "({x}, axis=-1)", "({x}, axis=0, keepdims=True)", "({x}, [0])"]
ALL_AXES = ["({x}, axis=[0, 1])", "({x}, 1)"]

BINARY = """
add subtract multiply divide pow maximum minimum atan2 squared_difference floormod:math
divide_no_nan:math xlogy:math equal not_equal greater greater_equal less less_equal
""".split()
PAIRS = [
    "f32, g32", "f64, g64", "i32, j32", "i64, j64", "f32, 2.0", "2.0, f32", "i32, 2", "batch, row",
    "f0, f32", "none, 1.0", "f64, 3",
]  # fmt: skip

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="]
OPERANDS = [
    ("f32", "g32"), ("i32", "j32"), ("i64", "j64"), ("f32", "2"), ("2", "f32"), ("i32", "2"),
    ("7", "j32"), ("batch", "row"),
]  # fmt: skip

OTHERS = """
-f32
-i32
abs(i32)
~b
b & c
b | c
b ^ c
cube @ cube
batch[0]
batch[0, 1]
batch[:, 1:]
batch[..., 0]
f32[::-1]
f32[-1]
i32[2]
batch[:, tf.newaxis]
f32[f32 > 0.0]
tf.logical_and(b, c)
tf.logical_or(b, c)
tf.logical_not(b)
tf.constant(3)
tf.constant(3.5)
tf.constant(True)
tf.constant([1, 2])
tf.constant([1.5, 2.0])
tf.constant([[1, 2], [3, 4]], tf.float64)
tf.constant([])
tf.constant(1.0, shape=[2, 2])
tf.constant(np.array([1.5, 2.5]))
tf.constant(np.int64(3))
tf.convert_to_tensor(3)
tf.convert_to_tensor([1.5])
tf.convert_to_tensor(np.arange(3))
tf.Variable(3)
tf.Variable(3.5)
tf.Variable(True)
tf.Variable([1, 2])
tf.Variable([1.5])
tf.Variable(np.array([1.5]))
tf.Variable(3, dtype=tf.float32)
tf.Variable(i64)
tf.range(5)
tf.range(1, 5)
tf.range(1, 10, 3)
tf.range(5, 0, -2)
tf.range(2.5)
tf.range(0.0, 1.0, 0.3)
tf.range(0, 2, 0.5)
tf.range(i0)
tf.range(5, dtype=tf.float32)
tf.range(3, delta=2)
tf.range(tf.constant(4, tf.int64))
tf.linspace(0.0, 1.0, 5)
tf.linspace(0.0, 1.0, 1)
tf.linspace(2.0, -2.0, 3)
tf.linspace(tf.constant(0.0, tf.float64), tf.constant(1.0, tf.float64), 3)
tf.linspace(0, 10, 5)
tf.zeros([2, 3])
tf.zeros([2], tf.int32)
tf.zeros([])
tf.zeros([2], tf.bool)
tf.ones([2, 2])
tf.ones([2], dtype=tf.int64)
tf.ones([2], tf.bool)
tf.fill([2], 3)
tf.fill([2, 2], 3.5)
tf.fill([2], True)
tf.fill([2], f0)
tf.fill([], 1.0)
tf.zeros_like(i32, dtype=tf.float32)
tf.ones_like(f32, tf.int32)
tf.eye(3)
tf.eye(2, 3)
tf.eye(2, dtype=tf.float64)
tf.eye(2, dtype=tf.int32)
tf.eye(2, batch_shape=[2])
tf.one_hot([0, 2, 5, -1], 3)
tf.one_hot(p32, 4)
tf.one_hot(ints, 3)
tf.one_hot([0, 1], 2, on_value=5.0, off_value=-1.0)
tf.one_hot([0, 1], 2, dtype=tf.int32)
tf.one_hot([0, 1], 3, axis=0)
tf.one_hot(2, 3)
tf.rank(batch)
tf.size(batch)
tf.shape(batch)
tf.shape(batch)[0]
tf.reshape(batch, [3, 2])
tf.reshape(batch, [-1])
tf.reshape(batch, (1, -1))
tf.reshape(batch, -1)
tf.reshape(none, [0, 3])
tf.reshape(f0, [1, 1])
tf.transpose(batch)
tf.transpose(cube)
tf.transpose(cube, [0, 2, 1])
tf.transpose(cube, perm=[2, 0, 1])
tf.transpose(f32)
tf.expand_dims(batch, 0)
tf.expand_dims(batch, -1)
tf.expand_dims(f0, 0)
tf.expand_dims(batch, axis=1)
tf.squeeze(tf.expand_dims(batch, 0))
tf.squeeze(tf.expand_dims(batch, 1), axis=1)
tf.squeeze(tf.reshape(f32, [1, 7, 1]), [0, 2])
tf.broadcast_to(row, [2, 3])
tf.broadcast_to(f0, [2])
tf.tile(row, [2])
tf.tile(batch, [2, 1])
tf.repeat(row, 2)
tf.repeat(batch, 2, axis=0)
tf.repeat(row, [1, 0, 2])
tf.repeat(batch, [1, 2], axis=0)
tf.roll(row, 1, 0)
tf.roll(batch, [1, 1], [0, 1])
tf.roll(batch, shift=-1, axis=1)
tf.meshgrid(row, f32)
tf.meshgrid(row, f32, indexing="ij")
tf.pad(batch, [[1, 1], [0, 2]])
tf.pad(batch, [[1, 0], [2, 1]], "REFLECT")
tf.pad(batch, [[1, 0], [2, 1]], "SYMMETRIC")
tf.pad(batch, [[1, 0], [0, 0]], constant_values=7.0)
tf.pad(i32, [[1, 1]])
tf.concat([batch, batch], 0)
tf.concat([batch, batch], axis=-1)
tf.concat([i32, j32], 0)
tf.concat([none, f32], 0)
tf.stack([row, row])
tf.stack([row, row], axis=1)
tf.stack([row, row], -1)
tf.stack([1, 2])
tf.stack([f0, f0])
tf.unstack(batch)
tf.unstack(batch, axis=1)
tf.unstack(i32)
tf.split(batch, 3, axis=1)
tf.split(batch, [1, 2], axis=1)
tf.split(f32, 7)
tf.split(batch, 2)
tf.where(f32 > 0.0, f32, g32)
tf.where(f32 > 0.0, f32, 0.0)
tf.where(f32 > 0.0, 1.0, 0.0)
tf.where(i32 > 0, i32, j32)
tf.where(i32 > 0, 1, 0)
tf.where(batch > 0.0, row, batch)
tf.where(b, 1.0, 2.0)
tf.where(True, f32, g32)
tf.where(b)
tf.gather(f32, [2, 0, 2])
tf.gather(batch, [1, 0])
tf.gather(batch, [2, 0], axis=1)
tf.gather(batch, 1)
tf.gather(i32, p32)
tf.gather(batch, [[0, 1], [1, 0]])
tf.gather(batch, [[0, 1], [1, 0]], batch_dims=1)
tf.gather_nd(batch, [[0, 1], [1, 2]])
tf.gather_nd(batch, [[1], [0]])
tf.gather_nd(batch, [1, 2])
tf.slice(batch, [0, 1], [2, 2])
tf.slice(batch, [1, 0], [-1, 2])
tf.tensor_scatter_nd_update(f32, [[1], [3]], [9.0, 8.0])
tf.tensor_scatter_nd_update(batch, [[0]], [[7.0, 8.0, 9.0]])
tf.tensor_scatter_nd_add(f32, [[1], [1]], [9.0, 8.0])
tf.boolean_mask(f32, f32 > 0.0)
tf.boolean_mask(batch, [True, False])
tf.boolean_mask(batch, batch > 0.0)
tf.reverse(f32, [0])
tf.reverse(batch, axis=[0, 1])
tf.reverse(batch, [-1])
tf.sort(g32)
tf.sort(batch)
tf.sort(batch, axis=0)
tf.sort(g32, direction="DESCENDING")
tf.sort(i32)
tf.argsort(g32)
tf.argsort(batch, axis=0)
tf.argsort(g32, direction="DESCENDING")
tf.argmax(batch)
tf.argmax(batch, axis=1)
tf.argmax(batch, -1)
tf.argmax(i32)
tf.argmin(batch)
tf.argmin(f32)
tf.argmax(f32, output_type=tf.int32)
tf.cumsum(f32)
tf.cumsum(batch, 1)
tf.cumsum(batch, axis=0, exclusive=True)
tf.cumsum(f32, reverse=True)
tf.cumsum(f32, exclusive=True, reverse=True)
tf.cumsum(i32)
tf.cumsum(edge, exclusive=True)
tf.math.cumprod(f32)
tf.math.cumprod(batch, axis=1)
tf.math.cumprod(i32)
tf.math.cumprod(row, exclusive=True)
tf.math.cumprod(row, reverse=True)
tf.math.top_k(batch, 2)
tf.math.top_k(f32)
tf.math.top_k(i32, k=3)
tf.add_n([f32, g32, f32])
tf.add_n([i32, j32])
tf.add_n([f32])
tf.math.unsorted_segment_sum(row, [0, 2, 0], 3)
tf.math.unsorted_segment_sum(batch, [1, 1], 2)
tf.math.l2_normalize(row)
tf.math.l2_normalize(batch, axis=1)
tf.math.l2_normalize(tf.zeros([2]))
tf.nn.l2_normalize(batch, 0)
tf.nn.l2_loss(f32)
tf.nn.moments(batch, [0])
tf.nn.moments(batch, axes=[0, 1], keepdims=True)
tf.nn.bias_add(batch, row)
tf.nn.embedding_lookup(batch, [1, 0, 1])
tf.nn.softmax(batch, axis=0)
tf.nn.log_softmax(batch, axis=0)
tf.nn.leaky_relu(f32, 0.3)
tf.nn.leaky_relu(f32, alpha=0.1)
tf.nn.gelu(f32, approximate=True)
tf.keras.activations.elu(f32, alpha=0.5)
tf.keras.activations.leaky_relu(f32, negative_slope=0.1)
tf.nn.sigmoid_cross_entropy_with_logits(labels=true, logits=batch)
tf.nn.softmax_cross_entropy_with_logits(labels=true, logits=batch)
tf.nn.softmax_cross_entropy_with_logits(true, batch)
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 2], logits=batch)
tf.nn.conv1d(tf.reshape(f32, [1, 7, 1]), tf.reshape(row, [3, 1, 1]), 1, "SAME")
tf.nn.conv1d(tf.reshape(f32, [1, 7, 1]), tf.reshape(row, [3, 1, 1]), 2, "VALID")
tf.nn.conv2d(tf.reshape(cube, [1, 2, 4, 1]), tf.reshape(row, [1, 3, 1, 1]), 1, "SAME")
tf.nn.conv2d(tf.reshape(cube, [1, 2, 4, 1]), tf.reshape(row, [1, 3, 1, 1]), [1, 1, 2, 1], "SAME")
tf.nn.max_pool2d(tf.reshape(cube, [1, 2, 4, 1]), 2, 2, "VALID")
tf.nn.max_pool2d(tf.reshape(cube, [1, 2, 4, 1]), [1, 3], 1, "SAME")
tf.nn.avg_pool2d(tf.reshape(cube, [1, 2, 4, 1]), 2, 2, "VALID")
tf.nn.avg_pool2d(tf.reshape(cube, [1, 2, 4, 1]), [1, 3], 1, "SAME")
tf.clip_by_value(f32, -1.0, 1.0)
tf.clip_by_value(i32, -1, 2)
tf.clip_by_value(f32, g32 - 1.0, g32 + 1.0)
tf.clip_by_norm(f32, 1.0)
tf.clip_by_norm(f32, 100.0)
tf.clip_by_norm(batch, 1.0, axes=[1])
tf.clip_by_global_norm([f32, batch], 1.0)
tf.clip_by_global_norm([f32, batch], 1000.0)
tf.linalg.global_norm([f32, batch])
tf.matmul(batch, batch, transpose_b=True)
tf.matmul(batch, batch, transpose_a=True)
tf.matmul(cube, cube)
tf.matmul(cube, cube, transpose_b=True)
tf.matmul(ints, ints, transpose_b=True)
tf.linalg.matmul(spd, spd)
tf.linalg.matvec(batch, row)
tf.linalg.matvec(cube, cube[:, 0])
tf.tensordot(batch, row, 1)
tf.tensordot(batch, batch, [[0, 1], [0, 1]])
tf.tensordot(row, row, 0)
tf.tensordot(batch, batch, axes=[[0], [0]])
tf.einsum("ij,j->i", batch, row)
tf.einsum("bij,bjk->bik", cube, cube)
tf.einsum("ii->", spd)
tf.einsum("...i,i->...", batch, row)
tf.norm(batch)
tf.norm(batch, axis=1)
tf.norm(batch, axis=0, keepdims=True)
tf.norm(f32, ord=1)
tf.norm(f32, ord=np.inf)
tf.norm(batch, ord="euclidean")
tf.linalg.norm(f64)
tf.linalg.diag(row)
tf.linalg.diag(batch)
tf.linalg.diag(i32)
tf.linalg.diag_part(spd)
tf.linalg.diag_part(cube)
tf.linalg.trace(spd)
tf.linalg.trace(cube)
tf.linalg.inv(spd)
tf.linalg.inv(cube)
tf.linalg.det(spd)
tf.linalg.det(cube)
tf.linalg.solve(spd, tf.transpose(batch))
tf.linalg.solve(cube, cube)
tf.linalg.cholesky(spd)
tf.linalg.cholesky(spds)
tf.linalg.slogdet(spd)
tf.linalg.slogdet(cube)
tf.linalg.logdet(spd)
tf.linalg.logdet(spds)
tf.linalg.triangular_solve(spd, tf.transpose(batch))
tf.linalg.triangular_solve(spd, tf.transpose(batch), lower=False)
tf.linalg.triangular_solve(spd, tf.transpose(batch), adjoint=True)
tf.linalg.triangular_solve(spds, spds)
tf.linalg.band_part(spd, 1, 0)
tf.linalg.band_part(cube, 0, -1)
tf.linalg.band_part(ints, -1, 0)
tf.cond(f0 > 0.0, lambda: f32, lambda: g32)
tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (i0 - 3, f0))
tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [i0 - 3])
tf.vectorized_map(lambda v: v * 2.0, batch)
tf.recompute_grad(lambda v: v * v)(f32)
tf.random.normal([2, 3]) * 0.0
tf.random.normal([2], dtype=tf.float64) * 0.0
tf.random.uniform([2, 3]) * 0.0
tf.random.uniform([2], dtype=tf.float64) * 0.0
tf.random.uniform([2], maxval=5, dtype=tf.int32) * 0
tf.random.uniform([2], 0, 5, tf.int64) * 0
tf.reduce_sum(tf.cast(tf.random.uniform([300], 2, 4, tf.int32) == 2, tf.int32)) > 0
tf.reduce_max(tf.random.uniform([300], 2, 4, tf.int32))
tf.reduce_min(tf.random.uniform([300], 2, 4, tf.int32))
tf.nn.dropout(f32, 0.0)
tf.reduce_sum(none)
tf.reduce_mean(none)
tf.reduce_max(none)
tf.reduce_prod(none)
tf.reduce_logsumexp(none)
tf.cumsum(none)
tf.sort(none)
tf.nn.softmax(none)
tf.nn.softmax(edge)
tf.reduce_sum(edge)
tf.reduce_max(edge)
tf.reduce_logsumexp(edge[:3])
tf.reduce_logsumexp(edge[5:8])
tf.reduce_logsumexp(edge[:1])
tf.UnconnectedGradients.NONE.value
tf.keras.losses.mse(true, prob)
tf.keras.losses.mae(true, prob)
tf.keras.losses.mean_squared_error(ints, ints)
tf.keras.losses.huber(true, prob)
tf.keras.losses.huber(true, 3.0 * prob, delta=0.5)
tf.keras.losses.binary_crossentropy(true, prob)
tf.keras.losses.binary_crossentropy(true, batch, from_logits=True)
tf.keras.losses.binary_crossentropy(true, prob, label_smoothing=0.1)
tf.keras.losses.categorical_crossentropy(true, prob)
tf.keras.losses.categorical_crossentropy(true, batch, from_logits=True)
tf.keras.losses.categorical_crossentropy(true, 2.0 * prob)
tf.keras.losses.sparse_categorical_crossentropy([1, 2], prob)
tf.keras.losses.sparse_categorical_crossentropy([1, 2], batch, from_logits=True)
tf.keras.losses.hinge(true, batch)
tf.keras.losses.squared_hinge(true, batch)
tf.keras.losses.poisson(true, prob)
tf.keras.losses.kl_divergence(prob, prob[::-1])
tf.keras.losses.kld(true, prob)
tf.keras.losses.cosine_similarity(true, batch)
tf.keras.losses.MeanSquaredError()(true, prob)
tf.keras.losses.MeanSquaredError(reduction="sum")(true, prob)
tf.keras.losses.MeanSquaredError()(true, prob, sample_weight=[1.0, 3.0])
tf.keras.losses.MeanAbsoluteError()(true, prob)
tf.keras.losses.BinaryCrossentropy()(true, prob)
tf.keras.losses.BinaryCrossentropy(from_logits=True)(true, 100.0 * batch)
tf.keras.losses.CategoricalCrossentropy()(true, prob)
tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(true, batch)
tf.keras.losses.SparseCategoricalCrossentropy()([1, 2], prob)
tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)([1, 2], batch)
tf.keras.losses.Huber()(true, 5.0 * prob)
tf.keras.losses.CosineSimilarity()(true, batch)
tf.keras.losses.Hinge()(true, batch)
tf.keras.losses.SquaredHinge()(true, batch)
tf.keras.losses.KLDivergence()(prob, prob[::-1])
tf.keras.losses.LogCosh()(true, batch)
tf.keras.losses.Poisson()(true, prob)
updated(tf.keras.metrics.Mean(), f32)
updated(tf.keras.metrics.Mean(), f32, g32)
updated(tf.keras.metrics.Sum(), f32)
updated(tf.keras.metrics.MeanSquaredError(), true, prob)
updated(tf.keras.metrics.MeanAbsoluteError(), true, prob)
updated(tf.keras.metrics.RootMeanSquaredError(), true, prob)
updated(tf.keras.metrics.Accuracy(), [1, 2, 3], [1, 2, 4])
updated(tf.keras.metrics.BinaryAccuracy(), true, prob)
updated(tf.keras.metrics.CategoricalAccuracy(), true, prob)
updated(tf.keras.metrics.SparseCategoricalAccuracy(), [1, 2], prob)
tf.keras.metrics.Mean().result()
tf.keras.layers.ReLU()(batch)
tf.keras.layers.ELU()(batch)
tf.keras.layers.LeakyReLU()(batch)
tf.keras.layers.Softmax()(batch)
tf.keras.layers.Activation("gelu")(batch)
tf.keras.layers.Flatten()(cube)
tf.keras.layers.Reshape([4])(cube)
tf.keras.layers.Permute([2, 1])(cube)
tf.keras.layers.RepeatVector(2)(batch)
tf.keras.layers.Rescaling(2.0, 1.0)(batch)
tf.keras.layers.Rescaling(1.0 / 255.0)(ints)
tf.keras.layers.Add()([batch, batch])
tf.keras.layers.Subtract()([batch, 2.0 * batch])
tf.keras.layers.Multiply()([batch, batch])
tf.keras.layers.Average()([batch, batch])
tf.keras.layers.Maximum()([batch, -batch])
tf.keras.layers.Minimum()([batch, -batch])
tf.keras.layers.Concatenate()([batch, batch])
tf.keras.layers.Dropout(0.5)(batch)
tf.keras.layers.Dense(2, kernel_initializer="ones")(batch)
tf.keras.layers.Dense(2, kernel_initializer="ones", activation="selu")(batch)
tf.keras.layers.LayerNormalization()(batch)
tf.keras.layers.BatchNormalization()(batch)
tf.keras.layers.Embedding(9, 2, embeddings_initializer="ones")(p32)
tf.keras.layers.GlobalAveragePooling1D()(cube)
tf.keras.layers.GlobalMaxPooling1D()(cube)
tf.keras.layers.MaxPooling1D()(cube)
tf.keras.layers.AveragePooling1D()(cube)
tf.keras.layers.UpSampling1D()(cube)
tf.keras.layers.ZeroPadding2D()(tf.reshape(cube, [1, 2, 2, 2]))
""".strip().splitlines()

CASTS = [
    f"tf.cast({x}, tf.{dtype})"
    for x in ("f32", "f64", "i32", "i64", "b", "f0")
    for dtype in ("float32", "float64", "int32", "int64", "bool")
]


def _called(entry: str) -> str:
    name, _, module = entry.partition(":")
    return f"tf.{module}.{name}" if module else f"tf.{name}"


CASES = [
    *(f"{_called(f)}({x})" for f in ELEMENTWISE for x in UNARY),
    *(f"{_called(f)}({x})" for f in ROWWISE for x in ("f32", "f64", "batch", "cube")),
    *(f"{_called(f)}{form.format(x=x)}" for f in REDUCTIONS for form in REDUCED
      for x in ("f32", "f64", "i32", "i64", "b", "batch", "ints")),
    *(f"{_called(f)}{form.format(x=x)}" for f in REDUCTIONS for form in ALL_AXES
      for x in ("batch", "ints")),
    *(f"{_called(f)}({pair})" for f in BINARY for pair in PAIRS),
    *(f"{x} {op} {y}" for op in OPERATORS for x, y in OPERANDS),
    *CASTS,
    *OTHERS,
]  # fmt: skip


def named_in(expression: str) -> list[str]:
    """The inputs that an expression is differentiated with respect to."""
    names = {n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)}
    return [n for n in FLOATS if n in names]


def updated(metric: Any, *args: Any) -> Any:
    metric.update_state(*args)
    return metric.result()


def text_of(expression: str, gradient: bool) -> str:
    """A file that computes an expression, and its gradient."""
    names = ", ".join(named_in(expression)) if gradient else ""
    if not names:
        return f"{INPUTS}\nvalue = {expression}\ngradients = None\n"
    return (
        f"{INPUTS}\nwith tf.GradientTape() as tape:\n    tape.watch([{names}])\n"
        f"    value = {expression}\ngradients = tape.gradient(value, [{names}])\n"
    )


def run(tf: Any, expression: str, gradient: bool, file: Path) -> dict[str, Any]:
    text = text_of(expression, gradient)
    file.write_text(text, encoding="utf-8")
    space = {"tf": tf, "np": np, "updated": updated, "__name__": "__main__"}
    with np.errstate(all="ignore"):
        exec(compile(text, str(file), "exec"), space)
    return space


def shown(value: Any) -> Any:
    """A value as JSON data: dtype, shape and elements with 7 digits."""
    if value is None or isinstance(value, (str, type)) or hasattr(value, "as_numpy_dtype"):
        return None if value is None else getattr(value, "__name__", None) or str(value)
    if type(value).__name__ == "IndexedSlices":  # the gradient of a gather
        import tensorflow

        value = tensorflow.convert_to_tensor(value)
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    array = np.asarray(value)
    flat = [float(f"{v:.7g}") if array.dtype.kind == "f" else int(v) for v in array.ravel()]
    return {"d": array.dtype.name, "s": list(array.shape), "v": flat}
