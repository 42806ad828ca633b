import math
import random
import time
from dataclasses import replace
from itertools import combinations

import pytest

from labs.marking.information import (
    alarm_upper_bound,
    best_information,
    counted_sets,
    entropy,
    estimate,
    known_with_derived,
    posterior,
    told,
    told_best,
)
from labs.marking.table import Signal, Table, default_priors

from .toys import drawn, shifted

X = [("x", 0)]


@pytest.mark.parametrize(
    ("distance", "bits"), [(0, -0.1046), (0.25, 0.0152), (0.5, 0.2651), (1, 0.7723), (5, 0.9855)]
)
def test_two_worlds_are_told_apart_as_the_specification_computes(distance, bits):
    assert estimate(shifted([0, distance]), X).value == pytest.approx(bits, abs=5e-5)


def test_the_lower_bound_has_one_more_seed_misread():
    made = estimate(shifted([0, 5]), X)
    assert made.lower == pytest.approx(0.6835, abs=5e-5)
    assert made.value - made.half - made.lower == pytest.approx(0.5 * math.log2(100) / 11)


def test_a_coarser_resolution_tells_less():
    assert estimate(shifted([0, 1], resolution=1), X).value == pytest.approx(0.2737, abs=5e-5)


def test_three_worlds_of_which_two_are_alike():
    assert estimate(shifted([0, 0, 5]), X).value == pytest.approx(0.8352, abs=5e-5)


def test_an_estimate_counts_from_a_tenth_of_a_bit_and_above_its_half_width():
    assert estimate(shifted([0, 0.25]), X).counted == 0
    made = estimate(shifted([0, 0.5]), X)
    assert made.counted == made.value
    faint = next(
        made
        for seed in range(200)
        if (made := estimate(drawn([[0, 0.9]], seeds=4, seed=seed), [("s00", 0)])).value >= 0.1
        and made.value <= made.half
    )
    assert faint.counted == 0


def test_one_world_of_five_apart_tells_what_a_perfect_test_for_it_does():
    # The specification's router tells one of five faults: 0.71 bit of H(1/5) = 0.722.
    table = drawn([[0, 0, 0, 0, 50]])
    assert entropy(table.priors.values()) == pytest.approx(2.32, abs=5e-3)
    assert estimate(table, [("s00", 0)]).value == pytest.approx(0.71, abs=0.03)


def test_noise_tells_nothing_and_hardly_ever_counts():
    counting, values = 0, []
    for lab in range(25):
        table = drawn([[0, 0]] * 8, seed=lab)
        sets = [c for size in (1, 2, 3) for c in combinations(range(8), size)]
        made = [estimate(table, [(f"s{each:02}", 0) for each in chosen]) for chosen in sets]
        values += [each.value for each in made]
        counting += any(each.counted for each in made)
    assert counting <= 2
    assert sum(values) / len(values) == pytest.approx(-0.03, abs=0.02)


def test_shuffling_the_labels_of_a_telling_signal_leaves_nothing():
    rng = random.Random("shuffle:1")
    table = drawn([[0, 4]])
    assert estimate(table, [("s00", 0)]).value > 0.8
    rows = [row for world in ("w0", "w1") for row in table.runs[world, 0]]
    values = []
    for _ in range(200):
        rng.shuffle(rows)
        shuffled = {("w0", 0): tuple(rows[:40]), ("w1", 0): tuple(rows[40:])}
        values.append(estimate(replace(table, runs=shuffled), [("s00", 0)]).value)
    assert sum(values) / 200 == pytest.approx(-0.03, abs=0.02)
    assert max(values) < 0.10


def xor_table():
    rows = {
        "w0": [(a, a) for a in (0.0, 9.0)] * 20,
        "w1": [(a, 9.0 - a) for a in (0.0, 9.0)] * 20,
    }
    return Table(
        hypotheses=("w0", "w1"),
        priors={"w0": 0.5, "w1": 0.5},
        grid_s=(0,),
        signals=(Signal("a", "", "id", 0.1), Signal("b", "", "id", 0.1)),
        runs={(w, 0): tuple({"a": a, "b": b} for a, b in r) for w, r in rows.items()},
    )


