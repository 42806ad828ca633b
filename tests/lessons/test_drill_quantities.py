"""Numbers of the drills' texts against closed forms, and against what their worlds read."""

import re

import pytest

from lessons import drill_quantities, drill_step_quantities, numbers
from lessons.drills.evidence import (
    evicted_at_peak,
    half_the_bytes,
    idle_between,
    jerky_streams,
    lost_gain,
    slow_replica,
    template_deploy,
    two_answers,
)
from lessons.drills.spec import drills, text_of
from lessons.prose import text_html

SHOWN = {**drill_quantities.SHOWN, **drill_step_quantities.SHOWN}
SEEDS = range(6)


def shown(name):
    return float(SHOWN[name].removesuffix(" %").replace(",", ""))


def test_no_two_modules_compute_a_number_of_one_name():
    names = [name for module in (*numbers._MODULES, *numbers._DRILLS) for name in module.SHOWN]
    assert len(names) == len(set(names)) == len(numbers.SHOWN)


def test_every_number_of_a_drill_is_shown_by_a_drill():
    said = {
        name
        for number in drills()
        for text in ("scene.md", "debrief.md")
        for name in re.findall(r"\{\{ (\w+) \}\}", text_of(number, text))
    }
    assert said == set(SHOWN)


@pytest.mark.parametrize("number", list(drills()))
def test_a_debrief_is_shown_with_its_numbers_filled_in(number):
    from courseware.served import CHECKOUT

    assert "{{" not in text_html(CHECKOUT.lessons / "drills" / number / "debrief.md")


def test_the_queue_behind_a_lost_prefix_is_what_the_world_adds():
    case = template_deploy.Case(0, 12, 0, 3_300, 0.0, 0.0, 0.0, 2.0, 0.0)
    assert case.ttft_ms() == pytest.approx(
        shown("deploy_whole_ms") + shown("deploy_wait_ms"), abs=1
    )


def test_slow_gaps_are_as_frequent_as_the_debrief_says():
    for name, budget in (("small", 512), ("large", 2_048)):
        runs = [
            jerky_streams.run(
                jerky_streams.Case(seed, budget=budget + jerky_streams.STREAMS), chats_rps=0.0
            )
            for seed in SEEDS
        ]
        share = sum((run.context > 0).sum() for run in runs) / sum(len(run.context) for run in runs)
        assert 100 * share == pytest.approx(shown(f"jerk_{name}_share"), rel=0.12)


def test_evictions_and_their_cap_are_those_of_the_world():
    case = next(
        found
        for found in (evicted_at_peak._case("answers", seed) for seed in range(20))
        if found.users == 205
    )
    assert case.at_the_end == shown("evict_all_long")
    assert case.at_the_door / case.pool == pytest.approx(shown("evict_door_share") / 100, abs=0.01)


def test_a_fuller_step_lasts_as_the_debrief_says():
    for seed in SEEDS:
        case = half_the_bytes._case("fuller", seed)
        gain = case.batch / case.usual_batch / case.ratio
        assert gain == pytest.approx(shown("halved_full_times"), rel=0.15)


def test_launches_leave_as_many_holes_as_the_debrief_says():
    found = [idle_between.observe("launch", seed).values["gaps"] for seed in SEEDS]
    assert min(found) * 0.9 <= shown("idle_launch_gaps") <= max(found) * 1.1


def test_a_slow_eighth_moves_the_fleet_as_in_the_worlds():
    rises = [slow_replica.observe("mix", seed).values["p99_rise"] for seed in range(12)]
    assert min(rises) - 0.01 <= shown("replica_p99") / 100 <= max(rises)


def test_as_many_answers_stay_equal_as_in_the_toy_model():
    equal = [1 - two_answers.parted(4, drawn) for drawn in range(3)]
    assert 0.8 * min(equal) <= shown("greedy_equal") / 100 <= 1.2 * max(equal)


def test_an_engine_that_nobody_limits_stands_idle_for_what_the_debrief_says():
    idle = [
        lost_gain.observe(world, seed).values["idle_share"]
        for world in ("demand", "callers")
        for seed in SEEDS
    ]
    assert min(idle) == pytest.approx(shown("gain_idle") / 100, abs=0.02)
