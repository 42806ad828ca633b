"""The patterns of grep: what they mean, and that none can hold a worker."""

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from labs.console import pattern_problem
from labs.console.patterns import Pattern

LINE = "INFO 01-05 10:59:10 Running: 33 reqs, Waiting: 12 reqs, GPU KV cache usage: 98.1%"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("Waiting", True),
        ("waiting", False),
        ("^INFO", True),
        ("^GPU", False),
        ("98.1%$", True),
        ("Running: .* reqs, GPU", True),
        ("Running|Deferred", True),
        (r"Running\|Deferred", True),
        (r"(Running|Waiting): (33|44)", True),
        (r"\(Waiting\): 12", True),
        (r"[0-9]+\.[0-9]%", True),
        (r"[[:digit:]]\.1", True),
        ("[^a-z]eqs", False),
        (r"\d\d:\d\d", True),
        (r"KV\s+cache", True),
        ("colou?r|us?age", True),
        ("usage{", False),
        ("[]%]$", True),
        ("", True),
    ],
)
def test_a_pattern_finds_what_grep_would_find(pattern, found):
    assert Pattern(pattern).search(LINE) is found


def test_case_is_ignored_when_asked():
    assert Pattern("WAITING: [a-z0-9]*", ignore_case=True).search(LINE)
    assert not Pattern(r"^\D*$", ignore_case=True).search("a1")


def test_an_empty_line_has_its_start_and_its_end():
    assert Pattern("^$").search("")
    assert not Pattern("^$").search("a")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a" * 121, "longer than 120"),
        ("(a", "never closed"),
        ("a)", "without its ("),
        ("[a", "never closed"),
        ("*a", "nothing before *"),
        ("a{2,3}", "counted repeats"),
        ("(?=a)", "look-around"),
        (r"\bword", r"\b is not known"),
        ("a\\", "ends in a backslash"),
        ("[z-a]", "backwards"),
    ],
)
def test_what_is_not_taken_is_said(pattern, problem):
    assert problem in pattern_problem(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a*)*" * 20 + "b",
        "(.*)*" * 20 + "#",
        "(--|-)" * 18 + "#",
        ".*" + "(--|-)" * 12 + ".*#",
        "(((((((((((a+)+)+)+)+)+)+)+)+)+)+)+#",
        "(a|a|a|a)*" * 10 + "#",
    ],
)
def test_no_pattern_holds_a_worker(pattern):
    lines = ["+" + "-" * 200 + "+", "a" * 200, LINE * 3] * 30
    began = time.perf_counter()
    matcher = Pattern(pattern)
    assert not any(matcher.search(line) for line in lines)
    assert time.perf_counter() - began < 2


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.sampled_from([*"ab.()|*?^$", "[ab]", "[^a]", "(?:", r"\d", "+"]), max_size=9).map(
        "".join
    ),
    st.lists(st.text("ab1\n-".replace("\n", ""), max_size=6), min_size=1, max_size=5),
)
def test_python_finds_the_same(pattern, lines):
    # Python refuses repeated anchors and gives doubled repeats and (? another meaning.
    assume(not re.search(r"[*+?]{2}|[\^$][*+?]|\(\?(?!:)", pattern))
    try:
        theirs = re.compile(pattern)
    except re.error:
        assert pattern_problem(pattern)
        return
    ours = Pattern(pattern)
    for line in lines:
        assert ours.search(line) is bool(theirs.search(line)), (pattern, line)
