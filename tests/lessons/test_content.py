"""The content proves itself; and a broken lesson says where it is broken."""

import re
import shutil

import pytest

from courseware.served import CHECKOUT
from lessons import content
from lessons.checks_marking import mark
from lessons.front_matter import ContentError
from lessons.predictions import QUESTIONS

LESSON = content.lessons()["failure-modes"]
CHECKS = [(s.slug, key) for s in LESSON.stations for key in s.checks]
PREDICTIONS = [
    key for lesson in content.lessons().values() for s in lesson.stations for key in s.predictions
]
STATION = """+++
title = "One"
short = "One"
minutes = 3
+++

/// in-short
Short.
///

/// analogy | In the kitchen
Words.
///

/// takeaway
Keep.
///
"""


def question(station: str, key: str):
    return LESSON.station(station).checks[key]


def test_the_lesson_has_six_stations_in_the_order_of_the_layers():
    assert LESSON.number == 23
    assert [s.layers for s in LESSON.stations] == [
        (), ("boundary",), ("memory",), ("overload",), ("compatibility",), ("lifetime",),
    ]  # fmt: skip


def test_its_neighbours_are_named_and_linked_where_there_is_a_lesson():
    assert (LESSON.previous.number, LESSON.previous.slug) == (22, "")
    assert (LESSON.following.number, LESSON.following.slug) == (24, "method")


def test_every_neighbour_with_a_slug_is_a_lesson_of_this_course():
    known = content.lessons()
    for lesson in known.values():
        for neighbour in (lesson.previous, lesson.following):
            if neighbour and neighbour.slug:
                assert known[neighbour.slug].title == neighbour.title
                assert known[neighbour.slug].number == neighbour.number


@pytest.mark.parametrize(("station", "key"), CHECKS)
def test_the_right_answer_of_a_check_earns(station, key):
    asked = question(station, key)
    right = [f"{asked.answer}"] if asked.kind == "number" else sorted(asked.right_keys)
    assert mark(asked, right).right
    assert asked.explanation


@pytest.mark.parametrize(("station", "key"), CHECKS)
def test_every_wrong_answer_of_a_check_has_feedback(station, key):
    asked = question(station, key)
    if asked.kind == "number":
        wrong = [[f"{t.value}"] for t in asked.tempting if t.value is not None] + [["123456"]]
    else:
        wrong = [[o.key] for o in asked.options if not o.right]
    for answer in wrong:
        verdict = mark(asked, answer)
        assert not verdict.right
        assert all(len(line) > 10 for line in verdict.feedback)
        assert verdict.feedback


def test_the_last_station_asks_five_questions_that_reach_back():
    assert len(LESSON.stations[-1].checks) == 5


def test_every_prediction_that_can_be_computed_is_asked_once():
    assert sorted(PREDICTIONS) == sorted(QUESTIONS)


def test_the_triage_table_has_eight_rows():
    html = "".join(p.value for p in LESSON.stations[-1].parts if p.kind == "prose")
    table = html[html.index("read first") :].partition("</tbody>")[0]
    assert table.count('<th scope="row">') == 8


def test_one_keyword_at_most_is_open_on_a_page():
    for station in LESSON.stations:
        html = "".join(part.value for part in station.parts if part.kind == "prose")
        assert len(re.findall(r'<details class="kw"[^>]* open', html)) <= 1
        assert html.count('<details class="kw"') >= 1


def test_an_analogy_ends_where_it_breaks():
    for path in CHECKOUT.lessons.glob("[0-9]*/*/*.md"):
        text = path.read_text(encoding="utf-8")
        analogy = text.partition("/// analogy")[2].partition("\n///")[0]
        assert "Where it breaks:" in analogy, path


@pytest.mark.parametrize("word", ["simply", "just", "obviously", "powerful", "robust", "!"])
def test_the_text_keeps_the_voice(word):
    for path in CHECKOUT.lessons.rglob("*.md"):
        prose = re.sub(r"`[^`]*`", "", path.read_text(encoding="utf-8"))
        assert not re.search(
            rf"\b{word}\b" if word.isalpha() else re.escape(word), prose, re.IGNORECASE
        ), path


# ---------------------------------------------------------------------------------- broken lessons


@pytest.fixture
def course(tmp_path):
    """A function that writes a course of one station and reads it."""

    def read(text: str = STATION, **files: str):
        root = tmp_path / "content"
        shutil.rmtree(root, ignore_errors=True)
        folder = root / "01-unit" / "01-lesson"
        folder.mkdir(parents=True)
        (root / "01-unit" / "unit.toml").write_text('title = "Unit"')
        lesson = files.get("lesson", 'title = "L"\nnumber = 1\ngoal = "G"\n')
        (folder / "lesson.toml").write_text(lesson)
        (folder / "01-one.md").write_text(text)
        content.course.cache_clear()
        return content.course(root)

    yield read
    content.course.cache_clear()


def test_the_smallest_lesson_can_be_read(course):
    (unit,) = course()
    assert unit.lessons[0].stations[0].title == "One"


