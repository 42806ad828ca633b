"""The life of a draft: begun from a version, a clone or nothing, saved, proved, tried, published or thrown away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import F
from django.utils import timezone

from courseware.models import Draft, DraftState
from courseware.studio import publishing, store
from courseware.studio.pieces import (
    RUBRIC,
    digest_of,
    is_computed,
    is_file_name,
    piece_at,
    texts_in,
)
from courseware.studio.starts import starting
from labs.models import DraftProof

if TYPE_CHECKING:
    from collections.abc import Mapping

    from courseware.models import User, Version

MOST_CHARACTERS = 200_000
"""Of one file: what readers of the course take."""
MOST_FILES = 40


class Stale(Exception):  # noqa: N818
    """Nothing was written: the draft was saved from another page since. ``draft`` is what it is now."""

    def __init__(self, draft: Draft) -> None:
        super().__init__(str(draft))
        self.draft = draft


class Unfit(ValueError):  # noqa: N818
    """What was asked for cannot be; the message says why and what can."""


def begin(path: str, *, by: User) -> Draft:
    """Begin a draft from the newest version of a piece. Raises Unfit if there is none."""
    newest = store.newest_of(path)
    if newest is None or newest.is_withdrawn:
        raise Unfit(f"The course has no {path}")
    texts = texts_of(newest)
    texts.pop(RUBRIC, None)
    return Draft.objects.create(piece=path, base=newest.number, texts=texts, by=by, last_by=by)


def begin_new(path: str, *, by: User, clone_of: str = "") -> Draft:
    """Begin a piece that the course does not have yet: from a template, or as a clone of another of its kind.

    Raises Unfit for a path that is taken, or a clone of another kind, and NoPiece.
    """
    piece = piece_at(path)
    newest = store.newest_of(path)
    if newest is not None and not newest.is_withdrawn:
        raise Unfit(f"{path} is there already: open it and begin a draft of it")
    if clone_of:
        other = store.newest_of(clone_of)
        if other is None or other.is_withdrawn or piece_at(clone_of).kind != piece.kind:
            raise Unfit(f"{clone_of} cannot be cloned: choose a {piece.kind} of the course")
        texts = {_own_name(name, clone_of, path): text for name, text in texts_of(other).items()}
    else:
        texts = dict(starting(piece))
    base = newest.number if newest is not None else 0
    return Draft.objects.create(piece=path, base=base, texts=texts, by=by, last_by=by)


def texts_of(version: Version) -> dict[str, str]:
    """Return what people wrote of a version."""
    return texts_in(store.files_of(version))


def _own_name(name: str, old: str, new: str) -> str:
    """Return a file's name in a clone: a piece that is one file is called as the piece."""
    is_the_piece = old.endswith(f"/{name}")
    return new.rpartition("/")[2] if is_the_piece else name


# ------------------------------------------------------------------------------------------- writing


def save(draft: Draft, *, version: int, by: User, texts: Mapping[str, str | None]) -> int:
    """Store files of a draft, and take away those that are None; return the draft's version now.

    ``version`` is the one that the page showed. The same sent twice is stored once. Raises Stale if the draft was saved
    from another page since, Unfit for a name or a size that no piece can have.
    """
    merged = {**draft.texts, **texts}
    after = {name: text for name, text in merged.items() if text is not None}
    for name in set(after) - set(draft.texts):
        refuse_name(draft, name)
    for name, text in after.items():
        if "\x00" in text:
            line = text.count("\n", 0, text.index("\x00")) + 1
            raise Unfit(
                f"{name}:{line}: holds U+0000, a sign that no text has: take out what was pasted there"
            )
        if len(text) > MOST_CHARACTERS:
            raise Unfit(
                f"{name} holds {len(text):,} characters; {MOST_CHARACTERS:,} at most: split it"
            )
    rows = Draft.objects.filter(pk=draft.pk, version=version)
    if rows.update(texts=after, version=F("version") + 1, last_by=by, saved_at=timezone.now()):
        return version + 1
    stored = Draft.objects.get(pk=draft.pk)
    if stored.version == version + 1 and stored.texts == after:
        return stored.version
    raise Stale(stored)


