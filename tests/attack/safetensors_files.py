"""Safetensors files, well-formed and malformed, by name.

`python -m tests.attack.safetensors_files` reads each with the `safetensors` library and writes the
outcomes to `safetensors_verdicts.json`.
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERDICTS = Path(__file__).with_name("safetensors_verdicts.json")
SIZES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8,
    "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip
# a and b hold 8 bytes each; together they are the data of most files.
A = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
B = '"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}'
DATA = bytes(range(16))


def packed(header: str | bytes, data: bytes = b"") -> bytes:
    text = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8), **more: Any) -> str:
    fields = {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}
    return json.dumps({k: v for k, v in fields.items() if v is not ...})


def one(header_entry: str, data: bytes = DATA[:8]) -> bytes:
    return packed(f'{{"a":{header_entry}}}', data)


def raw(**texts: str) -> bytes:
    """A file of one array, some of whose fields are given as text."""
    fields = {"dtype": '"F32"', "shape": "[2]", "data_offsets": "[0,8]", **texts}
    return one("{" + ",".join(f'"{k}":{v}' for k, v in fields.items()) + "}")


def well_formed() -> Iterator[tuple[str, bytes]]:
    yield "two arrays", packed(f"{{{A},{B}}}", DATA)
    yield "no arrays", packed("{}")
    yield "padded header", packed(f"{{{A},{B}}}     ", DATA)
    yield "metadata", packed('{"__metadata__":{"k":"v"},' + A + "}", DATA[:8])
    yield "empty metadata", packed('{"__metadata__":{},' + A + "}", DATA[:8])
    yield "entries out of order", packed(f"{{{B},{A}}}", DATA)
    yield "scalar", one(entry("F64", (), (0, 8)))
    yield "empty array", one(entry("F32", (0, 3), (0, 0)), b"")
    yield "empty array of a large shape", one(entry("F32", (0, 2**40), (0, 0)), b"")
    yield (
        "empty array between others",
        packed(f'{{{A},"e":{entry("I8", (0,), (8, 8))},{B}}}', DATA),
    )
    yield "two empty arrays", packed(f'{{"e":{entry("I8", (0,), (0, 0))},'
                                     f'"f":{entry("I8", (0,), (0, 0))}}}')  # fmt: skip
    yield "rank 64", one(entry(shape=(1,) * 63 + (2,)))
    yield "empty name", packed(f'{{"":{entry()}}}', DATA[:8])
    yield "name of other letters", packed(f'{{"größe/ß":{entry()}}}', DATA[:8])
    yield "name of escapes", packed(f'{{"\\u00e9\\n\\"":{entry()}}}', DATA[:8])
    yield "name of a surrogate pair", packed(f'{{"\\ud83d\\ude00":{entry()}}}', DATA[:8])
    yield "name like a path", packed(f'{{"../../etc/passwd":{entry()}}}', DATA[:8])
    for dtype, size in SIZES.items():
        if dtype != "BF16":
            yield f"dtype {dtype}", one(entry(dtype, (2,), (0, 2 * size)), bytes(2 * size))


def malformed() -> Iterator[tuple[str, bytes]]:
    good = packed(f"{{{A},{B}}}", DATA)
    yield "nothing", b""
    yield "seven bytes", good[:7]
    yield "only a length", good[:8]
    yield "length 0", packed("", DATA)
    for n in (1, 2, 2**31, 2**32, 2**63 - 9, 2**63, 2**64 - 8, 2**64 - 1, 100_000_001):
        yield f"length {n}", struct.pack("<Q", n) + good[8:]
    yield "header cut off", good[:40]
    yield "data cut off", good[:-1]
    yield "no data", good[:-16]
    yield "a byte more", good + b"\0"
    yield "many bytes more", good + bytes(1000)
    # ---- JSON
    for name, text in {
        "null": "null", "list": "[]", "number": "12", "text": '"abc"', "no JSON": "{abc}",
        "not closed": f"{{{A}", "something behind": f"{{{A}}}x", "trailing comma": f"{{{A},}}",
        "comment": f"{{{A}/**/}}", "single quotes": f"{{{A}}}".replace('"', "'"),
        "zeros behind": f"{{{A}}}\0\0",
    }.items():  # fmt: skip
        yield f"header is {name}", packed(text, DATA[:8])
    yield "spaces before", packed(f"  {{{A}}}", DATA[:8])
    yield "a line break before", packed(f"\n{{{A}}}", DATA[:8])
    yield "BOM", packed(f"\ufeff{{{A}}}", DATA[:8])
    yield "UTF-16", packed(f"{{{A}}}".encode("utf-16"), DATA[:8])
    yield "UTF-16 without BOM", packed(f"{{{A}}}".encode("utf-16-le"), DATA[:8])
    yield "UTF-32", packed(f"{{{A}}}".encode("utf-32"), DATA[:8])
    yield "Latin-1", packed(f'{{"\xe9":{entry()}}}'.encode("latin-1"), DATA[:8])
    yield "overlong UTF-8", packed(b'{"\xc0\xaf":' + entry().encode() + b"}", DATA[:8])
    yield "a surrogate in UTF-8", packed(b'{"\xed\xa0\x80":' + entry().encode() + b"}", DATA[:8])
    yield "half a surrogate pair", packed(f'{{"\\ud83d":{entry()}}}', DATA[:8])
    yield "a control character", packed(f'{{"a\x01":{entry()}}}', DATA[:8])
    yield "deep lists", packed('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", DATA[:8])
    yield "deep objects", packed('{"a":' * 5000 + "1" + "}" * 5000, DATA[:8])
    yield "deep and not closed", packed('{"a":' + "[" * 100_000, DATA[:8])
    yield "deep shape", raw(shape="[" * 200 + "2" + "]" * 200)
    # ---- names
    yield "the same twice", packed(f"{{{A},{A}}}", DATA[:8])
    yield "one name twice", packed(f"{{{A},{B.replace('b', 'a', 1)}}}", DATA)
    yield (
        "one name twice, second of all",
        packed(f'{{{A},"a":{entry(shape=(4,), offsets=(0, 16))}}}', DATA),
    )
    yield "a field twice", raw(shape='[2],"shape":[2]')
    yield "metadata twice", packed('{"__metadata__":{},"__metadata__":{},' + A + "}", DATA[:8])
    yield "metadata key twice", packed('{"__metadata__":{"k":"1","k":"2"}}')
    for name, value in {
        "number": '{"k":1}', "null in it": '{"k":null}', "list": "[]", "text": '"x"',
        "nested": '{"k":{"l":"m"}}', "an array": entry(), "null": "null", "true": "true",
        "half a character": '{"k":"\\ud800"}',
    }.items():  # fmt: skip
        yield f"metadata is {name}", packed(f'{{"__metadata__":{value}}}')
    # ---- entries
    for name, value in {"null": "null", "list": "[]", "text": '"F32"', "number": "1"}.items():
        yield f"entry is {name}", one(value)
    for field in ("dtype", "shape", "data_offsets"):
        text = json.loads(entry())
        del text[field]
        yield f"without {field}", one(json.dumps(text))
        for name, value in {
            "null": "null", "true": "true", "text": '"2"', "object": "{}", "number": "2",
            "list in list": "[[2]]", "texts": '["0","8"]', "bools": "[false,true]",
            "nulls": "[null,null]",
        }.items():  # fmt: skip
            yield f"{field} is {name}", raw(**{field: value})
    yield "a further field", one(entry(more=1))
    for dtype in ("f32", "F31", "", "float32", "O", "C128", "F32 ", "<f4"):
        yield f"dtype {dtype!r}", one(entry(dtype))
    yield "dtype BF16", one(entry("BF16", (4,)))
    yield "dtype C64", one(entry("C64", (1,)))
    yield "dtype F8_E4M3", one(entry("F8_E4M3", (8,)))
    yield "dtype F4", one(entry("F4", (16,)))
    yield "BOOL of 2", one(entry("BOOL", (8,)), b"\0\1\2\xff\0\0\0\0")
    # ---- sizes
    for name, shape in {
        "negative": "[-2]", "twice negative": "[-1,-2]", "float": "[2.0]", "exponent": "[2e0]",
        "minus zero": "[-0,2]", "NaN": "[NaN]", "Infinity": "[Infinity]", "hexadecimal": "[0x2]",
        "plus": "[+2]", "leading zero": "[02]", "2**63": f"[{2**63}]", "2**64": f"[{2**64}]",
        "2**64 + 2": f"[{2**64 + 2}]", "too small": "[1]", "too large": "[3]", "none": "[]",
        "zero": "[0]", "product wraps": f"[{2**62 + 1},{4},{2**62}]",
        "product wraps to 2": f"[{2**63},2,2]", "product wraps to 0": f"[{2**32},{2**32}]",
        "product wraps before 0": f"[{2**63},4,0]", "many digits": "[" + "9" * 5000 + "]",
        "rank 65": str([1] * 64 + [2]),
    }.items():  # fmt: skip
        yield f"shape {name}", raw(shape=shape)
    for name, offsets in {
        "negative": "[-8,0]", "into the header": "[-16,-8]", "reversed": "[8,0]", "one": "[8]",
        "three": "[0,4,8]", "none": "[]", "float": "[0.0,8.0]", "minus zero": "[-0,8]",
        "past the end": "[8,16]", "too long": "[0,16]", "too short": "[0,4]", "hole": "[1,9]",
        "2**63": f"[{2**63},{2**63 + 8}]", "wrap": f"[{2**64 - 8},{2**64}]",
        "NaN": "[NaN,8]", "exponent": "[0,8e0]",
    }.items():  # fmt: skip
        yield f"offsets {name}", raw(data_offsets=offsets)
    for name, (first, second) in {
        "the same": ((0, 8), (0, 8)), "overlap": ((0, 8), (4, 12)), "hole": ((0, 8), (12, 20)),
        "hole before": ((4, 12), (12, 20)), "overlap from behind": ((8, 16), (4, 12)),
    }.items():  # fmt: skip
        yield (
            f"two arrays: {name}",
            packed(f'{{"a":{entry(offsets=first)},"b":{entry(offsets=second)}}}', bytes(range(20))),
        )
    yield "only the first of the data", packed(f"{{{A}}}", DATA)
    yield "only the second of the data", packed(f"{{{B}}}", DATA)


def mutated(seed: int) -> bytes:
    """A file of random arrays with a random modification."""
    rng = random.Random(seed)
    header: dict[str, Any] = {}
    end = 0
    for k in range(rng.randint(0, 4)):
        dtype = rng.choice([*SIZES])
        shape = [rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randint(0, 3))]
        start, end = end, end + SIZES[dtype] * math.prod(shape)
        header[f"{k}.w"] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    data = bytes(rng.randrange(2) for _ in range(end))
    _change_entry(rng, header)
    content = bytearray(packed(json.dumps(header), data))
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        _change_byte(rng, content)
    return bytes(content)


def _change_entry(rng: random.Random, header: dict[str, Any]) -> None:
    if not header or rng.random() < 0.3:
        return
    chosen = header[rng.choice([*header])]
    field = rng.choice(["dtype", "shape", "data_offsets", "data_offsets"])
    if field == "dtype":
        chosen[field] = rng.choice([*SIZES])
        return
    values = chosen[field]
    values.insert(rng.randint(0, len(values)), rng.choice([0, 1, 2, -1, 2**62, 2**63, 2**64]))
    if rng.random() < 0.8:
        values.pop(rng.randrange(len(values)))


def _change_byte(rng: random.Random, content: bytearray) -> None:
    if not content:
        return
    at = rng.randrange(len(content))
    kind = rng.choice(["set", "insert", "remove", "cut"])
    if kind == "set":
        content[at] = rng.choice([0, 0x20, 0x30, 0x31, 0x2D, 0x2E, 0x22, 0x5D, rng.randrange(256)])
    elif kind == "insert":
        content.insert(at, rng.randrange(256))
    elif kind == "remove":
        del content[at]
    else:
        del content[at:]


def library_accepts(content: bytes) -> bool:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        load(content)
    except (SafetensorError, KeyError, AttributeError, ValueError):  # dtypes unknown to NumPy
        return False
    return True


if __name__ == "__main__":
    files = {**dict(well_formed()), **dict(malformed())}
    found = {name: library_accepts(content) for name, content in files.items()}
    VERDICTS.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
