from dataclasses import replace
from itertools import pairwise

import pytest

from labs.simulator.clients import Clients, ClosedLoopSpec, QuestionsChange, UsersChange
from labs.simulator.request import Status
from labs.simulator.workload import LengthDistribution
from tests.simulator.reacting import SHORT, world


def test_a_client_gives_up_at_its_time_limit_and_the_engine_frees_its_blocks():
    served = world(1.0, clients=Clients(timeout_s=3.0))
    served.advance(100.0)
    gone = [r for r in served.requests if r.timed_out]
    assert gone
    for request in gone:
        assert request.client_left_ps / 1e12 - request.client_arrival_s == pytest.approx(3.0)
        assert request.finish_reason in ("abort", "length")
        assert request.finish_ps - request.client_left_ps < 0.2e12
        assert request.num_blocks == 0
    assert not any(r.status is Status.ABORTED and not r.timed_out for r in served.requests)


def test_a_limit_on_the_first_token_spares_streams_that_have_begun():
    served = world(1.0, clients=Clients(first_token_timeout_s=2.0))
    served.advance(100.0)
    assert not any(r.timed_out for r in served.requests)
    assert max(r.finish_s - r.sent_s for r in served.requests if r.finish_s) > 4.0


def test_a_timed_out_request_is_sent_again_after_a_growing_wait():
    served = world(0.5, clients=Clients(timeout_s=1.0, retries=2, backoff_s=1.0, jitter=0.0))
    served.advance(60.0)
    tries = {r.request_id: r for r in served.requests}
    first, second, third = tries["r000003"], tries["r000003.1"], tries["r000003.2"]
    assert second.sent_s == pytest.approx(first.sent_s + 1.0 + 1.0)
    assert third.sent_s == pytest.approx(second.sent_s + 1.0 + 2.0)
    assert (first.prompt_tokens, first.max_tokens) == (third.prompt_tokens, third.max_tokens)
    assert "r000003.3" not in tries


def test_retries_leave_first_sends_as_they_are():
    plain, stormy = world(1.0), world(1.0, clients=Clients(timeout_s=2.0, retries=3))
    for one in (plain, stormy):
        one.advance(60.0)
    firsts = [r for r in stormy.requests if r.attempt == 0]
    for a, b in zip(plain.requests, firsts, strict=True):
        assert (a.sent_s, a.prompt_tokens, a.router_delay_s) == (
            b.sent_s, b.prompt_tokens, b.router_delay_s,
        )  # fmt: skip


def test_a_retry_storm_outlives_the_burst_that_began_it():
    answered = {}
    for retries in (0, 8):
        served = world(
            1.2,
            config={"max_num_seqs": 12},
            clients=Clients(timeout_s=12.0, retries=retries, backoff_s=0.5),
        )
        served.advance(60.0)
        served.inject_burst(6.0, 60.0, 90.0)
        served.advance(400.0)
        late = [r for r in served.requests if r.attempt == 0 and 250.0 <= r.sent_s < 380.0]
        answered[retries] = sum(not r.timed_out for r in late) / len(late)
    assert answered[0] > 0.95
    assert answered[8] < 0.2


def test_users_close_their_share_of_streams_midway():
    served = world(1.0, clients=Clients(cancel_share=0.3))
    served.advance(400.0)
    ended = [r for r in served.requests if r.finish_ps is not None]
    closed = [r for r in ended if r.is_cancelled]
    assert len(closed) / len(ended) == pytest.approx(0.3, abs=0.07)
    assert all(r.finish_reason == "abort" and not r.timed_out for r in closed)


def test_users_close_a_stream_at_latest_where_it_is_said():
    served = world(1.0, clients=Clients(cancel_share=1.0, cancel_by=0.25))
    served.advance(200.0)
    asked = [r for r in served.requests if r.cancel_tokens is not None and r.max_tokens > 40]
    shares = [r.cancel_tokens / r.max_tokens for r in asked]
    assert 0.2 < max(shares) <= 0.27
    assert min(shares) < 0.05


def test_a_closed_loop_never_has_more_in_flight_than_users():
    served = world(0.0, closed_loop=ClosedLoopSpec(10, 2.0, (SHORT,), 5.0))
    served.advance(200.0)
    assert max(s.running + s.waiting for s in served.engines[0].samples) <= 10
    by_user = {}
    for request in served.requests:
        by_user.setdefault(request.user, []).append(request)
    assert len(by_user) == 10
    for asked in by_user.values():
        for before, after in pairwise(asked):
            assert after.sent_s >= before.finish_s
    thinks = [
        after.sent_s - before.finish_s
        for asked in by_user.values()
        for before, after in pairwise(asked)
    ]
    assert sum(thinks) / len(thinks) == pytest.approx(2.0, rel=0.2)