def refuse_name(draft: Draft, name: str) -> None:
    """Raise Unfit for a file that a draft cannot get."""
    if not piece_at(draft.piece).is_folder:
        raise Unfit(f"{draft.piece} is one file and can hold no other")
    if not is_file_name(name) or not name.endswith((".md", ".toml")):
        raise Unfit(
            f"{name!r}: call a file with small letters, digits and hyphens and end it with .md or .toml, "
            "such as 02-second-station.md or plays/restart.toml"
        )
    if len(draft.texts) >= MOST_FILES:
        raise Unfit(f"A piece holds {MOST_FILES} files at most; take one away first")


def take_over(draft: Draft, *, version: int, newest: int) -> bool:
    """Let a draft count as begun from a newer version, which its author has seen; False if it was saved since."""
    rows = Draft.objects.filter(pk=draft.pk, version=version)
    return rows.update(base=newest, version=F("version") + 1) == 1


# ------------------------------------------------------------------------- proving, trying, publishing


def files_of(draft: Draft) -> dict[str, bytes]:
    """Return a draft's files as they would be published: its texts, and what was computed for them last."""
    files = written(draft)
    if piece_at(draft.piece).kind == "lab":
        files |= _computed(draft) | _rubric(draft)
    return files


def _rubric(draft: Draft) -> dict[str, bytes]:
    """Return the lab's rubric as it stands now: a draft of the lab does not change it."""
    newest = store.newest_of(draft.piece)
    if RUBRIC in draft.texts or newest is None or RUBRIC not in newest.files:
        return {}
    return store.read({RUBRIC: newest.files[RUBRIC]})


def _computed(draft: Draft) -> dict[str, bytes]:
    base, proof = (
        store.version_of(draft.piece, draft.base) or store.newest_of(draft.piece),
        proof_of(draft),
    )
    kept = {} if base is None else {n: each for n, each in base.files.items() if is_computed(n)}
    # What a draft proves is the lab as it is simulated; a real engine's scale keeps what it had, as long as it fits.
    return store.read({**kept, **(proof.computed if proof is not None else {})})


def written(draft: Draft) -> dict[str, bytes]:
    """Return a draft's texts as files."""
    return {name: text.encode() for name, text in draft.texts.items()}


def proof_of(draft: Draft) -> DraftProof | None:
    """Return the proof of what a draft says now; None if nobody asked for it."""
    rows = DraftProof.objects.filter(
        state__piece=draft.piece, state__digest=digest_of(written(draft))
    )
    return rows.select_related("state").first()


def state_to_prove(draft: Draft) -> DraftState:
    """Return the state of a draft's texts: what is computed follows from them."""
    return _state(draft, written(draft))


def state_to_try(draft: Draft) -> DraftState:
    """Return the state of a draft with all that it would be served with."""
    return _state(draft, files_of(draft))


def _state(draft: Draft, files: Mapping[str, bytes]) -> DraftState:
    state, _ = DraftState.objects.get_or_create(
        piece=draft.piece, digest=digest_of(files), defaults={"files": store.put(files)}
    )
    return state


def publish(draft: Draft, *, version: int, by: User, note: str) -> Version:
    """Publish a draft as the next version of its piece; the draft is done with then.

    Raises Stale if it was saved since the page showed it, and Conflict and Refused as ``publishing.publish`` does.
    """
    stored = Draft.objects.get(pk=draft.pk)
    if stored.version != version:
        raise Stale(stored)
    made = publishing.publish(
        stored.piece, files_of(stored), base=stored.base, author=by, note=note
    )
    Draft.objects.filter(pk=draft.pk, version=version).delete()
    return made


def throw_away(draft: Draft, *, version: int) -> bool:
    """Delete a draft; False if it was saved since the page showed it."""
    gone, _ = Draft.objects.filter(pk=draft.pk, version=version).delete()
    return gone > 0
