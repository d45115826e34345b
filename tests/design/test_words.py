"""Words that are no terms of the field do not spread: `words.txt` has a ceiling for each folder."""

from __future__ import annotations

import ast

import pytest

from tests.design import words

WORDS = words.words()


@pytest.mark.parametrize("folder", words.FOLDERS)
def test_words_stay_below_their_ceilings(folder: str) -> None:
    column = words.FOLDERS.index(folder)
    for word, found in zip(WORDS, words.occurrences(WORDS, words.texts(folder))):
        ceiling = word.ceilings[column]
        assert len(found) <= ceiling, (
            f"{word.kind} of {folder}: {word.pattern!r} occurs {len(found)} times, the ceiling is "
            f"{ceiling}; write: {word.instead}\n" + "\n".join(found)
        )


def test_each_word_has_a_ceiling_per_folder() -> None:
    keys = [(word.pattern, word.kind) for word in WORDS]
    assert len(keys) == len(set(keys))
    assert {word.kind for word in WORDS} == {"prose", "names"}
    assert all(len(word.ceilings) == len(words.FOLDERS) for word in WORDS)
    assert all(word.instead for word in WORDS)


def test_names_are_matched_by_their_parts() -> None:
    source = "def max_rounds(x): around = x.rounds = roundness = 1\nclass TwoRounds: ...\nrounds(1)"
    text = words.read("a.py", source)
    (found,) = words.occurrences([words.Word("rounds?", "names", "", ())], [text])
    assert found == ["a.py:1: max_rounds", "a.py:2: TwoRounds", "a.py:1: rounds"]


def test_names_that_are_only_read_do_not_count() -> None:
    assert words.bound_names(ast.parse("import rounds\nx = np.round(rounds, told=1)")) == {"x": 2}


def test_prose_is_docstrings_and_comments_without_code() -> None:
    source = '"""One.\n\nA round, not `round`."""\nx = "a round"  # Rounds\n'
    (found,) = words.occurrences(
        [words.Word("rounds?", "prose", "", ())], [words.read("a.py", source)]
    )
    assert found == ["a.py:3: round", "a.py:4: Rounds"]


def test_pages_are_prose_without_their_blocks() -> None:
    page = "at\nhome\n```python\nat home\n```\nAt home `at home`\n"
    (found,) = words.occurrences(
        [words.Word("at home", "prose", "", ())], [words.read("a.md", page)]
    )
    assert found == ["a.md:1: at\nhome", "a.md:6: At home"]
