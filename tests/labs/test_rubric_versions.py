"""A rubric has one truth: what is edited stands in the lab's next version, and what files bring moves points."""

import shutil
from dataclasses import replace

import pytest
from django.utils import timezone

from courseware.served import CHECKOUT, Tree
from courseware.studio import drafts, serving, store
from courseware.studio.syncing import export, sync
from labs import outcomes, rubric_edits
from labs.catalogue import text_of
from labs.rubric_editions import at, current
from labs.rubrics import FILE, Rubric, read, written
from tests.factories import ReviewFactory, by_key
from tests.whole_course import publish_checkout

pytestmark = pytest.mark.django_db
SLUG = "preemption-storm"
PATH = f"labs/{SLUG}"


@pytest.fixture(autouse=True)
def _course(settings, tmp_path):
    settings.RUN_DIR = tmp_path / "run"
    publish_checkout()


def dearer() -> Rubric:
    """The rubric as it stands, with four points for numbers."""
    items = current(SLUG).rubric.items
    return Rubric(
        tuple(replace(each, points=4) if each.key == "numbers" else each for each in items)
    )


def edit(author, reason="Numbers count more."):
    return rubric_edits.apply(
        SLUG, dearer(), based_on=current(SLUG).number, author=author, reason=reason
    )


def released():
    now = timezone.now()
    review = ReviewFactory(points=by_key((2, 1, 0, 2, 1)), released_at=now)
    return outcomes.settle(review.attempt, now)


def test_an_edit_is_the_labs_next_version_with_its_author_and_reason(grader):
    edit(grader)
    newest = store.newest_of(PATH)
    assert (newest.number, newest.author, newest.note) == (2, grader, "Rubric: Numbers count more.")
    assert read(store.files_of(newest)[FILE].decode(), FILE) == current(SLUG).rubric
    serving.refresh()
    assert read(text_of(SLUG, FILE), FILE) == current(SLUG).rubric


def test_the_first_edition_stays_what_it_was(grader):
    before = current(SLUG).rubric
    edit(grader)
    serving.refresh()
    assert at(SLUG, 0).rubric == before
    assert current(SLUG).rubric != before


def test_an_edit_that_is_taken_back_is_a_version_too(grader):
    before = current(SLUG).rubric
    edit(grader)
    rubric_edits.undo(SLUG, 1, author=grader, reason="It was right.")
    assert store.newest_of(PATH).number == 3
    assert read(store.files_of(store.newest_of(PATH))[FILE].decode(), FILE) == before


def test_a_draft_of_the_lab_neither_holds_nor_undoes_it(grader, instructor):
    draft = drafts.begin(PATH, by=instructor)
    assert FILE not in draft.texts
    edit(grader)
    files = drafts.files_of(draft)
    assert read(files[FILE].decode(), FILE) == current(SLUG).rubric


def test_a_clone_begins_with_a_rubric_of_its_own(instructor):
    clone = drafts.begin_new("labs/my-storm", by=instructor, clone_of=PATH)
    assert FILE in clone.texts


@pytest.fixture
def checkout(tmp_path):
    """A copy of the checkout's files."""
    for name, place in (("labs", CHECKOUT.labs), ("lessons", CHECKOUT.lessons)):
        shutil.copytree(place, tmp_path / "files" / name)
    return Tree(labs=tmp_path / "files" / "labs", lessons=tmp_path / "files" / "lessons")


@pytest.mark.slow
def test_what_is_edited_is_written_to_files_and_what_files_bring_moves_points(grader, checkout):
    outcome = released()
    edit(grader)
    export(checkout, is_checkout=True)
    assert read((checkout.labs / SLUG / FILE).read_text(), FILE) == current(SLUG).rubric
    cheaper = Rubric(
        tuple(
            replace(each, points=2) if each.key == "numbers" else each
            for each in current(SLUG).rubric.items
        )
    )
    (checkout.labs / SLUG / FILE).write_text(written(cheaper))
    told = next(row for row in sync(checkout, dry_run=True) if row.path == PATH)
    assert told.says == "its rubric moves 1 of 1 released mark, mean \N{MINUS SIGN}1.0"
    outcome.refresh_from_db()
    assert outcome.points["numbers"] == 2
    sync(checkout)
    outcome.refresh_from_db()
    assert outcome.points["numbers"] == 1
    assert current(SLUG).number == 2
    assert current(SLUG).reason == "The rubric in the lab's files was changed"
    assert {row.what for row in sync(checkout)} == {"unchanged"}
