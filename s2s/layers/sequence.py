"""Layers over sequences: samples, steps, features."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import activations
from .base import Layer


class Embedding(Layer):
    """A row of a table for each index."""

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
        return self.embeddings[inputs]


class Recurrent(Layer):
    """What recurrent layers share: kernels for inputs and state, `gates` of them side by side."""

    gates = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        return_sequences: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.return_sequences = return_sequences
        self.kernel_initializer = kernel_initializer
        self.recurrent_initializer = recurrent_initializer

    def build(self, input_shape: tuple[int, ...]) -> None:
        width = self.gates * self.units
        shape = (input_shape[-1], width)
        self.kernel = self.add_weight(shape, self.kernel_initializer, name="kernel")
        self.recurrent_kernel = self.add_weight(
            (self.units, width), self.recurrent_initializer, name="recurrent_kernel"
        )
        self.bias = self.add_weight(self.bias_shape(), self.bias_start, name="bias")

    def bias_shape(self) -> tuple[int, ...]:
        return (self.gates * self.units,)

    def bias_start(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype)


class SimpleRNN(Recurrent):
    def call(self, inputs: Any) -> Any:
        h = np.zeros((inputs.shape[0], self.units), inputs.dtype)
        outputs = np.zeros((inputs.shape[0], inputs.shape[1], self.units), inputs.dtype)
        for t in range(inputs.shape[1]):
            z = inputs[:, t] @ self.kernel + self.bias + h @ self.recurrent_kernel
            h = self.activation(z)
            outputs[:, t] = h
        return outputs if self.return_sequences else h


class LSTM(Recurrent):
    """Gates in the order input, forget, cell, output."""

    gates = 4

    def bias_start(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """The forget gate begins open."""
        start = np.zeros(shape, dtype)
        start[self.units : 2 * self.units] = 1.0
        return start

    def call(self, inputs: Any) -> Any:
        n = self.units
        h = np.zeros((inputs.shape[0], n), inputs.dtype)
        c = np.zeros((inputs.shape[0], n), inputs.dtype)
        outputs = np.zeros((inputs.shape[0], inputs.shape[1], n), inputs.dtype)
        for t in range(inputs.shape[1]):
            z = inputs[:, t] @ self.kernel + h @ self.recurrent_kernel + self.bias
            i = self.recurrent_activation(z[:, :n])
            f = self.recurrent_activation(z[:, n : 2 * n])
            o = self.recurrent_activation(z[:, 3 * n :])
            c = f * c + i * self.activation(z[:, 2 * n : 3 * n])
            h = o * self.activation(c)
            outputs[:, t] = h
        return outputs if self.return_sequences else h


class GRU(Recurrent):
    """Gates in the order update, reset, state; the reset gate acts after the product."""

    gates = 3

    def bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units)

    def call(self, inputs: Any) -> Any:
        n = self.units
        h = np.zeros((inputs.shape[0], n), inputs.dtype)
        outputs = np.zeros((inputs.shape[0], inputs.shape[1], n), inputs.dtype)
        for t in range(inputs.shape[1]):
            x = inputs[:, t] @ self.kernel + self.bias[0]
            r = h @ self.recurrent_kernel + self.bias[1]
            update = self.recurrent_activation(x[:, :n] + r[:, :n])
            reset = self.recurrent_activation(x[:, n : 2 * n] + r[:, n : 2 * n])
            new = self.activation(x[:, 2 * n :] + reset * r[:, 2 * n :])
            h = update * h + (1.0 - update) * new
            outputs[:, t] = h
        return outputs if self.return_sequences else h


class MultiHeadAttention(Layer):
    """Attention of `query` to `value`, by `num_heads` heads of `key_dim` each."""

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_heads, self.key_dim = num_heads, key_dim
        self.kernel_initializer = kernel_initializer
        self.scale = 1.0 / float(np.sqrt(key_dim))

    def build(self, input_shape: tuple[int, ...]) -> None:
        width, heads, size = input_shape[-1], self.num_heads, self.key_dim
        make = self.kernel_initializer
        self.query_kernel = self.add_weight((width, heads, size), make, name="query/kernel")
        self.query_bias = self.add_weight((heads, size), "zeros", name="query/bias")
        self.key_kernel = self.add_weight((width, heads, size), make, name="key/kernel")
        self.key_bias = self.add_weight((heads, size), "zeros", name="key/bias")
        self.value_kernel = self.add_weight((width, heads, size), make, name="value/kernel")
        self.value_bias = self.add_weight((heads, size), "zeros", name="value/bias")
        self.out_kernel = self.add_weight((heads, size, width), make, name="output/kernel")
        self.out_bias = self.add_weight((width,), "zeros", name="output/bias")

    def __call__(self, query: Any, value: Any = None, key: Any = None, training: Any = None) -> Any:
        if not self.built:
            self.complete(query.shape)
        value = query if value is None else value
        return self.call(query, value, value if key is None else key)

    def call(self, query: Any, value: Any, key: Any) -> Any:  # type: ignore[override]
        q = np.einsum("abc,cde->abde", query, self.query_kernel) + self.query_bias
        k = np.einsum("abc,cde->abde", key, self.key_kernel) + self.key_bias
        v = np.einsum("abc,cde->abde", value, self.value_kernel) + self.value_bias
        scores = np.einsum("aecd,abcd->acbe", k, q * self.scale)
        weights = activations.softmax(scores)
        mixed = np.einsum("acbe,aecd->abcd", weights, v)
        return np.einsum("abcd,cde->abe", mixed, self.out_kernel) + self.out_bias
