"""A change becomes the next version, or nothing does."""

import threading

import pytest
from django.db import connections

from courseware.models import Version
from courseware.served import tree
from courseware.studio import publishing, serving, store
from courseware.studio.pieces import NoPiece
from courseware.studio.publishing import Conflict, Refused, publish
from courseware.studio.syncing import sync
from tests.on_disk import on_disk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checked")]


def change(text="a = 9", *, path="labs/one", base=1, note="raises a", author=None):
    return publish(path, {"lab.toml": text.encode()}, base=base, author=author, note=note)


def test_a_version_has_a_number_an_author_and_a_note_and_is_served(files, instructor):
    sync(files)
    made = change(author=instructor)
    assert (made.number, made.author, made.note, made.origin, made.in_files) == (
        2, instructor, "raises a", "studio", False,
    )  # fmt: skip
    serving.refresh()
    assert (tree().labs / "one" / "lab.toml").read_text() == "a = 9"
    assert tree().number("labs/one") == 2
    assert tree().number("labs/two") == 1


def test_a_broken_change_is_refused_with_the_reason(files):
    sync(files)
    with pytest.raises(Refused, match="labs/one: says broken"):
        change("broken")
    assert store.newest_of("labs/one").number == 1


def test_the_same_again_is_no_new_version(files):
    sync(files)
    first = change()
    assert change(base=2) == first
    assert Version.objects.filter(piece="labs/one").count() == 2


def test_of_two_who_publish_from_the_same_version_the_second_is_told_of_the_first(files):
    sync(files)
    first = change()
    with pytest.raises(Conflict) as told:
        change("a = 10")
    assert told.value.newest == first


def test_a_new_piece_begins_at_nothing_and_a_path_must_name_one(files):
    sync(files)
    assert change(path="labs/new", base=0).number == 1
    with pytest.raises(Conflict):
        change("a = 11", path="labs/new", base=0)
    with pytest.raises(NoPiece):
        change(path="labs/../x", base=0)


def test_a_change_is_checked_again_with_what_was_published_meanwhile(files, checked, monkeypatch):
    from courseware.studio import publishing

    sync(files)
    checked.clear()
    calls = []

    def meanwhile(*args, real=publishing.faults_in, **how):
        if not calls:
            calls.append(1)
            change("a = 7", path="labs/two")
        return real(*args, **how)

    monkeypatch.setattr(publishing, "faults_in", meanwhile)
    assert change().number == 2
    assert [each for each, _ in checked] == [["labs/one"], ["labs/two"], ["labs/one"]] or [
        each for each, _ in checked
    ] == [["labs/two"], ["labs/one"], ["labs/one"]]
    assert store.newest_of("labs/two").number == 2


@pytest.mark.django_db(transaction=True)
def test_of_many_who_publish_at_once_exactly_one_does(files, tmp_path):
    sync(files)
    outcomes = []

    def one(number):
        try:
            outcomes.append(f"version {change(f'a = {number}').number}")
        except Conflict:
            outcomes.append("conflict")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20, 26)]
    with on_disk(tmp_path):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == ["conflict"] * 5 + ["version 2"]


def test_versions_of_a_deleted_author_stay(files, instructor):
    sync(files)
    made = change(author=instructor)
    instructor.delete()
    made.refresh_from_db()
    assert made.author is None


def test_a_disk_that_takes_nothing_refuses_with_who_can_help(files, checked, monkeypatch):
    sync(files)

    def full(*_):
        raise OSError(30, "Read-only file system", "content")

    monkeypatch.setattr(publishing, "write_once", full)
    with pytest.raises(Refused, match="read-only file system"):
        change()
    assert store.newest_of("labs/one").number == 1
