"""Versions in the database: read, and added to by one guarded write."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import F, Max

from courseware.models import ContentBlob, ContentStamp, Version
from courseware.studio.pieces import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from courseware.models import User
    from courseware.studio.pieces import Files


class Overtaken(Exception):  # noqa: N818
    """Nothing was written: the course is no longer what was checked."""


def stamp() -> int:
    """Return how often something was published; 0 before the first time."""
    return ContentStamp.objects.aggregate(stamp=Max("stamp"))["stamp"] or 0


def newest() -> dict[str, Version]:
    """Return the newest version of each piece, withdrawn ones too, by its path."""
    tops = Version.objects.order_by().values("piece").annotate(top=Max("pk")).values("top")
    return {each.piece: each for each in Version.objects.filter(pk__in=tops)}


def newest_of(piece: str) -> Version | None:
    """Return the newest version of one piece; None if it was never published."""
    return Version.objects.filter(piece=piece).order_by("number").last()


def version_of(piece: str, number: int) -> Version | None:
    """Return one version of a piece; None if there is no such one."""
    return Version.objects.filter(piece=piece, number=number).first()


def files_of(version: Version) -> dict[str, bytes]:
    """Return the files of a version."""
    return read(version.files)


def read(digests: Mapping[str, str]) -> dict[str, bytes]:
    """Return files by their names from their digests."""
    found = {
        each.digest: bytes(each.data)
        for each in ContentBlob.objects.filter(digest__in=digests.values())
    }
    return {name: found[digest] for name, digest in digests.items()}


def put(files: Files) -> dict[str, str]:
    """Store files that are not stored yet; return their digests by name."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    blobs = [ContentBlob(digest=digests[name], data=data) for name, data in files.items()]
    ContentBlob.objects.bulk_create(blobs, ignore_conflicts=True)
    return digests


def add(
    changed: Mapping[str, Files],
    *,
    seen: int,
    bases: Mapping[str, int],
    origin: Version.Origin,
    author: User | None = None,
    note: str = "",
) -> list[Version]:
    """Publish new versions of pieces, all of them or none; a piece without files is withdrawn.

    ``seen`` is the stamp of the course that the change was checked against, ``bases`` the number that each piece had
    then, 0 for a new one. Raises Overtaken if anything was published since.
    """
    try:
        with transaction.atomic():
            ContentStamp.objects.get_or_create(pk=1)
            rows = ContentStamp.objects.filter(pk=1, stamp=seen)
            if rows.update(stamp=F("stamp") + 1) != 1:
                raise Overtaken
            return [
                Version.objects.create(
                    piece=piece,
                    number=bases[piece] + 1,
                    files=put(files),
                    digest=digest_of(files),
                    author=author,
                    note=note,
                    origin=origin,
                    in_files=origin == Version.Origin.FILES,
                )
                for piece, files in changed.items()
            ]
    except IntegrityError as error:
        raise Overtaken from error


def note_in_files(versions: Iterable[Version]) -> None:
    """Note that files hold these versions now."""
    Version.objects.filter(pk__in=[each.pk for each in versions]).update(in_files=True)
