"""The call VM: a register machine in LLVM IR that runs the bytecode of call stubs.

A plan (`call_bytecode.py`) is a tuple: the bytecode, the list of values cached between calls, the
kernel's entry point, the handler for its errors, and the constants.  The bytecode consists of
16-bit words: the number of arguments, the number of registers, the offset at which the kernel is
called, and the instructions.  Each instruction begins with its opcode and a destination register.
An operand is a register, or, from 32768 on, an item of the plan.  The first registers hold the
arguments as borrowed references; the others own their references.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from ...call import debug_flag
from ...errors import MISS
from ...runtime import jit_link
from ...runtime.object_layout import TYPE_OFFSET, is_layout_known
from .call_vm_ops import LLVM_IR as STEPS
from .call_vm_ops import OPERATIONS
from .native_loader import METH_FASTCALL, c_function, method_definition

# Byte offsets in CPython objects:
ITEMS = 24  # the items of a tuple, and the pointer to the items of a list
SIZE = 16  # the length of both
BYTES = 32  # the data of a bytes object
CELL_CONTENTS_OFFSET = 16  # the content of a cell
DICT_KEYS_OFFSET = 32  # the pointer to the keys table of a dict
VERSION_TAG_OFFSET = (
    384  # the version tag of a class, which changes with each change of it or its bases
)
PLAN = 16  # the first slot of an object with `__slots__`
WRAPPER = 40  # the pointer to the slot definition of a wrapper descriptor
MANY = 1 << 30  # upper bound of ordinary reference counts; immortal objects have larger ones
HEADER_WORDS = 3  # words before the first instruction
FIRST_CONSTANT_OPERAND = 32768  # operands from here on are items of the plan
# The method that is called if there is no plan, or if it misses.
FALLBACK_METHOD = "_in_python"

TEXT = """
@s2s.plan.links = global [6 x i8*] zeroinitializer
declare void @Py_IncRef(i8*)
declare void @Py_DecRef(i8*)
declare void @PyErr_Clear()
declare i8* @PyErr_Occurred()
declare void @PyErr_Fetch(i8**, i8**, i8**)
declare void @PyErr_NormalizeException(i8**, i8**, i8**)
declare i8* @PyObject_GetAttr(i8*, i8*)
declare i8* @PyObject_GetItem(i8*, i8*)
declare i32 @PyObject_SetItem(i8*, i8*, i8*)
declare i64 @PyObject_Size(i8*)
declare i32 @PyObject_RichCompareBool(i8*, i8*, i32)
declare i8* @PyObject_CallFunctionObjArgs(i8*, ...)
declare i8* @PyDict_GetItemWithError(i8*, i8*)
declare i32 @PyDict_Contains(i8*, i8*)
declare i64 @PyDict_Size(i8*)
declare i32 @PyDict_Next(i8*, i64*, i8**, i8**)
declare i8* @PyTuple_New(i64)
declare i8* @PyList_New(i64)
declare i32 @PyList_SetItem(i8*, i64, i8*)
declare i8* @PyDict_New()
declare i32 @PyDict_SetItem(i8*, i8*, i8*)
declare i32 @PyTuple_SetItem(i8*, i64, i8*)
declare i64 @PyTuple_Size(i8*)
declare i8* @PyTuple_GetItem(i8*, i64)
declare i8* @PyCFunction_GetFunction(i8*)
declare i8* @PyObject_Call(i8*, i8*, i8*)

@nothing = internal constant i8* null
@operations = internal constant [COUNT x i16* (i8**, i8**, i16*)*] [ADDRESSES]

