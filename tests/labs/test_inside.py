"""What goes wrong within the engines of a lab, what shows it, and what ends it."""

import pytest

from labs import console, incident
from labs.catalogue import labs
from labs.instruments.registry import signal_values

SLUG, SEED = "stuttering-streams", 2_000_000


def world(hypothesis):
    return incident.begin(labs()[SLUG], SEED, hypothesis=hypothesis)


def ask(handled, line):
    command = console.parse(line)
    assert isinstance(command, console.Command), command
    return incident.perform(handled, command, 1)


def value(handled, name):
    return signal_values(handled.view, [name])[name]


@pytest.mark.parametrize(
    ("hypothesis", "holder"),
    [
        ("uncut", "nothing"),
        ("collector", "gc.collect"),
        ("scrape", "generate_latest"),
        ("budget", "nothing"),
    ],
)
def test_stacks_name_what_holds_the_loop_between_steps(hypothesis, holder):
    shown = ask(world(hypothesis), "py-spy record -d 20")
    assert shown.signals["host_holder"] == holder
    assert holder in shown.text or "never" in shown.text
    assert (shown.signals["host_lost_share"] > 0.03) == (holder != "nothing")


def test_a_frozen_heap_ends_the_collector_and_leaves_the_scrape():
    collected, scraped = world("collector"), world("scrape")
    for each in (collected, scraped):
        assert ask(each, "freeze-gc").kind == "change"
    assert value(collected, "host_lost_share") == 0.0
    assert value(scraped, "host_lost_share") > 0.03


def test_a_slower_scrape_pauses_as_long_and_less_often():
    handled = world("scrape")
    before = value(handled, "host_lost_share")
    ask(handled, "scrape-every 60s")
    assert value(handled, "host_lost_share") < before / 5


def test_prompts_that_escape_the_budget_escape_half_of_it_as_well():
    handled = world("uncut")
    ask(handled, "restart --max-num-batched-tokens 256")
    ask(handled, "wait 5m")
    assert value(handled, "largest_prefill_tokens") > 2048
    ask(handled, "restart --no-allow-whole-prefill")
    ask(handled, "wait 5m")
    assert value(handled, "largest_prefill_tokens") <= 256


def test_flags_are_those_of_the_deploy_that_went_wrong():
    assert "--max-num-batched-tokens 8192" in ask(world("budget"), "flags").text
    assert "--max-num-batched-tokens 512" in ask(world("uncut"), "flags").text


def test_a_restart_after_a_deploy_keeps_its_value():
    handled = world("budget")
    ask(handled, "restart")
    assert handled.world.cluster.engines[0].config.max_num_batched_tokens == 8192


def test_requests_by_class_tell_who_is_new():
    shown = ask(world("uncut"), "request-log --by-class")
    assert "priority" in shown.text
    assert shown.signals["other_class_share_5m"] > 0.3
    assert ask(world("budget"), "request-log --by-class").signals["other_class_share_5m"] == 0.0


def test_a_profile_slows_the_engine_and_shows_its_table():
    handled = world("collector")
    shown = ask(handled, "torch-profile --last 10s")
    assert shown.operation == {"verb": "slowdown", "factor": 1.3, "lasts_s": 90}
    assert shown.text.startswith("torch.profiler")
    assert shown.signals["gaps_share"] > 0.02
    assert handled.world.cluster.engines[0].slowdown == 1.0


def test_the_panel_of_gaps_between_tokens_reads_what_its_histogram_says():
    handled = world("uncut")
    panel = ask(handled, "promql 'slo:itl_p99'")
    assert panel.instrument == "itl"
    assert panel.signals["itl_p99_s"] == pytest.approx(value(handled, "itl_p99_s"), rel=0.1)
