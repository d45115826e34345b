"""The allocator of kernels: a pool of freed blocks, shared by all threads.

A kernel allocates its temporaries and results when it needs them and frees each after its last use.
The C library returns large blocks to the system at once, so every call would start with unmapped
pages; the page faults take longer than many a kernel.  Here a freed block is kept in the pool for
the next allocation of its size class, which may be a later temporary of the same call.  Results are
blocks of their own and are freed when their reference count drops to zero.

The total of blocks in the pool and in use is limited to little more than the recent peak of memory
in use.  Beyond that, blocks of the least recently requested size classes are returned to the
system.

With `S2S_KEEP_MEMORY=0` no block is pooled, so that memory checkers see every release.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..transforms.ir.lazy import memoize
from . import jit_link

# A block begins with the header of Numba's runtime (`NRT_MemInfo`): reference count, destructor,
# its argument, data, size and external allocator.  Pooled blocks name the allocator below, so that
# Numba's runtime returns them here, too; small blocks name none and are freed by the C library.
# There is no destructor, so its argument is unused: it holds the offset of the data in a page.  (If
# all data began at the same offset in a page, processors would suffer from 4K aliasing: a write to
# one block would be taken for a write to another.)  Behind the header is the size class, counted
# from one; there are four classes per power of two.  A block in the pool has the pointer to the
# next one in place of the reference count.
MIN_POOLED_LOG2 = 14  # log2 of the smallest pooled block
MAX_REQUEST_LOG2 = 47  # log2 of the size from which on requests fail; there are no larger classes
CLASSES = 4 * (MAX_REQUEST_LOG2 + 2 - MIN_POOLED_LOG2)
SLACK_BYTES = 32 << 20  # bytes that the pool may hold beyond the recent peak and an eighth of it
PEAK_WINDOW = 1 << 14  # number of requests after which an older peak is forgotten

_COUNTERS = ("in_use", "kept", "most", "recent", "asked")

TEXT = """
@s2s.memory = global [5 x i64] zeroinitializer
@lock = internal global i8* null
@heads = internal global [CLASSES x i8*] zeroinitializer
@stamps = internal global [CLASSES x i64] zeroinitializer
@in_use = internal alias i64, getelementptr ([5 x i64], [5 x i64]* @s2s.memory, i64 0, i64 0)
@kept = internal alias i64, getelementptr ([5 x i64], [5 x i64]* @s2s.memory, i64 0, i64 1)
@most = internal alias i64, getelementptr ([5 x i64], [5 x i64]* @s2s.memory, i64 0, i64 2)
@recent = internal alias i64, getelementptr ([5 x i64], [5 x i64]* @s2s.memory, i64 0, i64 3)
@asked = internal alias i64, getelementptr ([5 x i64], [5 x i64]* @s2s.memory, i64 0, i64 4)
declare i8* @malloc(i64)
declare void @free(i8*)
declare i8* @PyThread_allocate_lock()
declare i32 @PyThread_acquire_lock(i8*, i32)
declare void @PyThread_release_lock(i8*)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)

define i8* @NRT_Allocate(i64 %size) {
  %memory = call i8* @malloc(i64 %size)
  ret i8* %memory
}

define void @NRT_Free(i8* %memory) {
  call void @free(i8* %memory)
  ret void
}

define i8* @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %memory = call i8* @s2s_allocate(i64 %size, i32 %align)
  ret i8* %memory
}

; Numba's struct of an external allocator: malloc, realloc, free and their last argument.
@allocator = internal global [4 x i8*] [i8* null, i8* null,
  i8* bitcast (void (i8*, i8*)* @returned to i8*), i8* null]

define internal void @returned(i8* %memory, i8* %unused) {
  call void @NRT_MemInfo_call_dtor(i8* %memory)
  ret void
}

define i8* @s2s_allocate(i64 %size, i32 %align) {
  %asked = zext i32 %align to i64
  %wide = call i64 @llvm.umax.i64(i64 %asked, i64 64)
  %more = add i64 %wide, 64
  %least = add i64 %size, %more
  %large = icmp uge i64 %least, LARGE
  br i1 %large, label %possible, label %new
possible:
  %absurd = icmp uge i64 %least, MOST
  br i1 %absurd, label %end, label %kept
kept:
  %total = add i64 %least, 4096
  %below.total = sub i64 %total, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below.total, i1 true)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 2
  %quarters = lshr i64 %below.total, %shift
  %quarter = and i64 %quarters, 3
  %octave = sub i64 %power, OCTAVE
  %octaves = shl i64 %octave, 2
  %class = or i64 %octaves, %quarter
  %block = call i8* @take(i64 %class)
  %found = icmp ne i8* %block, null
  %number = add i64 %class, 1
  br i1 %found, label %fill, label %end
