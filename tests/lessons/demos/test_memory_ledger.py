import pytest

from labs.simulator.memory.ledger import GIB
from lessons.demos.memory_ledger import DEMO, computed


def shown(**turned):
    return computed(**{**DEMO.start, **turned})


def tokens(found):
    return int(found.readouts[1].value.replace(",", ""))


def column(found, name):
    return {row[0]: row[1] for row in found.table.rows}[name]


def test_the_start_is_the_reference_ledger():
    found = shown()
    assert tokens(found) == 451_024
    assert found.readouts[0].value == "34.41"
    assert "451,024 tokens" in found.says


def test_the_lines_add_up_to_the_card():
    total = sum(float(row[1]) for row in shown().table.rows)
    assert total == pytest.approx(79.2, abs=0.05)


def test_fp8_keys_double_the_tokens_and_leave_the_pool():
    whole, half = shown(), shown(kv="fp8")
    assert tokens(half) == pytest.approx(2 * tokens(whole), rel=1e-4)
    assert half.readouts[0].value == whole.readouts[0].value


def test_half_the_ranks_leave_far_less_than_half():
    assert tokens(shown(ranks="2")) == 10_208


def test_fewer_sequences_give_the_sampler_s_rows_to_the_pool():
    rows = (1_024 - 256) * 128_256 * 22 / GIB
    gained = float(shown(max_num_seqs=256).readouts[0].value) - float(shown().readouts[0].value)
    # The trial step's peak is the larger of the sampler and a layer: not all of the rows are won.
    assert 0 < gained <= rows + 0.01


def test_a_context_that_does_not_fit_is_refused_in_the_engine_s_words():
    found = shown(ranks="2", max_model_len=32_768)
    assert "To serve at least one request" in found.says
    assert "5.0 GiB KV cache is needed" in found.says
    assert found.readouts[1].value == "0"


def test_weights_that_do_not_fit_show_what_is_missing():
    found = shown(ranks="1")
    assert "weight load" in found.says
    assert "CUDA out of memory" in found.says
    assert float(column(found, "missing")) > 60


def test_a_step_smaller_than_its_sequences_is_refused_before_memory():
    found = shown(max_num_batched_tokens=512, max_num_seqs=1_024)
    assert "512 tokens in a step for 1,024 sequences" in found.says


def test_graphs_off_give_their_room_to_the_pool():
    assert float(shown(graphs="off").readouts[0].value) == pytest.approx(34.41 + 2.0, abs=0.01)
