"""Highlighting of Python code as HTML: token classes, escaping, themes."""

from __future__ import annotations

import html
import re

import pytest

from s2s.inspect import highlight
from s2s.inspect.highlight import MARKS, code_html, marked, themed


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("x = 1.5e-3  # <b>", 'x = <i class="n">1.5e-3</i>  <i class="c"># &lt;b&gt;</i>'),
        ("if 'a#b':", '<i class="k">if</i> <i class="s">&#x27;a#b&#x27;</i>:'),
        ("x_bar += f_bar_2", '<i class="b">x_bar</i> += <i class="b">f_bar_2</i>'),
        ("t: f8 = index(x, items=(('int', 1),))",
         't: f8 = index(x, items=((<i class="s">&#x27;int&#x27;</i>, <i class="n">1</i>),))'),
        ("</pre>", "&lt;/pre&gt;"),
    ],
)  # fmt: skip
def test_marks(line, text):
    assert marked(line) == text


LINES = [
    "def energy(x, y_bar=1.0):  # f(x) < 3",
    "    return f'{x!r}' + rb\"\\\"quoted\\\" text\" if not x else None",
    "x1 = 0x1F + 1_000 - 2.5e+10 * x_bar_12 @ abar",
    "'unclosed & <tag> \"mixed'",
    "", "   ", "ärger = 'ü'", "@decorator", "a_bars = b_bar2",
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_the_text_is_unchanged(line):
    assert html.unescape(re.sub(r"</?i[^>]*>", "", marked(line))) == line


def kinds(line):
    return re.findall(r'<i class="(\w)">(.*?)</i>', marked(line))


def test_classes():
    assert kinds("def f(x): return x") == [("k", "def"), ("d", "f"), ("k", "return")]
    assert kinds("class1 = classes.format") == []
    assert kinds("x_bar_12 + a_bars + x_bar") == [("b", "x_bar_12"), ("b", "x_bar")]
    assert kinds("x1 + 1.5e+10 + 2j + 0xff") == [("n", "1.5e+10"), ("n", "2j"), ("n", "0xff")]
    assert kinds("y = 'a # b'  # 'c'")[-1] == ("c", "# &#x27;c&#x27;")
    assert kinds(r"'a\'b' + x")[0] == ("s", r"&#x27;a\&#x27;b&#x27;")


def test_several_lines():
    text = code_html("x = 1\n<y>\n")
    assert text == '<pre class="s2s-code">x = <i class="n">1</i>\n&lt;y&gt;</pre>'


def test_every_class_has_a_colour_in_both_themes():
    for colours in (highlight.COLOURS, highlight.DARK_COLOURS):
        defined = set(re.findall(r"--(\w+):", colours))
        assert set(re.findall(r"var\(--(\w+)\)", MARKS)) <= defined
    css = themed("#here")
    assert css.count("{") == css.count("}")
    assert "@media (prefers-color-scheme: dark) { #here {" in css
    assert 'body[data-jp-theme-light="false"] #here' in css
