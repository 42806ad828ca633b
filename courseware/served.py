"""Which files of the course this process serves: those of the checkout, or a tree of published versions. Pure.

Whatever reads the course asks :func:`tree` where it stands, and keeps what it read with ``remembered``: so a newer tree
is read anew, and a tree that is only tried, such as a draft before it is published, leaves no trace.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HERE = Path(__file__).resolve().parent.parent
PINNED = "@"
"""Between a lab's slug and the digest of one of its versions."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Folders of one state of the whole course."""

    labs: Path
    """One folder a lab."""
    lessons: Path
    """Units, and beside them symptoms, drills, the glossary and the triage card."""
    pinned: Path | None = None
    """Folders ``<slug>@<digest>`` of labs as they were, or may become."""
    numbers: Mapping[str, int] = MappingProxyType({})
    """The version of each piece, by its path; a piece that is not named is at its first."""
    stamp: int = 0
    """Counts what was published until this tree."""
    trial: int = 0
    """Key of the draft's state that somebody tries in it; 0 for a tree that is served."""
    memory: dict[Any, dict[Any, Any]] = field(default_factory=dict, repr=False)
    """What readers have read of it."""

    def number(self, piece: str) -> int:
        """Return the version of a piece, from 1."""
        return self.numbers.get(piece, 1)


CHECKOUT = Tree(labs=_HERE / "labs" / "content", lessons=_HERE / "lessons" / "content")

_served = [CHECKOUT]
"""The tree of this process: its only entry."""
_tried: ContextVar[Tree | None] = ContextVar("tried", default=None)


def of_trial(tree: Tree, state: int) -> Tree:
    """Return a tree in which somebody tries a state of a draft."""
    return replace(tree, trial=state, memory={})


def tree() -> Tree:
    """Return the tree that is read now."""
    return _tried.get() or _served[0]


def serve(new: Tree) -> None:
    """Have this process serve another tree from now on. What was read of the old one is forgotten with it."""
    _served[0] = new


@contextmanager
def trying(candidate: Tree) -> Iterator[Tree]:
    """Read another tree for a while, in this thread only."""
    token = _tried.set(candidate)
    try:
        yield candidate
    finally:
        _tried.reset(token)


def trying_or_not(candidate: Tree | None) -> AbstractContextManager[Tree | None]:
    """Read another tree for a while, in this thread only; without one, read on what is served."""
    return nullcontext() if candidate is None else trying(candidate)


class Remembered[**P, R](Protocol):
    """A reader that keeps what it read for as long as its tree is served."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def cache_clear(self) -> None:
        """Forget what was read of today's tree."""


def remembered[**P, R](read: Callable[P, R]) -> Remembered[P, R]:
    """Keep what a function of hashable arguments returns, for each tree apart. What it raises is not kept."""

    @functools.wraps(read)
    def reader(*args: P.args, **kwargs: P.kwargs) -> R:
        known = tree().memory.setdefault(reader, {})
        key = (args, *sorted(kwargs.items())) if kwargs else args
        try:
            return cast("R", known[key])
        except KeyError:
            return cast("R", known.setdefault(key, read(*args, **kwargs)))

    def cache_clear() -> None:
        tree().memory.pop(reader, None)

    reader.cache_clear = cache_clear  # type: ignore[attr-defined]
    return cast("Remembered[P, R]", reader)
