"""What is read off a function's text."""

from __future__ import annotations

from s2s.transforms.frontend.source import read


class Holder:
    def commented(self, x):
        # above
        y = x + 1  # behind
        text = """
    # inside a string"""
        return y, text, "# too"  # last


chosen = [lambda x: (x  # in a fragment
                     + 1)]  # fmt: skip


def test_comments_by_line():
    source = read(Holder.commented)
    first = source.node.line
    assert sorted(source.comments) == [first + 1, first + 2, first + 5]
    assert source.comments_above(first + 2) == ["# above"]
    assert source.trailing_comment(first + 2) == "# behind"
    assert source.trailing_comment(first + 5) == "# last"


def test_comments_of_a_fragment():
    source = read(chosen[0])
    assert source.trailing_comment(source.node.line) == "# in a fragment"