def test_users_start_spread_out():
    served = world(0.0, closed_loop=ClosedLoopSpec(10, 2.0, (SHORT,), 20.0))
    served.advance(30.0)
    firsts = sorted(r.sent_s for r in served.requests if r.request_id.endswith("-00000"))
    assert [int(sent_s // 2.0) for sent_s in firsts] == list(range(10))


def test_the_k_th_question_of_a_user_is_the_same_in_any_world():
    slow, fast = (
        world(0.0, closed_loop=ClosedLoopSpec(5, think_s, (SHORT,), 5.0)) for think_s in (5.0, 0.5)
    )
    for one in (slow, fast):
        one.advance(100.0)
    ours = {r.request_id: (r.prompt_tokens, r.max_tokens) for r in slow.requests}
    theirs = {r.request_id: (r.prompt_tokens, r.max_tokens) for r in fast.requests}
    shared = ours.keys() & theirs.keys()
    assert len(shared) > 20
    assert all(ours[each] == theirs[each] for each in shared)


def most_open(served, from_s):
    samples = [each for each in served.engines[0].samples if each.t_s >= from_s]
    return max(each.running + each.waiting for each in samples)


def test_users_beyond_a_limit_end_what_they_asked_and_ask_no_more():
    served = world(0.0, closed_loop=ClosedLoopSpec(10, 0.1, (SHORT,), 5.0))
    served.advance(100.0)
    served.front.limit_users(3, 100.0)
    served.advance(300.0)
    assert all(each.finish_s is not None for each in served.requests if each.sent_s < 100.0)
    assert most_open(served, 200.0) == 3


def test_users_come_again_when_a_limit_is_lifted():
    served = world(0.0, closed_loop=ClosedLoopSpec(10, 0.1, (SHORT,), 5.0))
    served.advance(100.0)
    served.front.limit_users(3, 100.0)
    served.advance(200.0)
    served.front.limit_users(None, 200.0)
    served.advance(300.0)
    assert most_open(served, 250.0) == 10
    assert {each.user for each in served.requests if each.sent_s > 250.0} == set(range(10))


def test_a_limit_holds_for_users_who_come_later():
    served = world(
        0.0,
        closed_loop=ClosedLoopSpec(4, 0.1, (SHORT,), 5.0),
        faults=((120.0, UsersChange(20)),),
    )
    served.advance(100.0)
    served.front.limit_users(6, 100.0)
    served.advance(200.0)
    assert most_open(served, 150.0) == 6


def test_users_ask_other_things_from_their_next_question_on():
    long = replace(SHORT, prompt=LengthDistribution(3000.0, 0.1))
    served = world(
        0.0,
        closed_loop=ClosedLoopSpec(5, 0.1, (SHORT,), 5.0),
        faults=((60.0, QuestionsChange((long,))),),
    )
    served.advance(120.0)
    before = [each.prompt_tokens for each in served.requests if each.sent_s < 59.0]
    after = [each.prompt_tokens for each in served.requests if each.sent_s > 70.0]
    assert max(before) < min(after)


def test_a_user_who_was_refused_waits_longer_before_the_next_question():
    served = world(0.0, closed_loop=ClosedLoopSpec(4, 0.1, (SHORT,), 1.0, back_off_s=30.0))
    served.shed(1.0)
    served.advance(100.0)
    assert len(served.requests) == 4 * 4
    assert all(each.status is Status.SHED for each in served.requests)


def test_questions_need_users():
    served = world(1.0, faults=((10.0, QuestionsChange((SHORT,))),))
    with pytest.raises(ValueError, match="no closed loop"):
        served.advance(20.0)


@pytest.mark.parametrize(
    "fields",
    [{"timeout_s": 0.0}, {"retries": -1}, {"jitter": 1.0}, {"cancel_share": 1.5}, {"cancel_by": 0.0}, {"backoff_factor": 0.5}],
)  # fmt: skip
def test_clients_that_make_no_sense_are_refused(fields):
    with pytest.raises(ValueError, match=r"above 0|from 0 to 1|by its end"):
        Clients(**fields)
