"""Where `s2s.tf` differs from TensorFlow on purpose, by case of `table.py`, and why.

Beside these, and not seen in single expressions: float32 and float64 mix, where TensorFlow raises."""

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

GRADIENTS: dict[str, str] = {}
