"""A small transformer that learns to add.

It reads `427+385=` as a sequence of symbols and continues with the sum, least significant
digit first: 2, then 1, then 8, then 0. The alignment of digits and the carries are learned by
attention.
(Vaswani et al. 2017, with the normalisation before each sublayer.)
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

import s2s
from s2s.layers import Dense, Embedding, LayerNormalization, MultiHeadAttention, initializers

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

DIGITS = 3
SYMBOLS = "0123456789+="


# 1. A block: causal self-attention, then a position-wise network.
# Each has a residual connection.
class Block(s2s.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.before_looking = LayerNormalization()
        self.look = MultiHeadAttention(heads, width // heads)
        self.before_thinking = LayerNormalization()
        self.think = Dense(4 * width, activation="relu")
        self.conclude = Dense(width)

    def call(self, x):
        seen = self.before_looking(x)
        x = x + self.look(seen, seen, use_causal_mask=True)
        return x + self.conclude(self.think(self.before_thinking(x)))


# 2. The model: embeddings of symbols and positions, the blocks, and for each position the scores of
# the next symbol.
class Transformer(s2s.Model):
    def __init__(self, symbols, places, width, heads, blocks):
        super().__init__()
        self.symbols = Embedding(symbols, width)
        self.places = Embedding(places, width)
        self.blocks = [Block(width, heads) for _ in range(blocks)]
        self.normal = LayerNormalization()
        self.scores = Dense(symbols)

    def call(self, text):
        x = self.symbols(text) + self.places(np.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.normal(x))


loss_fn = s2s.losses.SparseCategoricalCrossentropy(from_logits=True)


# 3. A step. The causal mask allows all positions to be predicted at once; only those of the sum
# count in the loss.
@s2s.function
def train_step(model, optimizer, text, following):
    with s2s.GradientTape() as tape:
        scores = model(text)[:, -DIGITS - 1 :]
        loss = loss_fn(following, scores)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@s2s.function
def next_symbol(model, text):
    return np.argmax(model(text)[:, -1], axis=-1)


def answer(model: Transformer, text: Any) -> Any:
    """Completes the problems with the model's answers, one digit after another."""
    for _ in range(DIGITS + 1):
        text = np.concatenate([text, np.asarray(next_symbol(model, text))[:, None]], axis=1)
    return text


def problems(rng: np.random.Generator, count: int) -> Any:
    """Rows such as 4 2 7 + 3 8 5 = 2 1 8 0, as symbol indices."""

    def digits(n: Any, how_many: int) -> Any:
        return n[:, None] // 10 ** np.arange(how_many) % 10

    a, b = rng.integers(0, 10**DIGITS, (2, count))
    plus, equals = (np.full((count, 1), SYMBOLS.index(s)) for s in "+=")
    left, right = digits(a, DIGITS)[:, ::-1], digits(b, DIGITS)[:, ::-1]
    return np.concatenate([left, plus, right, equals, digits(a + b, DIGITS + 1)], axis=1)


def right(model: Transformer, rng: np.random.Generator, count: int) -> Any:
    """A mask of the correct digits of the answers to some new problems."""
    test = problems(rng, count)
    return (answer(model, test[:, : -DIGITS - 1]) == test)[:, -DIGITS - 1 :]


def train(model: Transformer, steps: int, batch: int = 64) -> tuple[list[float], list[Any]]:
    rng, fresh = np.random.default_rng(0), np.random.default_rng(1)
    optimizer = s2s.optimizers.Adam(learning_rate=0.003)
    losses, shares = [], []
    begun, compiled = time.perf_counter(), 0.0
    bar = tqdm(range(steps), unit="step")
    for step in bar:
        rows = problems(rng, batch)
        loss = train_step(model, optimizer, rows[:, :-1], rows[:, -DIGITS - 1 :])
        losses.append(float(loss))
        if step == 0:
            compiled, begun = time.perf_counter() - begun, time.perf_counter()
        if step % 20 == 0:
            shares.append((step, *right(model, fresh, 100).mean(axis=0)))
        bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    spent = (time.perf_counter() - begun) / max(1, steps - 1)
    print(f"first step {compiled:.1f} s, then {spent * 1e3:.0f} ms each")
    return losses, shares


def draw(losses: list[float], shares: list[Any], path: Path) -> None:
    """Plots the loss, and the accuracy of each digit over time."""
    figure, (left, middle) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.semilogy(losses, linewidth=0.8)
    left.set(xlabel="step", ylabel="loss")
    steps, *places = np.array(shares).T
    for name, share in zip(("units", "tens", "hundreds", "thousands"), places):
        middle.plot(steps, share, label=name)
    middle.set(xlabel="step", ylabel="share of digits that are right", ylim=(0, 1.02))
    middle.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/small_transformer.png"))
    options = parser.parse_args()

    initializers.set_seed(0)
    places = 3 * DIGITS + 3
    model = Transformer(len(SYMBOLS), places, width=48, heads=4, blocks=options.blocks)
    losses, shares = train(model, options.steps)
    rng = np.random.default_rng(2)
    test = problems(rng, 5)
    for row in answer(model, test[:, : -DIGITS - 1]):
        text = "".join(SYMBOLS[s] for s in row)
        problem, _, reply = text.partition("=")
        print(f"{problem} = {reply[::-1].lstrip('0') or '0'}")
    digits = right(model, rng, 2000)
    print(f"right, of 2000 new problems: {digits.all(axis=1).mean():.1%} "
          f"({digits.mean():.1%} of the digits)")  # fmt: skip
    draw(losses, shares, options.out)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
