"""What one user has felt so far, measure by measure."""

import pytest

from labs.instruments.experience import PATIENCE_S, felt, is_final, is_lost, longest_gap_s
from labs.simulator.request import Request, Status, to_ps

MEASURES = ("ttft", "gap", "tpot", "e2e", "answered")


def request(*, first=None, last=None, finish=None, outputs=0, gap=0.0, **other):
    """A request that was sent at second 100, half a second before its engine got it."""
    made = Request("r", arrival_s=100.0, prompt_tokens=10, max_tokens=100)
    made.route(0, 0.5)
    made.first_token_ps = None if first is None else to_ps(first)
    made.last_token_ps = None if last is None else to_ps(last)
    made.finish_ps = None if finish is None else to_ps(finish)
    made.num_output_tokens = outputs
    made.longest_gap_ps = to_ps(gap)
    for name, value in other.items():
        setattr(made, name, value)
    return made


def done(**other):
    """It got its first token after 2 s and its 21st and last after 7, with one pause of 1.5 s."""
    return request(
        first=102.0,
        last=107.0,
        finish=107.0,
        outputs=21,
        gap=1.5,
        status=Status.FINISHED,
        **{"max_tokens": 21, **other},
    )


@pytest.mark.parametrize(
    ("measure", "seconds"),
    [("ttft", 2.0), ("gap", 1.5), ("tpot", 0.25), ("e2e", 7.0), ("answered", 0.0)],
)
def test_an_answer_that_is_complete_is_measured_once_and_for_all(measure, seconds):
    for now_s in (107.0, 5000.0):
        assert felt(done(), measure, now_s) == pytest.approx(seconds)


@pytest.mark.parametrize("measure", ["ttft", "gap", "tpot", "e2e"])
def test_who_waits_for_a_first_token_has_waited_so_far(measure):
    assert felt(request(), measure, 130.0) == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("measure", "seconds"), [("ttft", 2.0), ("gap", 20.0), ("tpot", 23 / 10), ("e2e", 25.0)]
)
def test_a_stream_that_stands_still_counts_its_silence(measure, seconds):
    still = request(first=102.0, last=105.0, outputs=11, gap=1.0, status=Status.PREEMPTED)
    assert felt(still, measure, 125.0) == pytest.approx(seconds)


def test_the_silence_after_the_last_token_of_an_answer_is_no_pause():
    assert longest_gap_s(done(), 5000.0) == 1.5
    assert longest_gap_s(request(), 5000.0) is None


def test_one_token_has_no_time_between_tokens_to_divide_by():
    one = request(first=102.0, last=102.0, finish=102.0, outputs=1, status=Status.FINISHED)
    assert felt(one, "tpot", 200.0) == 0.0


def test_whoever_waited_beyond_patience_was_not_answered():
    assert felt(request(), "answered", 100.0 + PATIENCE_S) == 0.0
    assert felt(request(), "answered", 100.1 + PATIENCE_S) is None
    late = request(first=300.0, last=300.0, outputs=1, status=Status.RUNNING)
    assert felt(late, "answered", 301.0) == 0.0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "lost",
    [
        {"status": Status.SHED},
        {"status": Status.ABORTED, "first": 102.0, "last": 103.0, "outputs": 5},
        {"status": Status.STRANDED, "first": 102.0, "last": 103.0, "outputs": 5},
        {"status": Status.FINISHED, "first": 102.0, "last": 103.0, "finish": 103.0, "cut": True},
    ],
    ids=["refused", "failed", "stranded", "cut short"],
)
def test_what_was_lost_has_no_time_and_misses_every_promise(measure, lost):
    assert is_lost(request(**lost))
    assert felt(request(**lost), measure, 110.0) is None


def test_a_stream_that_its_own_user_closed_is_not_lost():
    closed = request(
        first=102.0, last=103.0, finish=103.0, outputs=5, status=Status.ABORTED, cancel_tokens=5
    )
    assert not is_lost(closed)
    assert felt(closed, "ttft", 110.0) == pytest.approx(2.0)
    assert felt(closed, "answered", 110.0) == 0.0


def test_a_measure_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="no measure 'itl'"):
        felt(done(), "itl", 110.0)


def test_an_answer_that_ended_at_the_context_was_not_given_as_asked():
    assert felt(done(max_tokens=100), "answered", 107.0) is None
    assert felt(done(max_tokens=100), "ttft", 107.0) == 2.0


def test_who_was_wrong_and_was_told_so_has_been_answered_at_once():
    told = request(finish=100.0, status=Status.ABORTED, refusal="missing_role", http_status=400)
    assert not is_lost(told)
    assert [felt(told, measure, 500.0) for measure in MEASURES] == [0.0] * len(MEASURES)


def test_who_was_wrong_and_was_answered_500_has_not():
    hidden = request(finish=100.0, status=Status.ABORTED, refusal="missing_role", http_status=500)
    assert is_lost(hidden)
    assert felt(hidden, "answered", 500.0) is None


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "ended",
    [done(), request(status=Status.SHED), request(first=101.0, last=103.0, outputs=3, cut=True)],
)
def test_what_is_final_is_felt_the_same_ever_after(ended, measure):
    assert is_final(ended)
    assert felt(ended, measure, 110.0) == felt(ended, measure, 9_999.0)


@pytest.mark.parametrize(
    "open_yet", [request(), request(first=101.0, last=103.0, outputs=3), request(finish=105.0)]
)
def test_what_still_waits_or_ended_unanswered_is_not_final(open_yet):
    assert not is_final(open_yet)
