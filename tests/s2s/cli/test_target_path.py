"""FILE.py:FUNC: resolution, and the error messages if it fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from s2s.cli.exit_codes import USAGE, USER_ERROR, CommandError
from s2s.cli.target_path import find, functions_in, split


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("model.py:loss", ("model.py", "loss")),
        ("C:\\m.py:loss", ("C:\\m.py", "loss")),
        ('m.py:steps["a:b"]', ("m.py", 'steps["a:b"]')),
        ("m.py", ("m.py", "")),
        ("package.module:f", ("package.module", "f")),
        ("package.module", ("package.module", "")),
    ],
)
def test_split(text, parts):
    assert split(text) == parts


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("plain", np.sin(1.0) * 2),
        ("make(3)", 1.0),
        ("Spring().force", -2.0),
        ("Spring.force", -2.0),  # an instance is created if the class needs no arguments
        ("Named('a').energy", 1.0),
        ("[make(2), plain][0]", 1.0),
    ],
)
def test_what_functions_are_called(run, model, expression, value):
    assert np.isclose(find(f"{model}:{expression}").value(np.array([1.0])), value)


def test_an_expression_is_evaluated_once(run, write):
    text = "made = []\n\n\nclass Model:\n    def __init__(self):\n        made.append(self)\n\n"
    file = write(text + "    def step(self, x):\n        return x\n")
    target = find(f"{file}:Model().step")
    assert len(target.module.made) == 1


def test_a_file_that_has_the_name_of_a_library(run, write):
    file = write("def f(x):\n    return x\n", "random.py")
    import random

    assert find(f"{file}:f").value(3) == 3
    assert random.random() < 1


def test_a_file_in_a_package(run, write):
    write("", "things/__init__.py")
    write("SCALE = 3.0\n", "things/scales.py")
    file = write("from .scales import SCALE\n\n\ndef f(x):\n    return SCALE * x\n", "things/f.py")
    assert find(f"{file}:f").value(2.0) == 6.0


def test_a_module():
    assert find("math:sqrt").value(4.0) == 2.0


def complaint(text: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        find(text)
    return caught.value


def test_what_is_not_there(run, model):
    folder = Path(model).parent
    missing = complaint(f"{folder}/modle.py:loss")
    assert missing.code == USAGE
    assert "there is no such file" in str(missing) and "did you mean model.py" in str(missing)
    assert "did you mean loss" in str(complaint(f"{model}:los"))
    assert "which function?" in str(complaint(model)) and "plain" in str(complaint(model))
    assert "Spring has no enrgy" in str(complaint(f"{model}:Spring.enrgy"))
    assert "did you mean energy" in str(complaint(f"{model}:Spring.enrgy"))
    assert "no such file or module" in str(complaint("nowhere.at.all:f"))
    assert "not a name or expression" in str(complaint(f"{model}:f("))
    assert "Spring is a class" in str(complaint(f"{model}:Spring"))
    assert "Spring.energy" in str(complaint(f"{model}:Spring"))
    assert "np is a module" in str(complaint(f"{model}:np"))
    assert "Named(...).energy" in str(complaint(f"{model}:Named.energy"))


def test_a_file_that_fails(run, write):
    error = complaint(f"{write('x = 1' + chr(10) + 'x / 0' + chr(10))}:f")
    assert error.code == USER_ERROR
    assert "line 2" in str(error) and "ZeroDivisionError" in str(error)
    assert "importlib" not in str(error)
    assert complaint(f"{write('import sys; sys.exit(3)', 'leaves.py')}:f").code == USER_ERROR


def test_what_a_file_prints_is_not_output(run, write, capfd):
    find(f"{write('print(1)' + chr(10) + 'def f(x): return x')}:f")
    assert capfd.readouterr() == ("", "1\n")


def test_functions_in(model, write):
    assert functions_in(model)[:2] == ["act", "loss"]
    assert "Spring.energy" in functions_in(model) and "Named.__init__" not in functions_in(model)
    assert functions_in(write("def f(:", "broken.py")) == []
