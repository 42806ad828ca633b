"""What a course is made of."""

import pytest

from courseware.served import CHECKOUT, Tree
from courseware.studio.pieces import (
    NoPiece,
    digest_of,
    files_at,
    is_file_name,
    piece_at,
    pieces_in,
    write_once,
)


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("labs/preemption-storm", "lab", "preemption-storm"),
        ("lessons/02-playbook/24-method", "lesson", "method"),
        ("lessons/02-playbook/unit.toml", "unit", "02-playbook"),
        ("lessons/drills/4.10", "drill", "4.10"),
        ("lessons/symptoms/4.10.md", "symptom", "4.10"),
        ("lessons/glossary.toml", "glossary", "glossary"),
        ("lessons/triage.toml", "triage", "triage"),
    ],
)
def test_a_path_names_a_piece(path, kind, name):
    found = piece_at(path)
    assert (found.kind, found.name) == (kind, name)


@pytest.mark.parametrize(
    "path",
    ["", "labs", "labs/../x", "labs/A", "/labs/x", "lessons/x", "labs/x@1", "labs/x/y", "labs/x\n"],
)
def test_what_names_none_is_refused_with_what_does(path):
    with pytest.raises(NoPiece, match="Write labs/<slug>"):
        piece_at(path)


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("lab.toml", True),
        ("plays/reference.toml", True),
        ("table.json.gz", True),
        ("../lab.toml", False),
        ("plays/../../x", False),
        ("a/b/c", True),
        ("a/b/c/d", False),
        ("/etc/passwd", False),
        (".hidden", False),
        ("UPPER.md", False),
        ("a b.md", False),
        ("", False),
        ("x" * 101, False),
    ],
)
def test_a_folder_holds_files_of_plain_names_two_folders_deep(name, fits):
    assert is_file_name(name) is fits


def test_every_file_of_the_course_belongs_to_a_piece():
    pieces = pieces_in(CHECKOUT)
    held = {
        place if place.is_file() else place / name
        for place in pieces.values()
        for name in files_at(place)
    }
    every = {
        path
        for root in (CHECKOUT.labs, CHECKOUT.lessons)
        for path in root.rglob("*")
        if path.is_file()
    }
    assert held == every
    assert len(pieces) > 90


def test_a_digest_tells_files_apart_and_not_their_order():
    one = {"a.md": b"1", "b.md": b"2"}
    assert digest_of(one) == digest_of(dict(reversed(one.items())))
    assert (
        len({digest_of(each) for each in (one, {"a.md": b"1"}, {"a.md": b"2", "b.md": b"1"}, {})})
        == 4
    )


def test_what_a_piece_cannot_hold_is_refused_with_its_name(tmp_path):
    folder = tmp_path / "labs" / "one"
    folder.mkdir(parents=True)
    (folder / "Read Me.md").write_text("no")
    (folder / ".swp").write_text("left behind by an editor")
    (tmp_path / "lessons").mkdir()
    assert list(pieces_in(Tree(tmp_path / "labs", tmp_path / "lessons"))) == ["labs/one"]
    with pytest.raises(ValueError, match=r"one/Read Me\.md: call files with small letters"):
        files_at(folder)
    (folder / "Read Me.md").rename(folder / "a.md")
    assert files_at(folder) == {"a.md": b"no"}
    (folder / "b.md").write_bytes(b" " * 4_000_001)
    with pytest.raises(ValueError, match="holds more than 4,000,000 bytes"):
        files_at(folder)


def test_a_folder_that_is_made_once_is_left_alone_after(tmp_path):
    place = write_once({"plays/a.toml": b"1"}, tmp_path / "kept")
    assert files_at(place) == {"plays/a.toml": b"1"}
    write_once({"plays/a.toml": b"2"}, tmp_path / "kept")
    assert files_at(place) == {"plays/a.toml": b"1"}
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
