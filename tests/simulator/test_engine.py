import pickle

import pytest

from labs.simulator.request import Request, Status
from labs.simulator.scheduler import EngineConfig
from tests.simulator.worlds import COST, MS, engine, fuzzed_engine, submit

BOTH = pytest.mark.parametrize("closed_form", [True, False])


@BOTH
def test_a_lone_request_takes_the_time_that_its_steps_cost(closed_form):
    served = engine(closed_form=closed_form)
    (request,) = submit(served, (32, 3))
    served.advance(10.0)
    prefill = 10 * MS + 32 * 1_000_000 + 32 * MS // 10
    decode = [10 * MS + 33 * 1_000_000, 10 * MS + 34 * 1_000_000]
    assert request.first_token_ps == prefill
    assert request.finish_ps == prefill + sum(decode)
    assert request.longest_gap_ps == decode[1]
    assert (request.status, request.finish_reason) == (Status.FINISHED, "length")


@BOTH
def test_a_step_sees_only_what_has_arrived_when_it_starts(closed_form):
    served = engine(closed_form=closed_form)
    first, second = submit(served, (32, 50)) + submit(served, (32, 2), at_s=0.02)
    served.advance(10.0)
    assert second.first_scheduled_ps >= second.arrival_ps
    # Steps take a little over 10 ms, so the first step after 20 ms starts before 31 ms.
    assert second.first_scheduled_s < 0.031
    assert first.first_scheduled_s == 0.0


@BOTH
def test_an_idle_engine_stands_exactly_where_it_is_told(closed_form):
    served = engine(closed_form=closed_form)
    served.advance(12.25)
    assert served.now_s == 12.25
    assert [sample.t_s for sample in served.samples] == [0.0, 5.0, 10.0]


@BOTH
def test_a_step_begun_before_the_time_ends_after_it(closed_form):
    served = engine(closed_form=closed_form)
    submit(served, (32, 3))
    served.advance(0.001)
    assert served.now_s == pytest.approx(0.013232)


def storm(closed_form):
    served = engine(num_gpu_blocks=13, closed_form=closed_form, sample_every_s=0.1)
    requests = submit(served, *[(30, 60)] * 5)
    served.advance(60.0)
    return served, requests


@BOTH
def test_a_preempted_stream_has_a_gap_and_its_tokens_are_computed_again(closed_form):
    served, requests = storm(closed_form)
    assert all(request.num_output_tokens == 60 for request in requests)
    victims = [request for request in requests if request.num_preemptions]
    assert victims
    for request in victims:
        assert request.recomputed_tokens > 0
        assert request.longest_gap_s > 0.05
    assert served.samples[-1].recomputed_tokens == sum(r.recomputed_tokens for r in requests)


@BOTH
def test_the_preemption_counter_moves_only_when_the_victim_emits_again(closed_form):
    # vLLM 0.32 live: running fell from 32 to 6 over 12 s while num_preemptions_total read 0.
    served, _ = storm(closed_form)
    behind = [s for s in served.samples if s.preemptions_reported < s.preemptions]
    assert len(behind) > 1
    last = served.samples[-1]
    assert last.preemptions == last.preemptions_reported > 0


@BOTH
def test_recompute_shows_in_no_token_counter_of_vllm(closed_form):
    served, _ = storm(closed_form)
    last = served.samples[-1]
    assert last.preemptions > 0
    assert last.prompt_tokens == 5 * 30
    assert last.generation_tokens == 5 * 60
    # The last output is never computed; all else is, and some of it again.
    assert last.computed_tokens == 5 * (30 + 59) + last.recomputed_tokens


@BOTH
def test_histograms_count_every_gap_and_every_first_token(closed_form):
    served, _ = storm(closed_form)
    last = served.samples[-1]
    assert sum(last.itl_counts) == 5 * 59
    assert sum(last.ttft_counts) == 5
    assert sum(last.iteration_tokens_counts) == last.steps


