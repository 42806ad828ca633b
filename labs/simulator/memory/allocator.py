"""A caching allocator by the rules of torch's for CUDA: segments from the driver, blocks split from them, gaps.

Source of the sizes and rules: PyTorch's notes on CUDA memory management and its CUDACachingAllocator: blocks are
multiples of 512 B; up to 1 MiB comes from segments of 2 MiB, below 10 MiB from segments of 20 MiB, the rest from
segments of its own size in steps of 2 MiB; the smallest free block that fits is taken and split; neighbours merge;
where the driver refuses, whole free segments go back to it, and the allocation is tried once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labs.simulator.memory.ledger import MIB

MIN_BLOCK = 512
SMALL = 1 * MIB
SMALL_SEGMENT, LARGE_SEGMENT = 2 * MIB, 20 * MIB
MIN_OWN_SEGMENT = 10 * MIB
ROUND_LARGE = 2 * MIB
HOLE = -1


class OutOfMemoryError(Exception):
    """No block, and the driver has no segment. Sizes in bytes."""

    def __init__(self, tried: int, *, free: int, allocated: int, reserved: int) -> None:
        """Say what was tried and what there was."""
        super().__init__(f"tried {tried}: {free=} {allocated=} {reserved=}")
        self.tried = tried
        self.free = free
        self.allocated = allocated
        self.reserved = reserved


@dataclass(slots=True)
class Block:
    """A piece of a segment. A free one is torch's ``inactive``."""

    handle: int
    """0 if free, HOLE if the driver has its pages back."""
    size: int
    owner: str


@dataclass(slots=True)
class Segment:
    """What the driver gave at once; its blocks lie side by side, and no two neighbours are free."""

    small: bool
    size: int
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_free(self) -> bool:
        """True if nothing in it is allocated."""
        return len(self.blocks) == 1 and not self.blocks[0].handle

    @property
    def largest_free(self) -> int:
        """The largest free block, bytes."""
        return max((block.size for block in self.blocks if not block.handle), default=0)


