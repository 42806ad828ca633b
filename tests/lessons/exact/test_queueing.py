import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.exact.draws import generator
from lessons.exact.queueing import (
    Service,
    implied_rate_rps,
    in_queue,
    knee,
    lindley,
    pollaczek_khinchine_s,
    processor_sharing_s,
    service,
    sojourn_quantile_s,
)

MEAN_S = 0.150


@pytest.mark.parametrize(
    ("cv2", "family"),
    [(0, "deterministic"), (1, "exponential"), (1, "lognormal"), (4, "hyperexponential")],
)
@pytest.mark.parametrize("load", [0.5, 0.7, 0.8])
def test_the_recursion_waits_as_long_as_the_formula_says(cv2, family, load):
    served = Service(MEAN_S, cv2, family)
    found = lindley(load / MEAN_S, served, count=400_000, seed=1, discard=10_000)
    assert found.wait_s.mean() == pytest.approx(
        pollaczek_khinchine_s(load / MEAN_S, served), rel=0.05
    )


def test_the_closed_form_of_the_recursion_is_the_recursion():
    found = lindley(5.0, Service(MEAN_S, 2), count=500, seed=3)
    gaps_s = generator("arrivals", 3).standard_exponential(500) / 5.0
    wait_s = 0.0
    for index in range(1, 500):
        wait_s = max(0.0, wait_s + found.service_s[index - 1] - gaps_s[index])
        assert found.wait_s[index] == pytest.approx(wait_s, abs=1e-9)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_with_exponential_services_the_sojourn_is_exponential(load, share):
    found = sojourn_quantile_s(load / MEAN_S, Service(MEAN_S, 1, "exponential"), share)
    assert found == pytest.approx(-math.log(1 - share) * MEAN_S / (1 - load), rel=0.005)


@pytest.mark.parametrize(
    ("cv2", "p99_s"),
    [(0, (0.65, 1.12, 1.70, 3.43)), (1, (1.56, 2.52, 3.67, 7.12)), (4, (4.74, 7.90, 11.29, 20.5))],
)
def test_the_knee_moves_with_the_spread_of_lengths_not_with_the_mean_load(cv2, p99_s):
    found = knee(service(MEAN_S, cv2), (0.5, 0.7, 0.8, 0.9))
    assert [value for _, value in found] == pytest.approx(p99_s, rel=0.006)


def test_a_simulation_agrees_with_the_exact_tail():
    served = service(MEAN_S, 1)
    found = lindley(0.7 / MEAN_S, served, count=400_000, seed=1)
    exact = sojourn_quantile_s(0.7 / MEAN_S, served, 0.99)
    assert np.quantile(found.sojourn_s, 0.99) == pytest.approx(exact, rel=0.03)


@given(
    mean_s=st.floats(0.001, 10),
    case=st.sampled_from(
        [(0, "deterministic"), (1, "exponential"), (2, "lognormal"), (3, "hyperexponential")]
    ),
)
@settings(max_examples=20, deadline=None)
def test_services_have_the_moments_that_they_are_asked_for(mean_s, case):
    cv2, family = case
    drawn = Service(mean_s, cv2, family).draw(200_000, generator("test", 0))
    assert drawn.mean() == pytest.approx(mean_s, rel=0.02)
    assert drawn.var() / drawn.mean() ** 2 == pytest.approx(cv2, rel=0.15, abs=1e-9)


@pytest.mark.parametrize(("cv2", "family"), [(2, "lognormal"), (3, "hyperexponential")])
def test_a_distribution_function_is_that_of_its_draws(cv2, family):
    served = Service(MEAN_S, cv2, family)
    drawn = np.sort(served.draw(100_000, generator("test", 1)))
    for share in (0.1, 0.5, 0.9, 0.99):
        value = np.quantile(drawn, share)
        assert served.cdf(np.array([value]))[0] == pytest.approx(share, abs=0.005)


@given(load=st.floats(0.01, 0.94), cv2=st.floats(0.05, 8))
@settings(max_examples=25, deadline=None)
def test_more_load_and_more_spread_never_shorten_the_mean_wait(load, cv2):
    wait_s = pollaczek_khinchine_s(load / MEAN_S, service(MEAN_S, cv2))
    assert pollaczek_khinchine_s((load + 0.05) / MEAN_S, service(MEAN_S, cv2)) > wait_s
    assert pollaczek_khinchine_s(load / MEAN_S, service(MEAN_S, cv2 + 1)) > wait_s


def test_sharing_makes_a_short_prompt_wait_in_proportion_to_itself():
    assert processor_sharing_s(4.0, 0.2, 0.01) == pytest.approx(0.05)
    # With exponential services the two disciplines have one mean.
    shared_s = processor_sharing_s(4.0, 0.2, 0.2)
    assert shared_s == pytest.approx(pollaczek_khinchine_s(4.0, service(0.2, 1)) + 0.2)


def test_a_queue_and_its_wait_imply_the_arrivals():
    assert in_queue(4.0, 2.5) == 10
    assert implied_rate_rps(in_queue(4.0, 2.5), 2.5) == 4


def test_little_holds_in_a_simulated_queue():
    found = lindley(4.0, service(MEAN_S, 1), count=200_000, seed=2)
    gaps_s = generator("arrivals", 2).standard_exponential(200_000) / 4.0
    arrivals_s = np.cumsum(gaps_s)
    ends_s = arrivals_s + found.sojourn_s
    events = np.concatenate([np.stack([arrivals_s, np.ones_like(arrivals_s)]),
                             np.stack([ends_s, -np.ones_like(ends_s)])], axis=1)  # fmt: skip
    events = events[:, np.argsort(events[0], kind="stable")]
    held = np.cumsum(events[1])[:-1] @ np.diff(events[0]) / events[0, -1]
    assert held == pytest.approx(
        in_queue(200_000 / events[0, -1], float(found.sojourn_s.mean())), rel=0.001
    )


@pytest.mark.parametrize(
    ("mean_s", "cv2", "family"),
    [(0, 1, "lognormal"), (1, 0.5, "exponential"), (1, 0.5, "hyperexponential"), (1, 0, "lognormal"),
     (1, 1, "deterministic"), (1, -1, "lognormal")],
)  # fmt: skip
def test_moments_that_a_family_cannot_have_are_refused(mean_s, cv2, family):
    with pytest.raises(ValueError, match="service"):
        Service(mean_s, cv2, family)


def test_a_queue_that_never_ends_is_refused():
    with pytest.raises(ValueError, match="finite"):
        pollaczek_khinchine_s(7.0, service(MEAN_S, 1))
    with pytest.raises(ValueError, match="share"):
        sojourn_quantile_s(1.0, service(MEAN_S, 1), 1.0)
    with pytest.raises(ValueError, match="nobody"):
        implied_rate_rps(3, 0)


def test_one_seed_makes_one_queue():
    one, other = (lindley(4.0, service(MEAN_S, 1), count=50, seed=s) for s in (1, 1))
    assert one.wait_s.tobytes() == other.wait_s.tobytes()
    assert (
        lindley(4.0, service(MEAN_S, 1), count=50, seed=2).wait_s.tobytes() != one.wait_s.tobytes()
    )
