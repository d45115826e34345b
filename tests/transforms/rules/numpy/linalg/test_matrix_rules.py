"""Matrix functions: values against NumPy and SciPy, first and second derivatives against finite
differences, pushforwards against pullbacks; one matrix and stacks of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from s2s.transforms.ir.errors import S2SLinAlgError, S2STypeError, UnsupportedError
from s2s.transforms.ir.nodes import Assign
from tests.transforms.rules import differentials
from tests.transforms.rules.differentials import Trial, call, pull

RNG = np.random.default_rng(1)


def array(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def regular(*shape: int) -> np.ndarray:
    """Matrices that are far from singular."""
    return array(*shape) * 0.4 + 1.5 * np.eye(shape[-1])


def positive(b: Any, x: Any) -> Any:
    """A symmetric positive definite matrix computed from x, for functions that read one
    triangle."""
    unit = b.emit("eye", 3, 3, 0, dtype="float64")
    return x @ call(b, "numpy.linalg.matrix_transpose", x) + 0.5 * unit


def of(path: str, *more: Any, part: Any = None, **keywords: Any) -> Callable[..., Any]:
    def build(b: Any, *xs: Any) -> Any:
        out = call(b, path, *xs, *more, **keywords)
        return out if part is None else out[part]

    return build


def numpys(path: str, *more: Any, part: Any = None, **keywords: Any) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    function = getattr(
        {"numpy": np, "numpy.linalg": np.linalg, "scipy.linalg": scipy.linalg}[module], name
    )

    def expected(*xs: Any) -> Any:
        out = function(*xs, *more, **keywords)
        return out if part is None else out[part]

    return expected


def check(build: Any, *args: Any, expected: Any, order: int = 2, sizes: bool | None = None) -> None:
    """Check derivatives: with known sizes up to second order, without only to first."""
    differentials.check(build, *args, expected=expected, order=order, sizes=True)
    if sizes is None:
        differentials.check(build, *args, expected=expected, order=1, sizes=False)


def compare(path: str, args: tuple[Any, ...], *more: Any, order: int = 2, **keywords: Any) -> None:
    check(of(path, *more, **keywords), *args, expected=numpys(path, *more, **keywords), order=order)


STACKS = [(3, 3), (2, 3, 3), (0, 0)]


# ---------------------------------------------------------------- systems


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 2)),
        ((3, 3), (2, 3, 2)),
        ((2, 3, 3), (2, 3, 2)),
        ((1, 3, 3), (2, 3, 2)),
        ((0, 0), (0,)),
        ((3, 3), (3, 0)),
    ],
)
def test_solve(left, right):
    compare("numpy.linalg.solve", (regular(*left), array(*right)))


@pytest.mark.parametrize("shape", STACKS)
@pytest.mark.parametrize(
    "path", ["numpy.linalg.inv", "numpy.linalg.det", "scipy.linalg.inv", "scipy.linalg.expm"]
)
def test_of_a_square_matrix(path, shape):
    if path == "scipy.linalg.inv" and shape != (3, 3):
        pytest.skip("its stacks are newer than the SciPy required")
    compare(path, (regular(*shape),))


@pytest.mark.parametrize("shape", STACKS)
def test_slogdet(shape):
    compare("numpy.linalg.slogdet", (regular(*shape),), part=1)
    compare("numpy.linalg.slogdet", (-regular(*shape),), part=0)


def test_the_determinant_of_a_singular_matrix_has_a_gradient():
    x = array(3, 2) @ array(2, 3)
    compare("numpy.linalg.det", (x,), order=1)


@pytest.mark.parametrize("power", [0, 1, 2, 5, -1, -2])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
def test_matrix_power(shape, power):
    compare("numpy.linalg.matrix_power", (regular(*shape) * 0.6,), power)


def test_tensorsolve_and_tensorinv():
    a = array(2, 3, 6) + np.eye(6).reshape(2, 3, 6) * 3
    compare("numpy.linalg.tensorsolve", (a, array(2, 3)))
    compare("numpy.linalg.tensorinv", (a,))


@pytest.mark.parametrize("assume_a", ["gen", "pos", "sym"])
@pytest.mark.parametrize("lower", [False, True])
def test_scipy_solve(assume_a, lower):
    a = regular(3, 3)
    a = a @ a.T

    def build(b, x, y):
        return call(b, "scipy.linalg.solve", x, y, lower=lower, assume_a=assume_a)

    def expected(x, y):
        return scipy.linalg.solve(x, y, lower=lower, assume_a=assume_a)

    check(build, a, array(3), expected=expected)


# ---------------------------------------------------------------- triangles


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("right", [(3,), (3, 2)])
def test_solve_triangular(lower, trans, right):
    keywords = {"lower": lower, "trans": trans}
    compare("scipy.linalg.solve_triangular", (regular(3, 3), array(*right)), **keywords)


@pytest.mark.parametrize("lower", [False, True])
def test_solve_triangular_with_a_diagonal_of_ones(lower):
    keywords = {"lower": lower, "trans": "T", "unit_diagonal": True}
    compare("scipy.linalg.solve_triangular", (regular(3, 3), array(3)), order=1, **keywords)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape, upper):
    check(
        lambda b, x: call(b, "numpy.linalg.cholesky", positive(b, x), upper=upper),
        array(*shape),
        expected=lambda x: np.linalg.cholesky(
            x @ np.swapaxes(x, -1, -2) + 0.5 * np.eye(3), upper=upper
        ),
        order=1 if upper else 2,
    )


def test_the_gradient_of_cholesky_is_symmetric():
    def element(b, x):
        factor = call(b, "numpy.linalg.cholesky", x)
        return b.emit("index", factor, 2, 0, items=(("int", 1), ("int", 2)))

    a = regular(3, 3)
    found = gradient(element, a @ a.T)
    np.testing.assert_allclose(found, found.T)
    assert found[2, 0] != 0


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("right", [(3,), (3, 2)])
def test_cho_solve(lower, right):
    def build(b, x, y):
        factor = call(b, "scipy.linalg.cho_factor", positive(b, x), lower=lower)
        return call(b, "scipy.linalg.cho_solve", factor, y)

    def expected(x, y):
        factor = scipy.linalg.cho_factor(x @ x.T + 0.5 * np.eye(3), lower=lower)
        return scipy.linalg.cho_solve(factor, y)

    check(build, array(3, 3), array(*right), expected=expected, order=1)


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("right", [(3,), (3, 2)])
def test_lu_solve(trans, right):
    def build(b, x, y):
        return call(b, "scipy.linalg.lu_solve", call(b, "scipy.linalg.lu_factor", x), y, trans)

    def expected(x, y):
        return scipy.linalg.lu_solve(scipy.linalg.lu_factor(x), y, trans)

    check(build, array(3, 3) + np.eye(3)[::-1] * 2, array(*right), expected=expected)


def test_lu_factors_themselves():
    x = array(3, 3) + np.eye(3)[::-1] * 2
    compare("scipy.linalg.lu_factor", (x,), part=0)
    compare("scipy.linalg.lu_factor", (x,), part=1)


@pytest.mark.parametrize("bands", [(1, 1), (0, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("right", [(5,), (5, 2)])
def test_solve_banded(bands, right):
    ab = array(sum(bands) + 1, 5)
    ab[bands[1]] += 3
    check(
        lambda b, x, y: call(b, "scipy.linalg.solve_banded", bands, x, y),
        ab,
        array(*right),
        expected=lambda x, y: scipy.linalg.solve_banded(bands, x, y),
    )


# ---------------------------------------------------------------- orthogonal factors


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3), (2, 2, 3)])
@pytest.mark.parametrize("part", [0, 1])
def test_qr(shape, part):
    compare("numpy.linalg.qr", (array(*shape),), part=part)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(shape, part, uplo):
    def build(b, x):
        return call(b, "numpy.linalg.eigh", positive(b, x), uplo)[part]

    def expected(x):
        return np.linalg.eigh(x @ np.swapaxes(x, -1, -2) + 0.5 * np.eye(3), uplo)[part]

    check(build, array(*shape), expected=expected, order=2 if uplo == "L" else 1)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_svd(shape, part):
    compare("numpy.linalg.svd", (array(*shape),), full_matrices=False, part=part)


def test_singular_values_alone():
    compare("numpy.linalg.svd", (array(4, 3),), compute_uv=False)
    compare("numpy.linalg.svdvals", (array(2, 4),))


def gradient(build, x):
    t = Trial(build, [x], True)
    (bar,) = pull(t.b, t.out, 1.0, t.xs, [s for s in t.b.block if isinstance(s, Assign)])
    return t.run(bar)[0]


def test_equal_eigenvalues():
    """Symmetric functions of equal eigenvalues have a derivative, single vectors have none."""
    x = np.diag([2.0, 2.0, 0.5])

    def squares(b, x):
        w = call(b, "numpy.linalg.eigvalsh", x)
        return b.emit("sum", w * w, axis=None, keepdims=False)

    def element(b, x):
        v = call(b, "numpy.linalg.eigh", x)[1]
        return b.emit("index", v, 0, at, items=(("int", 1), ("int", 2)))

    at = int(np.argmin(np.linalg.eigh(x)[1][0, 1:])) + 1  # of the two, orthogonal to x[0]
    np.testing.assert_allclose(gradient(squares, x), 2 * x)
    assert not np.isfinite(gradient(element, x)).all()


@pytest.mark.parametrize(
    ("path", "keywords"),
    [
        ("eigvalsh", {}),
        ("eigh", {"eigvals_only": True, "lower": False}),
        ("svd", {"compute_uv": False}),
        ("svdvals", {}),
        ("qr", {"mode": "economic", "part": 1}),
        ("qr", {"part": 0}),
        ("svd", {"part": 1}),
        ("pinv", {}),
    ],
)
def test_names_of_scipy(path, keywords):
    x = array(3, 3)
    build = of(f"scipy.linalg.{path}", **keywords)
    expected = numpys(f"scipy.linalg.{path}", **keywords)
    if not path.startswith("eig"):
        check(build, x, expected=expected, order=1, sizes=True)
        return
    check(
        lambda b, x: build(b, x + call(b, "numpy.transpose", x)),
        x,
        expected=lambda x: expected(x + x.T),
    )


def test_generalised_eigenvalues():
    check(
        lambda b, x, y: call(b, "scipy.linalg.eigvalsh", positive(b, x), positive(b, y)),
        array(3, 3),
        array(3, 3),
        expected=lambda x, y: scipy.linalg.eigvalsh(
            x @ x.T + 0.5 * np.eye(3), y @ y.T + 0.5 * np.eye(3)
        ),
        order=1,
    )


@pytest.mark.parametrize(("path", "shapes"), [
    ("toeplitz", [(3,)]), ("toeplitz", [(3,), (4,)]), ("circulant", [(4,)]),
    ("hankel", [(3,)]), ("hankel", [(3,), (4,)]),
])  # fmt: skip
def test_matrices_of_vectors(path, shapes):
    compare(f"scipy.linalg.{path}", tuple(array(*s) for s in shapes), order=1)


# ---------------------------------------------------------------- least squares and the like


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3)])
def test_pinv(shape):
    compare("numpy.linalg.pinv", (array(*shape),))


def test_pinv_of_constant_rank():
    """A matrix of rank 1, and perturbations that preserve the rank."""

    def build(b, x, y):
        return call(b, "numpy.linalg.pinv", b.emit("outer", x, y), rcond=1e-10)

    check(
        build,
        array(3),
        array(4),
        expected=lambda x, y: np.linalg.pinv(np.outer(x, y), rcond=1e-10),
        order=1,
    )


@pytest.mark.parametrize(("left", "right"), [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,))])
@pytest.mark.parametrize("part", [0, 1, 2, 3])
def test_lstsq(left, right, part):
    def expected(x, y):
        return np.linalg.lstsq(x, y, rcond=None)[part]

    check(of("numpy.linalg.lstsq", part=part), array(*left), array(*right), expected=expected)


def test_matrix_rank():
    x = array(2, 4, 1) @ array(2, 1, 3)
    compare("numpy.linalg.matrix_rank", (x,))
    compare("numpy.linalg.matrix_rank", (x[0],))
    compare("numpy.linalg.matrix_rank", (x[0],), 1e-3)
    compare("numpy.linalg.matrix_rank", (np.zeros(3),))


@pytest.mark.parametrize("p", [None, 2, -2, "fro", 1, -1, np.inf, -np.inf])
def test_cond(p):
    compare("numpy.linalg.cond", (regular(3, 3),), p)
    compare("numpy.linalg.cond", (regular(2, 3, 3),), p, order=1)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, 2.5, -1, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norm_of_vectors(ord, keepdims):
    compare("numpy.linalg.norm", (array(4),), ord, keepdims=keepdims)
    compare("numpy.linalg.norm", (array(3, 4),), ord, 0, keepdims, order=1)


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize("keepdims", [False, True])
def test_norm_of_matrices(ord, keepdims):
    compare("numpy.linalg.norm", (array(3, 4),), ord, keepdims=keepdims, order=2 - keepdims)
    compare("numpy.linalg.norm", (array(3, 2, 4),), ord, (2, 0), keepdims, order=1)


def test_names_of_norms():
    compare("numpy.linalg.vector_norm", (array(3, 4),))
    compare("numpy.linalg.vector_norm", (array(3, 4),), axis=1, ord=1)
    compare("numpy.linalg.matrix_norm", (array(2, 3, 4),), ord="nuc")


def test_norm_of_zeros_has_derivative_zero():
    t = Trial(of("numpy.linalg.norm"), [np.zeros(3)], True)
    (bar,) = pull(t.b, t.out, 1.0, t.xs, list(t.b.block))
    np.testing.assert_array_equal(t.run(bar)[0], np.zeros(3))


# ---------------------------------------------------------------- products


@pytest.mark.parametrize(
    ("left", "right"),
    [((2, 3), (3, 2)), ((3,), (2,)), ((2, 3), (4,)), ((2,), (2, 3, 2)), ((), (2, 3)), ((), ())],
)
def test_kron(left, right):
    compare("numpy.kron", (array(*left)[()], array(*right)[()]))


@pytest.mark.parametrize(
    ("left", "right", "keywords"),
    [
        ((3,), (3,), {}),
        ((4, 3), (3,), {}),
        ((4, 3), (4, 3), {}),
        ((3, 4), (4, 3), {"axisa": 0}),
        ((3, 4), (3, 4), {"axis": 0}),
        ((4, 3), (4, 3), {"axisc": 0}),
    ],
)
def test_cross(left, right, keywords):
    compare("numpy.cross", (array(*left), array(*right)), **keywords)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
@pytest.mark.parametrize(("left", "right"), [((2,), (2,)), ((2,), (3,)), ((4, 3), (4, 2))])
def test_cross_of_two_components(left, right):
    check(
        of("numpy.cross"), array(*left), array(*right), expected=lambda x, y: np.cross(x, y)[()],
        sizes=True,
    )  # fmt: skip


def test_multi_dot():
    check(
        lambda b, x, y, z: call(b, "numpy.linalg.multi_dot", [x, y, z]),
        array(2, 3),
        array(3, 4),
        array(4),
        expected=lambda *xs: np.linalg.multi_dot(xs),
    )


@pytest.mark.parametrize(
    ("path", "left", "right"),
    [
        ("numpy.vecdot", (3,), (3,)),
        ("numpy.linalg.vecdot", (2, 3), (3,)),
        ("numpy.matvec", (2, 3), (3,)),
        ("numpy.matvec", (4, 2, 3), (4, 3)),
        ("numpy.vecmat", (3,), (3, 2)),
        ("numpy.vecmat", (4, 3), (4, 3, 2)),
        ("numpy.linalg.outer", (3,), (2,)),
        ("numpy.linalg.matmul", (2, 3), (3, 2)),
        ("numpy.linalg.tensordot", (2, 3, 4), (3, 4)),
        ("numpy.linalg.cross", (2, 3), (2, 3)),
    ],
)
def test_names_of_the_array_api(path, left, right):
    if path.count(".") == 1 and not hasattr(np, path.rpartition(".")[2]):
        pytest.skip("newer than this NumPy")
    compare(path, (array(*left), array(*right)))


@pytest.mark.parametrize(
    ("path", "shape", "keywords"),
    [
        ("numpy.trace", (3, 4), {}),
        ("numpy.trace", (3, 4), {"offset": 2}),
        ("numpy.trace", (3, 4), {"offset": -1}),
        ("numpy.trace", (3, 3, 2), {}),
        ("numpy.trace", (2, 3, 4), {"axis1": 1, "axis2": 2}),
        ("numpy.diagonal", (2, 3, 4), {"axis1": -1, "axis2": 0, "offset": 1}),
        ("numpy.linalg.trace", (2, 3, 4), {}),
        ("numpy.linalg.diagonal", (2, 3, 4), {"offset": -1}),
        ("numpy.linalg.matrix_transpose", (2, 3, 4), {}),
    ],
)
def test_diagonals(path, shape, keywords):
    compare(path, (array(*shape),), **keywords)


def test_block_diag():
    check(
        lambda b, x, y, z: call(b, "scipy.linalg.block_diag", x, y, z),
        array(2, 3),
        array(2),
        array(1, 1),
        expected=scipy.linalg.block_diag,
    )


# ---------------------------------------------------------------- dtypes and errors


@pytest.mark.parametrize(
    "path",
    ["inv", "det", "cholesky", "pinv", "eigvalsh", "svdvals", "norm", "cond"],
)
def test_float32_stays_float32(path):
    x = np.eye(3, dtype="float32") * np.float32(2)
    t = Trial(of(f"numpy.linalg.{path}"), [x], True)
    assert t.value().dtype == np.float32 == getattr(np.linalg, path)(x).dtype


def test_integers_are_taken_for_float64():
    x = np.array([[2, 1], [1, 3]])
    compare("numpy.linalg.inv", (x,))
    compare("numpy.linalg.det", (x,))


def test_float16_is_refused():
    with pytest.raises(S2STypeError, match="float16 is unsupported in linalg"):
        Trial(of("numpy.linalg.inv"), [np.eye(2, dtype="float16")], True)


@pytest.mark.parametrize("path", ["inv", "det", "slogdet", "cholesky", "eigh", "solve"])
def test_what_is_no_square_matrix(path):
    more = (np.ones(2),) if path == "solve" else ()
    build = of(f"numpy.linalg.{path}", part=0 if path in ("slogdet", "eigh") else None)
    t = Trial(build, [array(2, 3), *more], True)
    with pytest.raises(np.linalg.LinAlgError, match="Last 2 dimensions of the array"):
        t.value()
    with pytest.raises(S2SLinAlgError, match="1-dimensional array given. Array must be at least"):
        Trial(build, [array(3), *more], True)


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("right", [(2,), (2, 2), (4, 2, 2)])
def test_solve_with_the_wrong_number_of_rows(right, sizes):
    args = regular(3, 3), array(*right)
    t = Trial(of("numpy.linalg.solve"), args, sizes)
    with pytest.raises(ValueError) as told:
        t.value()
    with pytest.raises(ValueError) as numpys:
        np.linalg.solve(*args)
    assert str(told.value) == str(numpys.value)


def test_triangular_systems_of_the_wrong_size():
    args = regular(2, 2), array(3)
    t = Trial(of("scipy.linalg.solve_triangular"), args, False)
    with pytest.raises(ValueError, match=r"shapes of a \(2, 2\) and b \(3,\) are incompatible"):
        t.value()


@pytest.mark.parametrize(
    ("path", "keywords"),
    [
        ("numpy.linalg.qr", {"mode": "complete"}),
        ("numpy.linalg.svd", {"full_matrices": True}),
        ("numpy.linalg.svd", {"hermitian": True}),
        ("numpy.linalg.pinv", {"hermitian": True}),
        ("numpy.linalg.eig", {}),
        ("scipy.linalg.eigh", {}),
        ("scipy.linalg.qr", {"pivoting": True}),
    ],
)
def test_refused(path, keywords):
    with pytest.raises(UnsupportedError):
        Trial(of(path, **keywords), [array(3, 2)], True)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (((4,), "fro"), "Invalid norm order 'fro' for vectors"),
        (((4, 3), 3), "Invalid norm order for matrices."),
        (((4, 3, 2), 2), "Improper number of dimensions to norm."),
    ],
)
def test_norms_that_numpy_refuses(args, told):
    shape, ord = args
    with pytest.raises(ValueError, match=told):
        Trial(of("numpy.linalg.norm", ord), [array(*shape)], True)
