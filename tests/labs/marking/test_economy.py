import random
from dataclasses import replace
from itertools import permutations

import pytest

from labs.marking.economy import (
    default_budget_s,
    economy,
    economy_part,
    economy_points,
    known_signals,
    rate_share,
    rates,
    spend_s,
    thrift_share,
    told_share,
)
from labs.marking.information import told
from labs.marking.parts import half_up
from labs.marking.values import Instrument, best_value

from .toys import drawn, reading

# The specification's paths: A shows a (12 s), B shows b (60 s).
BITS = {frozenset("a"): 1.2, frozenset("b"): 0.3, frozenset("ab"): 1.4}
V_STAR = 60 * 1.2 / (12 + 15)
COSTS = {"a": 12, "b": 60}


def path(signals, false_fixes=0):
    taken = [reading(n, s, cost_s=COSTS[s]) for n, s in enumerate(signals, start=1)]
    bits = [BITS[frozenset(signals[: k + 1])] for k in range(len(signals))]
    rate = rate_share(rates(taken, bits), V_STAR)
    return rate, economy_points(rate, 1.0, thrift_share(180, spend_s(taken)), false_fixes)


def test_the_best_value_of_the_two_instruments_is_that_of_a_alone():
    assert pytest.approx(2.667, abs=5e-4) == V_STAR


def test_asking_the_best_question_first_earns_everything():
    assert half_up(path("a")[1]) == 10.0


def test_asking_the_dear_question_first_costs_three_points():
    rate, points = path("ba")
    assert rate == pytest.approx(0.386, abs=5e-4)
    assert half_up(points) == 6.9


def test_a_false_fix_costs_two_and_a_half():
    assert half_up(path("ba", false_fixes=1)[1]) == 4.4


def test_four_looks_at_one_number_cost_nothing_within_the_budget():
    assert half_up(path("aaaa")[1]) == 10.0


def test_the_part_is_never_below_nothing():
    assert economy_points(0.1, 0.1, 1.0, 7) == 0


@pytest.fixture(scope="module")
def table():
    # s00 tells w0 from the rest, s01 w1, s02 a little, s03 nothing.
    means = [[6, 0, 0, 0], [0, 6, 0, 0], [0, 0, 1, 2], [0, 0, 0, 0]]
    return drawn(means, grid_s=(0, 300), resolution=0.2)


INSTRUMENTS = [
    Instrument("i0", ("s00",), 10),
    Instrument("i1", ("s01",), 10),
    Instrument("i2", ("s02",), 60),
    Instrument("i3", ("s03",), 5),
]
REFERENCE = {"s00": 0, "s01": 0}


def found(table, readings, **more):
    facts = {
        "truth": "w0",
        "reference": REFERENCE,
        "best_value": best_value(table, INSTRUMENTS, 0).value,
        "budget_s": 60,
        **more,
    }
    return economy(table, readings, **facts)


def test_nothing_read_earns_nothing(table):
    made = found(table, [])
    assert (made.rate, made.told_rivals, made.thrift, made.points) == (0, 0, 1, 0)
    assert "read nothing" in economy_part(made).reason


def test_the_one_reading_that_tells_the_truth_from_every_rival_settles_it(table):
    made = found(table, [reading(1, "s00")])
    assert made.told_rivals == 1.0
    assert found(table, [reading(1, "s00")], truth="w1").told_rivals < 0.6


def test_rivals_that_the_reference_cannot_tell_are_skipped(table):
    # s00 cannot tell w2 from w3, nor w1 from them: only w0 is a rival that it tells.
    reference = {"s00": 0}
    assert told(table, reference, "w2", "w3") == 0
    share = told_share(table, [reading(1, "s00")], truth="w2", reference=reference)
    assert share == 1.0


def test_the_first_look_at_the_alarm_costs_no_rate_and_is_still_known(table):
    look = reading(1, "s00", cost_s=600, orientation=True)
    made = found(table, [look, reading(2, "s01")], truth="w1", budget_s=1000)
    alone = found(table, [reading(1, "s01")], truth="w1", budget_s=1000)
    assert made.rate == alone.rate == 1.0
    assert made.told_rivals >= alone.told_rivals
    assert found(table, [look]).rate == 0
    assert found(table, [look]).told_rivals == 1.0


def test_a_spoilt_reading_informs_nothing_and_still_costs(table):
    made = found(table, [reading(1, "s00", spoilt=True)])
    assert (made.rate, made.told_rivals) == (0, 0)
    assert made.details["spend_s"] == 10


def test_a_reading_before_the_table_s_first_time_informs_nothing(table):
    assert known_signals(table, [reading(1, "s00", at_s=-5)]) == {}


def test_a_signal_read_twice_counts_at_its_last_time(table):
    taken = [reading(1, "s00", at_s=299), reading(2, "s00", at_s=400)]
    assert known_signals(table, taken[:1]) == {"s00": 0}
    assert known_signals(table, taken) == {"s00": 300}