def test_an_answer_in_a_combination_is_found_by_the_pair_alone():
    table = xor_table()
    assert estimate(table, [("a", 0)]).counted == 0
    assert estimate(table, [("b", 0)]).counted == 0
    assert best_information(table, {"a": 0, "b": 0}).counted > 0.8
    assert best_information(table, {"a": 0, "b": 0}).columns == (("a", 0), ("b", 0))


def test_more_known_never_tells_less_and_order_does_not_matter():
    table = drawn([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 0]])
    names = [signal.name for signal in table.signals]
    for size in range(5):
        for chosen in combinations(names, size):
            bits = best_information(table, dict.fromkeys(chosen, 0)).counted
            again = best_information(table, dict.fromkeys(reversed(chosen), 0)).counted
            assert bits == again
            for more in names:
                assert best_information(table, dict.fromkeys((*chosen, more), 0)).counted >= bits


def test_a_duplicate_of_a_signal_adds_nothing_to_the_best():
    table = drawn([[0, 3]])
    twice = replace(
        table,
        signals=(*table.signals, Signal("twin", "", "id", 0.1)),
        runs={k: tuple({**row, "twin": row["s00"]} for row in v) for k, v in table.runs.items()},
    )
    one = best_information(table, {"s00": 0}).counted
    assert best_information(twice, {"s00": 0, "twin": 0}).counted == pytest.approx(one, abs=0.02)


def test_a_derived_signal_is_known_once_all_its_inputs_are_at_the_latest_time():
    table = drawn([[0, 1]] * 3, grid_s=(0, 300), signals=["a", "b", "load"])
    table = replace(
        table,
        signals=(
            *table.signals[:2],
            Signal("load", "", "id", 0.1, inputs=("a", "b")),
        ),
    )
    assert known_with_derived(table, {"a": 0}) == {"a": 0}
    assert known_with_derived(table, {"a": 0, "b": 300}) == {"a": 0, "b": 300, "load": 300}
    assert known_with_derived(table, {"a": 0, "elsewhere": 0}) == {"a": 0}


def test_a_derived_signal_counts_where_its_inputs_do_not():
    rng = random.Random("derived:1")
    runs = {}
    for world, product in (("w0", 1.0), ("w1", 2.0)):
        rows = []
        for _ in range(40):
            a = rng.uniform(-3, 3)
            rows.append({"a": a, "b": product - a, "load": product + rng.gauss(0, 0.1)})
        runs[world, 0] = tuple(rows)
    table = Table(
        hypotheses=("w0", "w1"),
        priors={"w0": 0.5, "w1": 0.5},
        grid_s=(0,),
        signals=(
            Signal("a", "", "id", 0.1),
            Signal("b", "", "id", 0.1),
            Signal("load", "", "id", 0.1, inputs=("a", "b")),
        ),
        runs=runs,
    )
    assert best_information(table, {"a": 0}).counted == 0
    assert best_information(table, {"a": 0, "b": 0}).columns == (("load", 0),)


def test_two_worlds_alone_are_told_as_equally_likely_in_either_order():
    table = drawn([[0, 0, 4]], worlds=("a", "healthy", "b"))
    assert told(table, {"s00": 0}, "a", "b") == told(table, {"s00": 0}, "b", "a") > 0.8
    assert told(table, {"s00": 0}, "a", "healthy") == 0
    assert told_best(table, {"s00": 0}, "a", "b").lower < told(table, {"s00": 0}, "a", "b")
    assert told(table, {}, "a", "b") == 0


