"""Random Python over the whole grammar, as text.

Productions are templates with typed holes: `$num` is any scalar expression, `$block` a block of
statements.  Names are bound by kind at the top of each function, so that most programs run.  If a
production raises, s2s must raise, too.
"""

from __future__ import annotations

import random
import re
import textwrap
import warnings

NAMES = {
    "num": ("a", "b", "c"),
    "vec": ("u", "v", "w"),
    "int": ("i", "j", "k"),
    "list": ("p", "q"),
    "dict": ("d", "e"),
    "tuple": ("t", "r"),
    "str": ("s",),
    "fun": ("g", "h"),
    "iter": ("y", "z"),
    "obj": ("o",),
}
HEADER = """\
import math
import functools
import itertools
from dataclasses import dataclass

import numpy as np


@dataclass
class Point:
    x: float
    y: float = 1.0

    def norm(self):
        return self.x * self.x + self.y * self.y

    @property
    def double(self):
        return 2.0 * self.x

    @staticmethod
    def shift(a, by=1.0):
        return a + by

    @classmethod
    def unit(cls):
        return cls(1.0, 0.0)


class Counter:
    total = 0.0

    def __init__(self, start=0.0):
        self.__start = start
        self.items = []

    def __call__(self, a):
        return a * self.__start

    def __getitem__(self, i):
        return self.__start + i

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([1.0, 2.0, self.__start])

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False

    def add(self, a):
        self.items.append(a)
        self.total += a
        return self


def twice(a):
    return a + a


def pick(a, b=2.0, *rest, scale=1.0, **named):
    return (a - b) * scale + len(rest) + len(named)


def powers(a, n):
    out = 1.0
    for _ in range(n):
        yield out
        out = out * a


def depth(a, n):
    return a if n <= 0 else depth(a * 0.5, n - 1) + a


def f(a, b, u, v, n):
    c = a * b
    w = u + v
    i, j, k = 0, 1, n
    p, q = [a, b], [1.0, 2.0, a]
    d, e = {"a": a, "b": b}, {"a": 1.0}
    t, r = (a, b), (u, 2.0)
    s = "a"
    g, h = twice, lambda x: x * a
    y, z = iter([a, b]), zip([1.0, 2.0], [a, b])
    o = Point(a, b)
"""

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "num": (
        "$num + $num", "$num - $num", "$num * $num", "$num / $num", "-$num", "+$num",
        "$num ** 2", "$num ** $int", "$num % $num", "$num // $num", "abs($num)",
        "$vec[$int]", "$vec[-1]", "np.sum($vec)", "$vec.sum()", "$vec.max()", "$vec @ $vec",
        "np.dot($vec, $vec)", "float($num)", "float($int)", "min($num, $num)",
        "max($num, $num, $num)", "sum($list)", "$list[$int]", "$list[0]", "$list.pop()",
        "$dict['a']", "$dict.get('b', $num)", "$dict.pop('a', $num)", "$tuple[0]",
        "$fun($num)", "pick($num)", "pick($num, $num, $num)", "pick($num, b=$num)",
        "pick(*$list)", "pick($num, scale=$num, **$dict)", "depth($num, $int)",
        "$num if $bool else $num", "($name := $num)", "(lambda $name: $num)($num)",
        "(lambda *$name: $num)($num)", "math.sin($num)", "math.exp($num)", "np.tanh($num)",
        "math.sqrt($num)", "np.log($num)", "next($iter)", "next($iter, $num)",
        "$obj.x", "$obj.norm()", "$obj.double", "Point.shift($num)", "Point($num).norm()",
        "Point.unit().x", "Counter($num)($num)", "Counter($num)[$int]",
        "len(Counter())", "sum(Counter($num))", "Counter().add($num).total",
        "sum($name for $name in $list)", "sum([$num for $name in $list])",
        "sum($name * $name for $name in $vec if $bool)", "math.fsum($list)",
        "functools.reduce(lambda $name, x: $name + x, $list)", "divmod($num, 2.0)[1]",
        "int($num)", "round($num)", "complex($num, 1.0).real", "np.float32($num)",
        "sorted($list)[0]", "list(reversed($list))[0]", "$list[::-1][0]",
        "np.where($bool, $num, $num)", "float(np.mean($vec))", "$num and $num",
        "$num or $num", "len($list)", "len($dict)", "len($str)", "($num, $num)[$int]",
        "[$num, $num][-1]", "{'a': $num}[$str]", "sum($dict.values())",
        "sum(powers($num, $int))", "getattr($obj, 'x')", "sum(map($fun, $list))",
        "math.pi", "np.inf", "True", "None", "1j", "0x10", "1_000", "1e308", "9223372036854775807",
        "$vec.item($int)", "$vec.size", "$vec.shape[0]", "ord('a')", "hash(1)", "id(1) * 0",
        "sum(x * $num for x, _ in enumerate($list))", "max($list, key=lambda x: -x)",
        "$num if $num else $num", "not $num", "~$int", "$int << 2", "$int & 3", "$int ^ 1",
    ),
    "vec": (
        "$vec + $vec", "$vec * $num", "$num - $vec", "$vec / $vec", "-$vec", "$vec ** 2",
        "np.sin($vec)", "np.exp($vec)", "np.tanh($vec)", "np.maximum($vec, $num)",
        "np.where($vec > $num, $vec, $vec)", "$vec[::-1]", "$vec.copy()", "$vec[$slice]",
        "np.zeros(3)", "np.ones_like($vec)", "np.full(3, $num)", "np.array($list)",
        "np.array([$num, $num, $num])", "np.asarray($vec)", "np.cumsum($vec)",
        "np.sort($vec)", "np.concatenate([$vec, $vec])", "np.stack([$vec, $vec])[0]",
        "$vec.reshape(-1)", "$vec[None, :][0]", "np.outer($vec, $vec)[$int]", "$vec.T",
        "np.roll($vec, $int)", "np.clip($vec, -1.0, $num)", "$vec[$vec > $num]",
        "$vec if $bool else $vec", "np.linspace(0.0, $num, 3)", "np.arange(3) * $num",
        "np.eye(3) @ $vec", "$vec[[0, 2, 1]]", "np.array([$name for $name in $vec])",
        "$vec.astype(np.float32)", "np.diff($vec, prepend=$num)", "$fun($vec)",
        "np.array(list(map($fun, $list)))", "($name := $vec)", "np.abs($vec)", "$vec[...]",
        "np.repeat($vec, 2)", "np.multiply($vec, $vec, out=$vec)", "np.round($vec)",
    ),
    "int": (
        "0", "1", "2", "-1", "n", "i + 1", "len($list)", "$int + $int", "$int * 2", "$int // 2",
        "$int % 3", "int($num)", "range(3)[$int]", "min($int, 2)", "abs($int)", "u.shape[0]",
        "int($bool)", "u.ndim", "$list.index($num)", "$list.count($num)", "np.argmax($vec)",
    ),
    "bool": (
        "$num > $num", "$num <= $num", "$num == $num", "$num != $num", "0 < $num < $num",
        "$num < $num > $num", "not $bool", "$bool and $bool", "$bool or $bool",
        "$int in $list", "$num not in $tuple", "$str in $dict", "$obj is $obj",
        "$num is None", "$vec is not None", "isinstance($num, float)", "isinstance($list, list)",
        "any($list)", "all($list)", "np.any($vec > $num)", "($vec < $num).all()", "bool($list)",
        "callable($fun)", "hasattr($obj, 'x')", "$str == 'a'", "$tuple == $tuple",
        "$list == $list", "True", "False", "n", "($name := $bool)", "$num is $num",
        "math.isnan($num)", "any($num > x for x in $list)", "'a' < $str <= 'b'",
    ),
    "list": (
        "[$num, $num]", "[]", "[*$list, $num]", "[*$tuple]", "$list + $list", "$list * 2",
        "[$num for $name in $list]", "[$name for $name in $list if $bool]", "list($vec)",
        "[$num for $name in range($int)]", "list($tuple)", "$list[$slice]", "list($iter)",
        "[x * y for x in $list for y in $list]", "sorted($list)", "list(map($fun, $list))",
        "list(filter(lambda x: x > $num, $list))", "$list.copy()", "list(reversed($list))",
        "$vec.tolist()", "list($dict.values())", "[y for x, y in zip($list, $list)]",
        "[x for x, in [($num,)]]", "$list if $bool else $list", "list($dict)",
        "[i * x for i, x in enumerate($list, 1)]", "list(powers($num, 3))",
    ),
    "dict": (
        "{'a': $num, 'b': $num}", "{}", "{**$dict, 'a': $num}", "dict(a=$num)",
        "{x: $num for x in ('a', 'b')}", "dict($dict)", "$dict | $dict", "$dict.copy()",
        "dict(zip(('a', 'b'), $list))", "{str(x): x for x in range(2)}", "{'a': $num, 'a': $num}",
    ),
    "tuple": (
        "($num, $num)", "()", "($num,)", "($num, *$list)", "tuple($list)", "$tuple + $tuple",
        "divmod($num, $num)", "($vec, $num)", "$tuple[::-1]", "tuple($num for x in $list)",
        "$tuple * 2", "np.shape($vec)", "u.shape",
    ),
    "str": (
        "'a'", "'b'", "f'{n}'", "str(n)", "'a' + $str", "$str * 2", "f'{a!r:>4}'", "'%d' % n",
        "$str.upper()", "'{}'.format(n)", "repr($int)", "'ab'[$int]", "b'ab'.decode()", "$str[0]",
        "','.join(['a', 'b'])", "chr(97)", "f'{$num:.2f}'", "type($num).__name__",
    ),
    "fun": (
        "twice", "lambda x: x * $num", "lambda x, y=2.0: x + y", "np.sin", "abs", "float",
        "functools.partial(pick, b=$num)", "$fun if $bool else twice", "Counter($num)",
        "(lambda k: lambda x: x * k)($num)", "Point.shift", "functools.partial(twice)",
    ),
    "iter": (
        "iter($list)", "zip($list, $list)", "enumerate($list)", "map($fun, $list)",
        "reversed($list)", "(x * $num for x in $list)", "filter(None, $list)", "range($int)",
        "powers($num, $int)", "iter($dict)", "$dict.items()", "$dict.values()",
        "itertools.chain($list, $list)", "itertools.product($list, $list)", "iter($vec)",
        "zip(*[$list, $list])", "itertools.accumulate($list)", "enumerate($vec, start=$int)",
    ),
    "obj": ("Point($num)", "Point($num, $num)", "Point.unit()", "Point(y=$num, x=$num)"),
    "slice": (
        ":", "::2", "1:", ":-1", "$int:", ":$int", "::-1", "$int:$int", "slice(0, 2)", "..., 0",
        "None", "0", "-1:5", "10:", ":-10", "::$int",
    ),
}  # fmt: skip

