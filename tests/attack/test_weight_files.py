"""Untrusted weight and state files: they are read, or refused with a ValueError that names the
file, without any other effect."""

from __future__ import annotations

import ctypes
import io
import json
import pickle
import random
import struct
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense, Dropout, Layer
from s2s.models import Sequential
from s2s.optimizers import SGD, Adam
from s2s.saving import npz, object_state, safetensors, weights_and_state
from tests.attack import safetensors_files
from tests.scale import count

WELL_FORMED = dict(safetensors_files.well_formed())
MALFORMED = dict(safetensors_files.malformed())
RECORDED = json.loads(safetensors_files.VERDICTS.read_text(encoding="utf-8"))
# Files that the library accepts, but that the format forbids or this reader does not support.
STRICTER = {
    "spaces before", "a line break before", "the same twice", "one name twice, second of all",
    "metadata key twice", "metadata is null", "a further field", "dtype C64", "BOOL of 2",
}  # fmt: skip


def layer() -> Any:
    """With the weights `0.dense/kernel` of shape (3, 2) and `1.dense/bias` of shape (2,)."""
    made = Dense(2)
    made(np.ones((1, 3), np.float32))
    return made


NAMES = ("0.dense/kernel", "1.dense/bias")


def weights(**changed: Any) -> dict[str, Any]:
    return {NAMES[0]: np.ones((3, 2), np.float32), NAMES[1]: np.ones(2, np.float32), **changed}


def refused(path: Path, made: Any = None) -> str:
    """The error of `load_weights` for a file; the weights must be unchanged."""
    made = made or layer()
    before = [w.numpy().copy() for w in made.weights]
    with pytest.raises(ValueError) as info:
        s2s.load_weights(made, path)
    assert str(path) in str(info.value)
    for weight, value in zip(made.weights, before):
        np.testing.assert_array_equal(weight.numpy(), value)
    return str(info.value)


# ---------------------------------------------------------------- safetensors


@pytest.mark.parametrize("name", WELL_FORMED)
def test_well_formed_safetensors(name: str) -> None:
    assert RECORDED[name]
    arrays = safetensors.loads(WELL_FORMED[name])
    library = pytest.importorskip("safetensors.numpy")
    known = library.load(WELL_FORMED[name])
    assert known.keys() == arrays.keys()
    for key, array in arrays.items():
        assert array.dtype == known[key].dtype
        np.testing.assert_array_equal(array, known[key])


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_safetensors(name: str) -> None:
    assert RECORDED[name] == (name in STRICTER)
    with pytest.raises(ValueError):
        safetensors.loads(MALFORMED[name])


def test_errors_of_safetensors_name_the_file(tmp_path: Path) -> None:
    made = layer()
    for name, content in MALFORMED.items():
        path = tmp_path / "w.safetensors"
        path.write_bytes(content)
        assert refused(path, made), name


def test_the_recorded_verdicts_are_those_of_the_library() -> None:
    pytest.importorskip("safetensors")
    files = {**WELL_FORMED, **MALFORMED}
    found = {name: safetensors_files.library_accepts(files[name]) for name in files}
    assert found == RECORDED


def test_mutated_safetensors() -> None:
    """Both readers accept the file with the same content, or neither does."""
    library = pytest.importorskip("safetensors.numpy")
    accepted = 0
    for seed in range(count(1000, 50_000)):
        content = safetensors_files.mutated(seed)
        try:
            arrays = safetensors.loads(content)
        except ValueError as error:
            known = safetensors_files.library_accepts(content)
            reason = str(error)
            assert not known or "twice" in reason or "BOOL" in reason or "consist of" in reason, (
                seed
            )
            continue
        assert safetensors_files.library_accepts(content), seed
        accepted += 1
        known = library.load(content)
        assert {k: v.tobytes() for k, v in known.items()} == {
            k: v.tobytes() for k, v in arrays.items()
        }
    assert accepted > 100


