"""Signatures as text or examples: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.aot.type_signature import parse_signature
from s2s.errors import S2STypeError


def shapes(given) -> list[tuple[str, tuple]]:
    signature = parse_signature(given)
    return [(np.asarray(a).dtype.name, signature.of(a)) for a in signature.args]


def test_names_are_sizes_and_numbers_are_fixed() -> None:
    assert shapes("float32[n,784], int64[n], float64") == [
        ("float32", ("n", 784)), ("int64", ("n",)), ("float64", ()),
    ]  # fmt: skip
    assert shapes("  float [ n , 2 ] ,int,bool[ ]") == [
        ("float64", ("n", 2)), ("int64", ()), ("bool", ()),
    ]  # fmt: skip


def test_equal_names_have_equal_examples_and_others_differ() -> None:
    a, b, c = parse_signature("float64[n,m], float64[m], float64[k,n]").args
    assert a.shape[1] == b.shape[0] and a.shape[0] == c.shape[1]
    assert len({*a.shape, *c.shape}) == 3 and min(a.shape + c.shape) > 1
    sizes = [len(x) for x in parse_signature(", ".join(f"float32[n{k}]" for k in range(40))).args]
    assert len(set(sizes)) == 40


def test_scalars_are_those_of_python_or_numpy() -> None:
    x, n, y, flag, small = parse_signature("float64, int64, float32, bool, uint8").args
    assert type(x) is float and type(n) is int
    assert type(y) is np.float32 and type(flag) is np.bool_ and type(small) is np.uint8


def test_empty_signatures() -> None:
    for given in ("", "  ", ()):
        assert parse_signature(given).args == ()


def test_examples_leave_sizes_open() -> None:
    array = np.arange(12.0).reshape(3, 4).T
    signature = parse_signature((array, {"w": "float64[k]", "s": "text"}, [2, "int64[k]"]))
    first, tree, items = signature.args
    assert first.flags.c_contiguous and signature.of(first) == (None, None)
    assert signature.of(tree["w"]) == ("k",) and tree["s"] == "text"
    assert items[0] == 2 and len(items[1]) == len(tree["w"])
    assert parse_signature(np.float32(2.0)).args == (np.float32(2.0),)
    assert parse_signature((np.array(3.0),)).args[0].shape == ()


def test_strings_that_name_no_type_are_arguments_of_examples() -> None:
    assert parse_signature(("mean", "float32")).args == ("mean", np.float32(1))
    with pytest.raises(S2STypeError, match="no type"):
        parse_signature(("mean[2]",))


@pytest.mark.parametrize(
    "text",
    [
        "flot64[n]", "float64[n", "float64 n]", "float64[n]]", "float64[n+1]", "float64[-1]",
        "float64[1.5]", "float64[2n]", "float64[:]", "float64[n;m]", "float64(n)", "[n]", "64",
        "float64[²]", "float64[٣]", "float64[ñ]", "float64[n m]", "float64[n][m]", "Float64",
        "float64[\x00]", "datetime99",
    ],
)  # fmt: skip
def test_malformed_types_are_refused(text) -> None:
    """As errors that name the text, not as errors of `int` or NumPy."""
    with pytest.raises(S2STypeError) as raised:
        parse_signature(text)
    assert "type" in str(raised.value) or "means something else" in str(raised.value)


@pytest.mark.parametrize("name", ["int", "state", "workspace", "lambda", "_n", "errno", "for"])
def test_sizes_have_names_that_c_and_python_leave_free(name) -> None:
    with pytest.raises(S2STypeError, match=f"^{name} in .* means something else in C or Python"):
        parse_signature(f"float64[{name}]")
