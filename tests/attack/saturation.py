"""Activations, losses and layers at inputs from -1e30 to 1e30 and at the infinities.

Each case is an expression of `tf` and a float32 tensor `x`.  `outcomes` is run with TensorFlow to
write `saturation.json` (`python -m tests.attack.saturation`, with tensorflow installed), and with
`s2s.tf` by the test.
"""

from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("saturation.json")

FINITE = [
    -1e30, -1e20, -1e10, -1e4, -1000.0, -104.0, -100.0, -89.0, -88.0, -50.0, -20.0, -3.0, -1.0,
    -1e-3, -1e-30, 0.0, 1e-30, 1e-3, 0.5, 1.0, 3.0, 6.0, 20.0, 50.0, 88.0, 89.0, 100.0, 104.0,
    1000.0, 1e4, 1e10, 1e20, 1e30,
]  # fmt: skip
INPUTS = [-np.inf, *FINITE, np.inf]

_ACTIVATIONS = """
linear relu tanh sigmoid softplus elu selu gelu silu softsign exponential leaky_relu relu6
hard_sigmoid
""".split()
_LOSSES = [
    "MeanSquaredError()", "MeanAbsoluteError()", "Huber()", "Hinge()", "SquaredHinge()",
    "LogCosh()", "BinaryCrossentropy(from_logits=True)", "BinaryCrossentropy()", "Poisson()",
]  # fmt: skip
_ROWS = [
    "CategoricalCrossentropy(from_logits=True)", "CategoricalCrossentropy()", "KLDivergence()",
    "CosineSimilarity()",
]  # fmt: skip
_ONES = "kernel_initializer='ones', recurrent_initializer='ones'"
_RECURRENT = [f"SimpleRNN(1, {_ONES})", f"LSTM(1, {_ONES})", f"GRU(1, {_ONES})"]

# By name: the expression, and the shape that one input is expanded to.
CASES: dict[str, tuple[str, tuple[int, ...]]] = {
    **{name: (f"tf.keras.activations.{name}(x)", ()) for name in _ACTIVATIONS},
    "gelu approximate": ("tf.keras.activations.gelu(x, approximate=True)", ()),
    **{f"nn.{n}": (f"tf.nn.{n}(x)", ()) for n in "sigmoid softplus silu tanh relu elu".split()},
    "math.log_sigmoid": ("tf.math.log_sigmoid(x)", ()),
    "nn.sigmoid_cross_entropy_with_logits": (
        "tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(x) * 0.25, logits=x)", (),
    ),
    "softmax": ("tf.nn.softmax(x) * tf.constant([[1.0, 2.0, 4.0]])", (1, 3)),
    "log_softmax": ("tf.nn.log_softmax(x) * tf.constant([[1.0, 2.0, 4.0]])", (1, 3)),
    "reduce_logsumexp": ("tf.reduce_logsumexp(x, axis=-1)", (1, 3)),
    "nn.softmax_cross_entropy_with_logits": (
        "tf.nn.softmax_cross_entropy_with_logits(labels=tf.constant([[0.0, 1.0, 0.0]]), logits=x)",
        (1, 3),
    ),
    **{
        n: (f"tf.keras.losses.{n[:-1]}{', ' * (n[-2] != '(')}reduction=None)"
            "(tf.constant([[1.0]]), x)", (1, 1))
        for n in _LOSSES
    },
    **{
        n: (f"tf.keras.losses.{n[:-1]}{', ' * (n[-2] != '(')}reduction=None)"
            "(tf.constant([[0.0, 1.0, 0.0]]), x)", (1, 3))
        for n in _ROWS
    },
    "SparseCategoricalCrossentropy": (
        "tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)"
        "(tf.constant([1]), x)", (1, 3),
    ),
    **{n[: n.index("(")]: ("layer(x)", (1, 2, 1)) for n in _RECURRENT},
    "Dense": ("layer(x)", (1, 2)),
    "Bidirectional": ("layer(x)", (1, 2, 1)),
    "LayerNormalization": ("layer(x) * tf.constant([[1.0, 2.0, 4.0]])", (1, 3)),
    "LayerNormalization, alone": ("layer(x)", (1, 1)),
}  # fmt: skip

# The constructor of the layer of a case.
LAYERS = {
    **{n[: n.index("(")]: f"tf.keras.layers.{n}" for n in _RECURRENT},
    "Dense": "tf.keras.layers.Dense(2, activation='sigmoid', kernel_initializer='ones')",
    "Bidirectional": f"tf.keras.layers.Bidirectional(tf.keras.layers.{_RECURRENT[1]})",
    **dict.fromkeys(
        ("LayerNormalization", "LayerNormalization, alone"), "tf.keras.layers.LayerNormalization()"
    ),
}


def spread(v: float, shape: tuple[int, ...]) -> np.ndarray:
    """One row per position: the input at that position, ordinary numbers elsewhere."""
    rest = np.array([0.5, -1.25, 2.0], np.float32)[: int(np.prod(shape))].copy()
    rest[0] = v
    return rest.reshape(shape)


def outcomes(tf: Any, folder: Path, cases: Any = CASES) -> dict[str, list[Any]]:
    """For each case and input: the value and the gradient of its sum, flattened."""
    found: dict[str, list[Any]] = {}
    for number, name in enumerate(cases):
        text, shape = CASES[name]
        found[name] = []
        compute = _written(number, text, folder).compute
        layer = eval(LAYERS.get(name, "None"), {"tf": tf})
        inputs = [spread(v, shape) for v in INPUTS] if shape else [np.array(INPUTS, np.float32)]
        for array in inputs:
            x = tf.constant(array)
            with tf.GradientTape() as tape:
                tape.watch(x)
                value = compute(tf, x, layer)
                total = tf.reduce_sum(value)
            slope = tape.gradient(total, x)
            found[name].append([_flat(value), _flat(slope)])
    return found


def _written(number: int, text: str, folder: Path) -> Any:
    """A module with the expression as a function, since tapes read their source."""
    file = folder / f"saturation_{number}.py"
    file.write_text(f"def compute(tf, x, layer):\n    return {text}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _flat(x: Any) -> list[float]:
    return [float(v) for v in np.ravel(np.asarray(x))]


def main() -> None:
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        found = {"tensorflow": tf.__version__, "cases": outcomes(tf, Path(folder))}
    FILE.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
