import pickle
import random

import pytest

from labs.simulator.memory.allocator import CachingAllocator, OutOfMemoryError
from labs.simulator.memory.ledger import GIB, MIB


def test_blocks_are_multiples_of_512_bytes_from_segments_of_their_kind():
    small = CachingAllocator(GIB)
    small.allocate(100, "a")
    assert (small.allocated, small.reserved) == (512, 2 * MIB)
    middle = CachingAllocator(GIB)
    middle.allocate(3 * MIB, "a")
    assert middle.reserved == 20 * MIB
    large = CachingAllocator(GIB)
    large.allocate(33 * MIB, "a")
    assert large.reserved == 34 * MIB
    assert large.allocated == 34 * MIB  # a remainder of 1 MiB stays with its block


def test_freed_memory_stays_reserved_and_serves_the_next_request():
    torch = CachingAllocator(GIB)
    torch.free(torch.allocate(300 * MIB, "a"))
    assert (torch.allocated, torch.reserved) == (0, 300 * MIB)
    torch.allocate(100 * MIB, "b")
    assert torch.reserved == 300 * MIB
    assert torch.largest_free == 200 * MIB


def test_the_smallest_block_that_fits_is_taken():
    torch = CachingAllocator(GIB)
    held = [torch.allocate(size * MIB, "a") for size in (200, 100, 300)]
    for handle in held:
        torch.free(handle)
    torch.allocate(90 * MIB, "b")
    assert [segment.largest_free // MIB for segment in torch.segments] == [200, 10, 300]


def test_neighbours_merge_when_they_are_free():
    torch = CachingAllocator(300 * MIB)
    torch.free(torch.allocate(300 * MIB, "a"))
    parts = [torch.allocate(100 * MIB, "b") for _ in range(3)]
    for handle in (parts[0], parts[2], parts[1]):
        torch.free(handle)
    assert torch.largest_free == 300 * MIB


def test_a_request_fails_while_more_than_it_asks_for_is_reserved_and_free():
    torch = CachingAllocator(GIB)
    pins = []
    for size in (240, 250, 260, 270):
        workspace = torch.allocate(size * MIB, "workspace")
        torch.free(workspace)
        pins.append(torch.allocate((size - 100 * (size == 240)) * MIB, "pin"))
    torch.free(pins[1])
    torch.allocate(20 * MIB, "pin")
    free = torch.reserved - torch.allocated
    with pytest.raises(OutOfMemoryError) as failure:
        torch.allocate(300 * MIB, "large")
    assert failure.value.tried < free
    assert torch.largest_free < 300 * MIB


def test_whole_free_segments_go_back_to_the_driver_before_it_fails():
    torch = CachingAllocator(GIB)
    torch.free(torch.allocate(600 * MIB, "a"))
    torch.allocate(800 * MIB, "b")
    assert torch.reserved == 800 * MIB


def test_a_pinned_segment_cannot_go_back():
    torch = CachingAllocator(GIB)
    torch.free(torch.allocate(600 * MIB, "a"))
    torch.allocate(50 * MIB, "pin")
    with pytest.raises(OutOfMemoryError):
        torch.allocate(800 * MIB, "b")
    assert torch.inactive_split == 550 * MIB


def test_expandable_segments_give_back_pages_around_what_is_pinned():
    torch = CachingAllocator(GIB, expandable_segments=True)
    torch.free(torch.allocate(600 * MIB, "a"))
    torch.allocate(50 * MIB, "pin")
    torch.allocate(900 * MIB, "b")
    assert torch.allocated == 950 * MIB
    assert torch.reserved <= GIB


def test_nothing_is_freed_twice():
    torch = CachingAllocator(GIB)
    handle = torch.allocate(MIB, "a")
    torch.free(handle)
    with pytest.raises(KeyError):
        torch.free(handle)


@pytest.mark.parametrize("expandable", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_bytes_are_conserved_and_capacity_is_kept(seed, expandable):
    rng = random.Random(f"allocator:{seed}")
    torch = CachingAllocator(2 * GIB, expandable_segments=expandable)
    held: dict[int, int] = {}
    for _ in range(600):
        if held and rng.random() < 0.5:
            handle = rng.choice(sorted(held))
            torch.free(handle)
            del held[handle]
        else:
            size = int(2 ** rng.uniform(8, 28.5))
            try:
                held[torch.allocate(size, "x")] = size
            except OutOfMemoryError as error:
                assert error.allocated == torch.allocated  # noqa: PT017
        assert torch.reserved <= torch.capacity
        assert sum(held.values()) <= torch.allocated <= torch.reserved
        for segment in torch.segments:
            mapped = sum(block.size for block in segment.blocks if block.handle >= 0)
            assert mapped == segment.size
    assert pickle.loads(pickle.dumps(torch)).state() == torch.state()  # noqa: S301
    for handle in list(held):
        torch.free(handle)
    torch.empty_cache()
    assert torch.allocated == 0
    assert torch.reserved < 64 * MIB if expandable else torch.reserved == 0
