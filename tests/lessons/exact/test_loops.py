import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.exact.loops import (
    Server,
    Stall,
    closed_loop,
    closed_loop_rps,
    open_loop,
    paced_loop,
)
from lessons.exact.queueing import Service, pollaczek_khinchine_s

TENTH = Service(0.1, 0, "deterministic")
STALLED = Server(TENTH, slots=1_000, stall=Stall(40.0, 50.0))


def p99_s(values):
    return float(np.quantile(values, 0.99))


def test_a_closed_loop_hides_a_stall_that_an_open_loop_shows():
    closed = closed_loop(STALLED, clients=1, think_s=0.0, duration_s=100.0, seed=0)
    opened = open_loop(STALLED, rate_rps=10.0, duration_s=100.0, seed=0, poisson=False)
    assert p99_s(closed.recorded_s) == pytest.approx(0.10, abs=0.005)
    assert p99_s(opened.recorded_s) == pytest.approx(9.1, abs=0.1)


def test_a_paced_tool_records_the_closed_figure_and_knows_the_open_one():
    # Fast enough to catch up: the schedule's thousand requests are all sent in the end.
    server = Server(Service(0.01, 0, "deterministic"), slots=1, stall=Stall(40.0, 50.0))
    paced = paced_loop(server, connections=1, rate_rps=10.0, duration_s=100.0, seed=0)
    opened = open_loop(server, rate_rps=10.0, duration_s=100.0, seed=0, poisson=False)
    assert len(paced.sent_s) == len(opened.sent_s) == 1000
    assert p99_s(paced.recorded_s) == pytest.approx(0.01)
    assert np.sort(paced.experienced_s) == pytest.approx(np.sort(opened.recorded_s))


@pytest.mark.parametrize(("clients", "think_s"), [(1, 1.0), (4, 1.0), (10, 1.0), (6, 0.0)])
def test_a_closed_loop_is_as_fast_as_mean_value_analysis_says(clients, think_s):
    server = Server(Service(0.2, 1, "exponential"))
    found = closed_loop(server, clients=clients, think_s=think_s, duration_s=4_000.0, seed=5)
    rate_rps = len(found.sent_s) / 4_000.0
    assert rate_rps == pytest.approx(
        closed_loop_rps(clients=clients, think_s=think_s, service_s=0.2), rel=0.03
    )


@given(clients=st.integers(1, 200), think_s=st.floats(0, 10), service_s=st.floats(0.001, 5))
def test_a_closed_loop_stays_below_both_of_its_bounds(clients, think_s, service_s):
    rate_rps = closed_loop_rps(clients=clients, think_s=think_s, service_s=service_s)
    assert rate_rps <= 1 / service_s * (1 + 1e-9)
    assert rate_rps <= clients / (service_s + think_s) * (1 + 1e-9)


def test_an_open_loop_waits_as_the_formula_says():
    served = Service(0.15, 1, "exponential")
    found = open_loop(Server(served), rate_rps=4.0, duration_s=40_000.0, seed=1)
    mean_s = pollaczek_khinchine_s(4.0, served) + 0.15
    assert found.recorded_s.mean() == pytest.approx(mean_s, rel=0.05)


@given(start_s=st.floats(0, 100), takes_s=st.floats(0.001, 30))
def test_a_stall_adds_its_length_to_whatever_meets_it(start_s, takes_s):
    server = Server(TENTH, stall=Stall(40.0, 50.0))
    added_s = server.end_s(start_s, takes_s) - start_s - takes_s
    assert -1e-9 <= added_s <= 10 + 1e-9
    meets = start_s < 50 and start_s + takes_s > 40
    assert (added_s > 1e-9) <= meets
    if start_s <= 40 < start_s + takes_s - 1e-6:
        assert added_s == pytest.approx(10)


@given(seed=st.integers(0, 20), slots=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_nobody_is_answered_before_asking_nor_asks_before_intending(seed, slots):
    server = Server(Service(0.1, 2), slots=slots, stall=Stall(10, 12))
    for found in (
        open_loop(server, rate_rps=8, duration_s=30, seed=seed),
        closed_loop(server, clients=5, think_s=0.2, duration_s=30, seed=seed),
        paced_loop(server, connections=3, rate_rps=8, duration_s=30, seed=seed),
    ):
        assert (found.recorded_s > 0).all()
        assert (found.experienced_s >= found.recorded_s).all()
        assert (np.diff(found.sent_s) >= 0).all()


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="stall"):
        Stall(2, 1)
    with pytest.raises(ValueError, match="slot"):
        Server(TENTH, slots=0)
    with pytest.raises(ValueError, match="client"):
        closed_loop_rps(clients=0, think_s=0, service_s=1)
