"""Types of the names of a routine."""

from __future__ import annotations

from s2s.transforms.lower.target.symbols import symbols_of
from tests.cuda.compiling import routine


def test_names_bound_to_other_buffers_have_their_types():
    found = symbols_of(
        routine(
            """
def f(x, k):
    a = b
    b = x.reshape((k, 2))
    s = 0.0
    for i in range(k):
        t = np.empty((k, 2), np.float32)
    return ()
""",
            x="float64[:]",
            b="float64[:, :]",
        ),
        {"taken"},
    )
    assert found.buffers == {
        "x": ("float64", 1), "t": ("float32", 2), "b": ("float64", 2), "a": ("float64", 2)
    }  # fmt: skip
    assert found.scalars == {"k": "int64", "s": "float64", "i": "int64"}
    assert found.new_name("taken") == "taken_1"
    assert found.new_scalar("i").name == "i_1" and found.scalars["i_1"] == "int64"


def test_copies_are_independent():
    found = symbols_of(routine("def f(k):\n    return ()\n"), set())
    other = found.copy()
    other.new_buffer("b", "float64", 1)
    assert "b" not in found.buffers and "b" not in found.taken
