"""An interpreter of PTX, for the instructions that the tests' kernels consist of.

The threads of a block run one after another from barrier to barrier.  Registers hold bit patterns
as integers.  Each access must be within an array of the launch or within the shared memory of the
block, and what is read of shared memory must have been written.  An unknown instruction is an
error.
"""

from __future__ import annotations

import ctypes
import math
import operator
import re
import struct
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

SHARED = 1 << 56  # the address of the shared memory of a block
MAX_STEPS = 2_000_000  # of one thread

Registers = dict[str, int]


class BadAccess(AssertionError):
    """An access outside of all arrays, or to shared memory that was never written."""


class DivergentBarrier(AssertionError):
    """Some threads of a block wait at a barrier, others have ended."""


@dataclass
class Program:
    """`code` has (guard, opcode, operands); `labels` are positions in it."""

    params: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    code: list[tuple[str, str, list[str]]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


def parse(text: str) -> Program:
    """The only kernel of a module."""
    program = Program()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    for align, name, size in re.findall(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\]", text):
        start = -(-program.shared_bytes // int(align)) * int(align)
        program.shared[name], program.shared_bytes = SHARED + start, start + int(size)
    head, body = text.split(".entry", 1)[1].split("{", 1)
    program.params = re.findall(r"\.param[^,]*?(\w+)\s*(?:,|\))", head)
    for line in re.split(r"[;\n]", body.rsplit("}", 1)[0]):
        line = line.strip()
        if line.endswith(":"):
            program.labels[line[:-1]] = len(program.code)
        elif line not in ("", "{", "}") and not line.startswith("."):
            guard, line = line.split(None, 1) if line.startswith("@") else ("", line)
            opcode, _, rest = line.partition(" ") if " " in line else line.partition("\t")
            operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)
            program.code.append((guard, opcode.strip(), operands))
    return program


# ---- values

_FORMATS = {"f64": "<d", "f32": "<f"}


def bits(type_: str) -> int:
    return 1 if type_ == "pred" else int(type_[1:])


def decode(value: int, type_: str) -> Any:
    """The number that a bit pattern stands for."""
    width = bits(type_)
    value &= (1 << width) - 1
    if type_ in _FORMATS:
        return struct.unpack(_FORMATS[type_], value.to_bytes(width // 8, "little"))[0]
    return value - (1 << width) if type_[0] == "s" and value >> (width - 1) else value


def encode(value: Any, type_: str) -> int:
    """The bit pattern of a number."""
    if type_ in _FORMATS:
        return int.from_bytes(struct.pack(_FORMATS[type_], value), "little")
    return int(value) & ((1 << bits(type_)) - 1)


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return a / b if b else math.nan if not a or a != a else math.copysign(math.inf, a)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "min": min, "max": max, "div": _divided,
    "rem": lambda a, b: a - b * _divided(a, b) if b else a,
    "shl": lambda a, b: a << min(b, 64), "shr": lambda a, b: a >> min(b, 64),
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "abs": abs, "mov": lambda a: a, "cvta": lambda a: a,
    "not": lambda a: ~a,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def compare(how: str, a: Any, b: Any) -> bool:
    """A comparison of `setp`; those that end in "u" hold for nan, the others do not."""
    unordered = a != a or b != b
    if how in ("nan", "num"):
        return unordered == (how == "nan")
    if how.endswith("u") and how[:-1] in _COMPARE:
        return unordered or _COMPARE[how[:-1]](a, b)
    return not unordered and _COMPARE[how](a, b)


# ---- a launch


class Launch:
    """One launch.  `spans` are the addresses and sizes of the arrays."""

    def __init__(self, program: Program, spans: Iterable[tuple[int, int]]) -> None:
        self.program, self.spans = program, list(spans)

    def run(self, grid: int, block: int, arguments: list[int]) -> None:
        params = dict(zip(self.program.params, arguments, strict=True))
        for number in range(grid):
            self.shared = bytearray(self.program.shared_bytes)
            self.written = bytearray(self.program.shared_bytes)
            special = {"%ntid.x": block, "%nctaid.x": grid, "%ctaid.x": number}
            threads = [self.thread({**special, "%tid.x": t}, params) for t in range(block)]
            while threads:
                pending = [t for t in threads if next(t, None) is not None]
                if pending and len(pending) < len(threads):
                    raise DivergentBarrier(f"{len(pending)} of {len(threads)} threads wait")
                threads = pending

    def thread(self, registers: Registers, params: dict[str, int]) -> Generator[bool, None, None]:
        code, labels, at = self.program.code, self.program.labels, 0
        for _ in range(MAX_STEPS):
            if at >= len(code):
                return
            guard, opcode, operands = code[at]
            at += 1
            if guard and bool(registers[guard.lstrip("@!")]) == guard.startswith("@!"):
                continue
            if opcode == "ret":
                return
            if opcode.startswith("bra"):
                at = labels[operands[0]]
            elif opcode == "bar.sync" or opcode == "barrier.sync":
                yield True
            else:
                self.execute(opcode, operands, registers, params)
        raise AssertionError("a thread does not end")

    def execute(
        self, opcode: str, operands: list[str], registers: Registers, params: dict[str, int]
    ) -> None:
        name, *parts = opcode.split(".")
        types = [p for p in parts if re.fullmatch(r"[fsub]\d+|pred", p)]
        type_ = types[-1]
        if name == "ld" and "param" in parts:
            registers[operands[0]] = params[operands[1].strip("[]")]
        elif name == "ld":
            address = self.address(operands[1], registers)
            registers[operands[0]] = self.load(address, bits(type_) // 8)
        elif name == "st":
            value = self.value(operands[1], registers, type_)
            self.store(self.address(operands[0], registers), bits(type_) // 8, value)
        elif name == "atom":
            self.atomic("cas" in parts, operands, registers, type_)
        elif name == "mov" and "{" in "".join(operands):
            self.move_parts(operands, registers, bits(type_))
        elif name == "setp":
            a, b = (decode(self.value(x, registers, type_), type_) for x in operands[1:])
            registers[operands[0]] = int(compare(parts[0], a, b))
        elif name == "selp":
            chosen = operands[1] if registers[operands[3]] else operands[2]
            registers[operands[0]] = self.value(chosen, registers, type_)
        elif name == "cvt":
            to, source = types
            value = decode(self.value(operands[1], registers, source), source)
            registers[operands[0]] = encode(value, to)
        elif name in ("fma", "mad"):
            a, b, c = (decode(self.value(x, registers, type_), type_) for x in operands[1:])
            registers[operands[0]] = encode(a * b + c, type_)
        elif name in _BINARY:
            a = decode(self.value(operands[1], registers, type_), type_)
            kind = "u32" if name in ("shl", "shr") else type_
            b = decode(self.value(operands[2], registers, kind), kind)
            wide = type_[0] + str(2 * bits(type_)) if "wide" in parts else type_
            registers[operands[0]] = encode(_BINARY[name](a, b), wide)
        elif name in _UNARY:
            a = decode(self.value(operands[1], registers, type_), type_)
            registers[operands[0]] = encode(_UNARY[name](a), type_)
        else:
            raise NotImplementedError(opcode)

    def value(self, operand: str, registers: Registers, type_: str) -> int:
        """The bit pattern of an operand."""
        if operand.startswith("%"):
            return registers[operand]
        if operand in self.program.shared:
            return self.program.shared[operand]
        if operand.startswith(("0d", "0f")):
            return int(operand[2:], 16)
        return encode(int(operand, 0), type_)

    def address(self, operand: str, registers: Registers) -> int:
        base, _, offset = operand.strip("[]").partition("+")
        return self.value(base, registers, "u64") + int(offset or 0)

    def move_parts(self, operands: list[str], registers: Registers, width: int) -> None:
        """A register as two halves, or two halves as a register; _ is a half that is not used."""
        target, source = operands
        half = width // 2
        if source.startswith("{"):
            low, high = (self.value(x.strip(), registers, f"b{half}") for x in _halves(source))
            registers[target] = low | high << half
            return
        value = registers[source]
        for name, part in zip(_halves(target), (value & ((1 << half) - 1), value >> half)):
            registers[name.strip()] = part

    # ---- memory

    def load(self, address: int, size: int) -> int:
        start = self.shared_place(address, size)
        if start is None:
            return int.from_bytes(ctypes.string_at(address, size), "little")
        if not all(self.written[start : start + size]):
            raise BadAccess("shared memory that was never written")
        return int.from_bytes(self.shared[start : start + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        data = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        start = self.shared_place(address, size)
        if start is None:
            ctypes.memmove(address, data, size)
        else:
            self.shared[start : start + size] = data
            self.written[start : start + size] = b"\1" * size

    def shared_place(self, address: int, size: int) -> int | None:
        """The place in shared memory, or None for an array."""
        if address >= SHARED // 2:
            start = address - SHARED
            if not 0 <= start <= len(self.shared) - size:
                raise BadAccess("outside of the shared memory")
            return start
        if not any(a <= address and address + size <= a + n for a, n in self.spans):
            raise BadAccess("outside of all arrays")
        return None

    def atomic(self, is_cas: bool, operands: list[str], registers: Registers, type_: str) -> None:
        address, size = self.address(operands[1], registers), bits(type_) // 8
        old = self.load(address, size)
        value = self.value(operands[2], registers, type_)
        if is_cas:
            new = self.value(operands[3], registers, type_) if old == value else old
        else:
            new = encode(decode(old, type_) + decode(value, type_), type_)
        self.store(address, size, new)
        registers[operands[0]] = old


def _halves(operand: str) -> list[str]:
    return operand.strip("{}").split(",")
