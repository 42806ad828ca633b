"""SGLang's words for what the world is: fields and lines as its server has them."""

import json
import re

import pytest

from labs.instruments.sglang import loads, server_info, sglang_log
from tests.labs.instruments.exposition import SAMPLE


@pytest.fixture
def view(at_page):
    return at_page("metastable").view


def test_the_server_describes_its_pool_and_its_arguments(view):
    info = json.loads(server_info(view))
    config = view.engine.config
    assert info["version"] == "0.5.23"
    assert info["max_running_requests"] == config.max_num_seqs
    assert info["chunked_prefill_size"] == config.max_num_batched_tokens
    assert info["scheduler_info"]["max_total_num_tokens"] == config.usable_blocks * 16
    (state,) = info["internal_states"]
    assert state["memory_usage"]["token_capacity"] == config.usable_blocks * 16
    assert state["memory_usage"]["weight"] == pytest.approx(32.6, abs=0.01)
    assert state["last_gen_throughput"] > 0


def test_the_load_is_the_engines_as_its_last_step_left_it(view):
    (rank,) = json.loads(loads(view, include=("core", "memory", "queues")))["loads"]
    sample = view.engine.samples[-1]
    assert rank["num_running_reqs"] == sample.running
    assert rank["num_waiting_reqs"] == sample.waiting == sum(rank["queues"].values())
    total = view.engine.config.usable_blocks * 16
    assert rank["num_used_tokens"] == round(sample.kv_cache_usage_perc * total)
    assert 0 < rank["token_usage"] <= 1
    assert "token_capacity" in rank["memory"]
    (everything,) = json.loads(loads(view, include=("all",)))["loads"]
    assert everything["spec"] is None
    with pytest.raises(ValueError, match="no section 'load'"):
        loads(view, include=("load",))


def test_the_load_is_text_where_prometheus_asks(view):
    lines = loads(view, prometheus=True).splitlines()
    values = [line for line in lines if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in values)
    assert any(line.startswith('sglang:num_running_reqs{dp_rank="0"') for line in values)


def test_the_log_has_sglangs_lines_in_order_and_warns_of_retractions(view):
    lines = sglang_log(view).splitlines()
    stamps = [line[1:20] for line in lines]
    assert stamps == sorted(stamps)
    assert stamps[-1] <= "2026-01-05 11:00:00"
    kinds = {line.split("] ", 1)[1].split(",")[0].split(". ")[0] for line in lines}
    assert kinds == {"Prefill batch", "Decode batch", "KV cache pool is full"}
    retract = next(line for line in lines if "Retract requests" in line)
    shape = r".*#retracted_reqs: \d+, #new_tokens_gained: \d+, #new_token_ratio: 0\.\d{4} -> [01]\.\d{4}"
    assert re.fullmatch(shape, retract)
    last = [line for line in lines if "Decode batch" in line][-1]
    sample = view.engine.samples[-1]
    assert f"#running-req: {sample.running}, " in last
    assert last.endswith(f"#queue-req: {sample.waiting}")


def test_every_retraction_is_told_once(view):
    told = sum(int(count) for count in re.findall(r"#retracted_reqs: (\d+)", sglang_log(view)))
    kept = [sample for sample in view.engine.samples if sample.t_s >= -300]
    assert told == kept[-1].preemptions - kept[0].preemptions > 0
