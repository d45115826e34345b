"""A language model of two LSTM layers whose gates have one weight per unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..peers import gradient

LAYERS = 2


def inputs() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    width, length = 14, 256
    letters = rng.integers(0, width, length)
    return {
        "gates": rng.normal(size=(LAYERS, 2, 4 * width)),
        "outside": rng.normal(size=(3, width)),
        "states": rng.normal(size=(LAYERS, 2, width)),
        "sequence": np.eye(width)[letters],
    }


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_language(gates, outside, states, sequence):
    width = sequence.shape[1]
    states = states.copy()
    total = 0.0
    for t in range(len(sequence) - 1):
        x = sequence[t] * outside[0]
        for layer in range(LAYERS):
            weight, bias = gates[layer, 0], gates[layer, 1]
            h, c = states[layer, 0], states[layer, 1]
            forget = sigmoid(x * weight[:width] + bias[:width])
            enter = sigmoid(h * weight[width : 2 * width] + bias[width : 2 * width])
            leave = sigmoid(x * weight[2 * width : 3 * width] + bias[2 * width : 3 * width])
            change = np.tanh(h * weight[3 * width :] + bias[3 * width :])
            c = c * forget + enter * change
            x = leave * np.tanh(c)
            states[layer, 0] = x
            states[layer, 1] = c
        guess = x * outside[1] + outside[2]
        guess = guess - np.log(np.sum(np.exp(guess)) + 2.0)
        total += np.sum(sequence[t + 1] * guess)
    return -total / (sequence.size - width)


def cell(xp, weight, bias, h, c, x):
    def squash(v):
        return 1.0 / (1.0 + xp.exp(-v))

    n = x.shape[0]
    forget = squash(x * weight[:n] + bias[:n])
    enter = squash(h * weight[n : 2 * n] + bias[n : 2 * n])
    leave = squash(x * weight[2 * n : 3 * n] + bias[2 * n : 3 * n])
    change = xp.tanh(h * weight[3 * n :] + bias[3 * n :])
    c = c * forget + enter * change
    return leave * xp.tanh(c), c


def read_letter(xp, gates, outside, states, letter, following):
    """Returns the states as a list of pairs, and the letter's term of the likelihood."""
    x, new = letter * outside[0], []
    for layer in range(LAYERS):
        x, c = cell(xp, gates[layer, 0], gates[layer, 1], *states[layer], x)
        new.append((x, c))
    guess = x * outside[1] + outside[2]
    guess = guess - xp.log(xp.sum(xp.exp(guess)) + 2.0)
    return new, xp.sum(following * guess)


def in_jax():
    import jax.numpy as jnp
    from jax import lax

    def program(gates, outside, states, sequence):
        def step(states, letters):
            return read_letter(jnp, gates, outside, states, *letters)

        start = [(states[k, 0], states[k, 1]) for k in range(LAYERS)]
        _, shares = lax.scan(step, start, (sequence[:-1], sequence[1:]))
        return -jnp.sum(shares) / (sequence.size - sequence.shape[1])

    return program


def unrolled(xp):
    def program(gates, outside, states, sequence):
        current = [(states[k, 0], states[k, 1]) for k in range(LAYERS)]
        total = 0.0
        for t in range(len(sequence) - 1):
            letters = sequence[t], sequence[t + 1]
            current, share = read_letter(xp, gates, outside, current, *letters)
            total = total + share
        return -total / ((len(sequence) - 1) * sequence.shape[1])

    return program


def in_torch():
    import torch

    return unrolled(torch)


def in_autograd():
    import autograd.numpy as anp

    return unrolled(anp)


ROWS = [
    gradient(
        lstm_language,
        ("gates", "outside", "states"),
        inputs,
        name="lstm-language",
        title="LSTM language model, 2×14, 256 letters",
        jax=in_jax,
        torch=in_torch,
        autograd=in_autograd,
    )
]
