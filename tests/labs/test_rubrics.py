"""rubric.toml: what is read, what is refused and how it says so, and what its texts may name."""

import pytest

from labs.catalogue import labs, text_of
from labs.rubric_words import names_of, values_of
from labs.rubrics import (
    FILE,
    Item,
    Rubric,
    RubricError,
    filled,
    read,
    unknown_names,
    with_values,
    written,
)

GOOD = """[[item]]
key = "cause"
title = "Names the cause"
points = 2
note = "This world: {{ hypothesis }}."

[[item]]
key = "blame"
title = "Blames a person"
points = -1
"""


def test_an_item_may_give_points_or_take_them_away():
    cause, blame = read(GOOD).items
    assert (cause.points, cause.choices, cause.takes_away) == (2, (0, 1, 2), False)
    assert (blame.points, blame.choices, blame.takes_away) == (-1, (0, -1), True)
    assert read(GOOD).most == 2


@pytest.mark.parametrize("slug", list(labs()))
def test_every_labs_rubric_is_written_as_it_is_read(slug):
    text = text_of(slug, FILE)
    assert written(read(text)) == text
    assert not list(unknown_names(read(text), names_of(labs()[slug])))
    assert all(item.note for item in read(text).items), "a staff note says what counts"


def test_what_is_hard_to_write_in_toml_comes_back_the_same():
    note = 'Two lines,\n"""quoted""", a \\ and a\ttab,\n\nand an empty one between'
    rubric = Rubric((Item("hard", 'Says "why" \\ not', 1, note), Item("minus", "−", -3)))
    assert read(written(rubric)) == rubric


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("points = 2", "points = 0"), "rubric.toml:4: item 1, points: 1 to 20, or -1 to -20"),
        (("points = 2", 'points = "2"'), "rubric.toml:4: item 1, points: must be a whole number"),
        (("points = 2", "points = true"), "rubric.toml:4: item 1, points: must be a whole number"),
        (("points = 2", "points = -2"), "at least one item must give points"),
        (('key = "blame"', 'key = "cause"'), "rubric.toml:8: item 2, key: cause is another item's"),
        (('key = "blame"', 'key = "To Blame"'), "rubric.toml:8: item 2, key: small letters"),
        (('key = "blame"\n', ""), "rubric.toml:7: item 2, key: missing"),
        (('title = "Names the cause"', 'title = " "'), "rubric.toml:3: item 1, title: say what"),
        (("title =", "titles ="), "no such key; known: key, title, points, note; did you mean 'title'"),
        (("note = ", "note = 4 #"), "rubric.toml:5: item 1, note: must be a text"),
        (("[[item]]", "[[items]]"), "no such key here"),
        (("points = 2", "points = "), "rubric.toml:4: not valid TOML"),
    ],
)  # fmt: skip
def test_a_broken_rubric_names_file_line_and_what_to_write(change, says):
    with pytest.raises(RubricError) as refused:
        read(GOOD.replace(*change), FILE)
    assert says in str(refused.value)


def test_a_text_names_what_the_attempts_world_drew(spec, seeds):
    values = values_of(spec, seeds["demand"], None)
    assert values["hypothesis"] == spec.hypotheses["demand"].title
    assert values["mechanism"] in [each.title for each in spec.mechanisms.values()]
    shown = with_values(read(GOOD), values)
    assert shown.items[0].note == f"This world: {spec.hypotheses['demand'].title}."
    assert shown.keys == read(GOOD).keys


def test_what_a_mark_kept_is_shown_with_its_unit(spec, seeds):
    mark = {"debrief": {"hypothesis": "demand", "prediction": {"truth": 44.0}, "parameter": 1.14}}
    values = values_of(spec, seeds["demand"], mark)
    assert (values["untouched"], values["parameter"]) == (f"44.0 {spec.alarm_unit}", "1.14")
    assert values_of(spec, 1, {"debrief": {}})["parameter"] == "(not known)"


def test_a_name_that_no_lab_has_is_found_with_the_names_that_there_are(spec):
    wrong = read(GOOD.replace("{{ hypothesis }}", "{{ hypotheses }}"))
    (fault,) = unknown_names(wrong, names_of(spec))
    assert "did you mean 'hypothesis'" in fault.says
    assert "mechanism" in fault.says
    assert filled("{{ hypotheses }}", {}) == "{{ hypotheses }}"


def test_only_a_lab_that_asks_for_a_number_has_one_to_name():
    asking = [slug for slug, spec in labs().items() if "parameter" in names_of(spec)]
    assert "preemption-storm" in asking
    assert len(asking) < len(labs())
