"""Steps with models, Variables and optimizers are loaded from disk if they are still valid.

Executing a file again, which creates new objects, simulates a second process."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.dispatch import persistent, specializations

pytest.importorskip("numba")
ROOT = Path(__file__).parents[3]

HEAD = """
import enum, functools
import numpy as np, s2s
from s2s.layers import Dense, Dropout, Layer
from s2s.losses import MeanSquaredError
from s2s.models import Model, Sequential
from s2s.optimizers import SGD, Adam
"""
STEP = """
@s2s.function
def step(x, y):
    with s2s.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss
"""
LAZY = f"""{HEAD}
model = Sequential([Dense(3, activation="tanh"), Dense(1)])
loss_fn = MeanSquaredError()
optimizer = SGD(0.1)
{STEP}"""
OWN = f"""{HEAD}
class Scaled(Layer):
    factor = 2

    def __init__(self):
        super().__init__()
        self.power = 2
        self.inner = Dense(2)

    def call(self, inputs):
        return self.inner(inputs) ** self.power * self.factor

    def other(self, inputs):
        return self.inner(inputs)

model = Scaled()
loss_fn = MeanSquaredError()
optimizer = Adam(0.1)
{STEP}"""
VARIABLES = f"""{HEAD}
class Mode(enum.Enum):
    PLAIN = 1
    DOUBLE = 2

class Holder:
    def __init__(self):
        self.a = s2s.Variable(np.arange(3.0))
        self.b = s2s.Variable(np.ones(3))
        self.mode = Mode.PLAIN
        self.parts = {{"first": [1, 2]}}

holder = Holder()

@s2s.function
def step(x, y):
    with s2s.GradientTape() as tape:
        loss = (holder.a * holder.b * x).sum() * holder.parts["first"][1]
        if holder.mode is Mode.DOUBLE:
            loss = loss * 2
    a, b = tape.gradient(loss, [holder.a, holder.b])
    holder.a.assign_sub(0.1 * a)
    return loss
