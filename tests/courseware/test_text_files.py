"""Files that authors write: whatever an editor does to them, the fault has a line and says what to do."""

import pytest

from courseware.text_files import MOST_BYTES, FileError, line_of, lines_of, text_of, toml_of

TOML = """\
title = "T"
[[steps]]
id = "a"
find = { p95 = "x" }
[[steps]]
id = "b"
"two words" = 1
[steps.more]
deep = 1
"""


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"one\ntw\xe9\n", r":2: is not UTF-8: save the file in UTF-8"),
        ("one".encode("utf-16"), r":1: is not UTF-8"),
        (b"one\n\ntw\x00o", r":3: sign 3 is U\+0000, which nobody sees: take it out"),
        ("one\u2028two".encode(), r":1: sign 4 is U\+2028"),
        (b"x" * (MOST_BYTES + 1), "split it"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(tmp_path, raw, words):
    path = tmp_path / "x.md"
    path.write_bytes(raw)
    with pytest.raises(FileError, match=rf"x\.md.*{words}"):
        text_of(path)


def test_marks_and_line_ends_of_another_system_make_no_difference(tmp_path):
    path = tmp_path / "x.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert text_of(path) == "one\ntwo\nthree\n"


def test_a_folder_a_missing_file_and_a_loop_of_links_are_told_apart(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path, words in (
        (tmp_path, "Is a directory"),
        (tmp_path / "none", "No such file"),
        (loop, "Too many levels of symbolic links"),
    ):
        with pytest.raises(FileError, match=words):
            text_of(path)


@pytest.mark.parametrize(
    ("source", "line"), [("a = 1\nb =\n", 2), ("a = 1\n\nb = '", 3), ("a = 1\na = 2", 2), ("a", 1)]
)
def test_broken_toml_names_its_line_in_the_whole_file(tmp_path, source, line):
    with pytest.raises(FileError, match=rf"x\.md:{line + 4}: not valid TOML: "):
        toml_of(tmp_path / "x.md", source, 5)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("title",), 1),
        (("steps", 0, "id"), 3),
        (("steps", 0, "find", "p95"), 4),
        (("steps", 1), 5),
        (("steps", 1, "id"), 6),
        (("steps", 1, "two words"), 7),
        (("steps", 1, "more", "deep"), 9),
        (("nothing",), None),
    ],
)
def test_a_key_is_found_where_it_stands(keys, line):
    assert line_of(lines_of(TOML), keys) == line