@pytest.mark.parametrize(
    ("extra", "line", "words"),
    [
        ("/// figure | nope\n///", 19, "no figure is called 'nope'"),
        ("/// lab | nope\n///", 19, "no lab is called 'nope'"),
        ("/// lab | preemption-strom\n///", 19, "did you mean 'preemption-storm'?"),
        ("/// demo | nope\n///", 19, "no demonstration is called 'nope'"),
        ("/// demo | open-and-closed\n    nope: 3\n///", 19, "there is no control 'nope'"),
        ("/// demo | open-and-closed\n    clients: 0\n///", 19, "“0” is below the least"),
        ("/// demo | open-and-closed\nText.\n///", 20, "a demo holds no text"),
        ("/// predict | nope\n    ask: What?\n> E.\n///", 19, "nothing computes"),
        ("/// predict | cap-28\n> E.\n///", 19, "ask"),
        ("/// predict | cap-28\n    ask: What?\nSetting.\n///", 19, "explains nothing"),
        (
            "/// predict | cap-28\n    ask: What?\n> {{ computed.nope }}\n///",
            19,
            "computes no 'nope'",
        ),
        (
            "/// predict | cap-28\n    ask: What?\n{{ computed.p95_28 }}\n> E.\n///",
            19,
            "explanation",
        ),
        (
            "/// check | x\n    kind: one\nAsk?\n- [ ] a\n  > t\n- [ ] b\n  > t\n> e\n///",
            19,
            "no option is right",
        ),
        (
            "/// check | X\n    kind: one\nAsk?\n- [x] a\n- [ ] b\n  > t\n> e\n///",
            19,
            "write an id",
        ),
        (
            "/// check | x\n    kind: one\nAsk [[a]]?\n- [x] a\n- [ ] b\n  > t\n> e\n///",
            21,
            "no keyword",
        ),
        ("A [[mystery]].", 19, "no keyword is called 'mystery'"),
        ("A [[TTTF]].", 19, "did you mean 'TTFT'"),
        ("/// keyword | TTFT\nIt means.\n///", 19, "no block is called"),
        ("/// takeaway\nAnother.\n///", 19, "one takeaway"),
        ("<em>x</em>", 19, "HTML"),
        ("A [[mys\ntery]].", 19, "no keyword is called 'mys tery'"),
        ("Text.\n\tText.", 20, "a tab begins this line"),
        ("```\nNever closed.", 19, "the code that begins here never ends"),
        ("/// check | x\n    kind: one\n    kind: many\nAsk?\n///", 21, "'kind' stands here twice"),
        ("/// check | read\n    kind: one\nAsk?\n///", 19, "rename it"),
    ],
)
def test_a_broken_station_names_its_file_and_line(course, extra, line, words):
    with pytest.raises(ContentError) as caught:
        course(STATION + "\n" + extra + "\n")
    assert re.search(rf"01-one\.md:{line}: ", str(caught.value)), caught.value
    assert words in str(caught.value)


def test_a_station_without_a_takeaway_is_refused(course):
    with pytest.raises(ContentError, match=r"01-one\.md:\d+: a station has one takeaway"):
        course(STATION.replace("/// takeaway\nKeep.\n///\n", ""))


def test_the_same_check_twice_is_refused(course):
    check = "/// check | x\n    kind: one\nAsk?\n- [x] a\n- [ ] b\n  > t\n> e\n///\n"
    with pytest.raises(ContentError, match=r"stands in 01-one\.md:19 too"):
        course(STATION + "\n" + check + "\n" + check)


@pytest.mark.parametrize(
    ("lesson", "words"),
    [
        ('title = "L"\nnumber = "1"\ngoal = "G"', "number: write a whole number"),
        ('title = "L"\nnumber = 1', "goal: missing"),
        ('title = "L"\nnumber = 1\ngoal = "G"\ncolour = "red"', "colour: unknown key"),
        ("title = ", r"lesson\.toml:1: not valid TOML"),
        ('title = "L"\nnumber = 0\ngoal = "G"', r"lesson\.toml:2: number: write a whole number"),
        ('title = "L"\nnumber = 1\ngoal = " "', r"lesson\.toml:3: goal: is empty"),
        (
            'title = "L"\nnumber = 1\ngoal = "G"\n[next]\nnumber = 2\ntitle = "N"\nslug = "no"',
            "there is no lesson 'no'",
        ),
    ],
)
def test_a_broken_lesson_file_names_its_key(course, lesson, words):
    with pytest.raises(ContentError, match=words):
        course(lesson=lesson)


def test_a_mark_broken_over_two_lines_unfolds_as_on_one(course):
    (unit,) = course(STATION + "\nThe [[KV\npool]] is full.\n")
    prose = "".join(part.value for part in unit.lessons[0].stations[0].parts)
    assert "blocks of 16" in prose


def test_two_stations_with_one_address_and_a_folder_that_is_no_file_are_refused(course, tmp_path):
    course()
    folder = tmp_path / "content" / "01-unit" / "01-lesson"
    (folder / "02-one.md").write_text(STATION)
    content.course.cache_clear()
    with pytest.raises(ContentError, match=r"02-one\.md: has the slug of 01-one\.md"):
        content.course(tmp_path / "content")
    (folder / "02-one.md").unlink()
    (folder / "02-two.md").mkdir()
    with pytest.raises(ContentError, match=r"02-two\.md: cannot be read: Is a directory"):
        content.course(tmp_path / "content")
    with pytest.raises(ContentError, match="nowhere: cannot be read"):
        content.course(tmp_path / "nowhere")