"""
X, Y = np.linspace(-1.0, 1.0, 8, dtype=np.float32).reshape(4, 2), np.ones((4, 1), np.float32)


class World:
    """A folder with a program and a cache; each run is like that of a new process."""

    def __init__(self, folder: Path, monkeypatch: Any) -> None:
        self.folder, self.translations = folder, 0
        monkeypatch.setenv("S2S_CACHE_DIR", str(folder / "cache"))
        monkeypatch.setattr(persistent, "compiler_key", lambda: "one compiler")
        translate = specializations.Specialiser.translate

        def counted(specialiser: Any, *args: Any) -> Any:
            self.translations += 1
            return translate(specialiser, *args)

        monkeypatch.setattr(specializations.Specialiser, "translate", counted)

    def run(self, text: str, name: str = "program") -> Any:
        file = self.folder / f"{name}.py"
        file.write_text(text)
        linecache.checkcache()
        module: Any = types.ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module
        exec(compile(text, str(file), "exec"), vars(module))
        return module

    def translates(self, module: Any, *args: Any) -> bool:
        """True if the first call has to run the compiler; the kernel is not run."""
        before = self.translations
        specialiser, bound = module.step._bind("primal", args or (X, Y), {})
        try:
            specialiser.find(bound, "numba")
        except (s2s.S2SError, ValueError):  # the compiler refuses it
            pass
        return self.translations > before


@pytest.fixture
def world(tmp_path, monkeypatch):
    yield World(tmp_path, monkeypatch)
    for name in ("program", "helper"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("text", [LAZY, LAZY.replace("SGD(0.1)", "Adam(0.1)"), OWN, VARIABLES])
def test_the_same_program_is_recalled(world: World, text: str) -> None:
    args = (np.float32(2.0), Y) if text is VARIABLES else (X, Y)
    assert world.translates(world.run(text), *args)
    for _ in range(2):
        assert not world.translates(world.run(text), *args)


@pytest.mark.parametrize("text", [LAZY, OWN])
def test_what_is_recalled_does_the_same(world: World, text: str) -> None:
    world.translates(world.run(text))
    module, other = world.run(text), world.run(text)
    for m in (module, other):
        m.model(X)
        for v, w in zip(m.model.trainable_variables, module.model.trainable_variables):
            v.assign(w.numpy())
    # A model that the compiler builds, and one that plain Python has built.
    losses = [float(module.step(X, Y)) for _ in range(3)]
    plain = [float(other.step.python(X, Y)) for _ in range(3)]
    np.testing.assert_allclose(losses, plain, rtol=1e-5)
    assert module.optimizer.steps == 3


def test_objects_are_completed_as_the_compiler_would(world: World) -> None:
    world.translates(world.run(LAZY))
    module = world.run(LAZY)
    assert not module.model.built
    assert not world.translates(module)
    assert module.model.built
    assert [v.shape for v in module.model.trainable_variables] == [(2, 3), (3,), (3, 1), (1,)]
    assert len(module.optimizer.variables) == 4
    assert module.optimizer.variables[0] is module.model.trainable_variables[0]


def test_another_width_inside_is_the_same_program(world: World) -> None:
    world.translates(world.run(OWN))
    module = world.run(OWN)
    module.model.inner = module.Dense(3)
    assert not world.translates(module)
    assert module.model.trainable_variables[0].shape == (2, 3)
    assert not np.isnan(module.step(X, Y))


def test_another_batch_is_the_same_program_and_another_width_is_not(world: World) -> None:
    world.translates(world.run(LAZY))
    assert not world.translates(world.run(LAZY), X[:3], Y[:3])
    module = world.run(LAZY)
    wide = np.ones((4, 5), np.float32)
    assert world.translates(module, wide, Y)
    assert module.model.trainable_variables[0].shape == (5, 3)
    assert not world.translates(world.run(LAZY), wide, Y)
    assert not world.translates(world.run(LAZY))


def test_a_model_that_is_built_is_another_start(world: World) -> None:
    world.translates(world.run(LAZY))
    for expected in (True, False):
        module = world.run(LAZY)
        module.model(X)
        kernel = module.model.trainable_variables[0]
        assert world.translates(module) is expected
        assert module.model.trainable_variables[0] is kernel
    assert not world.translates(world.run(LAZY))


def test_a_run_that_goes_on_is_the_same_program(world: World) -> None:
    text = LAZY.replace("SGD(0.1)", "Adam(0.1)")
    world.translates(world.run(text))
    module = world.run(text)
    module.step.python(X, Y)
    assert module.optimizer.steps == 1
    world.translates(module)
    module = world.run(text)
    for _ in range(3):
        module.step.python(X, Y)
    assert not world.translates(module)


@pytest.mark.parametrize("old, new", [
    ('"tanh"', '"relu"'), ("Dense(1)", "Dense(1, use_bias=False)"), ("SGD(0.1)", "Adam(0.1)"),
    ("Dense(3", "Dense(4"), ("Dense(1)]", "Dense(1), Dense(1)]"), ("SGD(0.1)", "SGD(0.1, 0.9)"),
    ("MeanSquaredError()", 'MeanSquaredError(reduction="sum")'), ("Dense(1)]", "Dropout(0.5)]"),
    ("SGD(0.1)", "SGD(0.1, clipnorm=1.0)"), ("loss_fn(y, model(x))", "loss_fn(model(x), y)"),
])  # fmt: skip
def test_what_is_written_otherwise_is_translated(world: World, old: str, new: str) -> None:
    assert old in LAZY
    world.translates(world.run(LAZY))
    assert world.translates(world.run(LAZY.replace(old, new)))
    assert not world.translates(world.run(LAZY))


@pytest.mark.parametrize("change", [
    "m.model.chain[0].activation = np.sin",
    "m.model.chain[0].activation = lambda x: x + 1",
    "m.model.chain[0].use_bias = False",
    "m.model.chain[0].name = 'other'",
    "m.model.chain[1].trainable = False",
    "m.model.chain = [m.model.chain[1], m.model.chain[0]]",
    "m.model.chain = [m.model.chain[0]] * 2",
    "m.model.chain = m.model.chain[:1]",
    "m.optimizer = m.Adam(0.1)",
    "m.optimizer.clipvalue = 1.0",
    "m.loss_fn.reduction = 'sum'",
    "m.loss_fn = lambda y, z: ((y - z) ** 2).mean()",
    "type(m.loss_fn).elements = type(m.loss_fn).__call__",
])  # fmt: skip
def test_objects_that_are_otherwise_are_translated(world: World, change: str) -> None:
    """In the same file, so that only the objects differ."""
    same = LAZY.replace("Dense(1)]", "Dense(3)]")
    world.translates(world.run(same))
    module = world.run(same)
    loss = type(module.loss_fn)
    before = loss.elements
    try:
        exec(change, {"m": module, "np": np})
        assert world.translates(module)
    finally:
        loss.elements = before
    assert not world.translates(world.run(same))


@pytest.mark.parametrize("change", [
    "h.a.trainable = False",
    "h.a, h.b = h.b, h.a",
    "h.b = h.a",
    "h.b = s2s.Variable(np.ones(3), dtype=np.float32)",
    "h.b = s2s.Variable(np.ones((3, 3)))",
    "h.b = np.ones(3)",
    "h.mode = m.Mode.DOUBLE",
    "h.mode = None",
    "h.parts['first'][1] = 3",
    "h.parts['first'] = (1, 2, 3)",
    "h.parts = {'first': [1, 2], 'more': 1}",
    "m.holder = type('Other', (m.Holder,), {'__module__': 'program'})()",
])  # fmt: skip
def test_variables_and_containers_that_are_otherwise(world: World, change: str) -> None:
    args = (np.float32(2.0), Y)
    world.translates(world.run(VARIABLES), *args)
    module = world.run(VARIABLES)
    exec(change, {"m": module, "h": module.holder, "np": np, "s2s": s2s})
    swapped = change == "h.a, h.b = h.b, h.a"  # both are Variables of three numbers
    assert world.translates(module, *args) is not swapped
    assert not world.translates(world.run(VARIABLES), *args)


def test_one_object_by_two_names(world: World) -> None:
    text = f"""{HEAD}