new:
  %fresh = call i8* @malloc(i64 %least)
  %some = icmp ne i8* %fresh, null
  br i1 %some, label %place, label %end
place:
  %fresh.header = bitcast i8* %fresh to i64*
  %fresh.offset = getelementptr i64, i64* %fresh.header, i64 2
  store i64 0, i64* %fresh.offset
  br label %fill
fill:
  %memory = phi i8* [%block, %kept], [%fresh, %place]
  %kind = phi i64 [%number, %kept], [0, %place]
  %header = bitcast i8* %memory to i64*
  %start = ptrtoint i8* %memory to i64
  %p2 = getelementptr i64, i64* %header, i64 2
  %offset = load i64, i64* %p2
  %first = add i64 %start, 56
  %after = add i64 %first, %offset
  %below = sub i64 %wide, 1
  %over = add i64 %after, %below
  %mask = xor i64 %below, -1
  %data = and i64 %over, %mask
  %p1 = getelementptr i64, i64* %header, i64 1
  %p3 = getelementptr i64, i64* %header, i64 3
  %p4 = getelementptr i64, i64* %header, i64 4
  %p5 = getelementptr i64, i64* %header, i64 5
  %p6 = getelementptr i64, i64* %header, i64 6
  %is.small = icmp eq i64 %kind, 0
  %ours = ptrtoint [4 x i8*]* @allocator to i64
  %allocator = select i1 %is.small, i64 0, i64 %ours
  store i64 1, i64* %header
  store i64 0, i64* %p1
  store i64 %data, i64* %p3
  store i64 %size, i64* %p4
  store i64 %allocator, i64* %p5
  store i64 %kind, i64* %p6
  ret i8* %memory
end:
  ret i8* null
}

define void @NRT_MemInfo_call_dtor(i8* %memory) {
  %header = bitcast i8* %memory to i64*
  %p6 = getelementptr i64, i64* %header, i64 6
  %kind = load i64, i64* %p6
  %small = icmp eq i64 %kind, 0
  br i1 %small, label %away, label %keep
away:
  call void @free(i8* %memory)
  ret void
keep:
  call void @acquire()
  %class = sub i64 %kind, 1
  %room = call i64 @room(i64 %class)
  call void @add(i64* @in_use, i64 %room, i1 true)
  call void @add(i64* @kept, i64 %room, i1 false)
  call void @push(i64 %class, i8* %memory)
  %rest = call i8* @shed()
  call void @release()
  call void @free_all(i8* %rest)
  ret void
}

; A block of a class, kept or new; null if there is no memory left.
define internal i8* @take(i64 %class) {
  %room = call i64 @room(i64 %class)
  call void @acquire()
  %before = load i64, i64* @asked
  %asked = add i64 %before, 1
  store i64 %asked, i64* @asked
  %stamp = getelementptr [CLASSES x i64], [CLASSES x i64]* @stamps, i64 0, i64 %class
  store i64 %asked, i64* %stamp
  %block = call i8* @pop(i64 %class)
  %found = icmp ne i8* %block, null
  br i1 %found, label %again, label %new
again:
  call void @note(i64 %room)
  call void @release()
  ret i8* %block
new:
  call void @release()
  %fresh = call i8* @malloc(i64 %room)
  %some = icmp ne i8* %fresh, null
  br i1 %some, label %made, label %scarce
scarce:
  call void @s2s.give_back()
  %last = call i8* @malloc(i64 %room)
  %luck = icmp ne i8* %last, null
  br i1 %luck, label %made, label %none
none:
  ret i8* null
made:
  %memory = phi i8* [%fresh, %new], [%last, %scarce]
  call void @acquire()
  call void @note(i64 %room)
  %rest = call i8* @shed()
  call void @release()
  call void @free_all(i8* %rest)
  %header = bitcast i8* %memory to i64*
  %p2 = getelementptr i64, i64* %header, i64 2
  %turn = mul i64 %asked, 1280
  %offset = and i64 %turn, 3840
  store i64 %offset, i64* %p2
  ret i8* %memory
}

