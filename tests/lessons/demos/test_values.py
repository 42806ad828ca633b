import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.demos.demo import Choice, Demo, Number, Shown
from lessons.demos.values import SettingError, options_of, read, value_of, words
from lessons.figures import Table

COUNT = Number("count", "Clients", "clients", 1, 2_000, 1, 8)
SHARE = Number("share", "Share", "%", 0, 1, 0.05, 0.5)
KIND = Choice("kind", "Kind", (("a", "First"), ("b", "Second")), "a")


def shown(*, count, share, kind):
    return Shown(f"{count} {share} {kind}.", Table("", (), ()))


DEMO = Demo("each", "Each", (COUNT, SHARE, KIND), shown)


@pytest.mark.parametrize(
    ("control", "typed", "value"),
    [
        (COUNT, "12", 12),
        (COUNT, " 1,200 ", 1_200),
        (COUNT, "1 200", 1_200),
        (COUNT, "12.0", 12),
        (COUNT, "12 clients", 12),
        (SHARE, "0.123", 0.123),
        (SHARE, ".5", 0.5),
        (SHARE, "1%", 1.0),
        (KIND, "b", "b"),
    ],
)
def test_what_people_type_is_understood(control, typed, value):
    assert value_of(control, typed) == value


@pytest.mark.parametrize(
    ("control", "typed", "words"),
    [
        (COUNT, "", "Write a whole number from 1 to 2,000."),
        (COUNT, "abc", "“abc” is no number: write a whole number from 1 to 2,000."),
        (COUNT, "0", "“0” is below the least: write a whole number from 1 to 2,000."),
        (COUNT, "-3", "“-3” is below the least: write a whole number from 1 to 2,000."),
        (COUNT, "2001", "“2001” is above the most: write a whole number from 1 to 2,000."),
        (COUNT, "2.5", "“2.5” is not whole: write a whole number from 1 to 2,000."),
        (SHARE, "0,5", "“0,5” is no number: write a number from 0 to 1."),
        (SHARE, "1e-1", "“1e-1” is no number: write a number from 0 to 1."),
        (SHARE, "٣", "“٣” is above the most: write a number from 0 to 1."),
        (SHARE, "9" * 400, f"“{'9' * 19}…” is no number: write a number from 0 to 1."),
        (KIND, "c", "“c” is none of “First”, “Second”."),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(control, typed, words):
    with pytest.raises(SettingError) as caught:
        value_of(control, typed)
    assert str(caught.value) == words


@settings(max_examples=40)
@given(st.text(max_size=40))
def test_no_text_breaks_a_control(text):
    for control in DEMO.controls:
        try:
            value = value_of(control, text)
        except SettingError:
            continue
        assert isinstance(control, Choice) or control.least <= value <= control.most


def test_a_fault_keeps_the_words_and_the_value_from_before():
    setting = read(DEMO, {"count": "many", "share": "0.25"}, DEMO.start)
    assert setting.values == {"count": 8, "share": 0.25, "kind": "a"}
    assert setting.typed == {"count": "many", "share": "0.25", "kind": "a"}
    assert list(setting.faults) == ["count"]


def test_whole_controls_hold_whole_numbers():
    assert isinstance(DEMO.start["count"], int)
    assert isinstance(DEMO.start["share"], float)
    assert (COUNT.written(1_200), SHARE.written(0.05), SHARE.written(0.0)) == ("1200", "0.05", "0")
    assert words(COUNT, 1_200) == "1,200"
    assert words(KIND, "b") == "Second"


def test_a_lessons_options_set_the_controls():
    assert options_of(DEMO, {"count": "3", "kind": "b"}) == {"count": 3, "share": 0.5, "kind": "b"}


@pytest.mark.parametrize(
    ("options", "words"),
    [({"clients": "3"}, "no control 'clients', only count, share, kind"), ({"count": "0"}, "count: “0” is below")],
)  # fmt: skip
def test_a_lessons_wrong_option_is_named(options, words):
    with pytest.raises(SettingError, match=words):
        options_of(DEMO, options)


def test_a_default_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="outside 1 to 4"):
        Number("n", "N", "", 1, 4, 1, 5)
    with pytest.raises(ValueError, match="no option"):
        Choice("k", "K", (("a", "A"),), "b")