def test_waits_between_readings_count_and_the_wait_before_the_first_does_not():
    taken = [reading(1, "a", waited_s=100), reading(2, "b", waited_s=50)]
    assert rates(taken, [1.0, 2.0]) == [60 / (10 + 15), 120 / (70 + 30)]
    assert spend_s(taken) == 170


def test_disturbance_is_paid_in_the_rate_and_not_in_the_spend():
    taken = [reading(1, "a", disturbance_s=35)]
    assert rates(taken, [1.0]) == [1.0]
    assert spend_s(taken) == 10


def test_the_budget_is_three_times_the_dearest_reference():
    assert default_budget_s([40, 60]) == 180
    assert thrift_share(180, 360) == 0.5
    assert thrift_share(180, 0) == 1


def test_a_lab_whose_instruments_tell_nothing_cannot_be_marked():
    with pytest.raises(ValueError, match="tells anything"):
        rate_share([0.0], 0.0)


def test_a_truth_that_is_no_hypothesis_is_refused(table):
    with pytest.raises(ValueError, match="not among the hypotheses"):
        told_share(table, [], truth="w9", reference=REFERENCE)


def test_an_idle_look_before_a_perfect_path_costs_little_and_five_cost_less_than_half(table):
    # The specification's toy: one idle look 1.5 points, five 3.7, none more than 5.
    def cost(idle):
        looks = [reading(n, "s03", cost_s=5) for n in range(1, idle + 1)]
        made = found(table, [*looks, reading(idle + 1, "s00")], budget_s=1000)
        return 10 - made.points

    costs = [cost(n) for n in range(6)]
    assert costs == sorted(costs)
    assert 0 < costs[1] < 3
    assert costs[5] <= 5


def random_phase(rng, *, length=6):
    return [
        reading(
            number,
            *rng.sample(["s00", "s01", "s02", "s03"], rng.choice([1, 1, 2])),
            cost_s=rng.choice([0, 5, 60]),
            at_s=rng.choice([0, 100, 300]) if number == 1 else number * 70,
            waited_s=rng.choice([0, 0, 40]),
            spoilt=rng.random() < 0.15,
        )
        for number in range(1, rng.randint(1, length) + 1)
    ]


def test_one_more_reading_never_lowers_f_or_r_nor_raises_thrift(table):
    rng = random.Random("economy:1")
    for _ in range(150):
        phase = random_phase(rng)
        truth = rng.choice(table.hypotheses)
        before = found(table, phase[:-1], truth=truth)
        after = found(table, phase, truth=truth)
        assert after.rate >= before.rate
        assert after.told_rivals >= before.told_rivals
        assert after.thrift <= before.thrift
        fall = before.thrift - after.thrift
        assert before.points - after.points <= 5 * fall + 1e-9


def test_r_and_thrift_ignore_the_order_of_readings(table):
    rng = random.Random("economy:2")
    for _ in range(20):
        phase = [replace(each, at_s=10, spoilt=False) for each in random_phase(rng, length=3)]
        facts = set()
        for order in permutations(phase):
            again = [replace(each, number=n) for n, each in enumerate(order, start=1)]
            made = found(table, again)
            facts.add((made.told_rivals, made.thrift))
        assert len(facts) == 1


def test_a_duplicate_adds_its_seconds_and_nothing_else(table):
    once = found(table, [reading(1, "s00")])
    twice = found(table, [reading(1, "s00"), reading(2, "s00")])
    assert (twice.rate, twice.told_rivals) == (once.rate, once.told_rivals)
    assert twice.details["spend_s"] == once.details["spend_s"] + 10


def test_cutting_a_command_in_two_changes_neither_r_nor_thrift_and_f_only_upward(table):
    rng = random.Random("economy:3")
    for _ in range(50):
        pair = rng.sample(["s00", "s01", "s02", "s03"], 2)
        cost = rng.choice([10, 60, 200])
        whole = found(table, [reading(1, *pair, cost_s=cost)])
        cut = found(table, [reading(n, s, cost_s=cost / 2) for n, s in enumerate(pair, start=1)])
        assert cut.told_rivals == whole.told_rivals
        assert cut.thrift == whole.thrift
        assert cut.rate >= whole.rate - 1e-12


def test_renaming_instruments_changes_nothing(table):
    taken = [reading(1, "s02"), reading(2, "s00")]
    renamed = [replace(each, instrument=f"other{each.number}") for each in taken]
    assert economy_part(found(table, taken)) == economy_part(found(table, renamed))


def test_the_reason_says_the_rates_the_seconds_and_the_false_fixes(table):
    part = economy_part(found(table, [reading(1, "s02", cost_s=90)], false_fixes=1))
    assert "bits a minute" in part.reason
    assert "You spent 1:30 of a budget of 1:00 on readings and waits" in part.reason
    assert "1 change moved nothing" in part.reason
    assert part.weight == 10
