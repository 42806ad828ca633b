import pickle
import statistics

import pytest

from labs.simulator.request import Request
from labs.simulator.workload import (
    Burst,
    LengthDistribution,
    RequestClass,
    Workload,
    WorkloadSpec,
    offered_tokens,
)
from tests.simulator.worlds import CHAT

SHORT = RequestClass("short", 1.0, LengthDistribution(200, 0.3), LengthDistribution(50, 0.0))


def workload(*rates, classes=(CHAT,), seed=1, **fields):
    return Workload(WorkloadSpec(rates or ((0.0, 2.0),), classes), seed, **fields)


def lengths(requests):
    return [(request.prompt_tokens, request.max_tokens) for request in requests]


def test_lengths_have_the_mean_and_the_spread_that_were_asked_for():
    prompts = [request.prompt_tokens for request in workload().until(5000.0)]
    assert statistics.fmean(prompts) == pytest.approx(2000, rel=0.03)
    assert statistics.stdev(prompts) / statistics.fmean(prompts) == pytest.approx(0.5, rel=0.05)


def test_lengths_are_clipped_to_whole_numbers_of_at_least_1():
    lengths_ = LengthDistribution(10, 2.0, maximum=15)
    assert lengths_.at(-9.0) == 1
    assert lengths_.at(9.0) == 15
    assert LengthDistribution(50, 0.0).at(3.0) == 50


def test_arrivals_come_at_the_rate_and_change_with_it():
    requests = list(workload((0.0, 1.0), (2000.0, 4.0)).until(4000.0))
    early = sum(request.arrival_s < 2000 for request in requests)
    assert early == pytest.approx(2000, rel=0.08)
    assert len(requests) - early == pytest.approx(8000, rel=0.04)
    times = [request.arrival_s for request in requests]
    assert times == sorted(times)


def test_no_one_comes_while_the_rate_is_0():
    requests = list(workload((0.0, 1.0), (100.0, 0.0), (200.0, 1.0)).until(300.0))
    assert not [r for r in requests if 100 <= r.arrival_s < 200]
    assert list(workload((0.0, 0.0)).until(1e6)) == []


def test_a_rate_that_changes_later_leaves_what_came_before_and_all_lengths():
    plain = list(workload((0.0, 2.0)).until(400.0))
    faster = list(workload((0.0, 2.0), (200.0, 6.0)).until(400.0))
    before = sum(request.arrival_s < 200 for request in plain)
    assert [r.arrival_s for r in plain[:before]] == [r.arrival_s for r in faster[:before]]
    assert len(faster) > len(plain) + 200
    assert lengths(plain) == lengths(faster[: len(plain)])


def test_another_mix_leaves_arrivals_and_the_lengths_of_those_who_stay():
    plain = list(workload().until(200.0))
    mixed = list(workload(classes=(CHAT, SHORT)).until(200.0))
    assert [r.arrival_s for r in plain] == [r.arrival_s for r in mixed]
    stayed = [(a, b) for a, b in zip(plain, mixed, strict=True) if b.request_class == "chat"]
    assert len(plain) * 0.4 < len(stayed) < len(plain) * 0.6
    assert all(lengths([a]) == lengths([b]) for a, b in stayed)


def test_pieces_give_the_same_floats_as_the_whole():
    rates = ((0.0, 2.0), (50.0, 0.0), (60.0, 5.0))
    whole = workload(*rates)
    pieces = workload(*rates)
    for made in (whole, pieces):
        made.add_burst(Burst(3.0, 20.0, 33.3))
    in_pieces = []
    for end in range(1, 101):
        in_pieces += pieces.until(float(end))
        pieces = pickle.loads(pickle.dumps(pieces))  # noqa: S301
    assert [r.arrival_s for r in whole.until(100.0)] == [r.arrival_s for r in in_pieces]
    assert whole.state() == pieces.state()


def test_a_burst_multiplies_the_rate_and_must_lie_ahead():
    made = workload((0.0, 1.0))
    made.add_burst(Burst(5.0, 1000.0, 2000.0))
    requests = list(made.until(3000.0))
    inside = sum(1000 <= r.arrival_s < 2000 for r in requests)
    assert inside == pytest.approx(5000, rel=0.06)
    with pytest.raises(ValueError, match="ahead"):
        made.add_burst(Burst(2.0, 100.0, 200.0))


@pytest.mark.parametrize("rates", [(), ((5.0, 1.0), (0.0, 2.0)), ((0.0, -1.0),)])
def test_rates_that_make_no_sense_are_refused(rates):
    with pytest.raises(ValueError, match="rate"):
        WorkloadSpec(rates, (CHAT,))


def test_offered_tokens_follow_little_s_law():
    # 0.5 requests a second that live 100 s (2,000 outputs at 50 ms) and hold 3,000 tokens: 150,000.
    requests = [Request(f"r{i}", 2.0 * i, 2000, 2000) for i in range(300)]
    assert offered_tokens(requests, step_s=0.05, window_s=600.0) == pytest.approx(150_000)
    with pytest.raises(ValueError, match="window"):
        offered_tokens(requests, step_s=0.05, window_s=0.0)
