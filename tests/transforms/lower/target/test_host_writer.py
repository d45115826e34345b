"""The text of host functions."""

from __future__ import annotations

from tests.cuda.compiling import emitted, host_function


def host(source: str, **types: str) -> list[str]:
    return [line.strip() for line in host_function(emitted(source, **types)[0]).splitlines()]


def test_products_pass_sizes_and_offsets():
    found = host(
        """
def f(a, b, c, k):
    rt.gemm(True, False, 1.0, a[k], b, 0.0, c[k, 1])
    return ()
""",
        a="float64[:, :, :]", b="float64[:, :]", c="float64[:, :, :, :]",
    )  # fmt: skip
    assert found == [
        "k = np.int64(k)",
        "dev.gemm(gemm_float64, True, False, c.shape[2], c.shape[3], a.shape[1], np.float64(1.0), "
        "a, k * a.shape[1] * a.shape[2], b, 0, np.float64(0.0), "
        "c, (k * c.shape[1] + 1) * c.shape[2] * c.shape[3])",
        "return ()",
    ]


def test_a_check_of_the_host_comes_after_errors_on_the_device():
    found = host(
        """
def f(x, n):
    for i in range(n):
        if x[i] < 0.0:
            raise ValueError("negative")
    if n > 5:
        raise ValueError("long")
    return ()
""",
        x="float64[:]",
    )
    assert found[-4:] == ["if n > 5:", "dev.check()", 'raise ValueError("long")', "return ()"]


def test_scalars_have_the_dtype_of_their_parameter():
    found = host(
        "def f(x, a, b):\n    x[0] = a\n    return (b,)\n",
        x="float32[:]", a="float32", b="bool",
    )  # fmt: skip
    assert found == [
        "a = np.float32(a)", "b = np.bool_(b)", "dev.launch(f_k1, 1, 1, err, x, a)",
        "return (np.bool_(b),)",
    ]  # fmt: skip


def test_a_parameter_that_kernels_assign_becomes_a_slot():
    found = host("def f(x, a):\n    a = a * x[0]\n    return (a,)\n", x="float64[:]", a="float64")
    assert found == [
        "a = dev.scalar(a, np.float64)", "dev.launch(f_k1, 1, 1, err, a, x)", "return (a,)"
    ]  # fmt: skip
