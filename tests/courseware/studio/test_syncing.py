"""Files and database are one course."""

import shutil
from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from courseware.management.commands import export_content, sync_content
from courseware.models import ContentBlob, Version
from courseware.served import CHECKOUT, Tree, tree
from courseware.studio import serving, store, syncing
from courseware.studio.pieces import files_at, pieces_in
from courseware.studio.publishing import publish
from courseware.studio.syncing import export, sync

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("checked")]


def became(rows):
    return {row.path: row.what for row in rows}


def say(rows, path):
    return next(row.says for row in rows if row.path == path)


def edited(files, path, text):
    (files.labs.parent / path).write_text(text)


def in_studio(path, held, base):
    files = {name: text.encode() for name, text in held.items()}
    return publish(path, files, base=base, author=None, note="mended")


def test_files_are_taken_in_once_and_then_unchanged(files):
    assert Counter(became(sync(files)).values()) == {"created": 4}
    assert Counter(became(sync(files)).values()) == {"unchanged": 4}
    assert set(Version.objects.values_list("piece", "number", "origin", "in_files")) == {
        (path, 1, "files", True) for path in pieces_in(files)
    }
    assert store.stamp() == 1


def test_a_round_trip_through_the_database_changes_nothing(files, tmp_path):
    sync(files)
    out = Tree(labs=tmp_path / "out" / "labs", lessons=tmp_path / "out" / "lessons")
    for folder in (out.labs, out.lessons):
        folder.mkdir(parents=True)
    assert Counter(became(export(out, is_checkout=False)).values()) == {"created": 4}
    for path, place in pieces_in(files).items():
        assert files_at(pieces_in(out)[path]) == files_at(place)
    assert Counter(became(sync(out)).values()) == {"unchanged": 4}
    assert Counter(became(export(out, is_checkout=False)).values()) == {"unchanged": 4}


def test_only_what_changed_becomes_a_new_version_and_equal_bytes_are_stored_once(files):
    sync(files)
    before = ContentBlob.objects.count()
    edited(files, "labs/one/lab.toml", "a = 3")
    assert [path for path, what in became(sync(files)).items() if what == "changed"] == ["labs/one"]
    assert ContentBlob.objects.count() == before + 1
    newest = store.newest_of("labs/one")
    assert newest.number == 2
    assert store.files_of(newest) == {"lab.toml": b"a = 3", "brief.md": b"Brief."}


def test_a_dry_run_reports_the_same_and_writes_nothing(files):
    assert Counter(became(sync(files, dry_run=True)).values()) == {"created": 4}
    assert store.stamp() == 0
    assert not Version.objects.exists()


def test_a_broken_piece_is_refused_and_the_rest_is_taken_in(files):
    edited(files, "labs/one/lab.toml", "broken")
    rows = sync(files)
    assert became(rows) == {
        "labs/one": "refused", "labs/two": "created",
        "lessons/glossary.toml": "created", "lessons/symptoms/1.1.md": "created",
    }  # fmt: skip
    assert say(rows, "labs/one") == "labs/one: says broken"


def test_what_refers_to_a_refused_piece_is_refused_with_it(files):
    edited(files, "labs/two/lab.toml", "broken")
    edited(files, "lessons/symptoms/1.1.md", "needs two")
    rows = sync(files)
    assert [path for path, what in became(rows).items() if what == "refused"] == [
        "labs/two",
        "lessons/symptoms/1.1.md",
    ]
    assert say(rows, "lessons/symptoms/1.1.md").endswith("there is no labs/two")


def test_a_broken_change_leaves_the_version_before_it(files):
    sync(files)
    edited(files, "labs/one/lab.toml", "broken")
    assert became(sync(files))["labs/one"] == "refused"
    serving.refresh()
    assert (tree().labs / "one" / "lab.toml").read_text() == "a = 1"


def test_what_only_the_studio_changed_is_left_alone_until_it_is_written_out(files):
    sync(files)
    in_studio("labs/one", {"lab.toml": "a = 9"}, base=1)
    rows = sync(files)
    assert became(rows)["labs/one"] == "newer here"
    assert "version 2 of somebody is newer; write it out" in say(rows, "labs/one")
    assert became(export(files, is_checkout=True))["labs/one"] == "changed"
    assert files_at(files.labs / "one") == {"lab.toml": b"a = 9"}
    assert became(sync(files))["labs/one"] == "unchanged"
    edited(files, "labs/one/lab.toml", "a = 10")
    assert became(sync(files))["labs/one"] == "changed"


def test_what_both_changed_is_refused_by_both_and_nothing_is_overwritten(files, tmp_path):
    sync(files)
    in_studio("labs/one", {"lab.toml": "a = 9"}, base=1)
    edited(files, "labs/one/lab.toml", "a = 5")
    rows = sync(files)
    assert became(rows)["labs/one"] == "refused"
    assert "the files have changed and so has the course" in say(rows, "labs/one")
    rows = export(files, is_checkout=True)
    assert became(rows)["labs/one"] == "refused"
    assert "take it in first" in say(rows, "labs/one")
    assert (files.labs / "one" / "lab.toml").read_text() == "a = 5"
    # Put together in the files, from what was written elsewhere, it is one course again.
    edited(files, "labs/one/lab.toml", "a = 9")
    (files.labs / "one" / "brief.md").unlink()
    assert became(sync(files))["labs/one"] == "unchanged"


