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


HITS = "promql 'increase(vllm:prefix_cache_hits_total[5m]) / increase(vllm:prefix_cache_queries_total[5m])'"


def first_words(hypothesis):
    return incident.begin(labs()["first-word-waits"], SEED, hypothesis=hypothesis)


def test_hits_over_lookups_are_one_reading_with_a_price():
    shown = ask(first_words("template"), HITS)
    assert (shown.instrument, shown.cost_s) == ("prefix_cache", 30)
    assert shown.signals["prefix_hit_share_5m"] < 0.02
    assert ask(first_words("gateway"), HITS).signals["prefix_hit_share_5m"] > 0.8


def test_two_prompts_part_near_the_front_only_where_the_template_is_volatile():
    volatile = ask(first_words("template"), "tokenize-diff")
    assert volatile.signals["first_diff_token"] <= 60
    assert "first difference at token" in volatile.text
    assert ask(first_words("tenants"), "tokenize-diff").signals["first_diff_token"] >= 2900


def test_tenants_are_counted_by_what_their_prompts_begin_with():
    assert ask(first_words("longer"), "request-log --by-tenant").signals["tenants_5m"] == 30
    assert ask(first_words("tenants"), "request-log --by-tenant").signals["tenants_5m"] > 75


def test_a_rollback_brings_back_what_repeats_and_no_room_in_the_pool():
    volatile, crowded = first_words("template"), first_words("tenants")
    before = value(crowded, "prefix_hit_share_5m")
    for each in (volatile, crowded):
        ask(each, "rollback-template")
        ask(each, "wait 6m")
    assert value(volatile, "prefix_hit_share_5m") > 0.8
    assert abs(value(crowded, "prefix_hit_share_5m") - before) < 0.1


def tokens(hypothesis):
    return incident.begin(labs()["slower-by-the-token"], SEED, hypothesis=hypothesis)


START = "grep -E 'Selected|attention backend' /var/log/vllm/startup.log"


def test_the_start_of_a_server_tells_its_kernels():
    shown = ask(tokens("attention"), START)
    assert shown.signals == {
        "attention_backend": "FLEX_ATTENTION",
        "linear_kernel": "CutlassFP8ScaledMMLinearKernel",
    }
    assert "Using FLEX_ATTENTION attention backend" in shown.text


@pytest.mark.parametrize(
    ("hypothesis", "line", "cured"),
    [
        ("attention", "rollback-image", True),
        ("attention", "unset-env VLLM_TEST_FORCE_FP8_MARLIN", False),
        ("attention", "restart", False),
        ("linear", "rollback-image", False),
        ("linear", "unset-env VLLM_TEST_FORCE_FP8_MARLIN", True),
        ("linear", "restart", False),
    ],
)
def test_a_rollback_and_a_variable_cure_what_is_theirs(hypothesis, line, cured):
    handled = tokens(hypothesis)
    ask(handled, line)
    best = ("FLASH_ATTN", "CutlassFP8ScaledMMLinearKernel")
    chosen = (value(handled, "attention_backend"), value(handled, "linear_kernel"))
    assert (chosen == best) is cured


def test_a_lab_that_tells_of_no_kernels_has_no_start_to_read():
    assert ask(world("uncut"), START).kind == "refused"