def test_absent_and_category_readings_tell_by_being_equal():
    def table(kind, first, second):
        return Table(
            hypotheses=("w0", "w1"),
            priors={"w0": 0.5, "w1": 0.5},
            grid_s=(0,),
            signals=(Signal("x", "", "ln", 0.1, kind=kind),),
            runs={("w0", 0): ({"x": first},) * 20, ("w1", 0): ({"x": second},) * 20},
        )

    # Every run votes 1 for its own world and 0.05 for the other.
    expected = 1 + math.log2(0.98 / 1.05 + 0.01)
    for each in [
        table("category", "open", "shut"),
        table("number", 1.0, None),
        table("number", 0, 1.0),
    ]:
        assert estimate(each, X).value == pytest.approx(expected)
        assert estimate(each, X).half == pytest.approx(0, abs=1e-12)
    assert estimate(table("number", None, None), X).value == pytest.approx(0)


def test_huge_distances_are_no_error():
    assert estimate(shifted([0, 1e200]), X).value == pytest.approx(0.9855, abs=5e-4)


def test_the_posterior_of_a_typical_reading_is_its_world():
    table = drawn([[0, 4], [0, 4]])
    after = posterior(table, {("s00", 0): 4.0, ("s01", 0): 4.0})
    assert after["w1"] == pytest.approx(0.99, abs=0.005)
    assert sum(after.values()) == pytest.approx(1)
    assert posterior(table, {}) == {"w0": 0.5, "w1": 0.5}


def test_no_reading_ever_rules_a_world_out():
    table = drawn([[0, 4]])
    assert min(posterior(table, {("s00", 0): 1e6}).values()) >= 0.01
    assert min(posterior(table, {("s00", 0): None}).values()) == pytest.approx(0.5)


def test_the_alarm_gives_away_at_most_its_upper_bound():
    made = estimate(shifted([0, 0.5]), X)
    assert alarm_upper_bound(shifted([0, 0.5]), X) == made.value + made.half == made.upper


def test_a_world_without_prior_is_left_out_of_the_sum():
    table = replace(drawn([[0, 4, 8]]), priors={"w0": 0.5, "w1": 0.5, "w2": 0.0})
    assert estimate(table, [("s00", 0)]).value == pytest.approx(0.92, abs=0.05)


def test_sets_of_no_signal_or_more_than_three_are_refused():
    table = drawn([[0, 1]] * 4)
    columns = [(signal.name, 0) for signal in table.signals]
    for chosen in ([], columns):
        with pytest.raises(ValueError, match="one to 3 signals"):
            estimate(table, chosen)
    with pytest.raises(ValueError, match="at most 3 signals"):
        posterior(table, dict.fromkeys(columns, 0.0))
    with pytest.raises(ValueError, match="two distinct worlds"):
        estimate(table, columns[:1], worlds=["w0"])


def test_renaming_worlds_and_signals_changes_nothing():
    means = [[0, 1, 2], [1, 0, 0]]
    one = drawn(means)
    other = drawn(means, worlds=("z", "y", "x"), signals=["q", "p"])
    known = best_information(one, {"s00": 0, "s01": 0}).counted
    assert best_information(other, {"q": 0, "p": 0}).counted == pytest.approx(known, abs=1e-12)
    pair = told(one, {"s00": 0}, "w0", "w1")
    assert told(other, {"q": 0}, "z", "y") == pytest.approx(pair, abs=1e-12)


def test_the_specification_s_377_sets_take_less_than_three_seconds():
    rng = random.Random("speed:1")
    means = [[rng.uniform(-1, 1) for _ in range(6)] for _ in range(13)]
    table = drawn(means)
    known = {signal.name: 0 for signal in table.signals}
    started = time.process_time()
    best_information(table, known)
    for one, other in combinations(table.hypotheses, 2):
        told(table, known, one, other)
    assert time.process_time() - started < 3
    assert sum(1 for key in table.memo if key[0] == "estimate") == 377 * 16


def test_counted_sets_are_those_that_count():
    table = drawn([[0, 4], [0, 0]])
    assert [columns for columns, _ in counted_sets(table, {"s00": 0, "s01": 0})] == [
        (("s00", 0),),
        (("s00", 0), ("s01", 0)),
    ]


def test_a_healthy_hypothesis_takes_its_prior_into_the_entropy():
    assert entropy(default_priors(["a", "b", "healthy"]).values()) == pytest.approx(
        1.5219, abs=1e-4
    )
