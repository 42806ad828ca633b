"""The pieces of a course: what is published together, as one version. Files in memory, and in a tree on disk. Pure.

A lab, a lesson and a drill are folders; a symptom, the glossary, the triage card and the title of a unit are files.
Its path names a piece: ``labs/preemption-storm``, ``lessons/02-playbook/24-method``, ``lessons/symptoms/4.6.md``.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from courseware.served import Tree

type Files = Mapping[str, bytes]
"""The files of a piece by their names, relative to its folder; a piece that is one file has its own name."""

COMPUTED = ("pool.json", "proof.json", "table.json.gz")
"""What ``prove`` writes beside a spec; nobody edits it."""
RUBRIC = "rubric.toml"
"""Of a lab: edited where one sees what an edit does to marks, not as a text."""
MOST_BYTES = 4_000_000
"""Of one piece."""
_SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_KINDS = {
    "lab": rf"labs/(?P<name>{_SLUG})",
    "lesson": rf"lessons/\d+-{_SLUG}/\d+-(?P<name>{_SLUG})",
    "unit": rf"lessons/(?P<name>\d+-{_SLUG})/unit\.toml",
    "drill": r"lessons/drills/(?P<name>[1-9]\.[1-9]\d?)",
    "symptom": r"lessons/symptoms/(?P<name>[1-9]\.[1-9]\d?)\.md",
    "glossary": r"lessons/(?P<name>glossary)\.toml",
    "triage": r"lessons/(?P<name>triage)\.toml",
}
FOLDERS = ("lab", "lesson", "drill")
_FILE = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*){0,2}")


class NoPiece(ValueError):  # noqa: N818
    """A path that names no piece; the message says which paths do."""


@dataclass(frozen=True)
class Piece:
    """One of the things that a course is made of."""

    path: str
    kind: str
    name: str
    """Its slug, or its number."""

    @property
    def is_folder(self) -> bool:
        return self.kind in FOLDERS


def piece_at(path: str) -> Piece:
    """Return the piece of a path. Raises NoPiece."""
    for kind, pattern in _KINDS.items():
        if match := re.fullmatch(pattern, path):
            return Piece(path, kind, match["name"])
    raise NoPiece(
        f"{path!r} is no piece of a course. Write labs/<slug>, lessons/<NN-unit>/<NN-lesson>, "
        "lessons/<NN-unit>/unit.toml, lessons/drills/<n.n>, lessons/symptoms/<n.n>.md, "
        "lessons/glossary.toml or lessons/triage.toml"
    )


def texts_in(files: Files) -> dict[str, str]:
    """Return the files that people write, as text."""
    return {name: data.decode() for name, data in files.items() if not is_computed(name)}


def is_computed(name: str) -> bool:
    """Tell whether ``prove`` writes a file of this name: beside a lab's spec, or beside what it says of real engines."""
    return name.rpartition("/")[2] in COMPUTED


def is_file_name(name: str) -> bool:
    """Tell whether a folder may hold a file of this name."""
    return bool(_FILE.fullmatch(name)) and ".." not in name and len(name) <= 100  # noqa: PLR2004


def digest_of(files: Files) -> str:
    """Return what tells two states of a piece apart, 64 hexadecimal digits."""
    said = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    return digest_of_digests(said)


def digest_of_digests(digests: Mapping[str, str]) -> str:
    """Return the digest of a piece from those of its files."""
    return hashlib.sha256(json.dumps(dict(sorted(digests.items()))).encode()).hexdigest()


# ----------------------------------------------------------------------------------------- on disk


def pieces_in(tree: Tree) -> dict[str, Path]:
    """Return where each piece of a tree stands, by its path, in order. What is no piece is left out."""
    found: dict[str, Path] = {}
    for prefix, root in (("labs", tree.labs), ("lessons", tree.lessons)):
        for place in _places(root):
            path = f"{prefix}/{place.relative_to(root).as_posix()}"
            if _is_piece(path):
                found[path] = place
    return dict(sorted(found.items()))


def strangers_in(tree: Tree) -> list[str]:
    """Return the paths of folders that stand where pieces do, and are called as no piece is."""
    places = [("labs", tree.labs, "*"), ("lessons", tree.lessons, "*/*")]
    return sorted(
        f"{prefix}/{place.relative_to(root).as_posix()}"
        for prefix, root, where in places
        for place in root.glob(where)
        if place.is_dir()
        and not place.name.startswith((".", "__"))
        and not _is_piece(f"{prefix}/{place.relative_to(root).as_posix()}")
        and any(each.is_file() for each in place.iterdir())
    )


def _is_piece(path: str) -> bool:
    return any(re.fullmatch(pattern, path) for pattern in _KINDS.values())


def _places(root: Path) -> Iterator[Path]:
    for first in root.iterdir():
        yield first
        if first.is_dir():
            yield from first.iterdir()


def files_at(place: Path) -> dict[str, bytes]:
    """Return the files of a piece on disk. Raises OSError, and ValueError for what a piece cannot hold."""
    if place.is_file():
        data = place.read_bytes()
        _refuse_no_text(place.name, data)
        return {place.name: data}
    found: dict[str, bytes] = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_dir() or any(
            part.startswith((".", "__")) for part in path.relative_to(place).parts
        ):
            continue
        if not is_file_name(name):
            raise ValueError(
                f"{place.name}/{name}: call files with small letters, digits, dots and hyphens, two folders deep at most"
            )
        found[name] = path.read_bytes()
        _refuse_no_text(f"{place.name}/{name}", found[name])
    if sum(map(len, found.values())) > MOST_BYTES:
        raise ValueError(f"{place.name}: holds more than {MOST_BYTES:,} bytes; take something out")
    return found


def _refuse_no_text(name: str, data: bytes) -> None:
    if not name.endswith((".md", ".toml")):
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{name}:{line}: is not UTF-8: save the file in UTF-8") from error


def write(files: Files, folder: Path) -> None:
    """Make ``folder`` hold these files and no others that belong to a piece."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)


def write_once(files: Files, folder: Path) -> Path:
    """Make a folder that never changes again; whoever else makes it at the same moment makes the same."""
    if not folder.is_dir():
        making = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        write(files, making)
        try:
            making.rename(folder)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)
            if not folder.is_dir():
                raise
    else:  # Somebody may have tidied the disk.
        write({name: data for name, data in files.items() if not (folder / name).is_file()}, folder)
    return folder
