import pytest

from labs.simulator.metrics import longest_gap_s, meets, percentile, share_meeting_limits, ttft_s
from labs.simulator.request import Request, Status, to_ps


def request(sent_s, first_s=None, last_s=None, *, gap_s=0.0, finished=True, router_s=0.0):
    made = Request("r", sent_s, 10, 10)
    made.route(0, router_s)
    if first_s is not None:
        made.first_token_ps, made.last_token_ps = to_ps(first_s), to_ps(last_s or first_s)
        made.longest_gap_ps = to_ps(gap_s)
        if finished:
            made.status, made.finish_reason, made.finish_ps = (
                Status.FINISHED,
                "length",
                made.last_token_ps,
            )
    return made


def shed(sent_s):
    made = request(sent_s)
    made.status, made.finish_ps = Status.SHED, to_ps(sent_s)
    return made


def test_a_percentile_lies_between_order_statistics_as_numpy_s_does():
    assert percentile([4, 1, 3, 2], 50) == 2.5
    assert percentile([1, 2, 3, 4, 5], 95) == pytest.approx(4.8)
    assert percentile([7], 95) == 7
    with pytest.raises(ValueError, match="0 values"):
        percentile([], 50)


def test_time_to_first_token_counts_from_the_client_s_send():
    assert request(1.0, 1.5, router_s=0.2).ttft_s == 0.5


def test_who_still_waits_counts_with_the_wait_so_far_and_who_was_refused_does_not():
    requests = [request(0.0, 0.5), request(5.0), shed(6.0), request(50.0)]
    window = {"from_s": 0.0, "to_s": 20.0, "now_s": 30.0}
    assert ttft_s(requests, **window, percentile_=100) == 25.0
    assert ttft_s(requests, **window, percentile_=0) == 0.5
    assert ttft_s([shed(1.0)], **window, percentile_=50) is None


def test_gaps_are_those_of_streams_alive_in_the_window_and_a_stall_counts_while_it_lasts():
    over = request(0.0, 1.0, 5.0, gap_s=9.0)
    alive = request(0.0, 1.0, 50.0, gap_s=0.1)
    stalled = request(0.0, 1.0, 40.0, gap_s=0.1, finished=False)
    unborn = request(0.0)
    window = {"from_s": 10.0, "to_s": 60.0, "now_s": 60.0}
    assert longest_gap_s([over, alive, stalled, unborn], **window, percentile_=100) == 20.0
    assert longest_gap_s([over, alive, unborn], **window) == pytest.approx(0.1)
    assert longest_gap_s([over, unborn], **window) is None


def test_a_request_meets_the_limits_or_not_or_is_not_yet_decided():
    limits = {"ttft_limit_s": 1.0, "gap_limit_s": 0.2, "now_s": 10.0}
    cut = request(0.0, 0.5)
    cut.cut = True
    assert meets(request(0.0, 0.5), **limits) is True
    for missed in (
        request(0.0, 1.5),
        request(0.0, 0.5, 2.0, gap_s=0.3),
        request(5.0),
        request(9.0, 9.1, 9.2, finished=False),
        shed(1.0),
        cut,
    ):
        assert meets(missed, **limits) is False
    assert meets(request(9.5), **limits) is None
    assert meets(request(9.0, 9.5, 9.9, finished=False), **limits) is None


def test_the_share_is_of_all_that_were_offered_and_are_decided():
    requests = [request(0.0, 0.5), request(1.0, 5.0), shed(2.0), request(9.9)]
    window = {"from_s": 0.0, "to_s": 10.0, "now_s": 10.0}
    share = share_meeting_limits(requests, **window, ttft_limit_s=1.0, gap_limit_s=0.2)
    assert share == pytest.approx(1 / 3)