STATEMENTS = (
    "$target_num = $num", "$target_vec = $vec", "$target_int = $int",
    "$target_list = $list", "$target_dict = $dict", "$target_tuple = $tuple",
    "$target_fun = $fun", "$target_iter = $iter", "$target_obj = $obj", "$target_str = $str",
    "$target_num += $num", "$target_num *= $num", "$target_vec += $vec", "$target_vec *= $num",
    "$target_num -= $num", "$target_num /= $num", "$target_int += 1", "$target_list += $list",
    "$target_num **= 2", "$target_int //= 2", "$target_int %= 3", "$target_list *= 2",
    "$target_num: float = $num", "$target_num = $target_num = $num",
    "$target_num, $target_num = $num, $num", "$target_num, $target_num = $tuple",
    "$target_num, *$target_list = $list", "[$target_num, $target_num] = $list",
    "($target_num, ($target_num, $target_num)) = $num, ($num, $num)",
    "*$target_list, $target_num = $vec", "$target_vec[$int] = $num", "$target_vec[$slice] = $num",
    "$target_vec[$slice] = $vec", "$target_vec[$int] += $num", "$target_list[$int] = $num",
    "$target_vec[$vec > $num] = $num", "$target_list[$slice] = $list", "$target_dict['a'] = $num",
    "$target_dict[$str] = $num", "$target_dict['b'] += $num", "$target_obj.x = $num",
    "$target_obj.y *= $num", "$target_obj.new = $num", "$target_list.append($num)",
    "$target_list.extend($list)", "$target_list.insert(0, $num)", "$target_list.sort()",
    "$target_list.reverse()", "$target_list.clear()", "$target_list.remove($num)",
    "$target_dict.update($dict)", "$target_dict.update(a=$num)", "$target_dict.clear()",
    "$target_dict.setdefault('c', $num)",
    "del $target_list[0]", "del $target_dict['a']", "del $target_num",
    "$num", "$vec.sort()", "$vec.fill($num)", "pass", "...", "'text'", "assert $bool",
    "assert $bool, f'not {a}'", "print($num) if False else None", "$target_vec[:] = $vec",
    "if $bool:\n$block", "if $bool:\n$block\nelse:\n$block",
    "if $bool:\n$block\nelif $bool:\n$block\nelse:\n$block",
    "for $target_int in range($int):\n$loop", "for $target_int in range($int, $int):\n$loop",
    "for $target_num in $vec:\n$loop", "for $target_num in $list:\n$loop",
    "for $target_num in $iter:\n$loop", "for $target_num, $target_num in zip($list, $vec):\n$loop",
    "for $target_int, $target_num in enumerate($list):\n$loop",
    "for $target_str, $target_num in $dict.items():\n$loop", "for $target_str in $dict:\n$loop",
    "for $target_num in $tuple:\n$loop", "for $target_int in reversed(range(3)):\n$loop",
    "for $target_int in range(3):\n$loop\nelse:\n$block", "for $target_vec[0] in $list:\n$loop",
    "for $target_int in range(4):\n$loop", "for $target_num in $list:\n$loop\nelse:\n$block",
    "$target_int = 0\nwhile $target_int < 3:\n    $same_int += 1\n$loop",
    "while $bool:\n$block\n    break", "while $bool:\n    break\nelse:\n$block",
    "$target_num = 4.0\nwhile ($target_num := $same_num * 0.5) > 1.0:\n    pass",
    "try:\n$block\nexcept ZeroDivisionError:\n$block", "try:\n$block\nfinally:\n$block",
    "try:\n$block\nexcept (KeyError, IndexError) as error:\n    pass\nelse:\n$block",
    "with Counter($num) as $target_fun:\n$block", "with np.errstate(all='ignore'):\n$block",
    "match $int:\n    case 0:\n$deep\n    case 1 | 2:\n$deep\n    case _:\n$deep",
    "match $list:\n    case [x, *_]:\n$deep\n    case _:\n$deep",
    "def inner(x, y=$num):\n    return x * y + $num\n$target_num = inner($num)",
    "def inner(x):\n    nonlocal $target_num\n    $same_num = x\n    return x\n"
    "$target_num = inner($num)",
    "def inner():\n    yield $num\n    yield $num\n$target_num = sum(inner())",
    "def inner(*args, **kwargs):\n    return sum(args)\n$target_num = inner($num, $num, k=1)",
    "@functools.lru_cache\ndef inner(x):\n    return x\n$target_num = inner(1.0)",
    "class Inner:\n    value = $num\n$target_num = Inner.value",
    "class Inner(Point):\n    def norm(self):\n        return super().norm() * 2.0\n"
    "$target_num = Inner($num).norm()",
    "global math\n$target_num = math.sin($num)", "import math as m\n$target_num = m.cos($num)",
    "from math import cos\n$target_num = cos($num)", "raise ValueError($str)",
    "if $bool:\n    raise ValueError('no')", "if $bool:\n    return $num", "return $num",
    "$target_num = $num; $target_num = $num", "lambda: $num", "[$num for $name in $list]",
    "$target_vec = $target_vec = $vec", "$target_list[0], $target_list[1] = $num, $num",
    "$target_num = [*map(lambda x: x * $num, $list)][0]", "$target_fun = Counter($num)",
    "async def inner():\n    return $num", "$target_num = $tuple[$int]", "$target_dict |= $dict",
    "$target_iter = $iter\n$target_num = sum($same_iter)\n$target_num += sum($same_iter)",
    "$target_list = $list\nfor $target_num in $same_list:\n    $same_list.append(1.0)\n    break",
    "$target_num = $vec[$slice].sum()", "$target_vec = $target_vec[::-1]",
    "$target_num = sum(x * y for x, y in $dict.items() if isinstance(x, float))",
)  # fmt: skip
LOOP_ONLY = ("break", "continue", "if $bool:\n    break", "if $bool:\n    continue")
_HOLE = re.compile(r"\$([a-z]+(?:_[a-z]+)?)")


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.last: dict[str, str] = {}

    def filled(self, template: str, depth: int) -> str:
        return _HOLE.sub(lambda hole: self.hole(hole[1], depth), template)

    def hole(self, kind: str, depth: int) -> str:
        if kind == "name":
            return self.rng.choice(("x", "a", "c", "m"))
        if kind in ("block", "loop", "deep"):
            text = self.block(depth - 1, in_loop=kind == "loop")
            return textwrap.indent(text, "    " * (2 if kind == "deep" else 1))
        if kind.startswith("target_"):
            kind = kind[7:]
            self.last[kind] = self.rng.choice(NAMES[kind])
            return self.last[kind]
        if kind.startswith("same_"):
            return self.last[kind[5:]]
        return self.expression(kind, depth)

    def expression(self, kind: str, depth: int) -> str:
        if kind in NAMES and (depth <= 0 or self.rng.random() < 0.35):
            if kind == "num" and self.rng.random() < 0.2:
                return self.rng.choice(("0.5", "2.0", "-1.0", "3", "0.0"))
            return self.rng.choice(NAMES[kind])
        choices = EXPRESSIONS[kind]
        if depth <= 0:
            choices = tuple(c for c in choices if "$" not in c) or choices
        text = self.filled(self.rng.choice(choices), depth - 1)
        return text if kind == "slice" else f"({text})"

    def block(self, depth: int, in_loop: bool = False, size: int = 0) -> str:
        lines = []
        for _ in range(size or self.rng.randint(1, 3)):
            choices = STATEMENTS
            if depth <= 0:
                choices = tuple(s for s in choices if ":\n" not in s)
            if in_loop and self.rng.random() < 0.15:
                choices = LOOP_ONLY
            lines.append(self.filled(self.rng.choice(choices), depth))
        return "\n".join(lines)


RESULTS = ("$num", "$num", "$num", "np.sum($vec)", "$num + np.sum($vec)", "($num, $vec)")


def generate(seed: int, number: int) -> str:
    """A syntactically valid program: one with a misplaced `global` or `nonlocal` is rejected and
    drawn again."""
    rng = random.Random(f"grammar {seed} {number}")
    while True:
        writer = _Writer(rng)
        body = writer.block(3, size=rng.randint(1, 5))
        body += "\nreturn " + writer.filled(rng.choice(RESULTS), 1)
        text = HEADER + textwrap.indent(body, "    ") + "\n"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                compile(text, "<grammar>", "exec")
            return text
        except SyntaxError:
            continue
