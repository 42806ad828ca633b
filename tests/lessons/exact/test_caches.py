import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.exact.caches import cached_tokens, expected_different, loop_hits, lru_hits
from lessons.exact.draws import generator

SMALL = st.integers(1, 12)


@given(items=SMALL, requests=st.integers(1, 60), capacity=SMALL)
def test_a_loop_hits_all_after_its_first_round_or_never(items, requests, capacity):
    asked = [n % items for n in range(requests)]
    assert lru_hits(asked, capacity) == loop_hits(items, requests, capacity)


@given(st.lists(st.integers(0, 9), max_size=80))
def test_a_cache_for_all_misses_each_item_once(asked):
    assert lru_hits(asked, 10) == len(asked) - len(set(asked))


@given(st.lists(st.integers(0, 9), max_size=80), SMALL)
def test_a_larger_cache_never_hits_less(asked, capacity):
    assert lru_hits(asked, capacity) <= lru_hits(asked, capacity + 1)


def test_a_cache_of_nothing_hits_nothing():
    assert lru_hits([1, 1, 1], 0) == 0


def test_drawn_at_random_a_full_cache_hits_its_share_of_the_items():
    asked = generator("test", 1).integers(400, size=40_000).tolist()
    assert lru_hits(asked, 100) / len(asked) == pytest.approx(0.25, abs=0.01)


def test_the_number_of_different_ones_is_the_coupon_collectors():
    asked = [generator("test", seed).integers(50, size=60).tolist() for seed in range(400)]
    mean = sum(len(set(each)) for each in asked) / len(asked)
    assert expected_different(50, 60) == pytest.approx(mean, rel=0.01)


def test_whole_blocks_are_cached_and_never_the_last_token():
    assert [cached_tokens(n) for n in (1, 16, 17, 64, 65, 4_096)] == [0, 0, 16, 48, 64, 4_080]