@BOTH
def test_the_parts_of_a_step_s_time_add_up(closed_form):
    served, _ = storm(closed_form)
    last = served.samples[-1]
    launches_s = last.steps * 0.001
    assert last.busy_s == pytest.approx(
        last.weight_read_s + launches_s + last.kv_read_s + last.prefill_s
    )
    assert 0 < last.recompute_s < last.prefill_s


@BOTH
def test_a_restart_keeps_outputs_and_loses_the_cache(closed_form):
    served = engine(num_gpu_blocks=40, closed_form=closed_form)
    requests = submit(served, (30, 200), (30, 200))
    served.leak(5)
    served.advance(1.0)
    emitted = [request.num_output_tokens for request in requests]
    assert min(emitted) > 10
    stopped_s = served.now_s
    served.restart(EngineConfig(num_gpu_blocks=60, max_num_batched_tokens=256), COST, down_s=30.0)
    assert served.num_leaked_blocks == served.num_used_blocks == 0
    assert [request.num_output_tokens for request in requests] == emitted
    served.advance(20.0)
    assert served.is_down
    assert served.now_s == 20.0
    served.advance(100.0)
    assert [request.num_output_tokens for request in requests] == [200, 200]
    assert all(30.0 < request.longest_gap_s < 31.0 for request in requests)
    assert requests[0].recomputed_tokens == 30 + emitted[0] - 1
    assert served.samples[5].t_s == 25.0
    assert (served.samples[5].running, served.samples[5].waiting) == (0, 2)
    assert stopped_s < 1.1


@BOTH
def test_a_restart_ends_what_no_longer_fits_the_context(closed_form):
    served = engine(closed_form=closed_form)
    (request,) = submit(served, (100, 200))
    served.advance(1.0)
    served.restart(EngineConfig(num_gpu_blocks=65, max_model_len=64), COST, down_s=1.0)
    assert (request.status, request.finish_reason) == (Status.ABORTED, "error")


@BOTH
def test_an_abort_frees_blocks_wherever_the_request_is(closed_form):
    served = engine(closed_form=closed_form, max_num_seqs=2)
    running, filling, queued = submit(served, (30, 500), (300, 5), (30, 5))
    (later,) = submit(served, (30, 5), at_s=50.0)
    served.advance(0.03)
    assert [r.status for r in (running, filling, queued, later)] == [
        Status.RUNNING, Status.RUNNING, Status.WAITING, Status.WAITING,
    ]  # fmt: skip
    for request in (later, queued, filling, running):
        served.abort(request)
        assert (request.status, request.finish_reason) == (Status.ABORTED, "abort")
    assert served.num_used_blocks == 0
    served.abort(running)
    served.advance(100.0)
    assert served.samples[-1].aborted == 4
    with pytest.raises(ValueError, match="not a request"):
        served.abort(Request("stranger", 0.0, 1, 1))


@BOTH
@pytest.mark.parametrize("gate", [True, False])
def test_a_request_that_the_pool_can_never_hold_ends_and_lets_others_pass(closed_form, gate):
    served = engine(num_gpu_blocks=6, closed_form=closed_form, scheduler_reserve_full_isl=gate)
    huge, grows, fits = submit(served, (200, 5), (30, 500), (20, 5))
    served.advance(60.0)
    assert (huge.status, huge.finish_reason) == (Status.ABORTED, "error")
    assert (grows.status, grows.num_output_tokens) == (Status.ABORTED, 51)
    assert fits.status is Status.FINISHED
    assert served.num_free_blocks == 5


@BOTH
def test_a_prompt_that_leaves_no_room_in_the_context_is_refused_on_arrival(closed_form):
    served = engine(closed_form=closed_form, max_model_len=64)
    refused, clamped = submit(served, (64, 5), (60, 50), at_s=1.0)
    served.advance(60.0)
    assert (refused.finish_reason, refused.finish_s) == ("error", 1.0)
    # vLLM clamps silently: a prompt of 1,000 in a context of 1,024 gets 24 tokens.
    assert (clamped.finish_reason, clamped.num_output_tokens) == ("length", 4)


