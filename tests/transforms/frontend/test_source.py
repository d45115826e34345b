"""What is read off a function's text."""

from __future__ import annotations

import libcst as cst

from s2s.transforms.frontend.source import Source, read


class Holder:
    def commented(self, x):
        # above
        y = x + 1  # behind
        text = """
    # inside a string"""
        return y, text, "# too"  # last


chosen = [lambda x: (x  # in a fragment
                     + 1)]  # fmt: skip


def texts(source: Source) -> dict[int, str]:
    """The comments by line, counted from the first."""
    return {line - source.node.line: text for line, (_, text) in source.comments.items()}


def test_comments_by_line():
    source = read(Holder.commented)
    assert texts(source) == {1: "# above", 2: "# behind", 5: "# last"}
    for line, (column, text) in source.comments.items():
        assert source.line(line)[column:] == text


def test_comments_of_a_fragment():
    source = read(chosen[0])
    assert texts(source) == {0: "# in a fragment", 1: "# fmt: skip"}
    assert source.without_comments(source.span(source.node.body[0])) == "x + 1"
    assert source.without_comments(source.span(source.node)) == "lambda x: (x + 1)"


def test_a_text_without_comments_on_one_line():
    def several(x):
        y = [  # brackets
            x,
            # a line of its own
            "# no comment",
        ]  # behind
        return y

    source = read(several)
    span = source.span(source.node.body[0])
    assert source.without_comments(span) == 'y = [ x, "# no comment", ]'


# fmt: off
@(lambda f: f)
@(
    lambda f: f
)
def decorated(x):
    return x  # behind
# fmt: on


def test_the_tree_is_parsed_again():
    for function in (Holder.commented, decorated):
        source = read(function)
        tree = source.tree()
        assert tree is not None and tree is not source.tree()
        found = [n for n in tree.recorder.found[cst.FunctionDef] if tree.at(n) == source.node.at]
        assert [n.name.value for n in found] == [function.__name__]
        lines = source.lines[source.first - 1 : source.last]
        assert tree.module.code.endswith("".join(lines))


def test_no_tree_of_a_lambda_or_of_a_cut_line():
    assert read(chosen[0]).tree() is None
    lines = ["def f(x):\n", "    return x \\\n", "\n"]
    source = read(decorated)
    cut = Source("f.py", lines, source.node, 1, 2)
    assert cut.tree() is None
    assert Source("f.py", lines, source.node, 1, 3).tree() is not None
