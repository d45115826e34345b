"""A character-level language model, trained on the documentation of this project.

An LSTM reads a piece of text and predicts, at each character, the next one. The loop over the
characters is an ordinary `for` inside the layer; s2s compiles it, its adjoint, and the optimizer's
update into one call. After a minute or two of training, the network produces words, matching
brackets and headings.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

import s2s
from s2s.layers import LSTM, Dense, Embedding, initializers

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PAGES = Path(__file__).resolve().parent.parent / "docs"


# 1. The text, as the numbers of its characters.  (The page of all rules is one long table.)
pages = [page for page in sorted(PAGES.rglob("*.md")) if page.name != "rules.md"]
text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
alphabet = sorted(set(text))
number_of = {character: number for number, character in enumerate(alphabet)}
numbers = np.array([number_of[character] for character in text])


# 2. An embedding maps each character to a vector, the LSTM computes a state from the characters so
# far, and a dense layer maps each state to one score per character of the alphabet.
class Writer(s2s.Model):
    def __init__(self, characters, width, units):
        super().__init__()
        self.embedding = Embedding(characters, width)
        self.memory = LSTM(units, return_sequences=True)
        self.scores = Dense(characters)

    def call(self, read):
        return self.scores(self.memory(self.embedding(read)))


initializers.set_seed(0)
model = Writer(len(alphabet), width=24, units=128)
loss_fn = s2s.losses.SparseCategoricalCrossentropy(from_logits=True)
# Gradients through many characters can be very large: their norm is clipped to 1.
optimizer = s2s.optimizers.Adam(learning_rate=0.005, global_clipnorm=1.0)


# 3. A step: pieces of text as inputs, and the same pieces shifted by one character as targets.
@s2s.function
def train_step(read, following):
    with s2s.GradientTape() as tape:
        loss = loss_fn(following, model(read))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@s2s.function
def expected(read):
    """The scores of the next character after each text."""
    return model(read)[:, -1]


def pieces(rng: np.random.Generator, count: int, length: int) -> tuple[Any, Any]:
    starts = rng.integers(0, len(numbers) - length, count)
    rows = numbers[starts[:, None] + np.arange(length + 1)]
    return rows[:, :-1], rows[:, 1:]


def train(steps: int, batch: int = 32, length: int = 50) -> list[float]:
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    losses = [float(train_step(*pieces(rng, batch, length)))]
    compiled = time.perf_counter()
    bar = tqdm(range(1, steps), unit="step")
    for step in bar:
        optimizer.learning_rate = 0.005 * (1.0 - step / steps)  # a number: nothing recompiles
        losses.append(float(train_step(*pieces(rng, batch, length))))
        bar.set_postfix(loss=f"{losses[-1]:.2f}", refresh=False)
    spent = (time.perf_counter() - compiled) / max(1, steps - 1)
    print(f"first step {compiled - start:.1f} s, then {spent * 1e3:.0f} ms each")
    return losses


# 4. Sampling: read the last characters, draw the next one by its probability, repeat. A temperature
# below 1 sharpens the distribution.
def write(start: str, count: int, temperature: float, seed: int = 0, length: int = 50) -> str:
    rng = np.random.default_rng(seed)
    written = [number_of[character] for character in start]
    for _ in tqdm(range(count), desc="writing", leave=False):
        scores = np.asarray(expected(np.array([written[-length:]])))[0] / temperature
        likely = np.exp(scores.astype(np.float64) - scores.max())
        written.append(int(rng.choice(len(alphabet), p=likely / likely.sum())))
    return "".join(alphabet[number] for number in written)


def draw(losses: list[float], path: Path) -> None:
    """Plots the loss in bits per character, and the predicted probabilities along one line."""
    figure, (left, right) = plt.subplots(
        2, 1, figsize=(9, 5), layout="constrained", height_ratios=[2, 1]
    )
    left.plot(np.array(losses) / np.log(2), linewidth=0.6)
    left.set(xlabel="step", ylabel="bits per character")
    counts = np.bincount(numbers) / len(numbers)
    known = -np.sum(counts * np.log2(counts))
    left.axhline(known, color="black", linestyle="--", linewidth=0.8)
    left.text(0, known, "knowing how frequent each character is", va="bottom", fontsize=8)

    line = "gradients of the NumPy code you already have: no tape is needed"
    read = np.array([[number_of[character] for character in line]])
    scores = np.asarray(model(read))[0, :-1]
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    chance = likely[np.arange(len(line) - 1), read[0, 1:]]
    right.bar(np.arange(1, len(line)), chance, color="tab:orange")
    right.set(xlim=(-0.5, len(line) - 0.5), ylabel="foreseen with")
    right.set_xticks(np.arange(len(line)), list(line), fontsize=8, family="monospace")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--characters", type=int, default=400, help="how many are written")
    parser.add_argument("--out", type=Path, default=Path("build/char_lstm.png"))
    options = parser.parse_args()

    print(f"{len(text)} characters, {len(alphabet)} different ones")
    losses = train(options.steps)
    last = float(np.mean(losses[-20:]))
    print(f"loss {losses[0]:.3f} at first, {last:.3f} at last: "
          f"{last / np.log(2):.2f} bits per character")  # fmt: skip
    print("\nAfter 'The gradient ' the network writes:\n")
    print(textwrap.indent(write("The gradient ", options.characters, 0.6), "    "))
    draw(losses, options.out)
    print(f"\npicture: {options.out}")


if __name__ == "__main__":
    main()
