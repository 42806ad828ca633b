import pytest

from lessons.demos.warm_caches import DEMO, computed, hit_rate
from lessons.exact.caches import expected_different

START = DEMO.start


def test_a_file_that_fits_misses_each_prompt_once():
    hits = hit_rate(prompts=100, requests=1_000, order="random", held=224)
    assert hits == pytest.approx(1 - expected_different(100, 1_000) / 1_000, abs=0.002)
    assert hit_rate(prompts=100, requests=1_000, order="loop", held=224) == 0.9


def test_a_loop_falls_off_a_cliff_where_one_prompt_too_many_is_in_the_file():
    rates = [hit_rate(prompts=n, requests=1_000, order="loop", held=224) for n in (224, 225)]
    assert rates == [0.776, 0.0]


def test_prefill_is_paid_for_what_is_not_cached():
    shown = computed(**{**START, "prompt_tokens": 4_096, "production": 0})
    # 4,096 tokens at 0.065 ms, all of them.
    assert (shown.readouts[1].value, shown.readouts[1].unit) == ("266", "ms")


def test_the_same_hits_cost_the_same():
    start = {**START, "prompts": 100, "requests": 1_000, "order": "loop", "production": 90}
    shown = computed(**start)
    assert shown.readouts[0].value == shown.readouts[1].value


def test_the_readers_own_file_and_the_cliff_stand_in_the_table():
    names = [row[0] for row in computed(**{**START, "prompts": 130}).table.rows]
    assert {"130", "224", "225"} <= set(names)