define i8* @s2s.plan(i8* %plan, i8** %args, i64 %count) {
entry:
  %first = getelementptr i8, i8* %plan, i64 ITEMS
  %items = bitcast i8* %first to i8**
  %bytes = load i8*, i8** %items
  %text = getelementptr i8, i8* %bytes, i64 BYTES
  %words = bitcast i8* %text to i16*
  %arity.word = load i16, i16* %words
  %arity = zext i16 %arity.word to i64
  %fits = icmp eq i64 %arity, %count
  br i1 %fits, label %start, label %other
other:
  %miss.0 = call i8* @miss()
  ret i8* %miss.0
start:
  %p1 = getelementptr i16, i16* %words, i64 1
  %p2 = getelementptr i16, i16* %words, i64 2
  %steps = getelementptr i16, i16* %words, i64 HEADER
  %size.word = load i16, i16* %p1
  %size = zext i16 %size.word to i64
  %enter.word = load i16, i16* %p2
  %enter = zext i16 %enter.word to i64
  %entrance = getelementptr i16, i16* %words, i64 %enter
  %regs = alloca i8*, i64 %size
  br label %clear
clear:
  %c = phi i64 [0, %start], [%c.next, %clear.this]
  %c.left = icmp ult i64 %c, %size
  br i1 %c.left, label %clear.this, label %step
clear.this:
  %c.place = getelementptr i8*, i8** %regs, i64 %c
  %c.argument = icmp ult i64 %c, %count
  %c.from = getelementptr i8*, i8** %args, i64 %c
  %c.source = select i1 %c.argument, i8** %c.from, i8** @nothing
  %c.value = load i8*, i8** %c.source
  store i8* %c.value, i8** %c.place
  %c.next = add i64 %c, 1
  br label %clear
step:
  %at = phi i16* [%steps, %clear], [%next, %operate]
  %op.word = load i16, i16* %at
  %op = zext i16 %op.word to i64
  %done = icmp eq i64 %op, 0
  br i1 %done, label %return, label %work
work:
  %place = getelementptr [COUNT x i16* (i8**, i8**, i16*)*],
           [COUNT x i16* (i8**, i8**, i16*)*]* @operations, i64 0, i64 %op
  %function = load i16* (i8**, i8**, i16*)*, i16* (i8**, i8**, i16*)** %place
  br label %operate
operate:
  %next = call i16* %function(i8** %regs, i8** %items, i16* %at)
  %bad = icmp eq i16* %next, null
  br i1 %bad, label %unfit, label %step
return:
  %result = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 1)
  call void @hold(i8* %result)
  br label %clean
unfit:
  %early = icmp ult i16* %at, %entrance
  br i1 %early, label %missed, label %late
late:
  %error = call i8* @PyErr_Occurred()
  %none = icmp eq i8* %error, null
  br i1 %none, label %missed, label %clean
missed:
  call void @PyErr_Clear()
  %miss = call i8* @miss()
  br label %clean
clean:
  %answer = phi i8* [%result, %return], [null, %late], [%miss, %missed]
  br label %let.go
let.go:
  %r = phi i64 [%count, %clean], [%r.next, %going]
  %r.left = icmp ult i64 %r, %size
  br i1 %r.left, label %look, label %end
look:
  %r.place = getelementptr i8*, i8** %regs, i64 %r
  %held = load i8*, i8** %r.place
  %free = icmp eq i8* %held, null
  br i1 %free, label %going, label %drop
drop:
  call void @let_go(i8* %held)
  br label %going
going:
  %r.next = add i64 %r, 1
  br label %let.go
end:
  ret i8* %answer
}