def test_a_piece_without_files_is_named_and_leaves_the_course_only_when_asked(files):
    sync(files)
    shutil.rmtree(files.labs / "two")
    assert became(sync(files))["labs/two"] == "gone"
    serving.refresh()
    assert (tree().labs / "two").is_dir()
    assert became(sync(files, withdraw=True))["labs/two"] == "withdrawn"
    serving.refresh()
    assert not (tree().labs / "two").exists()
    assert store.newest_of("labs/two").is_withdrawn
    assert "labs/two" not in became(sync(files))


def test_a_piece_that_others_need_is_not_withdrawn(files):
    edited(files, "lessons/symptoms/1.1.md", "needs two")
    sync(files)
    shutil.rmtree(files.labs / "two")
    rows = sync(files, withdraw=True)
    assert became(rows)["labs/two"] == "refused"
    assert "there is no labs/two" in say(rows, "labs/two")


def test_a_piece_of_the_studio_is_not_taken_for_one_that_lost_its_files(files):
    sync(files)
    in_studio("labs/three", {"lab.toml": "a = 3"}, base=0)
    assert became(sync(files, withdraw=True))["labs/three"] == "newer here"
    assert became(export(files, is_checkout=True))["labs/three"] == "created"
    assert became(sync(files))["labs/three"] == "unchanged"


def test_a_publication_during_a_sync_is_not_undone_by_it(files, monkeypatch):
    sync(files)
    edited(files, "labs/one/lab.toml", "a = 5")

    def meanwhile(*args, real=syncing.faults_in, **how):
        in_studio("labs/two", {"lab.toml": "a = 7"}, base=1)
        return real(*args, **how)

    monkeypatch.setattr(syncing, "faults_in", meanwhile)
    with pytest.raises(store.Overtaken):
        sync(files)
    assert store.newest_of("labs/one").number == 1


# ------------------------------------------------------------------------------------------ commands


def run(name, **how):
    out, err = StringIO(), StringIO()
    try:
        call_command(name, stdout=out, stderr=err, **how)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


def test_the_commands_report_every_piece_and_fail_if_one_is_refused(files, monkeypatch, tmp_path):
    for command in (sync_content, export_content):
        monkeypatch.setattr(command, "CHECKOUT", files)
    assert "has no versions yet" in run("export_content")[1]
    edited(files, "labs/two/lab.toml", "broken")
    said, failed = run("sync_content")
    assert "created    labs/one" in said
    assert "refused    labs/two: labs/two: says broken" in said
    assert "3 created, 1 refused" in said
    assert failed == "1 refused: the course serves what it served before of them"
    edited(files, "labs/two/lab.toml", "a = 2")
    assert run("sync_content")[0] == "created    labs/two\n3 unchanged, 1 created\n"
    assert run("export_content") == ("4 unchanged\n", "")
    said, _ = run("export_content", to=tmp_path / "out")
    assert said.endswith("4 created\n")


@pytest.mark.slow
def test_the_whole_course_goes_into_the_database_and_comes_out_as_it_was(monkeypatch, tmp_path):
    monkeypatch.undo()
    rows = sync(CHECKOUT)
    assert [row for row in rows if row.what != "created"] == []
    out = Tree(labs=tmp_path / "out" / "labs", lessons=tmp_path / "out" / "lessons")
    for folder in (out.labs, out.lessons):
        folder.mkdir(parents=True)
    export(out, is_checkout=False)
    theirs = pieces_in(out)
    for path, place in pieces_in(CHECKOUT).items():
        assert files_at(theirs[path]) == files_at(place), path
    assert {row.what for row in sync(CHECKOUT)} == {"unchanged"}


def test_a_text_that_is_not_utf_8_is_refused_with_its_line(files, checked):
    (files.labs / "one" / "brief.md").write_bytes(b"One.\nCaf\xe9.")
    rows = {row.path: row for row in sync(files)}
    assert rows["labs/one"].what == "refused"
    assert rows["labs/one"].says == "one/brief.md:2: is not UTF-8: save the file in UTF-8"
    assert rows["labs/two"].what == "created"


def test_files_that_cannot_be_written_are_refused_and_the_rest_is_written(
    files, checked, tmp_path, monkeypatch
):
    sync(files)
    full = OSError(28, "No space left on device", "lab.toml")
    real = syncing.write

    def write(held, folder):
        if folder.name == "one":
            raise full
        real(held, folder)

    monkeypatch.setattr(syncing, "write", write)
    to = Tree(labs=tmp_path / "out" / "labs", lessons=tmp_path / "out" / "lessons")
    for folder in (to.labs, to.lessons):
        folder.mkdir(parents=True)
    rows = {row.path: row for row in syncing.export(to, is_checkout=False)}
    assert (rows["labs/one"].what, rows["labs/two"].what) == ("refused", "created")
    assert "No space left" in rows["labs/one"].says


def test_a_folder_that_is_called_as_no_piece_is_refused_and_not_passed_over(files, checked):
    for path in ("labs/My Lab", "labs/.git", "labs/one/plays", "lessons/02-unit/First"):
        (files.labs.parent / path).mkdir(parents=True)
        (files.labs.parent / path / "a.toml").write_text("a = 1")
    (files.labs / "left-over_").mkdir()
    rows = sync(files)
    assert [row.path for row in rows if row.what == "refused"] == [
        "labs/My Lab",
        "lessons/02-unit/First",
    ]
    assert "small letters" in say(rows, "labs/My Lab")


def test_an_export_to_what_is_no_folder_says_so(files, checked, tmp_path):
    sync(files)
    (tmp_path / "taken").write_text("")
    with pytest.raises(CommandError, match="name a folder"):
        call_command(export_content.Command(), to=tmp_path / "taken", stdout=StringIO())
