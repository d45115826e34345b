"""Every example runs as a command, with options that shorten it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(name: str, *options: str) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), *options]
    # the products are too small for a second BLAS thread
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_digits_mlp(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    picture = tmp_path / "digits.png"
    text = run("digits_mlp.py", "--epochs", "5", "--out", str(picture))
    accuracy = re.search(r"never seen in training: ([\d.]+)%", text)
    assert accuracy is not None and float(accuracy[1]) > 90
    assert "def loss_vjp(" in text
    assert picture.stat().st_size > 10_000


def test_digits_cnn() -> None:
    pytest.importorskip("sklearn")
    text = run("digits_cnn.py", "--epochs", "4")
    accuracy = re.search(r"never seen in training: ([\d.]+)%", text)
    assert accuracy is not None and float(accuracy[1]) > 93


def numbers(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", line)]


def test_likelihood_scipy() -> None:
    rows = run("likelihood_scipy.py", "--samples", "4000").splitlines()[2:]
    assert len(rows) == 5
    for row in rows:
        true, found, error = numbers(row)
        assert abs(found - true) < 5 * error + 0.02


def test_maml_sinusoids() -> None:
    *_, plain, trained = run("maml_sinusoids.py", "--steps", "150").splitlines()
    assert numbers(trained)[1] < 0.6 * numbers(plain)[1]
    assert numbers(trained)[1] < numbers(trained)[0]


def test_pinn_heat() -> None:
    rows = run("pinn_heat.py", "--steps", "200").splitlines()[1:]
    assert len(rows) == 4
    assert all(numbers(row)[1] < 0.02 for row in rows)


def test_find_the_nan() -> None:
    text = run("find_the_nan.py")
    assert "temperature  gradient 0: reaches the result only through rounding" in text
    assert "find_the_nan.py:18:9: np.exp(sharp) became inf" in text


def test_linear_regression(tmp_path: Path) -> None:
    picture = tmp_path / "line.png"
    text = run("linear_regression.py", "--epochs", "20", "--out", str(picture))
    for row in text.splitlines()[1:3]:
        learned, exact, true = numbers(row)
        assert abs(learned - exact) < 0.1 and abs(learned - true) < 0.15
    assert "def train_step(" in text
    assert picture.stat().st_size > 10_000


def test_integrated_gradients(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    picture = tmp_path / "attribution.png"
    text = run("integrated_gradients.py", "--epochs", "5", "--out", str(picture))
    difference, gradient, *sums = (numbers(row)[-1] for row in text.splitlines()[2:7])
    assert gradient < 0.2 * difference
    assert abs(sums[-1] - difference) < 0.001
    assert abs(sums[-1] - difference) < abs(sums[0] - difference)
    assert picture.stat().st_size > 10_000


def test_wgan_gp(tmp_path: Path) -> None:
    picture = tmp_path / "points.png"
    rows = run("wgan_gp.py", "--rounds", "100", "--out", str(picture)).splitlines()[1:6]
    distances = [numbers(row)[0] for row in rows]
    assert distances[-1] < 0.5 * distances[0]
    assert picture.stat().st_size > 10_000


def test_accumulation() -> None:
    rows = run("accumulation.py", "--steps", "10").splitlines()[1:]
    losses, differences = zip(*(numbers(row) for row in rows))
    assert len(set(losses)) == 1
    assert max(differences) < 1e-5


def test_char_lstm(tmp_path: Path) -> None:
    picture = tmp_path / "letters.png"
    short = ("--steps", "40", "--characters", "30")
    text = run("char_lstm.py", *short, "--out", str(picture))
    line = next(row for row in text.splitlines() if row.startswith("loss"))
    first, last, _ = numbers(line)
    assert first > 4.0 and last < 3.7
    assert "    The gradient " in text
    assert picture.stat().st_size > 10_000


def test_small_transformer(tmp_path: Path) -> None:
    """Only the first steps, after which the model does not add correctly yet."""
    picture = tmp_path / "sums.png"
    short = ("--steps", "41", "--blocks", "1")
    text = run("small_transformer.py", *short, "--out", str(picture))
    right = re.search(r"new problems: .* \(([\d.]+)% of the digits\)", text)
    assert right is not None and float(right[1]) > 20
    assert len(re.findall(r"\d{3}\+\d{3} = \d+", text)) == 5
    assert picture.stat().st_size > 10_000


def test_neural_ode(tmp_path: Path) -> None:
    picture = tmp_path / "spiral.png"
    text = run("neural_ode.py", "--steps", "60", "--out", str(picture))
    losses = next(numbers(row) for row in text.splitlines() if row.startswith("loss"))
    assert losses[-1] < 0.3 * losses[0]
    refused = next(row for row in text.splitlines() if row.startswith("refused"))
    assert int(refused.split()[-1]) > 0
    assert picture.stat().st_size > 10_000


def test_none_is_forgotten() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for path in (ROOT / "examples").glob("*.py"):
        assert f'run("{path.name}"' in here, f"{path.name} is not tested"