; How objects that have a plan are called: runs it, if there is one and nobody is looking for NaN,
; or else leaves the call to Python.
define i8* @s2s.front(i8* %self, i8* %args, i8* %names) {
entry:
  %raw = getelementptr i8, i8* %self, i64 PLAN
  %place = bitcast i8* %raw to i8**
  %plan = load i8*, i8** %place
  %none = icmp eq i8* %plan, null
  %named = icmp ne i8* %names, null
  %odd = or i1 %none, %named
  br i1 %odd, label %python, label %planned
planned:
  %is.plan = call i1 @is_a(i8* %plan, i64 2)
  br i1 %is.plan, label %unchanged, label %python
unchanged:
  %list = load i8*, i8** getelementptr ([6 x i8*], [6 x i8*]* @s2s.plan.links, i64 0, i64 4)
  %size = call i64 @size_of(i8* %list)
  %off = icmp eq i64 %size, 0
  br i1 %off, label %run, label %python
run:
  %count = call i64 @size_of(i8* %args)
  %first = getelementptr i8, i8* %args, i64 ITEMS
  %given = bitcast i8* %first to i8**
  call void @hold(i8* %plan)
  %found = call i8* @s2s.plan(i8* %plan, i8** %given, i64 %count)
  call void @let_go(i8* %plan)
  %miss = load i8*, i8** getelementptr ([6 x i8*], [6 x i8*]* @s2s.plan.links, i64 0, i64 0)
  %missed = icmp eq i8* %found, %miss
  br i1 %missed, label %unfit, label %done
done:
  ret i8* %found
unfit:
  call void @let_go(i8* %miss)
  br label %python
python:
  %name = load i8*, i8** getelementptr ([6 x i8*], [6 x i8*]* @s2s.plan.links, i64 0, i64 5)
  %method = call i8* @PyObject_GetAttr(i8* %self, i8* %name)
  %lost = icmp eq i8* %method, null
  br i1 %lost, label %bad, label %call
call:
  %answer = call i8* @PyObject_Call(i8* %method, i8* %args, i8* %names)
  call void @let_go(i8* %method)
  ret i8* %answer
bad:
  ret i8* null
}

; What `Py_IncRef` and `Py_DecRef` do, without calling them where a count is just a count.
define internal void @hold(i8* %thing) {
  %place = bitcast i8* %thing to i64*
  %count = load i64, i64* %place
  %plain = icmp ult i64 %count, MANY
  br i1 %plain, label %here, label %there
here:
  %more = add i64 %count, 1
  store i64 %more, i64* %place
  ret void
there:
  call void @Py_IncRef(i8* %thing)
  ret void
}

define internal void @let_go(i8* %thing) {
  %place = bitcast i8* %thing to i64*
  %count = load i64, i64* %place
  %less = sub i64 %count, 1
  %before = sub i64 %count, 2
  %plain = icmp ult i64 %before, MANY
  br i1 %plain, label %here, label %there
here:
  store i64 %less, i64* %place
  ret void
there:
  call void @Py_DecRef(i8* %thing)
  ret void
}

define internal i8* @miss() {
  %miss = load i8*, i8** getelementptr ([6 x i8*], [6 x i8*]* @s2s.plan.links, i64 0, i64 0)
  call void @hold(i8* %miss)
  ret i8* %miss
}

define internal i64 @word(i16* %at, i64 %i) {
  %place = getelementptr i16, i16* %at, i64 %i
  %word = load i16, i16* %place
  %wide = zext i16 %word to i64
  ret i64 %wide
}

define internal i8* @operand(i8** %regs, i8** %items, i16* %at, i64 %i) {
  %word = call i64 @word(i16* %at, i64 %i)
  %is.reg = icmp ult i64 %word, CONSTANT
  %index = and i64 %word, 32767
  %from = select i1 %is.reg, i8** %regs, i8** %items
  %place = getelementptr i8*, i8** %from, i64 %index
  %value = load i8*, i8** %place
  ret i8* %value
}

define internal i1 @is_a(i8* %thing, i64 %which) {
  %place = getelementptr [6 x i8*], [6 x i8*]* @s2s.plan.links, i64 0, i64 %which
  %class = load i8*, i8** %place
  %found = call i8* @type_of(i8* %thing)
  %same = icmp eq i8* %found, %class
  ret i1 %same
}

define internal i8* @type_of(i8* %thing) {
  %raw = getelementptr i8, i8* %thing, i64 TYPE
  %place = bitcast i8* %raw to i8**
  %type = load i8*, i8** %place
  ret i8* %type
}

; Of a tuple or a list.
define internal i64 @size_of(i8* %list) {
  %raw = getelementptr i8, i8* %list, i64 SIZE
  %place = bitcast i8* %raw to i64*
  %size = load i64, i64* %place
  ret i64 %size
}

