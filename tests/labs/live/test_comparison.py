"""Two backends measured alike."""

import pytest

from labs.catalogue import lab
from labs.live.calibration import Fit
from labs.live.comparing import Compared, Comparison
from labs.live.comparison import Measured, Row, as_met, met_by, rows, simulate
from labs.live.iterations import Iteration
from labs.live.scenarios import of_lab, storm
from labs.management.commands.compare_backends import table_of
from labs.simulator.engine import Engine

FIT = Fit(9.8, 1.9, 0.507, 0.37, 596, 0.07)
MEASURED = Measured(2186, 79, 41, 1.0, 1.1, 34.0, 413.0, 9.0, 22.0, 48)


@pytest.mark.parametrize(
    ("run", "steps", "preemptions"), [(0, 2186, 79), (1, 3585, 0), (2, 2464, 42), (3, 1025, 0)]
)
def test_the_reference_storm_takes_the_steps_that_vllm_was_seen_to_take(run, steps, preemptions):
    """vLLM 0.32.0 on a CPU, small-llama: the same counts in every one of its runs, live and with its scheduler alone."""
    scenario = storm()
    found = simulate(scenario, scenario.runs[run], FIT.cost())
    assert (found.steps, found.preemptions) == (steps, preemptions)
    assert found.answered == 48


def test_requests_that_never_end_are_an_error():
    scenario = storm()
    slow = Fit(60_000.0, 0.0, 0.0, 0.0, 4, 0.0).cost()
    with pytest.raises(ValueError, match="storm A: 48 requests never end"):
        simulate(scenario, scenario.runs[0], slow)


def test_a_lab_is_compared_on_the_traffic_that_its_seed_draws():
    spec = lab("preemption-storm/live")
    one, again, other = of_lab(spec, 2_000_000), of_lab(spec, 2_000_000), of_lab(spec, 2_000_003)
    lengths = [
        [(r.arrival_s, r.prompt_tokens, r.max_tokens) for r in each.requests]
        for each in (one, again, other)
    ]
    assert lengths[0] == lengths[1] != lengths[2]
    assert 0 <= one.requests[0].arrival_s < one.requests[-1].arrival_s < 130
    assert not one.is_exact


@pytest.mark.parametrize(
    ("simulated", "live", "allowed", "holds"),
    [
        (79, 79, 0.0, True),
        (78, 79, 0.0, False),
        (1.1, 1.0, 0.15, True),
        (1.2, 1.0, 0.15, False),
        (0.0, 0.0, 0.0, True),
        (1.0, 0.0, 0.15, False),
        (None, 1.0, 0.15, False),
    ],
)
def test_a_row_holds_within_what_is_allowed(simulated, live, allowed, holds):
    assert Row("x", simulated, live, allowed).holds is holds


def test_counts_must_be_equal_where_all_requests_come_at_once_and_close_where_they_come_one_by_one():
    exact = {row.name: row.allowed for row in rows(storm(), MEASURED, MEASURED)}
    assert (exact["steps"], exact["tokens_per_s"], exact["ttft_p95_s"]) == (0.0, 0.10, 0.15)
    loose = rows(of_lab(lab("preemption-storm/live"), 2_000_000), MEASURED, MEASURED)
    assert next(row.allowed for row in loose if row.name == "steps") == 0.1


def test_the_table_says_what_is_apart_and_what_was_missed():
    scenario = storm()
    other = Measured(2186, 80, 41, 1.0, 1.1, 34.0, 500.0, 9.0, 22.0, 48)
    compared = Compared(
        scenario.runs[0], FIT, (1, 31), MEASURED, other, tuple(rows(scenario, MEASURED, other))
    )
    text = table_of(Comparison(scenario, (compared,)))
    assert "| steps | 2,186 | 2,186 | equal | equal |" in text
    assert "| preemptions | 79 | 80 | -1 % **missed** | equal |" in text
    assert "| tokens/s | 413 | 500 | -17 % **missed** | 10 % |" in text
    assert not compared.holds


@pytest.mark.parametrize(("met", "shown"), [((1, 31), False), ((1, 28, 3), True), ((32,), False)])
def test_those_of_a_burst_who_come_a_step_later_wait_for_the_prefill_of_whoever_follows(met, shown):
    found = simulate(storm(), storm().runs[3], FIT.cost(), met)
    # Who began a step later still runs when the others have ended, and 16 prompts are computed at once.
    assert (found.gap_p95_s > 0.4) is shown
    assert found.steps == {(32,): 1024}.get(met, 1025)


def test_a_burst_reaches_the_simulator_in_the_groups_that_the_engine_met():
    run = storm().runs[3]
    logged = [Iteration(n, new, 64 * new, 0, 40.0) for n, new in enumerate((1, 28, 0, 3, 0, 16))]
    met = met_by(logged, run, 48)
    assert met == [1, 28, 0, 3]
    engine = Engine(run.config, FIT.cost(), sample_every_s=1.0, closed_form=False)
    steps = []
    engine.on_step = steps.append
    for each in as_met(storm(), met, FIT.cost()):
        engine.submit(each)
    engine.advance(3.0)
    assert [step.running for step in steps[:5]] == [1, 29, 29, 32, 32]
    assert engine.num_unfinished == 48
