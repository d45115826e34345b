"""Layers over sequences (axes: samples, steps, features): embedding, recurrent layers and
attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import activations
from .base import Layer

UNSEEN = -1e9  # score of a masked position; its softmax is 0


class Embedding(Layer):
    """Looks up a row of the embedding table for each index."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.embeddings_initializer = embeddings_initializer

    def build(self, input_shape: tuple[int, ...]) -> None:
        shape = (self.input_dim, self.output_dim)
        self.embeddings = self.add_weight(shape, self.embeddings_initializer, name="embeddings")

    def call(self, inputs: Any) -> Any:
        # Floats are converted to integers, as in Keras: an example input may be of floats.
        return self.embeddings[inputs.astype(np.int64) if inputs.dtype.kind == "f" else inputs]


class Recurrent(Layer):
    """The base class of recurrent layers: an input kernel and a recurrent kernel, each with the
    `gates` concatenated along the last axis."""

    gates = 1
    fixed_width = True

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards = go_backwards
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.recurrent_initializer = recurrent_initializer

    def build(self, input_shape: tuple[int, ...]) -> None:
        width = self.gates * self.units
        shape = (input_shape[-1], width)
        self.kernel = self.add_weight(shape, self.kernel_initializer, name="kernel")
        self.recurrent_kernel = self.add_weight(
            (self.units, width), self.recurrent_initializer, name="recurrent_kernel"
        )
        if self.use_bias:
            self.bias = self.add_weight(self.bias_shape(), self.bias_start, name="bias")

    def biased(self, x: Any) -> Any:
        return x + self.bias if self.use_bias else x

    def steps(self, inputs: Any) -> Any:
        """The inputs in processing order."""
        return inputs[:, ::-1] if self.go_backwards else inputs

    def answer(self, outputs: Any, *state: Any) -> Any:
        """The results of `call`: all outputs or the last one, which is the first part of the state;
        with `return_state`, also the state."""
        answer = outputs if self.return_sequences else state[0]
        return (answer, *state) if self.return_state else answer

    def bias_shape(self) -> tuple[int, ...]:
        return (self.gates * self.units,)

    def bias_start(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype)


class SimpleRNN(Recurrent):
    def call(self, inputs: Any) -> Any:
        inputs = self.steps(inputs)
        h = np.zeros((inputs.shape[0], self.units), inputs.dtype)
        outputs = np.zeros((inputs.shape[0], inputs.shape[1], self.units), inputs.dtype)
        for t in range(inputs.shape[1]):
            z = self.biased(inputs[:, t] @ self.kernel) + h @ self.recurrent_kernel
            h = self.activation(z)
            outputs[:, t] = h
        return self.answer(outputs, h)


class LSTM(Recurrent):
    """Long short-term memory.  Gates are in the order input, forget, cell, output."""

    gates = 4

    def bias_start(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Zeros, but ones for the forget gate, so that it is open initially."""
        start = np.zeros(shape, dtype)
        start[self.units : 2 * self.units] = 1.0
        return start

    def call(self, inputs: Any) -> Any:
        inputs = self.steps(inputs)
        n = self.units
        h = np.zeros((inputs.shape[0], n), inputs.dtype)
        c = np.zeros((inputs.shape[0], n), inputs.dtype)
        outputs = np.zeros((inputs.shape[0], inputs.shape[1], n), inputs.dtype)
        for t in range(inputs.shape[1]):
            z = self.biased(inputs[:, t] @ self.kernel + h @ self.recurrent_kernel)
            z = z.reshape(inputs.shape[0], 4, n)
            i = self.recurrent_activation(z[:, 0])
            f = self.recurrent_activation(z[:, 1])
            o = self.recurrent_activation(z[:, 3])
            c = f * c + i * self.activation(z[:, 2])
            h = o * self.activation(c)
            outputs[:, t] = h
        return self.answer(outputs, h, c)


class GRU(Recurrent):
    """Gated recurrent unit.  Gates are in the order update, reset, state.  The reset gate is
    applied after the product with the recurrent kernel."""

    gates = 3

    def bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units)

    def call(self, inputs: Any) -> Any:
        inputs = self.steps(inputs)
        n = self.units
        h = np.zeros((inputs.shape[0], n), inputs.dtype)
        outputs = np.zeros((inputs.shape[0], inputs.shape[1], n), inputs.dtype)
        for t in range(inputs.shape[1]):
            x, r = inputs[:, t] @ self.kernel, h @ self.recurrent_kernel
            if self.use_bias:
                x, r = x + self.bias[0], r + self.bias[1]
            x, r = x.reshape(inputs.shape[0], 3, n), r.reshape(inputs.shape[0], 3, n)
            update = self.recurrent_activation(x[:, 0] + r[:, 0])
            reset = self.recurrent_activation(x[:, 1] + r[:, 1])
            new = self.activation(x[:, 2] + reset * r[:, 2])
            h = update * h + (1.0 - update) * new
            outputs[:, t] = h
        return self.answer(outputs, h)


class MultiHeadAttention(Layer):
    """Attention of `query` to `value`, by `num_heads` heads of `key_dim` each.

    `attention_mask` is True where a query position may attend to a value position.  With
    `use_causal_mask`, a position does not attend to later ones.
    """

    fixed_width = True

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_heads, self.key_dim = num_heads, key_dim
        self.value_dim = key_dim if value_dim is None else value_dim
        self.use_bias = use_bias
        self.kernel_initializer = kernel_initializer
        self.scale = 1.0 / float(np.sqrt(key_dim))

    def build(self, input_shape: tuple[int, ...]) -> None:
        width, heads = input_shape[-1], self.num_heads
        size, value_size = self.key_dim, self.value_dim
        self.query_kernel, self.query_bias = self.part("query", (width, heads, size), 2)
        self.key_kernel, self.key_bias = self.part("key", (width, heads, size), 2)
        self.value_kernel, self.value_bias = self.part("value", (width, heads, value_size), 2)
        self.output_kernel, self.output_bias = self.part("output", (heads, value_size, width), 1)

    def part(self, name: str, shape: tuple[int, ...], axes: int) -> tuple[Any, Any]:
        """A kernel, and a bias over its last `axes` axes; None without bias."""
        kernel = self.add_weight(shape, self.kernel_initializer, name=f"{name}/kernel")
        if not self.use_bias:
            return kernel, None
        return kernel, self.add_weight(shape[-axes:], "zeros", name=f"{name}/bias")

    def call(  # type: ignore[override]
        self,
        query: Any,
        value: Any = None,
        key: Any = None,
        attention_mask: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        value = query if value is None else value
        key = value if key is None else key
        q = np.einsum("abc,cde->abde", query, self.query_kernel)
        k = np.einsum("abc,cde->abde", key, self.key_kernel)
        v = np.einsum("abc,cde->abde", value, self.value_kernel)
        if self.use_bias:
            q, k, v = q + self.query_bias, k + self.key_bias, v + self.value_bias
        scores = np.einsum("aecd,abcd->acbe", k, q * self.scale)
        if use_causal_mask:
            places = np.arange(query.shape[1])[:, None] >= np.arange(key.shape[1])
            scores = np.where(places, scores, UNSEEN)
        if attention_mask is not None:
            scores = np.where(attention_mask[:, None], scores, UNSEEN)
        mixed = np.einsum("acbe,aecd->abcd", activations.softmax(scores), v)
        outputs = np.einsum("abcd,cde->abe", mixed, self.output_kernel)
        return outputs + self.output_bias if self.use_bias else outputs
