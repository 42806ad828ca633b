"""A change of the course becomes its next version: checked against all the rest, then written in one guarded step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from courseware.models import Version
from courseware.studio import serving, store
from courseware.studio.checking import Fault, faults_in
from courseware.studio.pieces import digest_of, piece_at, write_once

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from courseware.models import User
    from courseware.served import Tree
    from courseware.studio.pieces import Files

MOST_TRIES = 3
"""How often a check is repeated because something else was published meanwhile."""


class Refused(Exception):  # noqa: N818
    """Not published: ``faults`` says why."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(each.says for each in faults))
        self.faults = tuple(faults)


class Conflict(Exception):  # noqa: N818
    """Not published: somebody else published the piece since. ``newest`` is what stands there now."""

    def __init__(self, newest: Version | None) -> None:
        super().__init__(str(newest))
        self.newest = newest


def publish(path: str, files: Files, *, base: int, author: User | None, note: str) -> Version:
    """Publish the next version of a piece and have it served; return it, or the newest one if it is the same.

    ``base`` is the number of the version that the change began from, 0 for a new piece. Raises Conflict if that is not
    the newest any more, Refused if the course with the change could not be served.
    """
    for _ in range(MOST_TRIES):
        seen, known = store.stamp(), store.newest()
        newest = known.get(path)
        if (newest.number if newest else 0) != base:
            raise Conflict(newest)
        if newest is not None and newest.digest == digest_of(files):
            return newest
        try:
            tried = candidate(known, {path: files}, seen)
        except OSError as error:
            raise Refused([unwritable(path, error)]) from error
        if faults := faults_in(tried, [path]):
            raise Refused(faults)
        try:
            [made] = store.add(
                {path: files},
                seen=seen,
                bases={path: base},
                origin=Version.Origin.STUDIO,
                author=author,
                note=note,
            )
        except store.Overtaken:
            continue
        transaction.on_commit(serving.refresh, robust=True)
        return made
    raise Conflict(store.newest_of(path))


def unwritable(path: str, error: OSError) -> Fault:
    """Return the fault of a disk that cannot take the folders of a course."""
    said = (error.strerror or str(error)).lower()
    return Fault(
        path,
        f"the site cannot write its own copy of the course to its disk ({said}). What you wrote is kept; ask whoever "
        "runs the site to make room in RUN_DIR/content or to let the site write there, then do this again",
    )


def candidate(known: Mapping[str, Version], changed: Mapping[str, Files], stamp: int) -> Tree:
    """Return the tree that a change would make. It is served to nobody."""
    places: dict[str, Path] = {
        path: serving.folder_of(each)
        for path, each in known.items()
        if not each.is_withdrawn and path not in changed
    }
    for path, files in changed.items():
        piece_at(path)
        if files:
            places[path] = write_once(files, serving.place_of(digest_of(files)))
    numbers = dict.fromkeys(places, 1) | {path: each.number for path, each in known.items()}
    return serving.linked(places, numbers, stamp)
