"""Deliberate deviations of `s2s.tf` from TensorFlow, by case of `table.py`, with reasons.

A further one, not listed by expression: float32 and float64 may be mixed, where TensorFlow
raises."""

from __future__ import annotations

SIZES = "sizes are Python's ints, in a tuple"
METRICS = "metrics add up, and give, float64"
EMPTY = "the maximum of nothing raises, as in NumPy"
SPECIAL = "SciPy's value at a pole or infinity"

VALUES = {
    "tf.math.lgamma(edge)": SPECIAL,
    "tf.math.digamma(f32)": SPECIAL,
    "tf.math.digamma(f64)": SPECIAL,
    "tf.rank(batch)": SIZES,
    "tf.size(batch)": SIZES,
    "tf.shape(batch)": SIZES,
    "tf.shape(batch)[0]": SIZES,
    "tf.reduce_max(none)": EMPTY,
    "tf.reduce_logsumexp(none)": EMPTY,
    "tf.nn.softmax(none)": EMPTY,
    "tf.keras.metrics.Mean().result()": METRICS,
    "updated(tf.keras.metrics.Mean(), f32)": METRICS,
    "updated(tf.keras.metrics.Mean(), f32, g32)": METRICS,
    "updated(tf.keras.metrics.Sum(), f32)": METRICS,
    "updated(tf.keras.metrics.MeanSquaredError(), true, prob)": METRICS,
    "updated(tf.keras.metrics.MeanAbsoluteError(), true, prob)": METRICS,
    "updated(tf.keras.metrics.RootMeanSquaredError(), true, prob)": METRICS,
    "updated(tf.keras.metrics.Accuracy(), [1, 2, 3], [1, 2, 4])": METRICS,
    "updated(tf.keras.metrics.BinaryAccuracy(), true, prob)": METRICS,
    "updated(tf.keras.metrics.CategoricalAccuracy(), true, prob)": METRICS,
    "updated(tf.keras.metrics.SparseCategoricalAccuracy(), [1, 2], prob)": METRICS,
}

DOMAIN = "outside of its domain, and at poles, the derivative is what the formula gives"
TIES = "the gradient is shared between operands that are equal"
POWERS = "0 at the base 0, NaN for negative ones (docs/kinks.md)"
FLOORS = "the gradient of // is 0, TensorFlow's is None"
EXACT = "TensorFlow has 0 where an element is 0, and the derivative is not"
LISTS = "refused: the target is an element of a run-time list"

GRADIENTS = {
    "tf.acosh(f32)": DOMAIN,
    "tf.acosh(f64)": DOMAIN,
    "tf.acosh(batch)": DOMAIN,
    "tf.math.lgamma(f32)": DOMAIN,
    "tf.math.lgamma(f64)": DOMAIN,
    "tf.math.digamma(batch)": DOMAIN,
    "tf.pow(f32, g32)": POWERS,
    "tf.pow(f64, g64)": POWERS,
    "tf.pow(batch, row)": POWERS,
    "f32 ** g32": POWERS,
    "batch ** row": POWERS,
    "tf.maximum(f32, g32)": TIES,
    "tf.maximum(f64, g64)": TIES,
    "tf.maximum(batch, row)": TIES,
    "tf.minimum(f32, g32)": TIES,
    "tf.minimum(f64, g64)": TIES,
    "tf.minimum(batch, row)": TIES,
    "tf.math.xlogy(f32, 2.0)": EXACT,
    "tf.math.xlogy(f64, 3)": EXACT,
    "tf.math.cumprod(f32)": EXACT,
    "f32 // g32": FLOORS,
    "f32 // 2": FLOORS,
    "2 // f32": FLOORS,
    "batch // row": FLOORS,
    "tf.unstack(batch)": LISTS,
    "tf.unstack(batch, axis=1)": LISTS,
    "tf.argsort(g32)": "places have no gradient",
    'tf.argsort(g32, direction="DESCENDING")': "places have no gradient",
    "tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (i0 - 3, f0))": (
        "refused: a number on one path and an array on another"
    ),
}
