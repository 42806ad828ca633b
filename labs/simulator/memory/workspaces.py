"""Workspaces of every size beside small things that stay: how one engine's allocator falls into pieces."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from labs.simulator.memory.allocator import OutOfMemoryError

if TYPE_CHECKING:
    from labs.simulator.memory.allocator import CachingAllocator


@dataclass(slots=True, frozen=True)
class MixedSizes:
    """A class of requests that take a workspace as long as they are, and leave an entry in a bounded cache.

    An image encoder with its embeddings or a tenant's adapter behaves so. The cache is bounded, so that what is
    allocated is flat; but an entry that was split from a workspace's segment pins it, and the next longer
    workspace needs a new one.
    """

    request_class: str
    workspace_bytes_per_token: int
    entry_bytes_per_token: int
    entries_kept: int | None = None
    """The cache's bound in entries: the oldest goes once the new one is there."""
    owner: str = "workspace"
    entry_owner: str = "embedding_cache"
    tokens_kept: int | None = None
    """The bound in tokens, as vLLM's encoder cache has it: the oldest go before the new one's workspace is taken."""


class Moment(NamedTuple):
    """What the allocator held after a request, bytes."""

    at_s: float
    reserved: int
    allocated: int
    inactive_split: int
    largest_free: int


@dataclass(slots=True)
class Workspaces:
    """The workspaces of one process. Every rank does the same."""

    kind: MixedSizes
    allocator: CachingAllocator
    entries: list[tuple[int, int]] = field(default_factory=list)
    """(handle, tokens) of the entries kept, oldest first."""
    history: list[Moment] = field(default_factory=list)

    def serve(self, at_s: float, prompt_tokens: int, *, capacity: int, peak: int) -> None:
        """Take the workspace of a request, leave its entry, let go of the workspace and of the oldest entry.

        ``capacity`` is what the device has for this allocator beside a step's activations, whose cached ``peak`` torch gives
        back where the workspace needs it; the step that follows wants it again. Both in bytes. Raises OutOfMemoryError.
        """
        try:
            self._serve(prompt_tokens, capacity=capacity, peak=peak)
        finally:
            self._note(at_s)

    def _serve(self, prompt_tokens: int, *, capacity: int, peak: int) -> None:
        allocator = self.allocator
        allocator.capacity = capacity + peak
        self._make_room(prompt_tokens)
        workspace = allocator.allocate(
            prompt_tokens * self.kind.workspace_bytes_per_token, self.kind.owner
        )
        allocator.free(workspace)
        entry = max(1, prompt_tokens * self.kind.entry_bytes_per_token)
        self.entries.append((allocator.allocate(entry, self.kind.entry_owner), prompt_tokens))
        if self.kind.entries_kept is not None and len(self.entries) > self.kind.entries_kept:
            allocator.free(self.entries.pop(0)[0])
        allocator.capacity = capacity
        if allocator.device_free < 0:
            allocator.empty_cache()
        if allocator.device_free < 0:
            raise OutOfMemoryError(
                peak,
                free=allocator.device_free + peak,
                allocated=allocator.allocated,
                reserved=allocator.reserved,
            )

    def _make_room(self, tokens: int) -> None:
        """Let go of the oldest entries until ``tokens`` more fit into the cache, or nothing is left in it."""
        if self.kind.tokens_kept is None:
            return
        held = sum(each for _, each in self.entries)
        while self.entries and held + tokens > self.kind.tokens_kept:
            handle, gone = self.entries.pop(0)
            self.allocator.free(handle)
            held -= gone

    def _note(self, at_s: float) -> None:
        allocator = self.allocator
        self.history.append(
            Moment(
                at_s,
                allocator.reserved,
                allocator.allocated,
                allocator.inactive_split,
                allocator.largest_free,
            )
        )

    def at(self, at_s: float) -> Moment:
        """Return what the allocator held at ``at_s``; nothing before the first request."""
        place = bisect_right(self.history, at_s, key=lambda moment: moment.at_s)
        return self.history[place - 1] if place else Moment(at_s, 0, 0, 0, 0)

    def state(self) -> tuple[object, ...]:
        """Return it in plain values."""
        return (self.kind, self.allocator.state(), self.entries, self.history)