define internal i8* @list_item(i8* %list, i64 %i) {
  %raw = getelementptr i8, i8* %list, i64 ITEMS
  %place = bitcast i8* %raw to i8***
  %items = load i8**, i8*** %place
  %at = getelementptr i8*, i8** %items, i64 %i
  %item = load i8*, i8** %at
  ret i8* %item
}

; Puts a reference into the register that the step writes to, and goes on behind its words.
define internal i16* @put(i8** %regs, i16* %at, i8* %value, i64 %length) {
  %none = icmp eq i8* %value, null
  br i1 %none, label %bad, label %good
good:
  %index = call i64 @word(i16* %at, i64 1)
  %place = getelementptr i8*, i8** %regs, i64 %index
  store i8* %value, i8** %place
  %next = getelementptr i16, i16* %at, i64 %length
  ret i16* %next
bad:
  ret i16* null
}

define internal i16* @put_borrowed(i8** %regs, i16* %at, i8* %value, i64 %length) {
  %none = icmp eq i8* %value, null
  br i1 %none, label %bad, label %good
good:
  call void @hold(i8* %value)
  %next = call i16* @put(i8** %regs, i16* %at, i8* %value, i64 %length)
  ret i16* %next
bad:
  ret i16* null
}

define internal i16* @go_if(i1 %yes, i16* %at, i64 %length) {
  %next = getelementptr i16, i16* %at, i64 %length
  %where = select i1 %yes, i16* %next, i16* null
  ret i16* %where
}
"""


@functools.cache
def _library() -> Any:
    import ctypes

    shape = "i16* (i8**, i8**, i16*)*"
    addresses = ", ".join(f"{shape} @op.{name}" for name in OPERATIONS)
    text = (TEXT + STEPS).replace("ADDRESSES", addresses).replace("COUNT", str(len(OPERATIONS)))
    placeholders = {
        "ITEMS": ITEMS, "SIZE": SIZE, "HEADER": HEADER_WORDS, "BYTES": BYTES,
        "CONSTANT": FIRST_CONSTANT_OPERAND, "PLAN": PLAN, "TYPE": TYPE_OFFSET, "MANY": MANY,
    }  # fmt: skip
    for name, value in placeholders.items():
        text = text.replace(f" {name}", f" {value}")
    made = jit_link.runtime(text, ("s2s.front", "s2s.plan", "s2s.plan.links"))
    known = [MISS, dict, tuple, list, debug_flag.active, sys.intern(FALLBACK_METHOD)]
    table = (ctypes.c_void_p * len(known)).from_address(made["s2s.plan.links"])
    for i, thing in enumerate(known):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        table[i] = id(thing)
    return made


@functools.cache
def install(cls: Any) -> None:
    """Make the `__call__` of a class a C function that runs the plan in the object's slot."""
    import ctypes

    front = _library()["s2s.front"]
    # A slot wrapper, as in a class defined in C: CPython then calls the function directly.
    make = ctypes.pythonapi.PyDescr_NewWrapper
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    cls.__call__ = make(cls, _read(types.FunctionType.__call__, WRAPPER), front)  # type: ignore[attr-defined]


def runner(plan: tuple[Any, ...]) -> Any:
    """A Python function that runs a plan."""
    return c_function(_runner_definition(), plan)


@functools.cache
def _runner_definition() -> int:
    return method_definition(b"call", _library()["s2s.plan"], METH_FASTCALL)


def version_tag(cls: type) -> int:
    """The version tag of a class, which changes with the class; 0 if none is assigned."""
    getattr(cls, "_s2s_tag", None)  # CPython assigns a tag at an attribute lookup
    return _tag(cls)


def _tag(cls: type) -> int:
    import ctypes

    return ctypes.c_uint32.from_address(id(cls) + VERSION_TAG_OFFSET).value


