"""The instructions of call bytecode (`call_bytecode.py`), in LLVM IR; `call_vm.py` runs them."""

OPERATIONS = (
    "return", "kept", "attribute", "item", "is", "differ", "watch", "same", "empty", "absent",
    "type_is", "length", "keys", "entry", "seen", "enter", "tuple", "list", "dict", "set_item",
    "set_entry", "equal",
)  # fmt: skip
# Instructions that may run arbitrary Python code, which may invalidate earlier checks.
RUNS_PYTHON = ("attribute", "item", "set_item", "enter")

# Every instruction takes the registers, the items of the plan, and its own address.  It returns the
# address of the next instruction, or null if a check or an operation failed.  The comment before
# each function lists the words of the instruction.
LLVM_IR = """
; return value
define internal i16* @op.return(i8** %regs, i8** %items, i16* %at) {
  ret i16* null
}

; kept to position
define internal i16* @op.kept(i8** %regs, i8** %items, i16* %at) {
  %place = getelementptr i8*, i8** %items, i64 1
  %list = load i8*, i8** %place
  %i = call i64 @word(i16* %at, i64 2)
  %value = call i8* @list_item(i8* %list, i64 %i)
  %next = call i16* @put_borrowed(i8** %regs, i16* %at, i8* %value, i64 3)
  ret i16* %next
}

; attribute to holder name
define internal i16* @op.attribute(i8** %regs, i8** %items, i16* %at) {
  %holder = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %name = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %value = call i8* @PyObject_GetAttr(i8* %holder, i8* %name)
  %next = call i16* @put(i8** %regs, i16* %at, i8* %value, i64 4)
  ret i16* %next
}

; item to holder key
define internal i16* @op.item(i8** %regs, i8** %items, i16* %at) {
  %holder = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %key = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %is.dict = call i1 @is_a(i8* %holder, i64 1)
  br i1 %is.dict, label %quick, label %slow
quick:
  %found = call i8* @PyDict_GetItemWithError(i8* %holder, i8* %key)
  %none = icmp eq i8* %found, null
  br i1 %none, label %slow, label %good
good:
  %next.1 = call i16* @put_borrowed(i8** %regs, i16* %at, i8* %found, i64 4)
  ret i16* %next.1
slow:
  %value = call i8* @PyObject_GetItem(i8* %holder, i8* %key)
  %next.2 = call i16* @put(i8** %regs, i16* %at, i8* %value, i64 4)
  ret i16* %next.2
}

; is _ value value
define internal i16* @op.is(i8** %regs, i8** %items, i16* %at) {
  %a = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %b = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %same = icmp eq i8* %a, %b
  %next = call i16* @go_if(i1 %same, i16* %at, i64 4)
  ret i16* %next
}

; differ _ value value
define internal i16* @op.differ(i8** %regs, i8** %items, i16* %at) {
  %a = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %b = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %other = icmp ne i8* %a, %b
  %next = call i16* @go_if(i1 %other, i16* %at, i64 4)
  ret i16* %next
}

; watch _ bytes count: at so many addresses stands what stood there; of each are told the address,
; which bits count, and what they are to be
define internal i16* @op.watch(i8** %regs, i8** %items, i16* %at) {
entry:
  %told = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %count = call i64 @word(i16* %at, i64 3)
  %raw = getelementptr i8, i8* %told, i64 BYTES
  %first = bitcast i8* %raw to i64*
  br label %head
head:
  %i = phi i64 [0, %entry], [%more, %body]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %yes, label %body
body:
  %at.0 = mul i64 %i, 3
  %at.1 = add i64 %at.0, 1
  %at.2 = add i64 %at.0, 2
  %p0 = getelementptr i64, i64* %first, i64 %at.0
  %p1 = getelementptr i64, i64* %first, i64 %at.1
  %p2 = getelementptr i64, i64* %first, i64 %at.2
  %address = load i64, i64* %p0
  %bits = load i64, i64* %p1
  %wanted = load i64, i64* %p2
  %place = inttoptr i64 %address to i64*
  %whole = load i64, i64* %place
  %found = and i64 %whole, %bits
  %more = add i64 %i, 1
  %one = icmp eq i64 %found, %wanted
  br i1 %one, label %head, label %no
yes:
  %next = getelementptr i16, i16* %at, i64 4
  ret i16* %next
no:
  ret i16* null
}

; same _ list list: both hold the same objects
define internal i16* @op.same(i8** %regs, i8** %items, i16* %at) {
entry:
  %a = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %b = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %a.list = call i1 @is_a(i8* %a, i64 3)
  %b.list = call i1 @is_a(i8* %b, i64 3)
  %lists = and i1 %a.list, %b.list
  br i1 %lists, label %sizes, label %no
sizes:
  %a.size = call i64 @size_of(i8* %a)
  %b.size = call i64 @size_of(i8* %b)
  %equal = icmp eq i64 %a.size, %b.size
  br i1 %equal, label %head, label %no
head:
  %i = phi i64 [0, %sizes], [%more, %body]
  %done = icmp eq i64 %i, %a.size
  br i1 %done, label %yes, label %body
body:
  %x = call i8* @list_item(i8* %a, i64 %i)
  %y = call i8* @list_item(i8* %b, i64 %i)
  %more = add i64 %i, 1
  %one = icmp eq i8* %x, %y
  br i1 %one, label %head, label %no
yes:
  %next = getelementptr i16, i16* %at, i64 4
  ret i16* %next
no:
  ret i16* null
}

; empty _ container
define internal i16* @op.empty(i8** %regs, i8** %items, i16* %at) {
  %a = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %size = call i64 @PyObject_Size(i8* %a)
  %none = icmp eq i64 %size, 0
  %next = call i16* @go_if(i1 %none, i16* %at, i64 3)
  ret i16* %next
}

; absent _ dict key
define internal i16* @op.absent(i8** %regs, i8** %items, i16* %at) {
  %dict = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %key = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %found = call i32 @PyDict_Contains(i8* %dict, i8* %key)
  %none = icmp eq i32 %found, 0
  %next = call i16* @go_if(i1 %none, i16* %at, i64 4)
  ret i16* %next
}

; type_is _ value class
define internal i16* @op.type_is(i8** %regs, i8** %items, i16* %at) {
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %class = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %found = call i8* @type_of(i8* %value)
  %same = icmp eq i8* %found, %class
  %next = call i16* @go_if(i1 %same, i16* %at, i64 4)
  ret i16* %next
}

; length _ container count
define internal i16* @op.length(i8** %regs, i8** %items, i16* %at) {
  %container = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %wanted = call i64 @word(i16* %at, i64 3)
  %size = call i64 @PyObject_Size(i8* %container)
  %same = icmp eq i64 %size, %wanted
  %next = call i16* @go_if(i1 %same, i16* %at, i64 4)
  ret i16* %next
}

; equal _ value number: of the same type, which is one of Python's own
define internal i16* @op.equal(i8** %regs, i8** %items, i16* %at) {
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %wanted = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %same = call i1 @alike(i8* %value, i8* %wanted)
  %next = call i16* @go_if(i1 %same, i16* %at, i64 4)
  ret i16* %next
}

define internal i1 @alike(i8* %a, i8* %b) {
entry:
  %a.type = call i8* @type_of(i8* %a)
  %b.type = call i8* @type_of(i8* %b)
  %types = icmp eq i8* %a.type, %b.type
  br i1 %types, label %compare, label %no
compare:
  %answer = call i32 @PyObject_RichCompareBool(i8* %a, i8* %b, i32 2)
  %equal = icmp eq i32 %answer, 1
  ret i1 %equal
no:
  ret i1 false
}

; keys _ dict tuple: equal keys of the same types, in order
define internal i16* @op.keys(i8** %regs, i8** %items, i16* %at) {
entry:
  %place = alloca i64
  %key = alloca i8*
  %dict = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %keys = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  store i64 0, i64* %place
  %is.dict = call i1 @is_a(i8* %dict, i64 1)
  br i1 %is.dict, label %sizes, label %no
sizes:
  %have = call i64 @PyDict_Size(i8* %dict)
  %want = call i64 @PyTuple_Size(i8* %keys)
  %equal = icmp eq i64 %have, %want
  br i1 %equal, label %head, label %no
head:
  %i = phi i64 [0, %sizes], [%more, %body]
  %done = icmp eq i64 %i, %want
  br i1 %done, label %yes, label %body
body:
  %some = call i32 @PyDict_Next(i8* %dict, i64* %place, i8** %key, i8** null)
  %found = load i8*, i8** %key
  %wanted = call i8* @PyTuple_GetItem(i8* %keys, i64 %i)
  %more = add i64 %i, 1
  %same = call i1 @alike(i8* %found, i8* %wanted)
  br i1 %same, label %head, label %no
yes:
  %next = getelementptr i16, i16* %at, i64 4
  ret i16* %next
no:
  ret i16* null
}

; entry to dict key place: what a dict, of that very class, has under a string; most of the time it
; is the entry at that place
define internal i16* @op.entry(i8** %regs, i8** %items, i16* %at) {
entry:
  %place = alloca i64
  %key = alloca i8*
  %value = alloca i8*
  %dict = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %wanted = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %where = call i64 @word(i16* %at, i64 4)
  store i64 %where, i64* %place
  %some = call i32 @PyDict_Next(i8* %dict, i64* %place, i8** %key, i8** %value)
  %is.one = icmp ne i32 %some, 0
  br i1 %is.one, label %compare, label %search
compare:
  %found = load i8*, i8** %key
  %same = icmp eq i8* %found, %wanted
  br i1 %same, label %here, label %search
here:
  %value.1 = load i8*, i8** %value
  br label %end
search:
  %value.2 = call i8* @PyDict_GetItemWithError(i8* %dict, i8* %wanted)
  br label %end
end:
  %value.3 = phi i8* [%value.1, %here], [%value.2, %search]
  %next = call i16* @put_borrowed(i8** %regs, i16* %at, i8* %value.3, i64 5)
  ret i16* %next
}

; seen _ changes: there was none since what is kept was looked at
define internal i16* @op.seen(i8** %regs, i8** %items, i16* %at) {
  %changes = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %place = getelementptr i8*, i8** %items, i64 1
  %list = load i8*, i8** %place
  %now = call i8* @list_item(i8* %changes, i64 0)
  %then = call i8* @list_item(i8* %list, i64 0)
  %same = icmp eq i8* %now, %then
  %next = call i16* @go_if(i1 %same, i16* %at, i64 3)
  ret i16* %next
}

; enter to results count value...: a single result is returned, others are put where they go
define internal i16* @op.enter(i8** %regs, i8** %items, i16* %at) {
entry:
  %target = call i64 @word(i16* %at, i64 1)
  %results = call i64 @word(i16* %at, i64 2)
  %count = call i64 @word(i16* %at, i64 3)
  %length = add i64 %count, 4
  %given = alloca i8*, i64 %count
  %type = alloca i8*
  %error = alloca i8*
  %trace = alloca i8*
  %kernel.place = getelementptr i8*, i8** %items, i64 2
  %kernel = load i8*, i8** %kernel.place
  br label %head
head:
  %i = phi i64 [0, %entry], [%more, %body]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %go, label %body
body:
  %where = add i64 %i, 4
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 %where)
  %place = getelementptr i8*, i8** %given, i64 %i
  store i8* %value, i8** %place
  %more = add i64 %i, 1
  br label %head
go:
  %raw = call i8* @PyCFunction_GetFunction(i8* %kernel)
  %door = bitcast i8* %raw to i8* (i8*, i8**, i64)*
  %first = getelementptr i8*, i8** %regs, i64 %target
  %first.raw = bitcast i8** %first to i8*
  %one = icmp eq i64 %results, 1
  %places = select i1 %one, i8* null, i8* %first.raw
  %found = call i8* %door(i8* %places, i8** %given, i64 %count)
  %bad = icmp eq i8* %found, null
  br i1 %bad, label %fail, label %good
good:
  %miss = load i8*, i8** getelementptr ([6 x i8*], [6 x i8*]* @s2s.plan.links, i64 0, i64 0)
  %missed = icmp eq i8* %found, %miss
  br i1 %missed, label %unfit, label %fits
fits:
  br i1 %one, label %single, label %several
single:
  store i8* %found, i8** %first
  br label %several
several:
  %next = getelementptr i16, i16* %at, i64 %length
  ret i16* %next
fail:
  store i8* null, i8** %type
  store i8* null, i8** %error
  store i8* null, i8** %trace
  call void @PyErr_Fetch(i8** %type, i8** %error, i8** %trace)
  call void @PyErr_NormalizeException(i8** %type, i8** %error, i8** %trace)
  %failed.place = getelementptr i8*, i8** %items, i64 3
  %failed = load i8*, i8** %failed.place
  %this = load i8*, i8** %error
  %told = call i8* (i8*, ...) @PyObject_CallFunctionObjArgs(i8* %failed, i8* %this, i8* null)
  %class = load i8*, i8** %type
  %lines = load i8*, i8** %trace
  call void @Py_DecRef(i8* %class)
  call void @Py_DecRef(i8* %this)
  call void @Py_DecRef(i8* %lines)
  call void @Py_DecRef(i8* %told)
  ret i16* null
unfit:
  call void @Py_DecRef(i8* %found)
  ret i16* null
}

; dict to count keys value...
define internal i16* @op.dict(i8** %regs, i8** %items, i16* %at) {
entry:
  %count = call i64 @word(i16* %at, i64 2)
  %keys = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %length = add i64 %count, 4
  %made = call i8* @PyDict_New()
  %next = call i16* @put(i8** %regs, i16* %at, i8* %made, i64 %length)
  %none = icmp eq i8* %made, null
  br i1 %none, label %bad, label %head
head:
  %i = phi i64 [0, %entry], [%more, %body]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %end, label %body
body:
  %where = add i64 %i, 4
  %key = call i8* @PyTuple_GetItem(i8* %keys, i64 %i)
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 %where)
  %status = call i32 @PyDict_SetItem(i8* %made, i8* %key, i8* %value)
  %more = add i64 %i, 1
  %good = icmp eq i32 %status, 0
  br i1 %good, label %head, label %bad
end:
  ret i16* %next
bad:
  ret i16* null
}

; set_item _ holder key value
define internal i16* @op.set_item(i8** %regs, i8** %items, i16* %at) {
  %holder = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %key = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 4)
  %status = call i32 @PyObject_SetItem(i8* %holder, i8* %key, i8* %value)
  %good = icmp eq i32 %status, 0
  %next = call i16* @go_if(i1 %good, i16* %at, i64 5)
  ret i16* %next
}

; set_entry _ dict key value: the dict is of that very class
define internal i16* @op.set_entry(i8** %regs, i8** %items, i16* %at) {
  %dict = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 2)
  %key = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 3)
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 4)
  %status = call i32 @PyDict_SetItem(i8* %dict, i8* %key, i8* %value)
  %good = icmp eq i32 %status, 0
  %next = call i16* @go_if(i1 %good, i16* %at, i64 5)
  ret i16* %next
}
"""

# Template for the instructions that build tuples and lists.
_SEQUENCE = """
; KIND to count value...
define internal i16* @op.KIND(i8** %regs, i8** %items, i16* %at) {
entry:
  %count = call i64 @word(i16* %at, i64 2)
  %made = call i8* @PyCLASS_New(i64 %count)
  %none = icmp eq i8* %made, null
  br i1 %none, label %bad, label %head
head:
  %i = phi i64 [0, %entry], [%more, %body]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %end, label %body
body:
  %where = add i64 %i, 3
  %value = call i8* @operand(i8** %regs, i8** %items, i16* %at, i64 %where)
  call void @hold(i8* %value)
  call i32 @PyCLASS_SetItem(i8* %made, i64 %i, i8* %value)
  %more = add i64 %i, 1
  br label %head
end:
  %length = add i64 %count, 3
  %next = call i16* @put(i8** %regs, i16* %at, i8* %made, i64 %length)
  ret i16* %next
bad:
  ret i16* null
}
"""
LLVM_IR += "".join(
    _SEQUENCE.replace("KIND", c.lower()).replace("CLASS", c) for c in ("Tuple", "List")
)
