from dataclasses import replace

from labs.simulator.memory.allocator import CachingAllocator
from labs.simulator.memory.faults import Fragmentation, Watch
from labs.simulator.memory.ledger import GIB, MIB
from labs.simulator.memory.workspaces import MixedSizes, Workspaces
from labs.simulator.workload import LengthDistribution, RequestClass
from tests.simulator.memory.worlds import CHAT, FLAGS, fleet

IMAGES = RequestClass(
    "images", 0.3, LengthDistribution(2500, 0.9, maximum=12_000), LengthDistribution(40, 0.2)
)
MIXED = MixedSizes(
    "images", workspace_bytes_per_token=150_000, entry_bytes_per_token=32_768, entries_kept=40
)
KEYWORDS = {"classes": (CHAT, IMAGES), "rate": 1.5}


def fragmented(flags=FLAGS, seed=3):
    return fleet((30.0, Fragmentation(0, MIXED)), flags=flags, seed=seed, **KEYWORDS)


def test_a_block_fails_while_more_than_its_size_is_reserved_and_free():
    world = fragmented()
    world.advance(3600.0)
    crash = world.memory[0].crashes_between(0.0, 3600.0)[0]
    last = crash.workspaces.history[-1]
    tried = float(crash.ended_by.split("Tried to allocate ")[1].split(" GiB")[0]) * GIB
    assert last.inactive_split > tried
    assert last.largest_free < tried
    assert "is reserved by PyTorch but unallocated" in crash.ended_by


def test_expandable_segments_end_it():
    world = fragmented(replace(FLAGS, expandable_segments=True))
    world.advance(3600.0)
    assert world.memory[0].life.workspaces.history
    assert not world.memory[0].crashes_between(0.0, 3600.0)


def test_a_bounded_cache_does_not_leak_however_long_it_runs():
    world = fragmented(replace(FLAGS, expandable_segments=True))
    world.advance(3600.0)
    history = world.memory[0].life.workspaces.history
    quarter = len(history) // 4
    means = [
        sum(moment.allocated for moment in part) / len(part)
        for part in (history[quarter : 2 * quarter], history[3 * quarter :])
    ]
    assert abs(means[1] - means[0]) < 300 * MIB


def test_pieces_give_the_same_fragments_as_the_whole():
    whole, pieces = fragmented(), fragmented()
    whole.advance(600.0)
    for at_s in range(0, 601, 13):
        pieces.advance(float(at_s))
    pieces.advance(600.0)
    assert whole.digest() == pieces.digest()
    assert any(isinstance(fault, Watch) for _, _, fault in whole._faults)


def bounded_by_tokens(most, lengths):
    kind = MixedSizes(
        "scans", workspace_bytes_per_token=MIB, entry_bytes_per_token=MIB, tokens_kept=most
    )
    served = Workspaces(kind, CachingAllocator(GIB))
    for at_s, tokens in enumerate(lengths):
        served.serve(float(at_s), tokens, capacity=GIB, peak=0)
    return served


def test_a_cache_that_is_bounded_by_tokens_lets_go_of_the_oldest():
    served = bounded_by_tokens(100, (40, 40, 30, 60))
    assert [tokens for _, tokens in served.entries] == [30, 60]
    assert served.allocator.allocated == 90 * MIB


def test_an_entry_beyond_the_bound_stands_alone():
    served = bounded_by_tokens(100, (40, 40, 150))
    assert [tokens for _, tokens in served.entries] == [150]
