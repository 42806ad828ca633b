"""A roster as people keep it: what is read of it, and what is said of what cannot be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from courseware.cohorts.roster import labels_in, read

HEAD = "email,name,role,labels,extra_time\n"


def only(line, head=HEAD):
    (row,) = read(head + line).rows
    return row


def test_a_row_is_read_field_by_field():
    row = only('ADA@Example.org,"Lovelace, Ada",Grader,Pilot; night-shift;pilot,25 %')
    assert (row.line, row.email, row.name, row.role) == (
        2,
        "ada@example.org",
        "Lovelace, Ada",
        "grader",
    )
    assert (row.labels, row.extra_time_percent, row.fault) == (("pilot", "night-shift"), 25, "")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_columns_come_in_any_order_and_with_any_usual_separator(mark):
    row = only(mark.join(["Ada", "ada@example.org"]), head=mark.join(["Name", "Email"]) + "\n")
    assert (row.name, row.email, row.fault) == ("Ada", "ada@example.org", "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "There is no row here"),
        (
            "mail,name\nada@example.org,Ada",
            "a column “mail”, which is not known. Did you mean email?",
        ),
        ("email,shoe\n", "Known are email, name, role, labels, extra_time."),
        ("name,role\nAda,learner", "names no column email"),
        ("email,email\n", "names the column email twice"),
        ("ada@example.org,Ada\n", "is a person, not the names of the columns"),
        (HEAD, "no row below them"),
    ],
)
def test_a_text_that_is_no_roster_is_refused_with_what_to_do(text, fault):
    assert fault in read(text).fault


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (",Ada", "address is missing"),
        ("ada,Ada", "“ada” is no e-mail address"),
        ("ada@example.org,Ada,teacher", "“teacher” is no role"),
        ("ada@example.org,,,,much", "“much” is no extra time. Write whole per cent, such as 25."),
        ("ada@example.org,,,,-5", "is no extra time"),
        ("ada@example.org,,,,900", "is over 400 %"),
        ("ada@example.org," + "A" * 81, "The name has 81 characters; 80 fit."),
        ("ada@example.org,,," + "x" * 41, "has 41 characters; 40 fit."),
        ("ada@example.org,Lovelace,Ada,learner,,25", "6 fields, and 5 columns"),
        ("ada@example.org,A\x00da", "cannot be printed"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(line, fault):
    assert fault in only(line).fault


def test_an_address_that_comes_twice_names_the_line_of_the_first():
    _, second = read(HEAD + "ada@example.org\nADA@example.org").rows
    assert "ada@example.org stands in line 2 already" in second.fault


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    for row in read(HEAD + text).rows:
        assert row.fault or "@" in row.email


def test_labels_are_words_in_lower_case_each_once():
    assert labels_in("Pilot, night-shift | pilot") == ("pilot", "night-shift")
