"""The text of statements in kernels."""

from __future__ import annotations

import pytest

from tests.cuda.compiling import emitted, kernel_bodies


def lines(source: str, **types: str) -> list[str]:
    """The body of the only kernel of a routine, without indentation."""
    params = ", ".join(types)
    body = "\n".join("    " + line for line in source.splitlines())
    (kernel,) = kernel_bodies(emitted(f"def f({params}):\n{body}\n    return ()\n", **types)[0])
    return [line.strip() for line in kernel.splitlines()[1:]]


@pytest.mark.parametrize(
    ("source", "expected", "types"),
    [
        ("y[1, 2] = x[0]", "y[y_n1 + 2] = x[0]", {"x": "float64[:]", "y": "float64[:, :]"}),
        ("y[()] = x[0]", "y[0] = x[0]", {"x": "float64[:]", "y": "float64[]"}),
        (
            "y[i, j, k] = 1.0",
            "y[(i * y_n1 + j) * y_n2 + k] = np.float64(1.0)",
            {"y": "float64[:, :, :]", "i": "int64", "j": "int64", "k": "int64"},
        ),
        ("y[0] = x.shape[1]", "y[0] = x_n1", {"x": "float64[:, :]", "y": "int64[:]"}),
        (
            "y[0] = np.exp(x[0])",
            "y[0] = np.float32(math.exp(x[0]))",
            {"x": "float32[:]", "y": "float32[:]"},
        ),
        (
            "y[0] = np.floor(x[0])",
            "y[0] = np.float32(libdevice.floorf(x[0]))",
            {"x": "float32[:]", "y": "float32[:]"},
        ),
        ("y[0] = np.inf", "y[0] = math.inf", {"y": "float64[:]"}),
        ("y[0] = -np.inf", "y[0] = -math.inf", {"y": "float64[:]"}),
        ("y[0] = not x[0]", "y[0] = not x[0] != 0", {"x": "bool[:]", "y": "bool[:]"}),
        ("y[0] += 1.0", "y[0] += np.float64(1.0)", {"y": "float64[:]"}),
    ],
)
def test_statement(source, expected, types):
    assert lines(source, **types) == [expected]


def test_an_error_sets_the_flag_once():
    text, program = emitted(
        """
def f(x, n):
    for i in range(n):
        if x[i] > 1.0:
            raise rt.Failure(3, i, x[i])
    return ()
""",
        x="float64[:]",
    )
    (kernel,) = kernel_bodies(text)
    assert kernel.splitlines()[0] == "def f_k1(err, err_values, n, x):"
    assert (
        "            if cuda.atomic.cas(err, 0, 0, 1) == 0:\n"
        "                err[1] = i\n"
        "                err_values[1] = x[i]\n"
        "            return"
    ) in kernel
    assert "('Failure', '', 3, ('int64', 'float64'))" in text
    assert program.kernels[0].params[:2] == (("err", "int64*"), ("err_values", "float64*"))


def test_threads_that_add_to_the_same_element_do_so_atomically():
    text, program = emitted(
        """
def f(x, at, n):
    for i in range(n):
        x[at[i]] += 2.0
    return ()
""",
        x="float64[:]", at="int64[:]",
    )  # fmt: skip
    assert "cuda.atomic.add(x, at[i], np.float64(2.0))" in text
    assert program.stats.atomics == 1


def test_there_is_no_atomic_addition_of_short_integers():
    text, program = emitted(
        """
def f(x, at, n):
    for i in range(n):
        x[at[i]] += at[0]
    return ()
""",
        x="int16[:]", at="int16[:]",
    )  # fmt: skip
    assert program.stats.grids == 0 and "atomic" not in text


def test_a_scalar_that_is_assigned_on_one_path_keeps_its_value():
    text, _ = emitted(
        """
def f(x, n):
    s = x[0]
    y = np.empty((n,), np.float64)
    for i in range(n):
        y[i] = s
    if x[1] > 0.0:
        s = 2.0
    return (s, y)
""",
        x="float64[:]",
    )
    *_, last = kernel_bodies(text)
    assert last.splitlines()[1:] == [
        "    s = s_slot[0]",
        "    if x[1] > 0.0:",
        "        s = np.float64(2.0)",
        "    s_slot[0] = s",
    ]