def test_mutated_safetensors_are_read_or_refused() -> None:
    found = {True: 0, False: 0}
    for seed in range(count(1000, 50_000)):
        try:
            arrays = safetensors.loads(safetensors_files.mutated(seed))
        except ValueError:
            found[False] += 1
        else:
            found[True] += 1
            size = sum(a.nbytes for a in arrays.values())
            assert size <= len(safetensors_files.mutated(seed))
    assert min(found.values()) > 100


def test_names_that_a_safetensors_file_cannot_hold() -> None:
    for name in ("__metadata__", "\ud800"):
        with pytest.raises(ValueError, match="cannot be the name of an array"):
            safetensors.dumps({name: np.ones(2)})


# ---------------------------------------------------------------- npz


class Evil:
    """Its pickle executes code when it is loaded."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('code of the file was run')",)


def npy(header: str, data: bytes = bytes(24), version: int = 1) -> bytes:
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def header(descr: str = "'<f4'", order: str = "False", shape: str = "(3, 2)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def archive(*members: tuple[str, bytes], compressed: bool = False) -> bytes:
    out = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", kind) as file:
        warnings.simplefilter("ignore")  # about duplicate names
        for name, data in members:
            file.writestr(name, data)
    return out.getvalue()


BIAS = (f"{NAMES[1]}.npy", npy(header(shape="(2,)"), bytes(8)))
KERNEL = f"{NAMES[0]}.npy"
BAD_KERNELS: dict[str, bytes] = {
    "pickled object": npy(header("'|O'", shape="()"), pickle.dumps(Evil())),
    "object array": npy(header("'|O'"), pickle.dumps([Evil()] * 6)),
    "pickle without header": pickle.dumps(Evil()),
    "text": npy(header("'<U1'"), "abcdef".encode("utf-32-le")),
    "bytes": npy(header("'|S4'"), bytes(24)),
    "bools": npy(header("'|b1'"), bytes(6)),
    "bools of 2": npy(header("'|b1'"), b"\2" * 6),
    "complex": npy(header("'<c8'"), bytes(48)),
    "dates": npy(header("'<M8[s]'"), bytes(48)),
    "structured": npy(header("[('x', '<f4')]"), bytes(24)),
    "void": npy(header("'|V4'"), bytes(24)),
    "long double": npy(header("'<f16'"), bytes(96)),
    "unknown dtype": npy(header("'<f3'"), bytes(18)),
    "too few bytes": npy(header(), bytes(23)),
    "too many bytes": npy(header(), bytes(25)),
    "no bytes": npy(header(), b""),
    "another shape": npy(header(shape="(2, 3)")),
    "another rank": npy(header(shape="(6,)")),
    "negative shape": npy(header(shape="(-3, -2)")),
    "huge shape": npy(header(shape=f"({2**62}, 2)")),
    "shape that wraps": npy(header(shape=f"({2**62 + 1}, 4)"), bytes(16)),
    "float shape": npy(header(shape="(3.0, 2)")),
    "bool shape": npy(header(shape="(True, 6)")),
    "code in the header": npy(header(shape="(__import__('os').abort(),)")),
    "code for the dtype": npy(header("__import__('os').abort()")),
    "deep header": npy("(" * 9000),
    "deep minus": npy("-" * 9000 + "1"),
    "long header": npy(header() + " " * 60_000),
    "header cut off": npy(header())[:30],
    "header longer than the file": b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 1) + bytes(40),
    "version 9": npy(header(), version=9),
    "no array": b"hello",
    "empty": b"",
}


@pytest.mark.parametrize("name", BAD_KERNELS)
def test_arrays_that_are_no_weights(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.npz"
    path.write_bytes(archive((KERNEL, BAD_KERNELS[name]), BIAS))
    refused(path)


def damaged_archives() -> dict[str, bytes]:
    good = archive((KERNEL, npy(header())), BIAS)
    central = good.index(b"PK\1\2")
    encrypted = bytearray(good)
    encrypted[6] |= 1
    encrypted[central + 8] |= 1
    unknown = bytearray(good)
    unknown[8] = unknown[central + 10] = 99
    sizes = bytearray(good)
    sizes[central + 24 : central + 28] = struct.pack("<I", 2**31)
    crc = bytearray(good)
    crc[good.index(header().encode()) + len(header()) + 3] ^= 1
    return {
        "nothing": b"", "text": b"hello " * 10, "cut off": good[:-10],
        "half": good[: len(good) // 2], "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(100),
        "npy": npy(header()), "pickle": pickle.dumps(Evil()),
        "encrypted": bytes(encrypted), "unknown compression": bytes(unknown),
        "false size": bytes(sizes), "false checksum": bytes(crc),
        "twice": archive((KERNEL, npy(header())), (KERNEL, npy(header())), BIAS),
        "something else in it": archive((KERNEL, npy(header())), BIAS, ("run.py", b"print()")),
        "a folder in it": archive((KERNEL, npy(header())), BIAS, ("folder/", b"")),
        "without one": archive(BIAS),
        "bomb": archive((KERNEL, npy(header(), bytes(2**26))), BIAS, compressed=True),
        "bomb beside weights": archive(
            (KERNEL, npy(header())), BIAS,
            ("bomb.npy", npy(header("'<f8'", shape=f"({2**24},)"), bytes(2**27))), compressed=True,
        ),
        "bomb of shape": archive((KERNEL, npy(header(shape=f"({2**40},)"))), BIAS, compressed=True),
    }  # fmt: skip


ARCHIVES = damaged_archives()


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_that_are_damaged(tmp_path: Path, name: str) -> None:
    path = tmp_path / "w.npz"
    path.write_bytes(ARCHIVES[name])
    refused(path)


@pytest.mark.parametrize("seed", range(4))
def test_archives_with_random_damage(seed: int) -> None:
    """Read, or refused with a ValueError."""
    good = archive((KERNEL, npy(header())), BIAS, compressed=seed % 2 == 1)
    rng, verdicts = random.Random(seed), set()
    for _ in range(count(300, 20_000)):
        content = bytearray(good)
        for _ in range(rng.choice([1, 1, 2, 8])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            npz.load(io.BytesIO(content))
            verdicts.add("read")
        except ValueError:
            verdicts.add("refused")
    assert verdicts == {"read", "refused"}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "u1", "i4", "u8", "i8", ">i2"])
def test_floats_and_ints_are_weights(tmp_path: Path, dtype: str) -> None:
    path, made = tmp_path / "w.npz", layer()
    kernel = np.arange(6).reshape(3, 2).astype(dtype)
    for save in (np.savez, np.savez_compressed):
        save(path, **{NAMES[0]: np.asfortranarray(kernel), NAMES[1]: np.zeros(2, dtype)})
        s2s.load_weights(made, path)
        np.testing.assert_array_equal(made.weights[0].numpy(), kernel)


def test_arrays_come_back_as_numpy_reads_them() -> None:
    arrays: dict[str, Any] = {
        "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "scalar": np.float32(2.5),
        "empty": np.zeros((0, 3), np.int8), "bools": np.array([True, False]), "z": np.ones(2) * 1j,
        "text": np.array(["a", "bc"]), "no text": np.array(["", ""]), "bytes": np.array([b"ab"]),
        "big": np.arange(3, dtype=">i4"), "half": np.ones(3, np.float16),
    }  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(out, **arrays)
        out.seek(0)
        known = dict(np.load(out))
        out.seek(0)
        found = npz.load(out)
        assert found.keys() == known.keys()
        for name, array in known.items():
            assert found[name].dtype == array.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("kind", ["w.npz", "w.safetensors"])
def test_bools_and_floats_for_ints_are_no_weights(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    weights_and_state._write(path, weights(**{NAMES[0]: np.ones((3, 2), bool)}))
    assert "dense/kernel is float32, and bool" in refused(path)
    made = layer()
    made.weights[1]._array = np.ones(2, np.int64)
    weights_and_state._write(path, weights())
    assert "dense/bias is int64, and float32" in refused(path, made)


# ---------------------------------------------------------------- names of files


@pytest.mark.parametrize("name", ["m.weights.h5", "m.h5", "m.keras", "m.pt", "m.npy", "m.ckpt"])
def test_names_of_other_formats(tmp_path: Path, name: str) -> None:
    made = layer()
    for save in (
        lambda path: s2s.save_weights(made, path),
        lambda path: s2s.save_state(path, model=made),
        Sequential([made]).save_weights,
    ):
        with pytest.raises(ValueError, match=r"end it in \.npz or \.safetensors") as info:
            save(tmp_path / name)
        assert str(tmp_path / name) in str(info.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["m.npz", "m", "m.NPZ", "m.safetensors", "m.SafeTensors"])
def test_names_of_our_formats(tmp_path: Path, name: str) -> None:
    made, again = layer(), layer()
    s2s.save_weights(made, tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    s2s.load_weights(again, tmp_path / name)
    np.testing.assert_array_equal(made.weights[0].numpy(), again.weights[0].numpy())


def test_a_file_that_an_earlier_version_misnamed_is_read(tmp_path: Path) -> None:
    path, made = tmp_path / "m.weights.h5", layer()
    with open(path, "wb") as file:
        np.savez(file, **weights())
    s2s.load_weights(made, path)
    assert np.all(made.weights[0].numpy() == 1.0)


def test_a_missing_file_is_no_malformed_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.npz"):
        s2s.load_weights(layer(), tmp_path / "none.npz")


# ---------------------------------------------------------------- states


def run_state() -> tuple[Any, Any]:
    model, optimizer = Sequential([Dense(2), Dropout(0.5, seed=1)]), Adam()
    model(np.ones((1, 3), np.float32))
    optimizer.build(model.weights)
    return model, optimizer


def json_state(state: Any) -> Any:
    return np.frombuffer(json.dumps(state).encode(), "u1")


BAD_STATES: dict[str, tuple[str, Any]] = {
    "variables negative": ("optimizer:variables", np.array([-1, 0])),
    "variables too large": ("optimizer:variables", np.array([0, 2])),
    "variables twice": ("optimizer:variables", np.array([0, 0])),
    "variables of floats": ("optimizer:variables", np.array([0.0, 1.0])),
    "variables of a number": ("optimizer:variables", np.array(0)),
    "variables of a matrix": ("optimizer:variables", np.array([[0, 1]])),
    "an attribute that is none": ("optimizer.__class__", np.array(1)),
    "an item of a number": ("optimizer.iterations['__class__']", np.array(1)),
    "an item far behind": ("optimizer.slots['m'][9]", np.ones((3, 2), np.float32)),
    "an item before": ("optimizer.slots['m'][-9]", np.ones((3, 2), np.float32)),
    "a key that is code": ("optimizer.slots['m'][abort()]", np.array(1)),
    "a key of many digits": ("optimizer.slots['m'][" + "9" * 5000 + "]", np.array(1)),
    "a line break": ("optimizer.slots\n", np.array(1)),
    "an array for a number": ("optimizer.iterations", np.ones(3)),
    "text for a number": ("optimizer.iterations", np.array("a")),
    "a generator for a number": ("optimizer.iterations:generator", json_state({})),
    "a slot of another shape": ("optimizer.slots['m'][0]:variable", np.ones((2, 2), np.float32)),
    "a generator of no JSON": ("generator.0", np.frombuffer(b"\xff\xfe{", "u1")),
    "a generator of deep JSON": ("generator.0", np.frombuffer(b"[" * 100_000, "u1")),
    "a generator of a list": ("generator.0", json_state([1])),
    "a generator of another kind": ("generator.0", json_state({"bit_generator": "MT19937"})),
    "a generator without state": ("generator.0", json_state({"bit_generator": "PCG64"})),
}


@pytest.mark.parametrize("name", BAD_STATES)
@pytest.mark.parametrize("kind", ["s.npz", "s.safetensors"])
def test_states_that_are_malformed(tmp_path: Path, name: str, kind: str) -> None:
    model, optimizer = run_state()
    path = tmp_path / kind
    s2s.save_state(path, model=model, optimizer=optimizer)
    label, value = BAD_STATES[name]
    arrays = {**weights_and_state._read(path), label: value}
    if value.dtype.kind == "U" and kind != "s.npz":
        pytest.skip("safetensors holds no text")
    weights_and_state._write(path, arrays)
    with pytest.raises(ValueError) as info:
        s2s.load_state(path, model=model, optimizer=optimizer)
    assert str(path) in str(info.value)


def everything(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """The values in a model, an optimizer or a part of one, as nested lists."""
    if isinstance(value, np.random.Generator):
        return str(value.bit_generator.state)
    if isinstance(value, (s2s.Variable, np.ndarray)):
        return np.asarray(value).tolist()
    if isinstance(value, (list, tuple)):
        return [everything(v, seen) for v in value]
    if isinstance(value, dict):
        return [(k, everything(v, seen)) for k, v in value.items()]
    if isinstance(value, (Layer, Sequential)) or (
        hasattr(value, "__dict__") and not callable(value)
    ):
        inside = () if id(value) in seen else vars(value).items()
        return [(k, everything(v, (*seen, id(value)))) for k, v in inside]
    return repr(value)


@pytest.mark.parametrize("name", BAD_STATES)
@pytest.mark.parametrize("built", [True, False])
def test_a_load_that_fails_changes_nothing(tmp_path: Path, name: str, built: bool) -> None:
    model, optimizer = run_state()
    noise, other = np.random.default_rng(1), np.random.default_rng(2)
    s2s.save_state(tmp_path / "s.npz", model=model, optimizer=optimizer, noise=noise)
    label, value = BAD_STATES[name]
    arrays = {**weights_and_state._read(tmp_path / "s.npz"), label: value}
    weights_and_state._write(tmp_path / "s.npz", arrays)
    model.weights[0].assign(np.full(model.weights[0].shape, 7.0))
    if built:
        optimizer.slots["m"][0].assign(np.full(model.weights[0].shape, 8.0))
    else:
        optimizer = Adam()
    others = {"model": model, "optimizer": optimizer, "noise": other}
    before = everything(others)
    with pytest.raises(ValueError, match="s.npz"):
        s2s.load_state(tmp_path / "s.npz", **others)
    assert everything(others) == before


def test_a_load_that_fails_in_the_last_of_several_changes_nothing(tmp_path: Path) -> None:
    runs = [run_state() for _ in range(3)]
    models, optimizers = map(list, zip(*runs))
    s2s.save_state(tmp_path / "s.npz", model=models, optimizer=optimizers)
    for model in models:
        model.weights[0].assign(np.full(model.weights[0].shape, 7.0))
    optimizers[2] = SGD(momentum=0.9)
    before = everything([models, optimizers])
    with pytest.raises(ValueError, match="s.npz"):
        s2s.load_state(tmp_path / "s.npz", model=models, optimizer=optimizers)
    assert everything([models, optimizers]) == before
    s2s.save_state(tmp_path / "good.npz", model=models[:2], optimizer=optimizers[:2])
    s2s.load_state(tmp_path / "good.npz", model=models[:2], optimizer=optimizers[:2])


BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
BAD_NUMBERS = [-1, -(2**40), 625, 2**31, 2**64, 2**128, 1.5, True, None, "1", [], {}, [0] * 3]


def changed_states(state: Any) -> list[Any]:
    """Copies of the state, each with one part replaced by an invalid value."""
    found = []
    for key, value in state.items():
        if isinstance(value, dict):
            found += [{**state, key: inner} for inner in changed_states(value)]
        elif key != "bit_generator":
            found += [{**state, key: bad} for bad in BAD_NUMBERS]
            if isinstance(value, list):
                found += [{**state, key: [bad, *value[1:]]} for bad in BAD_NUMBERS]
                found += [{**state, key: value[:-1]}, {**state, key: [*value, 0]}]
        found.append({k: v for k, v in state.items() if k != key})
    return [*found, {**state, "more": 1}]


@pytest.mark.parametrize("name", BIT_GENERATORS)
def test_states_of_generators(name: str) -> None:
    """NumPy does not check the positions in a state: one of 10**6 would read out of bounds."""
    generator = np.random.Generator(getattr(np.random, name)(3))
    generator.integers(0, 9, 5, dtype=np.uint32)
    good = json.loads(object_state.generator_state(generator).tobytes())
    want = generator.integers(0, 2**40, 5)
    refusals = 0
    for bad in changed_states(good):
        try:
            object_state.set_generator(generator, json_state(bad))
        except ValueError:
            refusals += 1
            continue
        state = generator.bit_generator.state  # a valid value
        inner = state["state"] if isinstance(state["state"], dict) else {}
        assert 0 <= inner.get("pos", 0) <= 624 and 0 <= state.get("buffer_pos", 0) <= 4
    assert refusals > 15
    object_state.set_generator(generator, json_state(good))
    np.testing.assert_array_equal(generator.integers(0, 2**40, 5), want)


# ---------------------------------------------------------------- libraries built ahead of time


def test_the_state_of_a_library_is_read_or_refused(tmp_path: Path) -> None:
    from s2s.aot import loader_runtime

    class Init:
        def __call__(self, place: int, size: int) -> int:
            ctypes.memset(place, 0, size)
            return 0

    class Library:
        class handle:
            init = Init()

        @staticmethod
        def check(status: int) -> None:
            assert status == 0

    class State(loader_runtime._State):
        _layout = Library, "init", 64, (("kernel", "float32", (3, 2), 0), ("t", "int64", (), 32))

    good = State.load()
    good.state["kernel"][...] = 2.0
    good.save(tmp_path / "good.npz")
    assert np.all(State.load(tmp_path / "good.npz").state["kernel"] == 2.0)
    files = dict(ARCHIVES)
    for name, content in BAD_KERNELS.items():
        if name == "too many bytes":  # NumPy, which reads the file here, ignores them
            continue
        files[name] = archive(("kernel.npy", content), ("t.npy", npy(header("'<i8'", shape="()"))))
    files["bomb of its own"] = archive(("kernel.npy", npy(header(), bytes(2**26))), compressed=True)
    for name, content in files.items():
        (tmp_path / "s.npz").write_bytes(content)
        with pytest.raises(ValueError) as info:
            State.load(tmp_path / "s.npz")
        assert str(tmp_path / "s.npz") in str(info.value), name
    with pytest.raises(FileNotFoundError):
        State.load(tmp_path / "none.npz")


# ---------------------------------------------------------------- memory

BOUNDED = """
import resource, sys
import numpy as np
import s2s
from s2s.layers import Dense
layer = Dense(2)
layer(np.ones((1, 3), np.float32))
size = 2**27 + int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, size))
for path in sys.argv[1:]:
    try:
        s2s.load_weights(layer, path)
    except ValueError as error:
        assert path in str(error)
    else:
        sys.exit(path)
print("refused")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_no_file_makes_us_take_more_memory_than_it_deserves(tmp_path: Path) -> None:
    """Headers that ask for terabytes, and an archive of 1 MB that expands to 256 MB."""
    paths = []
    for k, (name, content) in enumerate({**ARCHIVES, **MALFORMED}.items()):
        if "bomb" in name or "huge" in name or "wraps" in name or "2**" in name:
            paths.append(tmp_path / f"{k}{'.npz' if name in ARCHIVES else '.safetensors'}")
            paths[-1].write_bytes(content)
    path = tmp_path / "large.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("a.npy", npy(header("'|u1'", shape=f"({2**28},)"), bytes(2**28)))
    paths.append(path)
    assert len(paths) > 8
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, *map(str, paths)], capture_output=True, text=True
    )
    assert done.stdout == "refused\n", done.stderr