; Takes a list of those blocks out that are too many.
define internal i8* @shed() {
entry:
  br label %look
look:
  %list = phi i8* [null, %entry], [%block, %out]
  %in_use = load i64, i64* @in_use
  %kept = load i64, i64* @kept
  %most = load i64, i64* @most
  %eighth = lshr i64 %most, 3
  %more = add i64 %eighth, SLACK
  %limit = add i64 %most, %more
  %all = add i64 %in_use, %kept
  %over = icmp ugt i64 %all, %limit
  %some = icmp ne i64 %kept, 0
  %both = and i1 %over, %some
  br i1 %both, label %search, label %done
search:
  br label %class
class:
  %i = phi i64 [0, %search], [%next, %class]
  %best = phi i64 [0, %search], [%better, %class]
  %oldest = phi i64 [-1, %search], [%older, %class]
  %head.place = getelementptr [CLASSES x i8*], [CLASSES x i8*]* @heads, i64 0, i64 %i
  %head = load i8*, i8** %head.place
  %stamp.place = getelementptr [CLASSES x i64], [CLASSES x i64]* @stamps, i64 0, i64 %i
  %stamp = load i64, i64* %stamp.place
  %there = icmp ne i8* %head, null
  %old = icmp ult i64 %stamp, %oldest
  %this = and i1 %there, %old
  %better = select i1 %this, i64 %i, i64 %best
  %older = select i1 %this, i64 %stamp, i64 %oldest
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, CLASSES
  br i1 %last, label %out, label %class
out:
  %block = call i8* @pop(i64 %better)
  %link = bitcast i8* %block to i8**
  store i8* %list, i8** %link
  br label %look
done:
  ret i8* %list
}

define internal void @free_all(i8* %list) {
entry:
  br label %look
look:
  %block = phi i8* [%list, %entry], [%next, %away]
  %none = icmp eq i8* %block, null
  br i1 %none, label %done, label %away
away:
  %link = bitcast i8* %block to i8**
  %next = load i8*, i8** %link
  call void @free(i8* %block)
  br label %look
done:
  ret void
}

define internal void @push(i64 %class, i8* %block) {
  %place = getelementptr [CLASSES x i8*], [CLASSES x i8*]* @heads, i64 0, i64 %class
  %head = load i8*, i8** %place
  %link = bitcast i8* %block to i8**
  store i8* %head, i8** %link
  store i8* %block, i8** %place
  ret void
}

; The block of a class that was given back last, no longer kept; or null.
define internal i8* @pop(i64 %class) {
  %place = getelementptr [CLASSES x i8*], [CLASSES x i8*]* @heads, i64 0, i64 %class
  %block = load i8*, i8** %place
  %none = icmp eq i8* %block, null
  br i1 %none, label %end, label %take
take:
  %link = bitcast i8* %block to i8**
  %next = load i8*, i8** %link
  store i8* %next, i8** %place
  %room = call i64 @room(i64 %class)
  call void @add(i64* @kept, i64 %room, i1 true)
  br label %end
end:
  ret i8* %block
}

; More is in use; remembers how much that is at once, of late.
define internal void @note(i64 %room) {
  call void @add(i64* @in_use, i64 %room, i1 false)
  %in_use = load i64, i64* @in_use
  %recent = load i64, i64* @recent
  %peak = call i64 @llvm.umax.i64(i64 %recent, i64 %in_use)
  store i64 %peak, i64* @recent
  %most = load i64, i64* @most
  %higher = call i64 @llvm.umax.i64(i64 %most, i64 %in_use)
  store i64 %higher, i64* @most
  %asked = load i64, i64* @asked
  %part = urem i64 %asked, WINDOW
  %turn = icmp eq i64 %part, 0
  br i1 %turn, label %forget, label %done
forget:
  store i64 %peak, i64* @most
  store i64 %in_use, i64* @recent
  br label %done
done:
  ret void
}

define internal i64 @room(i64 %class) {
  %quarter = and i64 %class, 3
  %times = add i64 %quarter, 5
  %octave = lshr i64 %class, 2
  %shift = add i64 %octave, SHIFT
  %room = shl i64 %times, %shift
  ret i64 %room
}

define internal void @add(i64* %place, i64 %amount, i1 %less) {
  %minus = sub i64 0, %amount
  %change = select i1 %less, i64 %minus, i64 %amount
  %before = load i64, i64* %place
  %now = add i64 %before, %change
  store i64 %now, i64* %place
  ret void
}

