"""Prefix caching of shared texts, in closed form: whole blocks of named prefixes instead of hashes of tokens.

The rules are vLLM's (v1/core/block_pool.py, held to ``kv_cache.BlockPool`` by the tests): full blocks only, the last
token is always computed, a free block keeps its content until it is taken, free blocks are taken from the
front of a queue, a request gives its blocks back last block first, those without content in front, the others
at the end. So of one text the end is always evicted before the beginning: what is cached of it is a
number of blocks, and the free queue is a row of runs of blocks.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.request import Request


@dataclass(slots=True, eq=False)
class _Text:
    """The blocks of one text, from ``start`` on: cached below ``end``, held by somebody below the largest holder."""

    start: int
    end: int
    holders: dict[int, int] = field(default_factory=dict)
    """Block up to which somebody holds it -> how many do."""
    runs: list[int] = field(default_factory=list)
    """Its runs in the free queue, first to be taken first: higher blocks before lower."""

    @property
    def held(self) -> int:
        return max(self.holders, default=self.start)


@dataclass(slots=True, eq=False)
class _Run:
    """Free blocks ``low`` to ``high`` of a text, to be taken from the high end; of no text, only a number."""

    text: _Text | None
    low: int
    high: int


def spans(request: Request, block_size: int) -> list[tuple[str, int, int]]:
    """Return (name, from, to) in blocks of the shared texts in the prompt of ``request``, in order."""
    found = []
    start = 0
    for name, tokens in request.prefix:
        stop = tokens // block_size
        if stop > start:
            found.append((name, start, stop))
            start = stop
    return found


class PrefixCache:
    """What of which text is cached, and the queue of free blocks.

    The queue may be ahead of the scheduler's count of free blocks: blocks that were only counted as taken leave
    it when ``settle`` is called, before anything looks at it or comes into it.
    """

    __slots__ = ("_block_size", "_length", "_next", "_own", "_queue", "_texts")

    def __init__(self, usable_blocks: int, block_size: int) -> None:
        self._block_size = block_size
        self._length = usable_blocks
        self._queue: OrderedDict[int, _Run] = OrderedDict({0: _Run(None, 0, usable_blocks)})
        self._next = 1
        self._texts: dict[str, _Text] = {}
        self._own: dict[int, _Text] = {}
        """Of preempted requests, by index: what follows the shared texts."""

    def settle(self, num_free: int) -> None:
        """Take from the front what is no longer among the ``num_free``."""
        queue = self._queue
        while self._length > num_free:
            key = next(iter(queue))
            run = queue[key]
            taken = min(self._length - num_free, run.high - run.low)
            run.high -= taken
            self._length -= taken
            if run.text is not None:
                run.text.end = run.high
            if run.high == run.low:
                del queue[key]
                if run.text is not None:
                    run.text.runs.remove(key)

    def _push(self, text: _Text | None, low: int, high: int) -> None:
        """Put free blocks at the end of the queue."""
        if high <= low:
            return
        self._queue[self._next] = _Run(text, low, high)
        if text is not None:
            text.runs.append(self._next)
        self._next += 1
        self._length += high - low

    def _push_front(self) -> None:
        """Put a block without content at the front."""
        self._length += 1
        first = next(iter(self._queue.values()), None)
        if first is not None and first.text is None:
            first.high += 1
            return
        self._queue[self._next] = _Run(None, 0, 1)
        self._queue.move_to_end(self._next, last=False)
        self._next += 1

    def lookup(self, request: Request) -> tuple[int, int]:
        """Return (blocks of ``request`` that are cached, those of them that no request holds). Settled."""
        hit = evictable = 0
        for name, start, stop in spans(request, self._block_size):
            text = self._texts.get(name)
            if text is None:
                return hit, evictable
            hit = min(stop, text.end)
            evictable += max(0, hit - max(start, text.held))
            if hit < stop:
                return hit, evictable
        own = self._own.get(request.index)
        if own is not None:
            evictable += own.end - own.start
            hit = own.end
        return hit, evictable

    def take(self, request: Request, hit_blocks: int, full_blocks: int) -> None:
        """Let ``request`` hold its ``hit_blocks`` and, of new content, all below ``full_blocks``. Settled."""
        for name, start, stop in spans(request, self._block_size):
            if full_blocks <= start:
                break
            text = self._texts.get(name)
            if text is None:
                text = self._texts[name] = _Text(start, start)
            self._unqueue(text, min(stop, hit_blocks))
            self._hold(text, min(stop, full_blocks))
        own = self._own.pop(request.index, None)
        if own is not None:
            self._unqueue(own, hit_blocks)

    def _unqueue(self, text: _Text, stop: int) -> None:
        """Take the free blocks of ``text`` below ``stop`` out of the queue, wherever they are."""
        while text.runs:
            run = self._queue[text.runs[-1]]
            if run.low >= stop:
                return
            taken = min(run.high, stop) - run.low
            run.low += taken
            self._length -= taken
            if run.low < run.high:
                return
            del self._queue[text.runs.pop()]

    @staticmethod
    def _hold(text: _Text, stop: int) -> None:
        text.holders[stop] = text.holders.get(stop, 0) + 1
        text.end = max(text.end, stop)

    def grow(self, request: Request, before: int, full_blocks: int) -> None:
        """Let ``request``, which held full blocks up to ``before``, hold them up to ``full_blocks``."""
        for name, start, stop in spans(request, self._block_size):
            if before >= stop or full_blocks <= start:
                continue
            text = self._texts.get(name)
            if text is None:
                text = self._texts[name] = _Text(start, start)
            if before > start:
                self._let_go(text, min(stop, before))
            self._hold(text, min(stop, full_blocks))

    @staticmethod
    def _let_go(text: _Text, stop: int) -> None:
        text.holders[stop] -= 1
        if not text.holders[stop]:
            del text.holders[stop]

    def free(self, request: Request, *, comes_again: bool) -> int:
        """Give back all blocks of ``request``; return how many nobody holds now. Settled."""
        before = self._length
        full = request.num_computed_tokens // self._block_size
        if request.num_blocks > full:
            self._push_front()
        shared = spans(request, self._block_size)
        start = shared[-1][2] if shared else 0
        if full > start:
            own = _Text(start, full) if comes_again else None
            if own is not None:
                self._own[request.index] = own
            self._push(own, start, full)
        for name, low, stop in reversed(shared):
            if full > low:
                text = self._texts[name]
                held = text.held
                self._let_go(text, min(stop, full))
                self._push(text, text.held, held)
        return self._length - before

    def forget(self, request: Request) -> None:
        """Know that a preempted request does not come again; its blocks stay where they are."""
        self._own.pop(request.index, None)


@dataclass(slots=True, frozen=True)
class TemplateChange:
    """From now on the text that a class's prompts begin with differs from token ``position`` on.

    A new identity: of what was cached, whole blocks before ``position`` still hit, floor(position / block size) of
    them.
    """

    request_class: str
    position: int
    name: str
    """Of the new text."""

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Give the class the new text. Raises ValueError if there is no such class."""
        del at_s
        classes = cluster.workload.spec.classes
        if self.request_class not in {kind.name for kind in classes}:
            raise ValueError(f"no class {self.request_class!r} in the mix")
        cluster.workload.set_classes(
            [
                replace(
                    kind,
                    prefix_group=self.name,
                    prefix_base=((kind.prefix_group, self.position),) if self.position else (),
                )
                if kind.name == self.request_class
                else kind
                for kind in classes
            ]
        )