@BOTH
def test_leaked_blocks_count_as_used_until_a_restart(closed_form):
    served = engine(num_gpu_blocks=11, closed_form=closed_form)
    assert served.leak(4) == 4
    assert (served.kv_cache_usage_perc, served.num_used_blocks) == (0.4, 0)
    assert served.leak(100) == 6


@BOTH
def test_a_slowdown_holds_from_the_next_step_on(closed_form):
    served = engine(closed_form=closed_form)
    (request,) = submit(served, (32, 3))
    served.slowdown = 2.0
    served.advance(10.0)
    assert request.first_token_ps == 2 * (10 * MS + 32 * 1_000_000 + 32 * MS // 10)


def test_submitting_out_of_order_or_twice_is_refused():
    served = engine()
    (request,) = submit(served, (5, 5), at_s=2.0)
    with pytest.raises(ValueError, match="arrives before"):
        submit(served, (5, 5), at_s=1.0)
    with pytest.raises(ValueError, match="twice"):
        served.submit(request)
    with pytest.raises(ValueError, match="prompt_token_ids"):
        submit(engine(enable_prefix_caching=True), (5, 5))


def test_a_second_equal_prompt_is_mostly_read_from_the_cache():
    served = engine(enable_prefix_caching=True)
    first, second = (
        submit(served, (64, 5), at_s=t_s, prompt_token_ids=tuple(range(64)))[0]
        for t_s in (0.0, 1.0)
    )
    served.advance(10.0)
    assert second.ttft_s < first.ttft_s - 0.004
    assert served.samples[-1].prefill_tokens == 64 + 16


@pytest.mark.parametrize("seed", range(40))
def test_the_closed_form_gives_the_bytes_of_one_step_at_a_time(seed):
    whole = fuzzed_engine(seed, closed_form=True)
    stepped = fuzzed_engine(seed, closed_form=False)
    assert whole.samples == stepped.samples
    assert whole.state() == stepped.state()


@pytest.mark.parametrize("seed", range(15))
def test_the_closed_form_takes_the_same_steps(seed):
    ours, theirs = [], []
    fuzzed_engine(seed, closed_form=True, listener=ours.append)
    fuzzed_engine(seed, closed_form=False, listener=theirs.append)
    assert ours == theirs


@pytest.mark.parametrize("closed_form", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_advancing_in_pieces_gives_the_bytes_of_advancing_at_once(seed, closed_form):
    whole = fuzzed_engine(seed, closed_form=closed_form)
    pieces = fuzzed_engine(seed, closed_form=closed_form, pieces=True)
    assert whole.state() == pieces.state()


@pytest.mark.parametrize("seed", range(10))
def test_an_unpickled_engine_goes_on_as_if_nothing_had_happened(seed):
    served = fuzzed_engine(seed)
    copy = pickle.loads(pickle.dumps(served))  # noqa: S301
    now_s = served.now_s
    for one in (served, copy):
        submit(one, (5, 40), (20, 30), at_s=now_s)
        one.advance(now_s + 10)
    assert served.state() == copy.state()


@pytest.mark.parametrize("seed", range(20))
def test_requests_and_blocks_are_conserved_and_time_never_runs_back(seed):
    clock = [0.0]

    def check(served):
        held = sum(request.num_blocks for request in served.running)
        assert held == served.num_used_blocks
        assert (
            held + served.num_free_blocks + served.num_leaked_blocks == served.config.usable_blocks
        )
        ended = sum(request.finish_ps is not None for request in served.requests)
        queued = len(served._timeline.pending)
        assert ended + len(served.running) + len(served.waiting) + queued == len(served.requests)
        assert served.now_s >= clock[0]
        clock[0] = served.now_s

    served = fuzzed_engine(seed, after_each=check)
    for request in served.requests:
        times = [
            request.arrival_ps, request.first_scheduled_ps, request.first_token_ps, request.last_token_ps,
            request.finish_ps,
        ]  # fmt: skip
        happened = [t_ps for t_ps in times if t_ps is not None]
        assert request.finish_reason == "abort" or happened == sorted(happened)
        if request.status is Status.FINISHED:
            assert request.num_output_tokens == request.output_limit
