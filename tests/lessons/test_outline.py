import pytest

from lessons.outline import Block, SourceError, blocks_of


def mistake(*lines: str) -> tuple[int, str]:
    with pytest.raises(SourceError) as caught:
        blocks_of(list(lines))
    return caught.value.line, str(caught.value)


def test_a_block_keeps_its_argument_options_and_body():
    parts = blocks_of(["Text.", "/// check | flat", "    kind: one", "", "Ask?", "///", "More."])
    assert parts[0] == "Text."
    assert parts[1] == Block("check", "flat", 2, {"kind": "one"}, ["Ask?"], 5)
    assert parts[2] == "More."


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["", "/// quiz | x", "///"], 2, "no block is called 'quiz'"),
        (["/// note | x", "text"], 1, "never closed"),
        (["/// note | x", "/// side | y"], 2, "the block of line 1 is still open"),
        (["///"], 1, "none is open"),
        (["/// analogy", "///"], 1, "/// analogy | a title"),
        (["/// takeaway | why", "///"], 1, "alone"),
        (["/// check | x", "    colour: red", "///"], 2, "no option 'colour'"),
        (["/// figure | x", "words", "///"], 2, "holds no text"),
        (["fine", "a <b>bold</b> word"], 2, "HTML"),
        (["<script>alert(1)</script>"], 1, "HTML"),
        (["{{ no_such }}"], 1, "no number is called 'no_such'"),
        (["{{ atlas_toke }}"], 1, "'atlas_toke'; did you mean 'atlas_tokens'?"),
        (["[x](javascript:alert)"], 1, "link to"),
        (["[x](http://example.org)"], 1, "link to"),
    ],
)
def test_a_mistake_names_its_line(lines, line, words):
    found_line, found_words = mistake(*lines)
    assert found_line == line
    assert words in found_words


def test_a_number_is_filled_in_from_the_arithmetic():
    assert blocks_of(["{{ atlas_tokens }} tokens"]) == ["114,688 tokens"]


def test_less_than_is_allowed_as_a_sign_and_in_code():
    assert blocks_of(["a < b and `<pad>`"]) == ["a < b and `<pad>`"]
