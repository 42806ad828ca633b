"""Drill 3.2's evidence against the arithmetic of its symptom."""

from dataclasses import replace

from lessons.drills.evidence.evicted_at_peak import POOL, SEATS, _case, cap, observe, played


def test_nobody_is_evicted_if_all_may_end_together():
    for users in (50, 125, 182):
        assert 157 * users <= POOL
        assert played(users, 1_500, 1_000, POOL, SEATS, seed=1)[0] == 0


def test_the_safe_number_is_pool_over_blocks_at_the_end():
    for seed in range(4):
        case = _case("answers", seed)
        each = case.at_the_end // case.users
        assert cap(seed) * each <= POOL < (cap(seed) + 1) * each
        assert observe("answers", seed, "cap").values["evictions_15m"] == 0


def test_a_calm_peak_evicts_nobody_although_the_door_would_let_more_in():
    case = replace(_case("answers", 3), answer=500)
    assert case.at_the_end <= POOL
    assert case.now[0] == 0
    assert case.at_the_door / POOL < 0.75


def test_the_cap_does_not_help_a_pool_of_half_the_size():
    for seed in range(4):
        assert observe("small", seed, "cap").values["evictions_15m"] > 15


def test_usage_is_high_wherever_requests_are_being_evicted():
    for seed in range(4):
        for world in ("answers", "small", "leak", "prompts"):
            assert observe(world, seed).values["usage"] > 0.7
