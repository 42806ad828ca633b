"""Files and database stay one course: files are taken in as versions, and versions are written out as files.

What both sides held last is their common ground: the newest version of a piece that files have held. A piece that only
the files changed is taken in, one that only the studio changed is left alone, and one that both changed is refused:
nobody's work is overwritten by order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from django.db import transaction

from courseware.models import Version
from courseware.studio import serving, store
from courseware.studio.checking import faults_in
from courseware.studio.pieces import (
    FOLDERS,
    RUBRIC,
    digest_of,
    files_at,
    piece_at,
    pieces_in,
    strangers_in,
    write,
)
from courseware.studio.publishing import candidate
from labs import rubrics
from labs.catalogue import labs
from labs.rubric_editions import current
from labs.rubric_edits import apply, effect_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from courseware.served import Tree
    from courseware.studio.pieces import Files
    from labs.rubrics import Rubric

FROM_FILES = "The rubric in the lab's files was changed"
"""What learners whose points it moved read."""
type What = Literal["created", "changed", "unchanged", "newer here", "gone", "withdrawn", "refused"]


NO_NAME = (
    "no piece is called so; call a lab labs/<slug>, a lesson lessons/<NN-unit>/<NN-lesson> and a drill "
    "lessons/drills/<n.n>, in small letters, digits and hyphens, or move the folder away"
)


@dataclass(frozen=True)
class Row:
    """What became of one piece."""

    path: str
    what: What
    says: str = ""


def sync(files: Tree, *, withdraw: bool = False, dry_run: bool = False) -> list[Row]:
    """Take the files of a tree in; return what became of each piece, by path. Safe to repeat.

    What is refused is left as it was, and so is whatever would refer to it. With ``withdraw`` pieces that have no files
    any more leave the course. Raises Overtaken if somebody publishes at the same moment.
    """
    seen, known = store.stamp(), store.newest()
    rows = [Row(path, "refused", NO_NAME) for path in strangers_in(files)]
    changed: dict[str, Files] = {}
    held: list[Version] = []
    here = pieces_in(files)
    common = _common()
    for path, place in here.items():
        try:
            found = files_at(place)
        except (OSError, ValueError) as error:
            rows.append(Row(path, "refused", str(error)))
            continue
        row = _met(path, digest_of(found), known.get(path), common)
        if row is None:
            changed[path] = found
        else:
            rows.append(row)
            if row.what == "unchanged":
                held.append(known[path])
    for path in sorted(set(known) - set(here)):
        if not known[path].is_withdrawn:
            if withdraw and known[path].in_files:
                changed[path] = {}
            else:
                rows.append(_missed(path, known[path]))
    rows += _refused(known, changed, seen)
    rows += [_taken(path, each, is_new=path not in known) for path, each in changed.items()]
    if not dry_run:
        _take_in(known, changed, held, seen)
        _rescore(changed)
    return sorted(rows, key=lambda row: row.path)


def _taken(path: str, files: Files, *, is_new: bool) -> Row:
    if not files:
        return Row(path, "withdrawn", "has no files any more")
    if is_new:
        return Row(path, "created")
    new = _new_rubric(path, files)
    says = f"its rubric {effect_of(current(piece_at(path).name), new).sentence}" if new else ""
    return Row(path, "changed", says)


def _new_rubric(path: str, files: Files) -> Rubric | None:
    """Return the rubric that a lab's files have, if it is another than the one that points stand under."""
    piece = piece_at(path)
    if piece.kind != "lab" or RUBRIC not in files or piece.name not in labs():
        return None
    found = rubrics.read(files[RUBRIC].decode(), f"{piece.name}/{RUBRIC}")
    return None if found == current(piece.name).rubric else found


def _rescore(changed: Mapping[str, Files]) -> None:
    """Carry released points over to the rubrics that files brought."""
    for path, files in changed.items():
        new = _new_rubric(path, files)
        if new is not None:
            name = piece_at(path).name
            based_on = current(name).number
            apply(name, new, based_on=based_on, author=None, reason=FROM_FILES, from_course=True)