class CachingAllocator:
    """An allocator on ``capacity`` bytes of a device. Picklable; deterministic.

    With ``expandable_segments`` there is one segment for small and one for large blocks that grow at their ends, page by
    page, and give back whole free pages from their middle when the driver has none left: what is free is then never
    in the wrong place.
    """

    def __init__(self, capacity: int, *, expandable_segments: bool = False) -> None:
        """Make an allocator that has asked for nothing yet."""
        self.capacity = capacity
        self.expandable_segments = expandable_segments
        self.segments: list[Segment] = []
        self._where: dict[int, Segment] = {}
        self._next_handle = 1

    @property
    def reserved(self) -> int:
        """Bytes that the driver has given."""
        return sum(segment.size for segment in self.segments)

    @property
    def allocated(self) -> int:
        """Bytes in blocks that somebody holds."""
        return sum(
            block.size for segment in self.segments for block in segment.blocks if block.handle > 0
        )

    @property
    def inactive_split(self) -> int:
        """Free bytes in segments that something else keeps from going back: what fragmentation holds."""
        return sum(
            block.size
            for segment in self.segments
            if not segment.is_free
            for block in segment.blocks
            if not block.handle
        )

    @property
    def largest_free(self) -> int:
        """The largest request that needs nothing from the driver, bytes."""
        return max((segment.largest_free for segment in self.segments), default=0)

    @property
    def device_free(self) -> int:
        """What the driver could still give, bytes."""
        return self.capacity - self.reserved

    def allocate(self, size: int, owner: str) -> int:
        """Allocate ``size`` bytes for ``owner``; return a handle to free it by.

        Raises ValueError for a size below 1, OutOfMemoryError if neither a free block nor the driver has it.
        """
        if size < 1:
            raise ValueError(f"{size=}: must be at least 1")
        size = _rounded(size, MIN_BLOCK)
        small = size <= SMALL
        found = self._best_fit(size, small=small)
        if found is None:
            found = (
                self._expand(size, small=small)
                if self.expandable_segments
                else self._new_segment(size, small=small)
            )
        segment, place = found
        return self._take(segment, place, size, owner)

    def free(self, handle: int) -> None:
        """Free a block; its neighbours that are free merge with it. Raises KeyError for a handle that is not held."""
        segment = self._where.pop(handle)
        place = next(i for i, block in enumerate(segment.blocks) if block.handle == handle)
        segment.blocks[place] = Block(0, segment.blocks[place].size, "")
        for neighbour in (place, place - 1):
            if 0 <= neighbour < len(segment.blocks) - 1:
                left, right = segment.blocks[neighbour : neighbour + 2]
                if not left.handle and not right.handle:
                    segment.blocks[neighbour : neighbour + 2] = [
                        Block(0, left.size + right.size, "")
                    ]

    def empty_cache(self) -> int:
        """Give whole free segments (pages, if expandable) back to the driver; return how many bytes."""
        before = self.reserved
        if self.expandable_segments:
            for segment in self.segments:
                page = SMALL_SEGMENT if segment.small else LARGE_SEGMENT
                _unmap(segment, page)
        self.segments = [
            segment for segment in self.segments if segment.size and not segment.is_free
        ]
        return before - self.reserved

    def state(self) -> tuple[object, ...]:
        """Return all segments and blocks in plain values."""
        return (
            self.capacity,
            self.expandable_segments,
            self._next_handle,
            [
                (segment.small, segment.size, [(b.handle, b.size, b.owner) for b in segment.blocks])
                for segment in self.segments
            ],
        )

    def _best_fit(self, size: int, *, small: bool) -> tuple[Segment, int] | None:
        best: tuple[int, Segment, int] | None = None
        for segment in self.segments:
            if segment.small is not small:
                continue
            for place, block in enumerate(segment.blocks):
                if block.handle or block.size < size:
                    continue
                if best is None or block.size < best[0]:
                    best = (block.size, segment, place)
        return None if best is None else best[1:]

    def _new_segment(self, size: int, *, small: bool) -> tuple[Segment, int]:
        wanted = SMALL_SEGMENT if small else LARGE_SEGMENT
        if size >= MIN_OWN_SEGMENT:
            wanted = _rounded(size, ROUND_LARGE)
        self._make_room(wanted, size)
        segment = Segment(small, wanted, [Block(0, wanted, "")])
        self.segments.append(segment)
        return segment, 0

    def _expand(self, size: int, *, small: bool) -> tuple[Segment, int]:
        page = SMALL_SEGMENT if small else LARGE_SEGMENT
        segment = next((s for s in self.segments if s.small is small), None)
        tail = 0
        if segment is not None and not segment.blocks[-1].handle:
            tail = segment.blocks[-1].size
        wanted = _rounded(size - tail, page)
        if wanted > self.device_free:
            self.empty_cache()
            segment, tail = next((s for s in self.segments if s.small is small), None), 0
            wanted = _rounded(size, page)
        self._make_room(wanted, size)
        if segment is None:
            segment = Segment(small, 0)
            self.segments.append(segment)
        if tail:
            segment.blocks[-1] = Block(0, tail + wanted, "")
        else:
            segment.blocks.append(Block(0, wanted, ""))
        segment.size += wanted
        return segment, len(segment.blocks) - 1

    def _make_room(self, wanted: int, tried: int) -> None:
        if wanted > self.device_free and not self.expandable_segments:
            self.empty_cache()
        if wanted > self.device_free:
            raise OutOfMemoryError(
                tried, free=self.device_free, allocated=self.allocated, reserved=self.reserved
            )

    def _take(self, segment: Segment, place: int, size: int, owner: str) -> int:
        handle = self._next_handle
        self._next_handle += 1
        rest = segment.blocks[place].size - size
        # A large block's remainder of up to 1 MiB is no use to anybody, and stays with it.
        if rest >= MIN_BLOCK if segment.small else rest > SMALL:
            segment.blocks[place : place + 1] = [Block(handle, size, owner), Block(0, rest, "")]
        else:
            segment.blocks[place] = Block(handle, segment.blocks[place].size, owner)
        self._where[handle] = segment
        return handle


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step


def _unmap(segment: Segment, page: int) -> None:
    """Give back the whole pages of an expandable segment's free blocks; their addresses stay, as holes."""
    blocks: list[Block] = []
    address = 0
    for block in segment.blocks:
        start, end = address, address + block.size
        address = end
        first, last = _rounded(start, page), end // page * page
        if block.handle or first >= last:
            blocks.append(block)
            continue
        pieces = ((0, first - start), (HOLE, last - first), (0, end - last))
        blocks += [Block(handle, size, "") for handle, size in pieces if size]
        segment.size -= last - first
    segment.blocks = blocks
