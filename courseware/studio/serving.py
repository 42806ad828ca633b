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
from contextlib import suppress
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
        if stamp != served.tree().stamp or not is_whole(served.tree()):
            served.serve(tree_of(store.newest(), stamp) if stamp else CHECKOUT)


def tree_of(versions: Mapping[str, Version], stamp: int) -> Tree:
    """Return the tree of these versions, by the paths of their pieces; withdrawn pieces are not in it."""
    there = {path: each for path, each in versions.items() if not each.is_withdrawn}
    places = {path: folder_of(each) for path, each in there.items()}
    numbers = {path: each.number for path, each in versions.items()}
    return linked(places, numbers, stamp)


def is_whole(tree: Tree) -> bool:
    """Tell whether the folders of a tree are all there still: a disk may be tidied under a running site."""
    if tree is CHECKOUT:
        return True
    folders = (tree.labs, tree.lessons, *tree.lessons.glob("*"))
    return all(folder.exists() for folder in folders) and all(
        each.exists() for folder in folders if folder.is_dir() for each in folder.iterdir()
    )


def linked(places: Mapping[str, Path], numbers: Mapping[str, int], stamp: int) -> Tree:
    """Return a tree whose pieces are links to the folders that hold them; made once."""
    said = json.dumps({path: place.name for path, place in sorted(places.items())})
    root = _kept() / "trees" / hashlib.sha256(said.encode()).hexdigest()[:24]
    if not root.is_dir():
        making = root.with_name(f".{root.name}.{uuid.uuid4().hex}")
        _link_all(making, places)
        try:
            making.rename(root)
        except OSError:  # Another process was faster, and made the same.
            if not root.is_dir():
                raise
    _link_all(root, places)
    return Tree(
        labs=root / "labs",
        lessons=root / "lessons",
        pinned=_kept() / "pinned",
        numbers=numbers,
        stamp=stamp,
    )


def _link_all(root: Path, places: Mapping[str, Path]) -> None:
    """Link every piece below a tree's root; what is linked already stays."""
    for name in ("labs", "lessons"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for path, place in places.items():
        link = root / path
        if not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):  # Another process was faster, and made the same.
                link.symlink_to(place if piece_at(path).is_folder else place / link.name)


def folder_of(version: Version) -> Path:
    """Return the folder that holds a version's files on this machine."""
    return kept(version.digest, version.files)


def kept(digest: str, files: Mapping[str, str]) -> Path:
    """Return the folder that holds a piece's files on this machine, made if any of them is missing.

    ``files`` are the digests of its files by name.
    """
    place = place_of(digest)
    if all((place / name).is_file() for name in files):
        return place
    return write_once(store.read(files), place)


def place_of(digest: str) -> Path:
    """Return where a piece of this digest is kept on this machine."""
    return _kept() / "pieces" / digest[:24]


def _kept() -> Path:
    path: Path = settings.RUN_DIR / "content"
    return path


# ------------------------------------------------------------------------------------ other versions


def state_key(state: DraftState) -> str:
    """Return the key under which readers find a state of a draft."""
    return pinned(piece_at(state.piece).name, kept(state.digest, state.files))


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


def key_of(path: str, number: int) -> str:
    """Return the key of one version of a lab or a drill: its plain name if that version is the one that is served.

    Raises LookupError if there is no such version any more.
    """
    key = _key_of(path, number)
    if PINNED in key and not (_kept() / "pinned" / key).exists():
        _key_of.cache_clear()
        key = _key_of(path, number)
    return key


@remembered
def _key_of(path: str, number: int) -> str:
    here, piece = served.tree(), piece_at(path)
    # Whoever tries a draft still meets attempts at the lab itself, others' among them: those read what is published.
    is_tried = here.trial and piece.kind == "lab"
    if not here.stamp or (here.number(path) == number and not is_tried):
        return piece.name
    version = Version.objects.filter(piece=path, number=number).first()
    if version is None or version.is_withdrawn:
        raise LookupError(f"{path}: there is no version {number}")
    return pinned(piece.name, folder_of(version))
