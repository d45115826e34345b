"""What the block of a tape in plain Python reads, as it was when the block was entered.

Before the block runs it is specialised for what it is about to read, which tells every array,
number and generator that it reaches through names, objects and containers, and everything that
decides its structure.  Arrays and generators are copied, Variables hand over their old values
when they change, and of all else it is noted what it was.  For the time of a question the objects
are as they were then: `restored` puts back what has changed meanwhile.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dispatch.specializations import Specialiser
from ..errors import UnsupportedError
from ..transforms.frontend.pytree import Path, Step, follow, path_text

if TYPE_CHECKING:
    from ..dispatch.specialization import Entry
    from ..transforms.pipeline import Compiled

ADVICE = "move such lines out of the block, or decorate the step with @s2s.function"


class Reader(Specialiser):
    """Finds out what a block reads; no code is made for it."""

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.known_places: dict[Entry, list[Path]] = {}

    def places(self, entry: Entry) -> list[Path]:
        """Every place that its guards and parameters lead through, holders first."""
        if entry not in self.known_places:
            compiled = entry.compiled
            paths = [*(g.path for g in compiled.object_guards), *(p.path for p in compiled.params)]
            every = dict.fromkeys(p[:n] for p in paths for n in range(1, len(p) + 1))
            self.known_places[entry] = list(every)
        return self.known_places[entry]

    def _count(self, previous: Entry, args: tuple[Any, ...]) -> None:
        """Those who compile the block tell what keeps changing."""

    def translate(self, specs: Any, values: Any) -> Compiled:
        from ..transforms import pipeline

        return pipeline.reads(self.request(specs, values))


class World:
    """`names` are those that the block reads.  `arrays` and `generators` are pairs of the original
    and its copy or state, by the id of the original; `variables` are the arrays of Variables,
    `kept` those of them that have changed since, with what they held.  `items` and `attributes`
    are places and what stood there, `contents` are containers and what they held."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.arrays: dict[int, tuple[Any, Any]] = {}
        self.generators: dict[int, tuple[Any, Any]] = {}
        self.variables: dict[int, Any] = {}
        self.kept: dict[int, tuple[Any, Any]] = {}
        self.items: list[tuple[Any, Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.contents: list[tuple[Any, Any]] = []
        self.unused: set[Path] = set()
        self.legacy: Any = None
        self.reading: Entry | None = None
        self.refusal: Exception | None = None

    # ---- on entry

    def read(self, reader: Reader, args: tuple[Any, ...]) -> None:
        try:
            entry, params = reader.find(args, "loops")
        except Exception as error:  # it is told when a gradient is asked for
            self.refusal = error
            return
        self.reading = entry
        reads: Any = entry.compiled
        for i, (param, value) in enumerate(zip(reads.params, params)):
            if i not in reads.used:
                self.unused.add(param.path)
            elif isinstance(value, np.random.Generator):
                self.generators[id(value)] = value, value.bit_generator.state
            elif not isinstance(value, np.ndarray):
                continue
            elif param.path[-1] == (".", "_array"):
                self.variables[id(value)] = value
            else:
                self.arrays[id(value)] = value, value.copy(order="K")
        if reads.legacy:
            self.legacy = np.random.get_state()
        self._note(reader.places(entry), entry, args)

    def _note(self, places: list[Path], entry: Entry, args: tuple[Any, ...]) -> None:
        """What the names of objects and the places in containers stand for."""
        reached: dict[Path, Any] = {}
        for path in places:
            if len(path) == 1:
                reached[path] = entry.reach.value(args, path)
            else:
                holder, step = reached[path[:-1]], path[-1]
                reached[path] = follow(holder, (step,))
                self._note_place(holder, step, reached[path])
        noted: set[int] = set()
        for path, value in reached.items():
            if path[-1] != (".", "__globals__"):
                self._note_contents(value, noted)
        for value in self.names.values():
            self._note_contents(value, noted)

    def _note_place(self, holder: Any, step: Step, value: Any) -> None:
        """What stands at a place outside of containers and objects, which are noted whole."""
        kind, key = step
        if kind == "[]":
            if isinstance(holder, dict):
                self.items.append((holder, key, value))
        elif isinstance(holder, types.ModuleType):
            self.items.append((vars(holder), key, value))
        elif key == "cell_contents" or isinstance(holder, type):
            self.attributes.append((holder, key, value))
        else:
            found = next((c for c in type(holder).__mro__ if key in vars(c)), None)
            if found is not None and isinstance(vars(found)[key], types.MemberDescriptorType):
                self.attributes.append((holder, key, value))
            elif found is not None and vars(found)[key] is value:
                self.attributes.append((found, key, value))

    def _note_contents(self, value: Any, noted: set[int]) -> None:
        if id(value) in noted or isinstance(value, OPAQUE) or hasattr(value, "_s2s_tape"):
            return
        noted.add(id(value))
        if isinstance(value, (list, tuple, dict)):
            if not isinstance(value, tuple):
                self.contents.append((value, value.copy()))
            for part in value.values() if isinstance(value, dict) else value:
                self._note_contents(part, noted)
            return
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            self.contents.append((own, own.copy()))

    # ---- afterwards

    def before_change(self, array: Any) -> None:
        if id(array) in self.variables:
            self.kept.setdefault(id(array), (array, array.copy()))

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Objects and containers as they were when the block was entered, for a while."""
        undo: list[Callable[[], None]] = []
        try:
            for holder, then in self.contents:
                if not _same_items(holder, then):
                    undo.append(partial(_refill, holder, holder.copy()))
                    _refill(holder, then)
            for space, key, then in self.items:
                now = space[key] if not isinstance(space, dict) else space.get(key, UNSET)
                if now is not then:
                    undo.append(partial(_put, space, key, now))
                    _put(space, key, then)
            for holder, key, then in self.attributes:
                now = getattr(holder, key, UNSET)
                if now is not then:
                    undo.append(partial(setattr, holder, key, now))
                    setattr(holder, key, then)
            if self.legacy is not None:
                undo.append(partial(np.random.set_state, np.random.get_state()))
                np.random.set_state(self.legacy)
            yield
        finally:
            for step in reversed(undo):
                step()

    def params(self, entry: Entry, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """The parameters of a kernel as they were, apart from everything it writes into."""
        self._check_structure(entry)
        entry.check_writes(params)
        out = [self._then(p.path, value) for p, value in zip(entry.compiled.params, params)]
        for i in entry.compiled.written:
            out[i] = out[i].copy()
        return tuple(out)

    def _then(self, path: Path, value: Any) -> Any:
        key = id(value)
        if isinstance(value, np.random.Generator):
            if key not in self.generators:
                raise self._changed(path)
            again = np.random.Generator(type(value.bit_generator)(0))
            again.bit_generator.state = self.generators[key][1]
            return again
        if not isinstance(value, np.ndarray):
            return value
        if key in self.arrays:
            return self.arrays[key][1]
        if key in self.kept:
            return self.kept[key][1]
        own = path[0] in (("arg", "seeds"), ("arg", "variables"))
        if own or key in self.variables or path in self.unused:
            return value
        raise self._changed(path)

    def _check_structure(self, entry: Entry) -> None:
        """What the two specialisations took for granted must be the same."""
        assert self.reading is not None
        then = {_subject(g): g for g in self.reading.compiled.object_guards}
        for guard in entry.compiled.object_guards:
            # Each has code of its own: the block, and the block with the question.
            other = then.get(_subject(guard)) if guard.path else None
            if other is not None and not _agree(guard, other):
                raise self._changed(guard.path)

    def _changed(self, path: Path) -> UnsupportedError:
        return UnsupportedError(
            f"the block of this tape reads {path_text(path)}, which has changed since and cannot "
            "be put back",
            advice=ADVICE,
        )


UNSET = object()
OPAQUE = (np.ndarray, np.generic, float, int, str, types.ModuleType, types.FunctionType, type)


def _put(space: Any, key: Any, value: Any) -> None:
    if value is UNSET:
        space.pop(key, None)
    else:
        space[key] = value


def _same_items(holder: Any, then: Any) -> bool:
    if len(holder) != len(then):
        return False
    if isinstance(holder, dict):
        pairs = zip(holder.items(), then.items())
        return all(a is b and x is y for (a, x), (b, y) in pairs)
    return all(a is b for a, b in zip(holder, then))


def _refill(holder: Any, contents: Any) -> None:
    if isinstance(holder, dict):
        holder.clear()
        holder.update(contents)
    else:
        holder[:] = contents


def _subject(guard: Any) -> tuple[Any, ...]:
    """What a guard is about: a place, or a name that is looked up there."""
    looked_up = (guard.expected[0],) if guard.kind in _LOOKED_UP else ()
    return guard.path, guard.kind, *looked_up


_LOOKED_UP = ("item", "attribute")


def _agree(one: Any, two: Any) -> bool:
    a, b = one.expected, two.expected
    if a is b or (one.kind in _LOOKED_UP and a == b):
        return True
    if one.kind == "function":
        return one.holds(b)
    return one.kind in ("equals", "length", "keys") and type(a) is type(b) and a == b
