"""The index of symptoms: every row is whole, and a broken one names its file and key."""

import re

import pytest

from lessons import symptoms as index
from lessons.front_matter import ContentError
from lessons.symptoms import GROUPS, TIERS, symptoms

SOUND = """+++
symptom = "It is late"
first = "Look at `TTFT`."
layer = "overload"
tier = "public"
lessons = ["failure-modes/overload"]
labs = ["preemption-storm"]
evidence = [{ title = "a thread", url = "https://example.org/1" }]
+++

Because of the [[TTFT]].
"""


@pytest.fixture
def read(tmp_path):
    """A function that writes one symptom and reads it."""

    def write(text, name="1.1.md"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        symptoms.cache_clear()
        return symptoms(tmp_path)

    yield write
    symptoms.cache_clear()


def test_a_symptom_has_a_row_and_a_page(read):
    found = read(SOUND)["1.1"]
    assert found.group == GROUPS[0]
    assert found.lessons == (("failure-modes", "overload", "The queue or the token"),)
    assert '<details class="kw" data-term=' in found.html


def test_rows_are_in_the_order_of_people_and_not_of_letters(read):
    for name in ("4.10.md", "4.2.md", "1.6.md"):
        found = read(SOUND, name)
    assert list(found) == ["1.6", "4.2", "4.10"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("overload", "kitchen", "layer: 'kitchen' is none of"),
        ("public", "secret", "tier: 'secret' is none of"),
        ("failure-modes/overload", "failure-modes/nowhere", "there is no station"),
        ("preemption-storm", "storms", "no lab is called 'storms'"),
        ("preemption-storm", "preemption-strom", "did you mean 'preemption-storm'?"),
        ("https://example.org/1", "example.org", "evidence: write"),
        ("[[TTFT]]", "[[TTTF]]", "1.1.md:11: no keyword is called 'TTTF'"),
        ("[[TTFT]]", "<b>x</b>", "1.1.md:11: HTML"),
        ('symptom = "It is late"\n', "", "symptom: missing"),
        ("Because", "/// check | x\n    kind: one\n///\nBecause", "holds no check"),
    ],
)
def test_a_broken_symptom_names_its_file_and_what_to_write(read, old, new, words):
    assert SOUND.replace(old, new) != SOUND
    with pytest.raises(ContentError, match=re.escape(words)):
        read(
            SOUND.replace(old, new, 1)
            if old != "overload"
            else SOUND.replace('"overload"', f'"{new}"')
        )


@pytest.mark.parametrize("name", ["7.1.md", "first.md", "1.0.md"])
def test_a_file_is_called_by_its_number(read, name):
    with pytest.raises(ContentError, match="call it"):
        read(SOUND, name)


@pytest.mark.parametrize("number", list(symptoms()))
def test_every_row_of_the_course_is_whole(number):
    each = symptoms()[number]
    assert each.tier in TIERS
    assert each.first.endswith(".")
    assert len(each.symptom.split()) <= 24
    assert len(each.first.split()) <= 26
    assert each.evidence
    words = len(each.text.split())
    assert 150 <= words <= 520, words
    assert not re.search(r"\b(simply|just|obviously|powerful|robust)\b|!(?!\[)", each.text)


def test_numbers_run_without_a_gap_within_a_group():
    for group in GROUPS:
        mine = [
            int(n.partition(".")[2]) for n in index.symptoms() if n.startswith(f"{group.number}.")
        ]
        assert mine == list(range(1, len(mine) + 1))
