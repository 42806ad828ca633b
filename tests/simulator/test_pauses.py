import random

import pytest

from labs.simulator.engine import Engine
from labs.simulator.pauses import Pause
from labs.simulator.request import Status
from tests.simulator.worlds import MS, engine, random_config, random_cost, random_requests, submit

BOTH = pytest.mark.parametrize("closed_form", [True, False])


def random_pauses(rng):
    rules = []
    if rng.random() < 0.7:
        rules.append(Pause(rng.choice([0.001, 0.3]), every_steps=rng.choice([1, 3, 20])))
    if rng.random() < 0.7:
        rules.append(
            Pause(
                rng.choice([0.002, 0.09]),
                every_s=rng.choice([0.1, 1.0]),
                times=rng.choice([None, 3]),
            )
        )
    return tuple(rules)


def troubled(seed, *, closed_form, pieces=False):
    """Run a small life with pauses, users who leave midway, and aborts that fail in their ways."""
    rng, cut = random.Random(f"troubled:{seed}"), random.Random(f"pieces:{seed}")
    served = Engine(
        random_config(rng),
        random_cost(rng),
        sample_every_s=rng.choice([0.05, 0.1, 1.0]),
        closed_form=closed_form,
    )
    requests = random_requests(rng, 40)
    for request in requests:
        if rng.random() < 0.4 and request.max_tokens > 1:
            request.cancel_tokens = rng.randint(1, request.max_tokens - 1)
        served.submit(request)
    end_s, last_s = requests[-1].arrival_s, 0.0
    for stop_s in [*sorted(rng.uniform(0, end_s * 1.5) for _ in range(5)), end_s * 3 + 20]:
        if pieces:
            for piece_s in sorted(cut.uniform(last_s, stop_s) for _ in range(8)):
                served.advance(piece_s)
        served.advance(stop_s)
        last_s = stop_s
        rules = random_pauses(rng)
        fails = rng.choice([{}, {"run_on": True}, {"lose_blocks": True}])
        gone = requests[rng.randrange(40)]
        served.set_pauses(rules)
        served.set_aborts(**fails)
        served.abort(gone)
    return served


@pytest.mark.parametrize("seed", range(25))
def test_pauses_and_failing_aborts_are_the_same_in_closed_form_and_in_pieces(seed):
    whole = troubled(seed, closed_form=True)
    assert whole.state() == troubled(seed, closed_form=False).state()
    assert whole.state() == troubled(seed, closed_form=True, pieces=True).state()
    assert whole.state() == troubled(seed, closed_form=False, pieces=True).state()


@BOTH
def test_a_collector_s_pause_by_steps_is_a_gap_in_every_stream(closed_form):
    served = engine(closed_form=closed_form)
    requests = submit(served, (16, 100), (16, 100))
    served.set_pauses((Pause(0.5, every_steps=40),))
    served.advance(60.0)
    assert all(0.5 < request.longest_gap_s < 0.53 for request in requests)
    assert served.samples[-1].steps // 40 == round(served.paused_s / 0.5)
    assert sum(served.samples[-1].itl_counts[9:]) == 2 * 2


@BOTH
def test_a_pause_is_no_time_within_steps(closed_form):
    plain, paused = (engine(closed_form=closed_form) for _ in range(2))
    paused.set_pauses((Pause(0.2, every_steps=10),))
    for served in (plain, paused):
        submit(served, (16, 100))
        served.advance(60.0)
    assert plain.samples[-1].busy_s == paused.samples[-1].busy_s
    assert paused.requests[0].finish_s == pytest.approx(
        plain.requests[0].finish_s + paused.paused_s
    )


@BOTH
def test_a_scrape_comes_by_the_clock_and_an_idle_engine_does_not_feel_it(closed_form):
    served = engine(closed_form=closed_form)
    served.set_pauses((Pause(0.1, every_s=5.0),))
    (early,) = submit(served, (16, 20), at_s=2.0)
    (during,) = submit(served, (16, 20), at_s=5.04)
    (across,) = submit(served, (16, 100), at_s=9.5)
    served.advance(60.0)
    assert early.longest_gap_s < 0.02
    assert during.ttft_s == pytest.approx(0.06 + 10.016e-3 + 16e-4)
    assert 0.1 < across.longest_gap_s < 0.12


@BOTH
def test_pauses_end_when_they_are_lifted(closed_form):
    served = engine(closed_form=closed_form)
    submit(served, (16, 400))
    served.set_pauses((Pause(0.05, every_steps=5),))
    served.advance(1.0)
    before_s = served.paused_s
    assert before_s > 0
    served.set_pauses(())
    served.advance(60.0)
    assert served.paused_s == before_s


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"every_s": 1.0, "every_steps": 2},
        {"every_s": 0.5},
        {"every_steps": 0},
    ],
)
def test_a_pause_that_leaves_no_time_is_refused(fields):
    with pytest.raises(ValueError, match=r"pause|every_steps"):
        Pause(0.5, **fields)


@BOTH
def test_a_user_who_closes_the_stream_frees_the_blocks_with_that_step(closed_form):
    served = engine(closed_form=closed_form)
    (request,) = submit(served, (32, 500), cancel_tokens=10)
    served.advance(60.0)
    assert (request.status, request.finish_reason) == (Status.ABORTED, "abort")
    assert (request.num_output_tokens, request.is_cancelled) == (10, True)
    assert served.num_used_blocks == 0


@BOTH
def test_an_engine_that_ignores_aborts_runs_to_the_full_length(closed_form):
    served = engine(closed_form=closed_form)
    served.set_aborts(run_on=True)
    closed, gone = submit(served, (32, 300), (32, 300))
    closed.cancel_tokens = 10
    served.advance(1.0)
    held = served.num_used_blocks
    served.abort(gone)
    assert served.num_used_blocks == held
    served.advance(60.0)
    assert closed.num_output_tokens == gone.num_output_tokens == 300


@BOTH
def test_mended_aborts_leave_what_ran_on_and_end_what_comes(closed_form):
    served = engine(closed_form=closed_form)
    served.set_aborts(run_on=True)
    past, to_come = submit(
        served,
        (
            32,
            300,
        ),
        (32, 300),
    )
    past.cancel_tokens, to_come.cancel_tokens = 10, 200
    served.advance(1.0)
    served.set_aborts()
    served.advance(60.0)
    assert past.num_output_tokens == 300
    assert to_come.num_output_tokens == 200


@BOTH
def test_aborts_that_lose_their_blocks_leak_what_was_held(closed_form):
    served = engine(closed_form=closed_form)
    served.set_aborts(lose_blocks=True)
    _closed, gone = submit(served, (32, 300), (32, 300), cancel_tokens=None)
    _closed.cancel_tokens = 17
    served._limit(_closed)
    served.advance(1.0)
    assert served.num_leaked_blocks == 3
    held = gone.num_blocks
    served.abort(gone)
    assert served.num_leaked_blocks == 3 + held
    assert served.num_free_blocks == 64 - 3 - held
    assert served._core.cost.base_ps == 10 * MS
