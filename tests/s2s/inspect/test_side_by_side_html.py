"""A function beside its gradient as HTML: classes of counterparts, hover rules, escaping."""

from __future__ import annotations

import html.parser
import re

import numpy as np

import s2s
from s2s.inspect.side_by_side import Emitted, Listing, Sides, sides
from s2s.inspect.side_by_side_html import sides_html, standalone_html
from tests.s2s.inspect.sides_program import energy

FILE = "/home/user/<model>.py"


def by_hand() -> Sides:
    listing = Listing("<f>", FILE, 10, ("def f(x):", "    return x < 1  # <b>"))
    emitted = [
        Emitted(1, "def f_vjp(x):"),
        Emitted(2, "    y = x < 1", ((FILE, 11),)),
        Emitted(3, "    z = '<i>'", ((FILE, 10), (FILE, 11)), sweep=1),
    ]
    return Sides([listing], emitted, {(FILE, 10): [3], (FILE, 11): [2, 3]})


class Checked(html.parser.HTMLParser):
    """Collects the rows, and sees that tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        kind = dict(attrs).get("class") or ""
        if kind.startswith("s2s-line"):
            self.rows.append(kind)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> Checked:
    checked = Checked()
    checked.feed(text)
    assert checked.open == []
    return checked


def test_rows_have_the_classes_of_their_counterparts() -> None:
    checked = parsed(sides_html(by_hand(), "one"))
    # `p0`: line 10 itself; `c1`: code that line 11 calls
    left, right = checked.rows[:2], checked.rows[2:]
    assert left == ["s2s-line p0", "s2s-line p1"]
    assert right == ["s2s-line", "s2s-line p1", "s2s-line p0 c1"]
    for text in ("<f>", "return x < 1  # <b>", "z = '<i>'", "L11", "emitted"):
        assert text in checked.text


def test_call_stacks_are_shown_as_titles() -> None:
    text = sides_html(by_hand(), "one")
    assert 'title="/home/user/&lt;model&gt;.py:10 ← /home/user/&lt;model&gt;.py:11"' in text
    assert text.count("title=") == 1


def test_hover_rules_belong_to_one_element() -> None:
    text = sides_html(by_hand(), "<one>")
    assert 'id="&lt;one&gt;"' in text
    style = re.findall(r"<style>(.*?)</style>", sides_html(by_hand(), "one"), re.DOTALL)[0]
    assert style.count("background: var(--lit)") == 2
    selectors = re.findall(r"(?:^|, |\n)(\S+):has\(", style)
    assert len(selectors) == 6 and set(selectors) == {"#one"}


def test_alone_has_all_styles_and_no_script() -> None:
    text = standalone_html(by_hand(), "one")
    assert "--keyword:" in text and ".s2s-side {" in text and "<script" not in text
    assert text.endswith(sides_html(by_hand(), "one"))


def test_a_compiled_gradient() -> None:
    gradient = s2s.grad(energy, backend="python")
    both = sides(energy, gradient._entry_for((np.ones(3),), {}).compiled)
    checked = parsed(sides_html(both, "one"))
    assert len(checked.rows) == sum(len(x.lines) for x in both.listings) + len(both.emitted)
    for line in both.emitted:
        assert line.text.strip() in checked.text
