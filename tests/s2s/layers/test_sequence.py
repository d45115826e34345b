"""Embedding, recurrent layers and attention: values against loops, gradients, options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import GRU, LSTM, Embedding, MultiHeadAttention, SimpleRNN
from tests.s2s.layers.checks import check_gradients, numbers, spread_weights

X = numbers(2, 4, 3)


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def simple_rnn(x: Any, kernel: Any, recurrent: Any, bias: Any) -> list[Any]:
    h, states = np.zeros(recurrent.shape[0]), []
    for row in x:
        h = np.tanh(row @ kernel + h @ recurrent + bias)
        states.append((h,))
    return states


def lstm(x: Any, kernel: Any, recurrent: Any, bias: Any) -> list[Any]:
    h = c = np.zeros(recurrent.shape[0])
    states = []
    for row in x:
        i, f, g, o = np.split(row @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append((h, c))
    return states


def gru(x: Any, kernel: Any, recurrent: Any, bias: Any) -> list[Any]:
    h, states = np.zeros(recurrent.shape[0]), []
    for row in x:
        z, r, n = np.split(row @ kernel + bias[0], 3)
        hz, hr, hn = np.split(h @ recurrent + bias[1], 3)
        update = sigmoid(z + hz)
        h = update * h + (1.0 - update) * np.tanh(n + sigmoid(r + hr) * hn)
        states.append((h,))
    return states


CELLS = [(SimpleRNN, simple_rnn), (LSTM, lstm), (GRU, gru)]


@pytest.mark.parametrize("kind, cell", CELLS)
@pytest.mark.parametrize("backwards", [False, True])
def test_recurrence(kind: Any, cell: Any, backwards: bool) -> None:
    layer = kind(
        2, return_sequences=True, return_state=True, go_backwards=backwards, dtype="float64"
    )
    layer(X)
    spread_weights(layer)
    outputs, *state = layer(X)
    for n, sample in enumerate(X):
        steps = cell(sample[::-1] if backwards else sample, *layer.get_weights())
        np.testing.assert_allclose(outputs[n], [s[0] for s in steps], rtol=1e-12)
        for got, want in zip(state, steps[-1]):
            np.testing.assert_allclose(got[n], want, rtol=1e-12)
    assert len(state) == len(steps[-1])


@pytest.mark.parametrize("kind, cell", CELLS)
def test_results_by_options(kind: Any, cell: Any) -> None:
    last = kind(2, name="layer")
    assert last(X).shape == (2, 2)
    every = kind(2, return_sequences=True)
    every(X)
    every.set_weights(last.get_weights())
    np.testing.assert_array_equal(every(X)[:, -1], last(X))
    assert [w.name for w in last.weights] == [
        "layer/kernel", "layer/recurrent_kernel", "layer/bias",
    ]  # fmt: skip


@pytest.mark.parametrize("kind, cell", CELLS)
def test_without_bias(kind: Any, cell: Any) -> None:
    layer = kind(2, use_bias=False, dtype="float64")
    layer(X)
    assert len(layer.weights) == 2
    zeros = np.zeros((2, 6) if kind is GRU else 2 * layer.gates)
    want = [cell(sample, *layer.get_weights(), zeros)[-1][0] for sample in X]
    np.testing.assert_allclose(layer(X), want, rtol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        SimpleRNN(2, "tanh", go_backwards=True, dtype="float64"),
        LSTM(2, return_sequences=True, dtype="float64"),
        GRU(2, dtype="float64"),
        MultiHeadAttention(2, 2, value_dim=1, dtype="float64"),
    ],
    ids=lambda layer: layer.name,
)
def test_gradients(layer: Any) -> None:
    check_gradients(layer, numbers(2, 3, 2))


def test_the_forget_gate_is_open_initially() -> None:
    layer = LSTM(2)
    layer(X)
    np.testing.assert_array_equal(layer.bias, [0, 0, 1, 1, 0, 0, 0, 0])


@pytest.mark.parametrize("samples, steps", [(0, 3), (1, 1), (2, 0)])
def test_small_batches_and_short_sequences(samples: int, steps: int) -> None:
    x = np.ones((samples, steps, 3), np.float32)
    for kind in (SimpleRNN, LSTM, GRU):
        got = kind(2)(x)
        assert got.shape == (samples, 2) and got.dtype == np.float32
        if steps == 0:
            np.testing.assert_array_equal(got, np.zeros((2, 2)))
        assert kind(2, return_sequences=True)(x).shape == (samples, steps, 2)


def test_unknown_activations_are_refused() -> None:
    with pytest.raises(ValueError, match="no activation 'tan'"):
        LSTM(2, "tan")
    with pytest.raises(ValueError, match="no activation 'tan'"):
        GRU(2, recurrent_activation="tan")


# ---------------------------------------------------------------- embedding


def test_embedding() -> None:
    layer = Embedding(4, 2, dtype="float64")
    indices = np.array([[0, 3, 3], [1, 0, 2]])
    got, table = layer(indices), layer.embeddings.numpy()
    assert table.shape == (4, 2) and got.shape == (2, 3, 2)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(got[i, j], table[indices[i, j]])
    np.testing.assert_array_equal(layer(indices.astype(np.float64)), got)
    with pytest.raises(IndexError):
        layer(np.array([4]))


def test_repeated_indices_sum_their_gradients() -> None:
    layer = Embedding(4, 2, embeddings_initializer="ones")
    indices = np.array([0, 3, 3])
    layer(indices)
    probe = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)

    @s2s.function(backend="loops")
    def run(indices: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.sum(layer(indices) * probe)
        return tape.gradient(loss, layer.embeddings)

    np.testing.assert_array_equal(run(indices), [[1, 2], [0, 0], [0, 0], [8, 10]])


# ---------------------------------------------------------------- attention


def attention(layer: Any, query: Any, value: Any, key: Any, seen: Any) -> Any:
    """One output row at a time; `seen(i, j)` tells whether position i may attend to j."""
    w = dict(zip(("q", "qb", "k", "kb", "v", "vb", "o", "ob"), layer.get_weights()))
    out = np.zeros((len(query), w["o"].shape[2])) + w["ob"]
    for head in range(layer.num_heads):
        q = query @ w["q"][:, head] + w["qb"][head]
        k = key @ w["k"][:, head] + w["kb"][head]
        v = value @ w["v"][:, head] + w["vb"][head]
        for i in range(len(query)):
            scores = np.array(
                [np.exp(q[i] @ k[j] / np.sqrt(layer.key_dim)) * seen(i, j) for j in range(len(k))]
            )
            out[i] += scores / scores.sum() @ v @ w["o"][head]
    return out


def test_attention() -> None:
    layer = MultiHeadAttention(2, 3, value_dim=2, dtype="float64")
    query, value, key = numbers(1, 4, 5), numbers(1, 3, 5, phase=1.0), numbers(1, 3, 5, phase=2.0)
    layer(query)
    spread_weights(layer)
    for args in ((query,), (query, value), (query, value, key)):
        second = args[1] if len(args) > 1 else query
        third = args[2] if len(args) > 2 else second
        want = attention(layer, query[0], second[0], third[0], lambda i, j: True)
        np.testing.assert_allclose(layer(*args)[0], want, rtol=1e-11)


def test_masks() -> None:
    layer = MultiHeadAttention(1, 2, dtype="float64")
    x = numbers(1, 4, 3)
    layer(x)
    spread_weights(layer)
    mask = np.array([[[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]]], bool)
    causal = layer(x, use_causal_mask=True)
    want = attention(layer, x[0], x[0], x[0], lambda i, j: j <= i)
    np.testing.assert_allclose(causal[0], want, rtol=1e-11)
    want = attention(layer, x[0], x[0], x[0], lambda i, j: mask[0, i, j])
    np.testing.assert_allclose(layer(x, attention_mask=mask)[0], want, rtol=1e-11)
    both = layer(x, attention_mask=mask, use_causal_mask=True)
    want = attention(layer, x[0], x[0], x[0], lambda i, j: mask[0, i, j] and j <= i)
    np.testing.assert_allclose(both[0], want, rtol=1e-11)


def test_attention_without_bias() -> None:
    layer = MultiHeadAttention(2, 3, use_bias=False)
    assert layer(X).shape == X.shape
    assert [w.name.split("/", 1)[1] for w in layer.weights] == [
        "query/kernel", "key/kernel", "value/kernel", "output/kernel",
    ]  # fmt: skip
    assert layer.query_bias is None


@pytest.mark.parametrize("samples", [0, 1])
def test_attention_of_small_batches(samples: int) -> None:
    got = MultiHeadAttention(2, 3)(np.ones((samples, 4, 5), np.float32))
    assert got.shape == (samples, 4, 5) and got.dtype == np.float32
