import pytest

from labs.simulator.kv_cache import BlockPool, CountingPool, blocks_for
from labs.simulator.request import Request


def request(name, tokens):
    return Request(name, 0.0, len(tokens), 8, prompt_token_ids=tuple(tokens), output_token_ids=[])


def test_a_block_that_is_begun_is_a_block_held():
    assert [blocks_for(n, 16) for n in (0, 1, 16, 17)] == [0, 1, 1, 2]


@pytest.mark.parametrize("kind", [CountingPool, BlockPool])
def test_the_null_block_is_never_given_out(kind):
    assert kind(129, 16).num_free == 128


@pytest.mark.parametrize("kind", [CountingPool, BlockPool])
def test_what_is_freed_is_free_again_and_what_leaks_is_not(kind):
    pool, held = kind(11, 4), request("a", range(20))
    pool.allocate(held, 20)
    assert (held.num_blocks, pool.num_free) == (5, 5)
    assert pool.leak(8) == 5
    pool.free(held)
    assert (pool.num_free, pool.num_leaked) == (5, 5)


@pytest.mark.parametrize("kind", [CountingPool, BlockPool])
def test_more_than_is_free_is_refused(kind):
    with pytest.raises(RuntimeError, match="a: "):
        kind(3, 4).allocate(request("a", range(20)), 20)


def test_an_equal_prompt_recomputes_its_last_block():
    # vLLM 0.32, trace e_prefix_identical64: a 64-token repeat hits 48 and computes 16.
    pool = BlockPool(65, 16)
    pool.allocate(request("a", range(64)), 64)
    assert pool.lookup(request("b", range(64))) == (3, 0)
    assert pool.lookup(request("c", range(65))) == (4, 0)


def test_blocks_are_found_only_up_to_the_first_that_differs():
    pool = BlockPool(65, 4)
    pool.allocate(request("a", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]), 12)
    assert pool.lookup(request("b", [1, 2, 3, 4, 0, 6, 7, 8, 9, 10, 11, 12, 13])) == (1, 0)


def test_a_free_block_keeps_its_tokens_until_it_is_taken():
    pool, first = BlockPool(5, 4), request("a", range(8))
    pool.allocate(first, 8)
    pool.free(first)
    assert pool.lookup(request("b", range(9))) == (2, 2)
    pool.allocate(request("c", range(100, 112)), 12)
    # Blocks without a hash go first, then the end of the prefix: its beginning is still there.
    assert pool.lookup(request("b", range(9))) == (1, 1)


def test_a_shared_block_is_free_only_when_nobody_holds_it():
    pool, first, second = BlockPool(9, 4), request("a", range(9)), request("b", range(9))
    pool.allocate(first, 9)
    pool.allocate(second, 9, hit_blocks=2)
    assert pool.num_free == 8 - 3 - 1
    pool.free(first)
    assert pool.num_free == 8 - 3
    pool.free(second)
    assert pool.num_free == 8


def test_outputs_are_remembered_too():
    pool, first = BlockPool(9, 4), request("a", range(6))
    pool.allocate(first, 6)
    first.num_output_tokens = 2
    first.output_token_ids = [70, 71]
    pool.allocate(first, 8)
    assert pool.lookup(request("b", [0, 1, 2, 3, 4, 5, 70, 71, 9])) == (2, 0)
