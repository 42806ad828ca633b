"""The guide for authors shows every block, with a source that the course takes and a picture of what it makes."""

import re

import pytest

from courseware.gallery import AFTER, BEFORE, GUIDE, PICTURES, beside, examples, station_of
from courseware.previewing import page_of, preview_of
from lessons.outline import SPECS
from lessons.questions import KINDS

SHOWN = list(examples(GUIDE.read_text(encoding="utf-8")))
MOST_BYTES = 40_000


def test_every_block_of_the_course_is_shown_and_no_other():
    assert {each.block for each in SHOWN} == set(SPECS)


def test_every_kind_of_check_is_shown():
    assert {each.kind for each in SHOWN if each.block == "check"} == set(KINDS)


def test_every_picture_belongs_to_a_source_or_a_guide_and_each_is_there():
    guides = [path for path in GUIDE.parent.glob("*.md") if path != GUIDE]
    shown = {
        name for path in guides for name in re.findall(r"\(pictures/([^)]+)\)", path.read_text())
    }
    shown |= {each.picture.name for each in SHOWN}
    assert {path.name for path in PICTURES.iterdir()} == shown
    assert len({each.name for each in SHOWN}) == len(SHOWN)


@pytest.mark.parametrize("example", SHOWN, ids=lambda each: each.name)
def test_a_source_is_one_that_the_course_takes_and_its_picture_is_a_small_webp(example, tmp_path):
    path = tmp_path / "01-example.md"
    path.write_text(station_of(example))
    for name, text in beside(example, GUIDE.read_text(encoding="utf-8")).items():
        (tmp_path / name).write_text(text)
    found = preview_of(path)
    assert found.fault == ""
    html = page_of(found)
    assert html.index(BEFORE) < html.index(AFTER)
    drawn = example.picture.read_bytes()
    assert (drawn[:4], drawn[8:12]) == (b"RIFF", b"WEBP")
    assert len(drawn) < MOST_BYTES


def test_a_source_without_a_picture_right_behind_it_is_no_example():
    fence = "```\n/// lab | preemption-storm\n///\n```\n"
    assert list(examples(f"{fence}\nWords.\n\n![A card](pictures/lab.webp)\n")) == []
    (one,) = examples(f"```\n/// name\n///\n```\n\n{fence}\n![A card](pictures/lab.webp)\n")
    assert (one.block, one.source, one.words, one.name) == (
        "lab", "/// lab | preemption-storm\n///\n", "A card", "lab",
    )  # fmt: skip