def _common() -> dict[str, str]:
    """Return the digest of the newest version of each piece that files have held."""
    rows = Version.objects.filter(in_files=True).order_by("number")
    return dict(rows.values_list("piece", "digest"))


def _met(path: str, digest: str, newest: Version | None, common: Mapping[str, str]) -> Row | None:
    """Return what is said of a piece that is not taken in; None for one that is."""
    if newest is None:
        return None
    if newest.digest == digest:
        return Row(path, "unchanged")
    if newest.in_files:
        return None
    said = f"version {newest.number} of {newest.author or 'somebody'} is newer"
    if common.get(path) == digest:
        return Row(path, "newer here", f"{said}; write it out with: manage.py export_content")
    return Row(
        path,
        "refused",
        f"the files have changed and so has the course: {said} and was never written out. "
        "Write it to another folder with: manage.py export_content --to FOLDER, put both together, and take them in",
    )


def _missed(path: str, newest: Version) -> Row:
    if not newest.in_files:
        said = f"version {newest.number} stands in the course only; write it out with: manage.py export_content"
        return Row(path, "newer here", said)
    return Row(path, "gone", "has no files any more; take it out of the course with --withdraw")


def _refused(known: Mapping[str, Version], changed: dict[str, Files], seen: int) -> Iterator[Row]:
    """Take out of ``changed`` what cannot be served, and yield why, until the rest can be."""
    while changed:
        faults = faults_in(candidate(known, changed, seen), changed, proved_today=False)
        if not faults:
            return
        blamed = {each.piece for each in faults} & set(changed) or set(changed)
        for path in sorted(blamed):
            del changed[path]
            said = [each.says for each in faults if each.piece in {path, ""}]
            yield Row(path, "refused", "; ".join(said or [each.says for each in faults]))


def _take_in(
    known: Mapping[str, Version], changed: Mapping[str, Files], held: Iterable[Version], seen: int
) -> None:
    with transaction.atomic():
        store.note_in_files(held)
        if changed:
            bases = {path: known[path].number if path in known else 0 for path in changed}
            store.add(changed, seen=seen, bases=bases, origin=Version.Origin.FILES)
    transaction.on_commit(serving.refresh, robust=True)


# ---------------------------------------------------------------------------------------- writing out


def export(to: Tree, *, is_checkout: bool) -> list[Row]:
    """Write the newest versions of all pieces below a tree's folders; return what became of each, by path.

    Only with ``is_checkout`` do files count as holding them. Files that a piece has no more are taken away, and nothing
    else is. A piece whose files hold what no version does is refused.
    """
    rows: list[Row] = []
    ours = {(each.piece, each.digest) for each in Version.objects.only("piece", "digest")}
    here = pieces_in(to)
    for path, newest in sorted(store.newest().items()):
        place = (to.labs if path.startswith("labs/") else to.lessons) / path.partition("/")[2]
        try:
            before = files_at(place) if path in here else {}
        except (OSError, ValueError) as error:
            rows.append(Row(path, "refused", str(error)))
            continue
        if before and (path, digest_of(before)) not in ours:
            said = (
                f"{place} holds what no version does; take it in first with: manage.py sync_content"
            )
            rows.append(Row(path, "refused", said))
            continue
        files = store.files_of(newest)
        if files == before:
            rows.append(Row(path, "unchanged"))
        else:
            try:
                _write_out(path, files, before, place)
            except OSError as error:
                rows.append(Row(path, "refused", f"{error.filename}: {error.strerror}"))
                continue
            rows.append(Row(path, "changed" if before else "created"))
        if is_checkout:
            store.note_in_files([newest])
    return rows


def _write_out(path: str, files: Files, before: Files, place: Path) -> None:
    is_folder = piece_at(path).kind in FOLDERS
    folder = place if is_folder else place.parent
    for name in set(before) - set(files):
        (folder / name).unlink()
    if files:
        write(files, folder)