define internal void @acquire() {
  %lock = load i8*, i8** @lock
  call i32 @PyThread_acquire_lock(i8* %lock, i32 1)
  ret void
}

define internal void @release() {
  %lock = load i8*, i8** @lock
  call void @PyThread_release_lock(i8* %lock)
  ret void
}

define void @start() {
  %lock = call i8* @PyThread_allocate_lock()
  store i8* %lock, i8** @lock
  ret void
}

; In a process that was forked: if some thread was at the lists, nobody knows what is in them.
define void @forked() {
  %lock = load i8*, i8** @lock
  %free = call i32 @PyThread_acquire_lock(i8* %lock, i32 0)
  %sound = icmp ne i32 %free, 0
  br i1 %sound, label %go, label %anew
go:
  call void @release()
  ret void
anew:
  store [CLASSES x i8*] zeroinitializer, [CLASSES x i8*]* @heads
  store i64 0, i64* @kept
  call void @start()
  ret void
}

; All that is kept, to the system.
define void @s2s.give_back() {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%more, %next]
  call void @acquire()
  %list = call i8* @pop_all(i64 %i)
  call void @release()
  call void @free_all(i8* %list)
  %more = add i64 %i, 1
  %last = icmp eq i64 %more, CLASSES
  br i1 %last, label %done, label %next
done:
  ret void
}

define internal i8* @pop_all(i64 %class) {
entry:
  br label %look
look:
  %list = phi i8* [null, %entry], [%block, %take]
  %block = call i8* @pop(i64 %class)
  %none = icmp eq i8* %block, null
  br i1 %none, label %done, label %take
take:
  %link = bitcast i8* %block to i8**
  store i8* %list, i8** %link
  br label %look
done:
  ret i8* %list
}
"""


ALLOCATE = "s2s_allocate"
# The symbols that machine code entered without Numba resolves here.
EXPORTED_SYMBOLS = (
    ALLOCATE, "NRT_Allocate", "NRT_Free", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor",
)  # fmt: skip
_INTERNAL_EXPORTS = ("s2s.memory", "s2s.give_back", "start", "forked")


@memoize
def library() -> Any:
    """The functions above, compiled and linked."""
    import ctypes

    text = TEXT.replace("CLASSES", str(CLASSES)).replace("SLACK", str(SLACK_BYTES))
    least = (
        MIN_POOLED_LOG2 if os.environ.get("S2S_KEEP_MEMORY") != "0" else 62
    )  # 62: every block is small
    text = text.replace("WINDOW", str(PEAK_WINDOW)).replace("LARGE", str(1 << least))
    text = text.replace("MOST", str(1 << MAX_REQUEST_LOG2))
    text = text.replace("OCTAVE", str(MIN_POOLED_LOG2 - 1)).replace(
        "SHIFT", str(MIN_POOLED_LOG2 - 3)
    )
    names = [f"PyThread_{verb}_lock" for verb in ("allocate", "acquire", "release")]
    python = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in names
    }
    made = jit_link.runtime(text, (*EXPORTED_SYMBOLS, *_INTERNAL_EXPORTS), python, care=False)
    start, forked = (ctypes.CFUNCTYPE(None)(made[name]) for name in ("start", "forked"))
    start()
    if hasattr(os, "register_at_fork"):
        # The lock is not held during the fork: Python may free blocks meanwhile.
        os.register_at_fork(after_in_child=forked)
    return made


@memoize
def register_symbols() -> None:
    """Register the allocation function as an LLVM symbol."""
    import llvmlite.binding as llvm

    llvm.add_symbol(ALLOCATE, library()[ALLOCATE])


# What else `release_memory` calls: devices keep memory of their own.
also_released: list[Callable[[], None]] = []


def release_memory() -> None:
    """Return to the system the memory that compiled functions keep for their next calls."""
    import ctypes

    for release in also_released:
        release()
    if library.kept:
        ctypes.CFUNCTYPE(None)(library()["s2s.give_back"])()


def usage() -> dict[str, int]:
    """Counters of the pool: bytes in use, bytes kept, the recent peaks of bytes in use (`most`,
    `recent`), and the number of requests (`asked`)."""
    import ctypes

    return dict(zip(_COUNTERS, (ctypes.c_int64 * 5).from_address(library()["s2s.memory"])))
