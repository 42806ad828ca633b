"""What this process serves: trees of the newest versions, made on this machine's disk once somebody publishes.

The database is the truth. A process looks at its stamp now and then, one short query; the folders that it makes are
named by what they hold, so that all processes of a machine share them and none is ever changed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError

from courseware import served
from courseware.models import DraftState, Version
from courseware.served import CHECKOUT, PINNED, Tree, remembered
from courseware.studio import store
from courseware.studio.pieces import piece_at, write, write_once

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

logger = logging.getLogger(__name__)

_looking = threading.Lock()
_looked_at_s = [-float("inf")]
"""On the monotonic clock; its only entry."""


def look() -> None:
    """Serve what is newest, if it is time to look again and something was published. Never raises."""
    if not is_time():
        return
    try:
        refresh()
    except (DatabaseError, OSError, LookupError):
        logger.exception("The newest course cannot be read; the one before is served on")


def is_time() -> bool:
    """Tell whether this process should look again."""
    every_s = settings.CONTENT_LOOK_EVERY_S
    return bool(every_s) and time.monotonic() - _looked_at_s[0] >= every_s


def refresh() -> None:
    """Serve what is newest, now."""
    with _looking:
        _looked_at_s[0] = time.monotonic()
        stamp = store.stamp()
        if stamp != served.tree().stamp:
            served.serve(tree_of(store.newest(), stamp) if stamp else CHECKOUT)


def tree_of(versions: Mapping[str, Version], stamp: int) -> Tree:
    """Return the tree of these versions, by the paths of their pieces; withdrawn pieces are not in it."""
    there = {path: each for path, each in versions.items() if not each.is_withdrawn}
    places = {path: folder_of(each) for path, each in there.items()}
    numbers = {path: each.number for path, each in versions.items()}
    return linked(places, numbers, stamp)


def linked(places: Mapping[str, Path], numbers: Mapping[str, int], stamp: int) -> Tree:
    """Return a tree whose pieces are links to the folders that hold them; made once."""
    said = json.dumps({path: place.name for path, place in sorted(places.items())})
    root = _kept() / "trees" / hashlib.sha256(said.encode()).hexdigest()[:24]
    if not root.is_dir():
        making = root.with_name(f".{root.name}.{uuid.uuid4().hex}")
        (making / "labs").mkdir(parents=True)
        (making / "lessons").mkdir()
        for path, place in places.items():
            piece = piece_at(path)
            link = making / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(place if piece.is_folder else place / link.name)
        try:
            making.rename(root)
        except OSError:  # Another process was faster, and made the same.
            if not root.is_dir():
                raise
    return Tree(
        labs=root / "labs",
        lessons=root / "lessons",
        pinned=_kept() / "pinned",
        numbers=numbers,
        stamp=stamp,
    )


def folder_of(version: Version) -> Path:
    """Return the folder that holds a version's files on this machine."""
    place = place_of(version.digest)
    return place if place.is_dir() else write_once(store.files_of(version), place)


def place_of(digest: str) -> Path:
    """Return where a piece of this digest is kept on this machine."""
    return _kept() / "pieces" / digest[:24]


def _kept() -> Path:
    path: Path = settings.RUN_DIR / "content"
    return path


# ------------------------------------------------------------------------------------ other versions


def state_key(state: DraftState) -> str:
    """Return the key under which readers find a state of a draft."""
    place = place_of(state.digest)
    if not place.is_dir():
        write_once(store.read(state.files), place)
    return pinned(piece_at(state.piece).name, place)


def workplace(state: DraftState) -> str:
    """Return the key of a copy of a draft's state that a worker may write computed files into."""
    place = _kept() / "proving" / state.digest[:24]
    write(store.read(state.files), place)
    return pinned(piece_at(state.piece).name, place, f"proving-{state.digest[:16]}")


def pinned(name: str, place: Path, sign: str = "") -> str:
    """Return the key under which readers find a piece that is not served: ``<name>@<digest>``."""
    key = f"{name}{PINNED}{sign or place.name[:16]}"
    link = _kept() / "pinned" / key
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.exists():
        try:
            link.symlink_to(place)
        except FileExistsError:
            logger.info("%s was made by another process", key)
    return key


@remembered
def key_of(path: str, number: int) -> str:
    """Return the key of one version of a lab or a drill: its plain name if that version is the one that is served.

    Raises LookupError if there is no such version any more.
    """
    here, piece = served.tree(), piece_at(path)
    if not here.stamp or here.number(path) == number:
        return piece.name
    version = Version.objects.filter(piece=path, number=number).first()
    if version is None or version.is_withdrawn:
        raise LookupError(f"{path}: there is no version {number}")
    return pinned(piece.name, folder_of(version))
