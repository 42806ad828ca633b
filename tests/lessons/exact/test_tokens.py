import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.exact.learnt_from import TEXT
from lessons.exact.tokens import (
    BYTES,
    MERGES,
    SPECIAL,
    encoder,
    equal_blocks,
    first_difference,
    hit,
    prefill_load,
)

C_MS = 0.071
ids = st.lists(st.integers(0, 3), min_size=1, max_size=120)


@given(st.text(max_size=200))
def test_any_text_comes_back(text):
    assert encoder().decode(encoder().encode(text)) == text


@given(st.lists(st.sampled_from([*SPECIAL, "order", " 12", "\n"]), max_size=12))
def test_special_tokens_are_one_id_each_wherever_they_stand(parts):
    found = encoder().encode("".join(parts))
    specials = [token for token in found if token >= BYTES + MERGES]
    assert [encoder().shown(token) for token in specials] == [p for p in parts if p in SPECIAL]


def test_the_vocabulary_is_bytes_then_merges_then_specials():
    found = encoder()
    assert found.size == BYTES + MERGES + len(SPECIAL)
    assert len(set(found.spelled)) == found.size
    assert [found.shown(97), found.shown(found.size - 1)] == ["a", "[/INST]"]


def test_a_merge_is_learnt_before_those_that_use_it():
    for (left, right), rank in encoder().ranks.items():
        assert max(left, right) < BYTES + rank
        spelled = encoder().spelled
        assert spelled[BYTES + rank] == spelled[left] + spelled[right]


def test_the_text_that_it_has_learnt_from_is_short_in_it():
    found = encoder().encode(TEXT)
    assert len(TEXT) / len(found) > 2.5
    assert encoder().decode(found) == TEXT


def test_digits_are_never_joined():
    assert len(encoder().encode("2026")) == 4


def test_another_process_learns_the_same_vocabulary():
    code = "from lessons.exact.tokens import encoder; print(list(encoder().ranks.items()))"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.strip() == str(list(encoder().ranks.items()))


@given(ids, ids)
def test_the_first_difference_is_where_the_common_beginning_ends(one, other):
    found = first_difference(one, other)
    if found is None:
        assert one == other
        return
    assert one[:found] == other[:found]
    assert one[found : found + 1] != other[found : found + 1]


@given(ids, ids, st.sampled_from([1, 4, 16]))
def test_hits_are_the_whole_blocks_before_the_first_difference(one, other, block_size):
    found = hit(one, other, block_size=block_size)
    place = first_difference(one, other)
    common = len(other) if place is None else place
    # The last token of a prompt is always computed.
    common = min(common, len(other) - 1)
    assert found.cached_tokens == common // block_size * block_size
    assert found.new_tokens + found.cached_tokens == len(other)
    assert found.blocks <= equal_blocks(one, other, block_size=block_size)


def test_a_date_near_the_front_costs_ten_times_the_prefill():
    before = tuple(range(3_300))
    shared = (*before[:3_000], *range(9_000, 9_300))
    dated = (*before[:12], 9_999, *shared[13:])
    good, bad = hit(before, shared), hit(before, dated)
    assert (good.cached_tokens, good.blocks, good.new_tokens) == (2_992, 187, 308)
    assert (bad.cached_tokens, bad.new_tokens) == (0, 3_300)
    assert good.prefill_ms(C_MS) == pytest.approx(21.9, abs=0.05)
    assert bad.prefill_ms(C_MS) == pytest.approx(234, abs=0.5)
    assert good.saved_ms(C_MS) == pytest.approx(2_992 * C_MS)
    assert bad.prefill_ms(C_MS) / good.prefill_ms(C_MS) == pytest.approx(10.7, abs=0.05)
    assert prefill_load(3, good.prefill_ms(C_MS)) == pytest.approx(0.066, abs=0.001)
    assert prefill_load(3, bad.prefill_ms(C_MS)) == pytest.approx(0.70, abs=0.005)
    assert good.rate == pytest.approx(0.907, abs=0.001)


def test_what_stands_behind_a_change_is_equal_and_of_no_use():
    one = tuple(range(160))
    other = (7_777, *one[1:])
    assert hit(one, other).cached_tokens == 0
    assert equal_blocks(one, other) == 9


def test_a_beginning_shorter_than_a_block_is_never_found():
    one = tuple(range(240))
    assert hit(one, (*one, 1, 2), block_size=784).cached_tokens == 0
    with pytest.raises(ValueError, match="at least 1"):
        hit(one, ())
