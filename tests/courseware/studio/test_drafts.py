"""The life of a draft."""

import pytest

from courseware.models import Draft
from courseware.studio import drafts, store
from courseware.studio.drafts import Stale, Unfit, begin, begin_new, save
from courseware.studio.pieces import NoPiece
from courseware.studio.publishing import Conflict, Refused
from courseware.studio.syncing import sync

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checked")]


@pytest.fixture
def course(files):
    sync(files)


@pytest.fixture
def draft(course, instructor):
    return begin("labs/one", by=instructor)


def write(draft, texts, version=0, by=None):
    return save(draft, version=version, by=by or draft.by, texts=texts)


def test_a_draft_begins_with_the_texts_of_the_newest_version(draft):
    assert draft.base == 1
    assert draft.texts == {"lab.toml": "a = 1", "brief.md": "Brief."}


def test_a_piece_that_the_course_does_not_have_cannot_be_drafted(course, instructor):
    with pytest.raises(Unfit, match="has no labs/nine"):
        begin("labs/nine", by=instructor)


def test_a_new_piece_begins_from_a_template_or_as_a_clone(course, instructor):
    lesson = begin_new("lessons/01-unit/09-mine", by=instructor)
    assert sorted(lesson.texts) == ["01-first-station.md", "lesson.toml"]
    assert lesson.base == 0
    clone = begin_new("labs/three", by=instructor, clone_of="labs/one")
    assert clone.texts == {"lab.toml": "a = 1", "brief.md": "Brief."}
    symptom = begin_new(
        "lessons/symptoms/1.2.md", by=instructor, clone_of="lessons/symptoms/1.1.md"
    )
    assert symptom.texts == {"1.2.md": "Slow."}


def test_a_new_piece_takes_no_name_that_is_taken_and_clones_its_own_kind(course, instructor):
    with pytest.raises(Unfit, match="is there already"):
        begin_new("labs/one", by=instructor, clone_of="labs/two")
    with pytest.raises(Unfit, match="choose a lab"):
        begin_new("labs/three", by=instructor, clone_of="lessons/symptoms/1.1.md")
    with pytest.raises(NoPiece):
        begin_new("labs/No Such", by=instructor)


def test_a_save_counts_and_the_same_save_twice_is_one(draft):
    assert write(draft, {"lab.toml": "a = 2"}) == 1
    assert write(draft, {"lab.toml": "a = 2"}) == 1
    draft.refresh_from_db()
    assert draft.version == 1


def test_a_save_from_an_older_page_is_told_what_stands_there(draft, grader):
    write(draft, {"lab.toml": "a = 2"}, by=grader)
    with pytest.raises(Stale) as told:
        write(draft, {"lab.toml": "a = 3"})
    assert told.value.draft.texts["lab.toml"] == "a = 2"
    assert told.value.draft.last_by == grader


@pytest.mark.parametrize("name", ["../x.md", "a.py", "UPPER.md", "", "w/x/y/z.md", "proof.json"])
def test_a_file_has_a_plain_name_that_ends_as_texts_do(draft, name):
    with pytest.raises(Unfit, match=r"end it with \.md or \.toml"):
        write(draft, {name: "x"})


def test_files_are_added_and_taken_away_within_limits(draft, monkeypatch):
    write(draft, {"plays/one.toml": "title = 1"})
    draft.refresh_from_db()
    write(draft, {"brief.md": None}, version=1)
    draft.refresh_from_db()
    assert sorted(draft.texts) == ["lab.toml", "plays/one.toml"]
    monkeypatch.setattr(drafts, "MOST_FILES", 2)
    with pytest.raises(Unfit, match="holds 2 files at most"):
        write(draft, {"more.md": ""}, version=2)
    with pytest.raises(Unfit, match="200,001 characters; 200,000 at most"):
        write(draft, {"lab.toml": "x" * 200_001}, version=2)


def test_a_piece_of_one_file_gets_no_other(course, instructor):
    symptom = begin("lessons/symptoms/1.1.md", by=instructor)
    with pytest.raises(Unfit, match="is one file"):
        write(symptom, {"two.md": "x"})


def test_publishing_makes_the_next_version_and_ends_the_draft(draft, instructor):
    write(draft, {"lab.toml": "a = 2"})
    made = drafts.publish(draft, version=1, by=instructor, note="two")
    assert (made.number, made.author, made.note) == (2, instructor, "two")
    assert store.files_of(made) == {"lab.toml": b"a = 2", "brief.md": b"Brief."}
    assert not Draft.objects.exists()


def test_what_was_computed_for_a_version_stands_for_a_draft_that_keeps_its_texts(files, instructor):
    (files.labs / "one" / "pool.json").write_text("{}")
    sync(files)
    draft = begin("labs/one", by=instructor)
    assert "pool.json" not in draft.texts
    write(draft, {"brief.md": "Clearer."})
    made = drafts.publish(draft, version=1, by=instructor, note="clearer")
    assert store.files_of(made)["pool.json"] == b"{}"


def test_a_draft_is_published_as_it_was_shown_or_not_at_all(draft, instructor, grader):
    write(draft, {"lab.toml": "a = 2"}, by=grader)
    with pytest.raises(Stale):
        drafts.publish(draft, version=0, by=instructor, note="x")
    write(draft, {"lab.toml": "broken"}, version=1)
    with pytest.raises(Refused):
        drafts.publish(draft, version=2, by=instructor, note="x")
    assert Draft.objects.get().texts["lab.toml"] == "broken"


def test_of_two_drafts_of_one_version_the_second_is_told_and_may_follow(draft, instructor, grader):
    other = begin("labs/one", by=grader)
    write(draft, {"lab.toml": "a = 2"})
    drafts.publish(draft, version=1, by=instructor, note="two")
    write(other, {"brief.md": "Other."})
    with pytest.raises(Conflict) as told:
        drafts.publish(other, version=1, by=grader, note="x")
    assert told.value.newest.number == 2
    assert drafts.take_over(other, version=1, newest=2)
    assert not drafts.take_over(other, version=1, newest=2)
    assert drafts.publish(other, version=2, by=grader, note="x").number == 3


def test_a_draft_is_thrown_away_only_as_it_was_shown(draft):
    write(draft, {"lab.toml": "a = 2"})
    assert not drafts.throw_away(draft, version=0)
    assert drafts.throw_away(draft, version=1)
    assert not Draft.objects.exists()