def dict_entry_addresses(holder: dict[str, Any], key: str) -> tuple[int, int] | None:
    """The address of a dict's keys table, and that of the entry for a key, in which the key
    precedes the value; None if the entry is not found.  A dict that grows gets another table."""
    import ctypes

    table = _read(holder, DICT_KEYS_OFFSET)
    size = (holder.__sizeof__() - dict.__basicsize__) // 8
    if not table or size <= 0 or key not in holder:
        return None
    pair = (id(next(k for k in holder if k == key)), id(holder[key]))
    words = (ctypes.c_uint64 * size).from_address(table)
    found = [i for i in range(size - 1) if (words[i], words[i + 1]) == pair]
    return (table, table + 8 * found[0]) if len(found) == 1 else None


@functools.cache
def entry_count_offset() -> int:
    """The offset, in a dict's keys table, of the count of entries ever inserted; 0 if it is not
    found."""
    import ctypes

    made = {f"s2s {k}": k for k in range(3)}
    table = _read(made, DICT_KEYS_OFFSET)
    words = (ctypes.c_uint64 * 6).from_address(table)
    counts = [list(words)]
    made["s2s more"] = 3
    counts.append(list(words))
    del made["s2s 0"]
    counts.append(list(words))
    if _read(made, DICT_KEYS_OFFSET) != table or dict_entry_addresses(made, "s2s more") is None:
        return 0
    found = [8 * i for i in range(6) if [c[i] for c in counts] == [3, 4, 4]]
    return found[0] if len(found) == 1 else 0


def read_word(address: int) -> int:
    import ctypes

    return ctypes.c_uint64.from_address(address).value


@functools.cache
def is_vm_layout_known() -> bool:
    """Whether the offsets of this module hold for this interpreter."""
    import ctypes

    if not is_layout_known():
        return False

    class Slotted:
        __slots__ = ("_plan",)
        _plan: Any

    class Base(Slotted):
        more = 0

    class Below(Base):
        pass

    mark, below = object(), Below()
    below._plan = mark
    items = [mark, None, below]
    tags = [version_tag(Below)]
    Base.more = 1
    changed = _tag(Below) != tags[0]
    tags.append(version_tag(Below))
    del Base.more
    changed = changed and _tag(Below) != tags[1]
    tags.append(version_tag(Below))
    return (
        changed
        and all(tags)
        and len({*tags}) == 3
        and _read((1, mark), ITEMS + 8) == id(mark)
        and _read((1, mark, 2), SIZE) == 3
        and _read(items, SIZE) == 3
        and ctypes.c_void_p.from_address(_read(items, ITEMS) + 16).value == id(below)
        and ctypes.string_at(id(b"plan") + BYTES) == b"plan"
        and _read(types.CellType(mark), CELL_CONTENTS_OFFSET) == id(mark)
        and _read(below, PLAN) == id(mark)
        and _is_wrapper_layout_known()
        and all(function_field_offset(name) for name in FUNCTION_FIELDS)
    )


def _read(thing: Any, offset: int) -> int:
    import ctypes

    return ctypes.c_void_p.from_address(id(thing) + offset).value or 0


def _is_wrapper_layout_known() -> bool:
    """True if the slot definition of a wrapper descriptor is at `WRAPPER`: it begins with the
    name."""
    import ctypes

    methods = (types.FunctionType.__call__, types.FunctionType.__repr__)
    names = [ctypes.c_void_p.from_address(_read(m, WRAPPER)).value or 0 for m in methods]
    return [ctypes.string_at(n) for n in names if n] == [b"__call__", b"__repr__"]


# The attributes of a function that can be replaced.
FUNCTION_FIELDS = ("__code__", "__defaults__", "__kwdefaults__")


@functools.cache
def function_field_offset(name: str) -> int:
    """The offset of one of the `FUNCTION_FIELDS` in a function object; 0 if it is not found."""

    def one(a: int = 1, *, b: int = 2) -> None: ...

    def other(a: int = 3, *, b: int = 4) -> None: ...

    places = range(16, types.FunctionType.__basicsize__, 8)
    found = [at for at in places if all(_read(f, at) == id(getattr(f, name)) for f in (one, other))]
    return found[0] if len(found) == 1 else 0
