"""What a process serves, and how it hears of something newer."""

import shutil

import pytest
from django.db import DatabaseError

from courseware import served
from courseware.served import CHECKOUT, tree, trying
from courseware.studio import serving, store
from courseware.studio.pieces import files_at, pieces_in
from courseware.studio.publishing import publish
from courseware.studio.serving import key_of
from courseware.studio.syncing import sync

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checked")]


def change(text, base):
    return publish("labs/one", {"lab.toml": text.encode()}, base=base, author=None, note="")


def test_without_versions_the_checkout_is_served():
    serving.refresh()
    assert tree() is CHECKOUT


def test_the_tree_that_is_served_holds_the_newest_of_every_piece(files):
    sync(files)
    serving.refresh()
    theirs = pieces_in(tree())
    assert {path: files_at(place) for path, place in theirs.items()} == {
        path: files_at(place) for path, place in pieces_in(files).items()
    }


def test_a_process_keeps_its_tree_until_something_is_published(files):
    sync(files)
    serving.refresh()
    first = tree()
    serving.refresh()
    assert tree() is first
    change("a = 9", base=1)
    serving.refresh()
    assert tree() is not first


def test_a_process_looks_every_so_often_and_then_once(files, settings, django_assert_num_queries):
    settings.CONTENT_LOOK_EVERY_S = 3600
    serving._looked_at_s[0] = -float("inf")
    with django_assert_num_queries(1):
        serving.look()
        serving.look()
    assert not serving.is_time()
    settings.CONTENT_LOOK_EVERY_S = 0
    serving._looked_at_s[0] = -float("inf")
    with django_assert_num_queries(0):
        serving.look()


def test_a_database_that_is_away_takes_no_page_away(files, settings, monkeypatch, caplog):
    sync(files)
    serving.refresh()
    before = tree()
    settings.CONTENT_LOOK_EVERY_S = 3600
    serving._looked_at_s[0] = -float("inf")

    def away():
        raise DatabaseError("away")

    monkeypatch.setattr(store, "stamp", away)
    serving.look()
    assert tree() is before
    assert "served on" in caplog.text


def test_an_older_version_has_a_key_of_its_own_which_never_changes(files):
    sync(files)
    change("a = 9", base=1)
    serving.refresh()
    assert key_of("labs/one", 2) == "one"
    old = key_of("labs/one", 1)
    assert old.startswith("one@")
    assert tree().pinned is not None
    assert files_at(tree().pinned / old)["lab.toml"] == b"a = 1"
    change("a = 10", base=2)
    serving.refresh()
    assert key_of("labs/one", 1) == old
    assert key_of("labs/one", 2) != old


def test_a_process_that_has_not_heard_yet_finds_a_version_newer_than_its_own(files):
    sync(files)
    serving.refresh()
    change("a = 9", base=1)
    key = key_of("labs/one", 2)
    assert (tree().pinned / key / "lab.toml").read_text() == "a = 9"


def test_a_version_that_never_was_is_not_found(files):
    sync(files)
    serving.refresh()
    with pytest.raises(LookupError, match="there is no version 7"):
        key_of("labs/one", 7)


def test_a_candidate_is_read_by_who_tries_it_and_by_nobody_else(files):
    from courseware.studio.publishing import candidate

    sync(files)
    serving.refresh()
    tried = candidate(store.newest(), {"labs/one": {"lab.toml": b"a = 77"}, "labs/two": {}}, 1)
    with trying(tried):
        assert (tree().labs / "one" / "lab.toml").read_text() == "a = 77"
        assert not (tree().labs / "two").exists()
    assert (served.tree().labs / "one" / "lab.toml").read_text() == "a = 1"


def test_every_page_looks_for_what_is_newer(client, settings, monkeypatch):
    looks = []
    monkeypatch.setattr(serving, "look", lambda: looks.append(1))
    client.get("/labs/")
    assert looks == [1]


@pytest.mark.parametrize("gone", ["content", "content/pieces", "content/trees"])
def test_a_folder_that_somebody_deleted_is_made_again_without_a_restart(files, settings, gone):
    sync(files)
    serving.refresh()
    before = tree()
    shutil.rmtree(settings.RUN_DIR / gone)
    assert not (before.labs / "one" / "lab.toml").exists()
    serving.refresh()
    assert tree() is not before
    assert (tree().labs / "one" / "lab.toml").read_text() == "a = 1"
    again = tree()
    serving.refresh()
    assert tree() is again


def test_a_file_that_somebody_deleted_is_made_again(files):
    sync(files)
    serving.refresh()
    version = store.newest()["labs/one"]
    path = serving.folder_of(version) / "lab.toml"
    path.unlink()
    assert serving.folder_of(version) == path.parent
    assert path.read_text() == "a = 1"


def test_an_older_version_whose_folder_is_gone_is_made_again(files, settings):
    sync(files)
    change("a = 9", base=1)
    serving.refresh()
    old = key_of("labs/one", 1)
    shutil.rmtree(serving.place_of(store.version_of("labs/one", 1).digest))
    assert key_of("labs/one", 1) == old
    assert (tree().pinned / old / "lab.toml").read_text() == "a = 1"
