"""What an author sees of a file while they type."""

import pytest

from courseware.served import CHECKOUT, tree
from courseware.studio.looking import look_at
from courseware.studio.pieces import files_at, piece_at, pieces_in
from courseware.studio.starts import CLONED, starting

pytestmark = pytest.mark.django_db
LESSON, LAB, DRILL = "lessons/02-playbook/24-method", "labs/preemption-storm", "lessons/drills/1.1"


def look(path, name, replaced=None, **more):
    files = dict(files_at(pieces_in(CHECKOUT)[path])) | more
    if replaced is not None:
        old, new = (each.encode() for each in replaced)
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)
    return look_at(piece_at(path), files, name)


@pytest.mark.parametrize(
    ("path", "name", "kind"),
    [
        (LESSON, "01-split.md", "station"),
        (LAB, "brief.md", "lab"),
        (DRILL, "scene.md", "drill"),
        ("lessons/symptoms/4.6.md", "4.6.md", "symptom"),
    ],
)
def test_a_text_is_shown_as_its_readers_see_it(path, name, kind):
    looked = look(path, name)
    assert looked.faults == ()
    assert looked.preview.kind == kind


@pytest.mark.parametrize(
    ("path", "name", "old", "new", "fault"),
    [
        (LESSON, "01-split.md", "minutes = 9", "minutes = nine", "01-split.md:4: not valid TOML"),
        (LESSON, "01-split.md", "/// takeaway", "An [[odd word]].\n\n/// takeaway", "'odd word'"),
        (LESSON, "lesson.toml", "title", "name", "lesson.toml"),
        (LAB, "lab.toml", "minutes = 40", "minutes = -1", "preemption-storm/lab.toml:7: minutes"),
        (LAB, "lab.toml", "kv_usage", "kv_usgae", "lab.toml"),
        (LAB, "brief.md", "\n", "\n\n[[odd word]]\n", "'odd word'"),
        (LAB, "brief.md", "\n", "\n\n<b onclick=alert(1)>x</b>\n", "brief.md:3: HTML is not allowed here"),
        (LAB, "debrief.md", "\n", "\n\n[x](javascript:alert(1))\n", "debrief.md:3: link to 'javascript:alert(1'"),
        (LAB, "rubric.toml", "points = ", "points = x", "rubric.toml:"),
        (LAB, "rubric.toml", "title = ", "name = ", "no such key"),
        (LAB, "plays/reference.toml", "ceiling", "seiling", "plays/reference.toml: ceiling is missing"),
        (DRILL, "drill.toml", "evidence = ", "evidence = 1 #", "drill.toml:"),
        ("lessons/symptoms/4.6.md", "4.6.md", 'tier = "public"', 'tier = "secret"', "'secret' is none of"),
        ("lessons/glossary.toml", "glossary.toml", "means", "says", "glossary.toml:"),
        ("lessons/triage.toml", "triage.toml", "steps", "stepps", "triage.toml"),
        ("lessons/02-playbook/unit.toml", "unit.toml", "title", "name", "unit.toml"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_file_and_what_is_wrong(path, name, old, new, fault):
    looked = look(path, name, (old, new))
    assert any(fault in each for each in looked.faults), looked.faults
    assert not any(each.startswith("/") or "tmp" in each for each in looked.faults)


def test_a_lab_without_its_brief_is_told_so():
    files = {
        name: data
        for name, data in files_at(CHECKOUT.labs / "preemption-storm").items()
        if name != "brief.md"
    }
    looked = look_at(piece_at(LAB), files, "lab.toml")
    assert looked.faults == (
        "preemption-storm/brief.md: there is no such file; every lab's folder needs one",
    )


def test_what_a_lab_holds_is_shown_beside_its_spec():
    looked = look(LAB, "lab.toml")
    assert looked.preview is None
    assert "metastable" in looked.spec.hypotheses


def test_a_look_leaves_the_course_that_is_served_alone():
    before = tree()
    look(LESSON, "01-split.md", ("minutes = 9", "minutes = 10"))
    look("lessons/glossary.toml", "glossary.toml", ("means", "says"))
    assert tree() is before
    assert all("pytest" not in str(each) for each in before.memory)


@pytest.mark.parametrize(
    "path", ["lessons/02-playbook/99-mine", "lessons/symptoms/1.20.md", "lessons/09-unit/unit.toml"]
)
def test_every_template_can_be_read_as_it_is(path):
    piece = piece_at(path)
    files = {name: text.encode() for name, text in starting(piece).items()}
    assert files
    for name in files:
        assert look_at(piece, files, name).faults == ()


def test_labs_and_drills_have_no_template():
    for path in ("labs/mine", "lessons/drills/1.9"):
        assert not starting(piece_at(path))
        assert piece_at(path).kind in CLONED
