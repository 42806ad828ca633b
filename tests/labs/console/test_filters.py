"""What stands behind a pipe, line by line."""

import pytest

from labs.console import filtered, parse

TEXT = "one\ntwo\nthree\nTWO and more\nfive"


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("grep two", "two"),
        ("grep -i two", "two\nTWO and more"),
        ("grep -v t", "one\nTWO and more\nfive"),
        ("grep -vi t", "one\nfive"),
        ("grep -E 'one|five'", "one\nfive"),
        ("grep nothing", ""),
        ("head -n 2", "one\ntwo"),
        ("head -1", "one"),
        ("tail -n2", "TWO and more\nfive"),
        ("tail -n 0", ""),
        ("wc -l", "5"),
        ("grep t | wc -l", "2"),
        ("grep -i t | head -1 | tail -1", "two"),
    ],
)
def test_filters_leave_what_they_should(line, left):
    assert filtered(TEXT, parse(f"steps | {line}").filters) == left
