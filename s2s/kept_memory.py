"""Memory of large arrays, kept for the next array of about that size.

The system hands out memory page by page as it is first touched, which takes longer than most of
what kernels do with it; and what is given back is soon gone.  A program that is run again and
again makes arrays of the same sizes each time.

`s2s.take(bytes)` gives memory, `s2s.give(memory)` takes it back; a block notes its size in its
third word, 0 if it is none of these.  Who finds the table in use by another thread does without
it, so that nobody ever waits, not even the child of a process that forked meanwhile.
"""

from __future__ import annotations

SLOTS = 64
# What is smaller is not worth it; a block that is much larger than what is asked for is left alone.
LEAST = 1 << 16
# All blocks together, and each.
MOST, LARGEST = 1 << 27, 1 << 25

TEXT = f"""
@s2s.kept = internal global [{SLOTS} x i8*] zeroinitializer
@s2s.kept.bytes = internal global i64 0
@s2s.kept.turn = internal global i64 0
@s2s.kept.lock = internal global i32 0

define internal i1 @s2s.kept.enter() {{
  %both = cmpxchg i32* @s2s.kept.lock, i32 0, i32 1 acquire monotonic
  %entered = extractvalue {{ i32, i1 }} %both, 1
  ret i1 %entered
}}

define internal void @s2s.kept.leave() {{
  store atomic i32 0, i32* @s2s.kept.lock release, align 4
  ret void
}}

define internal i64 @s2s.kept.size(i8* %memory) {{
  %words = bitcast i8* %memory to i64*
  %place = getelementptr i64, i64* %words, i64 2
  %size = load i64, i64* %place
  ret i64 %size
}}

; Takes the block out of a slot: what was in it.
define internal i8* @s2s.kept.empty(i64 %i) {{
  %slot = getelementptr [{SLOTS} x i8*], [{SLOTS} x i8*]* @s2s.kept, i64 0, i64 %i
  %memory = load i8*, i8** %slot
  %none = icmp eq i8* %memory, null
  br i1 %none, label %end, label %some
some:
  store i8* null, i8** %slot
  %size = call i64 @s2s.kept.size(i8* %memory)
  %bytes = load i64, i64* @s2s.kept.bytes
  %left = sub i64 %bytes, %size
  store i64 %left, i64* @s2s.kept.bytes
  br label %end
end:
  ret i8* %memory
}}

define internal i8* @s2s.take(i64 %asked) {{
  %small = icmp ult i64 %asked, {LEAST}
  %more = add i64 %asked, 4095
  %pages = and i64 %more, -4096
  %need = select i1 %small, i64 %asked, i64 %pages
  %noted = select i1 %small, i64 0, i64 %need
  br i1 %small, label %new, label %try
try:
  %quarter = lshr i64 %need, 2
  %limit = add i64 %need, %quarter
  %entered = call i1 @s2s.kept.enter()
  br i1 %entered, label %look, label %new
look:
  %i = phi i64 [0, %try], [%next, %on]
  %slot = getelementptr [{SLOTS} x i8*], [{SLOTS} x i8*]* @s2s.kept, i64 0, i64 %i
  %memory = load i8*, i8** %slot
  %none = icmp eq i8* %memory, null
  br i1 %none, label %on, label %some
some:
  %size = call i64 @s2s.kept.size(i8* %memory)
  %enough = icmp uge i64 %size, %need
  %near = icmp ule i64 %size, %limit
  %fits = and i1 %enough, %near
  br i1 %fits, label %found, label %on
on:
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, {SLOTS}
  br i1 %last, label %missing, label %look
found:
  %taken = call i8* @s2s.kept.empty(i64 %i)
  call void @s2s.kept.leave()
  ret i8* %taken
missing:
  call void @s2s.kept.leave()
  br label %new
new:
  %made = call i8* @malloc(i64 %need)
  %failed = icmp eq i8* %made, null
  br i1 %failed, label %end, label %note
note:
  %words = bitcast i8* %made to i64*
  %place = getelementptr i64, i64* %words, i64 2
  store i64 %noted, i64* %place
  br label %end
end:
  ret i8* %made
}}

define internal void @s2s.give(i8* %memory) {{
  %size = call i64 @s2s.kept.size(i8* %memory)
  %before = sub i64 %size, 1
  %other = icmp uge i64 %before, {LARGEST}
  br i1 %other, label %away, label %try
try:
  %entered = call i1 @s2s.kept.enter()
  br i1 %entered, label %room, label %away
room:
  ; Blocks make room in turn.
  %bytes = load i64, i64* @s2s.kept.bytes
  %turn = load i64, i64* @s2s.kept.turn
  %all = add i64 %bytes, %size
  %many = icmp ugt i64 %all, {MOST}
  br i1 %many, label %drop, label %seek
drop:
  %old = call i8* @s2s.kept.empty(i64 %turn)
  call void @free(i8* %old)
  %turned = add i64 %turn, 1
  %wrapped = urem i64 %turned, {SLOTS}
  store i64 %wrapped, i64* @s2s.kept.turn
  br label %room
seek:
  %i = phi i64 [0, %room], [%next, %on]
  %here = getelementptr [{SLOTS} x i8*], [{SLOTS} x i8*]* @s2s.kept, i64 0, i64 %i
  %held = load i8*, i8** %here
  %free = icmp eq i8* %held, null
  br i1 %free, label %keep, label %on
on:
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, {SLOTS}
  br i1 %last, label %drop, label %seek
keep:
  store i8* %memory, i8** %here
  store i64 %all, i64* @s2s.kept.bytes
  call void @s2s.kept.leave()
  ret void
away:
  call void @free(i8* %memory)
  ret void
}}
"""