a, b = s2s.Variable(np.ones(3)), s2s.Variable(np.ones(3))

@s2s.function
def step(x, y):
    a.assign_add(x)
    return (b * b).sum()
"""
    x = np.ones(3, np.float32)
    world.translates(world.run(text), x, Y)
    module = world.run(text)
    module.b = module.a
    assert world.translates(module, x, Y)
    again = world.run(text)
    assert not world.translates(again, x, Y)
    assert again.step(x, Y) == 3.0


def test_functions_and_classes_of_other_files(world: World) -> None:
    helper = (
        "from s2s.layers import Layer\nclass Base(Layer):\n    def twist(self, x):\n"
        "        return x + x\n"
    )
    text = OWN.replace("class Scaled(Layer)", "class Scaled(Base)").replace(
        "self.inner(inputs)", "self.twist(self.inner(inputs))"
    )
    text = text.replace("import enum", "from helper import Base\nimport enum")
    world.run(helper, "helper")
    world.translates(world.run(text))
    assert not world.translates(world.run(text))
    world.run(helper.replace("x + x", "x * x"), "helper")
    assert world.translates(world.run(text))


@pytest.mark.parametrize("change", [
    "m.Scaled.factor = 3", "m.Scaled.call = m.Scaled.other", "m.model.power = 3",
    "m.model.factor = 5", "m.model.inner = m.Sequential([m.Dense(2)])",
])  # fmt: skip
def test_classes_of_users(world: World, change: str) -> None:
    world.translates(world.run(OWN))
    module = world.run(OWN)
    exec(change, {"m": module})
    assert world.translates(module)
    assert not world.translates(world.run(OWN))


def test_objects_that_are_passed_in(world: World) -> None:
    text = f"""{HEAD}
class Affine:
    def __init__(self):
        self.w = s2s.Variable(np.ones(2))
        self.scale = 2

@s2s.function
def step(first, second, x):
    first.w.assign_add(x)
    return (second.w * second.scale).sum()
"""
    x = np.ones(2, np.float32)
    m = world.run(text)
    assert world.translates(m, m.Affine(), m.Affine(), x)
    m = world.run(text)
    assert not world.translates(m, m.Affine(), m.Affine(), x)
    m, other = world.run(text), None
    other = m.Affine()
    other.scale = 3
    assert world.translates(m, m.Affine(), other, x)
    m = world.run(text)
    same = m.Affine()
    assert world.translates(m, same, same, x)
    m = world.run(text)
    first, second = m.Affine(), m.Affine()
    assert m.step(first, second, x) == 4.0 and first.w[0] == 2.0


def test_what_no_path_leads_to_is_not_remembered(world: World) -> None:
    text = f"""{HEAD}
import os
def make():
    class Settings:
        rate = float(os.environ.get("RATE", "2.0"))
    def rate():
        return Settings.rate
    return rate

rate = make()

@s2s.function
def step(x, y):
    return x * rate()
"""
    os.environ["RATE"] = "3.0"
    try:
        assert world.run(text).step(1.0, 2.0) == 3.0
        os.environ["RATE"] = "5.0"
        assert world.run(text).step(1.0, 2.0) == 5.0
    finally:
        del os.environ["RATE"]


def test_partial_functions_are_translated(world: World) -> None:
    text = f"""{HEAD}
def scaled(k, x):
    return k * x

twice = functools.partial(scaled, 2)

@s2s.function
def step(x, y):
    return twice(x)
"""
    assert world.run(text).step(1.5, 0.0) == 3.0
    module = world.run(text)
    module.twice = module.functools.partial(module.scaled, 4)
    assert module.step(1.5, 0.0) == 6.0


def test_an_object_that_is_returned_is_that_of_this_process(world: World) -> None:
    text = f"""{HEAD}
class Box:
    pass

box = Box()
box.n = s2s.Variable(1.0)

@s2s.function
def step(x, y):
    return box.n * x, box
"""
    for _ in range(2):
        module = world.run(text)
        assert module.step(np.float32(2.0), 0.0)[1] is module.box


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import program
x = np.linspace(-1.0, 1.0, 8, dtype=np.float32).reshape(4, 2)
y = np.ones((4, 1), np.float32)
losses = [float(program.step(x, y)) for _ in range(3)]
assert losses[2] < losses[0]
print([m for m in ("numba", "s2s.transforms.pipeline", "scipy.special") if m in sys.modules])
"""


def test_a_second_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LAZY.replace("SGD(0.1)", "Adam(0.1)"))
    env = {**os.environ, "S2S_CACHE_DIR": str(tmp_path / "cache"), "S2S_BACKEND": "native"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path))],
            cwd=ROOT, env=env, text=True, capture_output=True,
        )  # fmt: skip
        assert not done.returncode, done.stderr
    assert done.stdout.split("\n")[-2] == "[]"
