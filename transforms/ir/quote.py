"""Escape text from outside (names, file names, messages) for the language it is written into.

File names, qualified names and the names of variables are arbitrary strings.  Each function here
yields text that cannot end the comment, string or line it is put into.  Every template that
writes such text uses one of them.
"""

from __future__ import annotations

import keyword
import os
import re


def printable(text: str) -> str:
    """One line without control characters: line breaks, terminal escapes, marks that change the
    direction of writing and lone surrogates become backslash escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def printable_lines(text: str) -> str:
    """The same for several lines, which may be indented by tabs."""
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def file_name(path: str) -> str:
    """The last part of a path, as it is shown to people."""
    return printable(os.path.basename(path))


# What Python takes for the declaration of a file's encoding, if it stands in the first lines.
_CODING = re.compile(r"coding(?=[:=])")


def python_comment(text: str) -> str:
    """The text of a comment in Python, without the `#`."""
    return _CODING.sub("coding ", printable(text))


def python_docstring(text: str) -> str:
    """A string literal in triple quotes."""
    inner = printable(text.replace("\\", "\\\\")).replace('"', '\\"')
    return f'"""{inner}"""'


def attribute(holder: str, name: str) -> str:
    """Python text for an attribute, whose name need not be an identifier: `setattr` takes any."""
    plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
    return f"{holder}.{name}" if plain else f"getattr({holder}, {name!r})"


def c_comment(text: str) -> str:
    """The text of a comment in C, without its delimiters.  A comment neither ends nor begins
    inside, and no line ends in a backslash."""
    inner = printable(text).replace("*/", "* /").replace("/*", "/ *")
    return inner + " " if inner.endswith(("\\", "*", "/")) else inner


def c_identifier(name: str) -> str:
    """A name in letters, digits and underscores of ASCII; other letters are spelt by number."""
    spelt = "".join(c if c.isascii() or not c.isalnum() else f"u{ord(c):04x}" for c in name)
    return re.sub(r"\W", "_", spelt, flags=re.ASCII)


def html_text(text: str) -> str:
    """The text of an element or an attribute in HTML."""
    import html  # whose tables are large

    return html.escape(printable_lines(text))
