from dataclasses import replace

import pytest

from labs.simulator.memory.ledger import (
    ATLAS_70B,
    GIB,
    H100_SXM,
    LLAMA_70B,
    MIB,
    MemoryFlags,
    activation_peak_bytes,
    capture_sizes,
    ledger,
    mib,
)

DEFAULTS = MemoryFlags()


def test_four_ranks_of_a_70b_leave_34_gib_and_451_thousand_tokens():
    rank = ledger(LLAMA_70B, DEFAULTS)
    assert rank.available_kv / GIB == pytest.approx(34.4, abs=0.05)
    assert rank.available_kv // rank.kv_bytes_per_token == pytest.approx(451_000, abs=100)
    assert rank.kv_bytes_per_token == 80 * 1024


def test_two_ranks_leave_a_gib_and_a_half_and_10217_tokens():
    rank = ledger(LLAMA_70B, replace(DEFAULTS, tensor_parallel_size=2))
    assert rank.available_kv / GIB == pytest.approx(1.56, abs=0.005)
    assert rank.available_kv // rank.kv_bytes_per_token == pytest.approx(10_217, abs=2)
    assert rank.kv_tokens == 10_208  # whole blocks


def test_the_reference_ledger_is_5_6_gib_beside_weights_and_pool():
    rank = ledger(LLAMA_70B, DEFAULTS)
    assert rank.activation_peak + rank.workspace == 3 * GIB
    assert rank.cuda_graphs / GIB == pytest.approx(2.0, abs=0.001)
    assert (rank.cuda_context + rank.nccl) / GIB == pytest.approx(0.6, abs=0.001)


def test_the_sampler_has_half_a_gib_of_logits_for_1024_rows():
    rows = 1024 * LLAMA_70B.vocab * 4
    assert rows / GIB == pytest.approx(0.49, abs=0.005)
    few = activation_peak_bytes(LLAMA_70B, replace(DEFAULTS, max_num_seqs=64))
    assert few < activation_peak_bytes(LLAMA_70B, DEFAULTS) / 2


def test_heavy_reservation_is_normal():
    default = ledger(LLAMA_70B, DEFAULTS)
    assert mib(default.process) == pytest.approx(74_911, abs=3)
    at_090 = ledger(LLAMA_70B, replace(DEFAULTS, gpu_memory_utilization=0.9))
    assert mib(at_090.process) / H100_SXM.total_mib == pytest.approx(0.90, abs=0.005)


def test_torch_and_the_driver_show_different_sums():
    rank = ledger(LLAMA_70B, DEFAULTS)
    assert rank.allocated < rank.reserved < rank.process
    assert rank.process - rank.reserved == rank.cuda_context + rank.nccl + rank.late
    assert rank.reserved - rank.allocated == rank.activation_peak + rank.cuda_graphs


def test_each_gib_of_graphs_costs_13107_tokens():
    rank = ledger(LLAMA_70B, DEFAULTS)
    eager = ledger(LLAMA_70B, replace(DEFAULTS, enforce_eager=True))
    gained = (eager.available_kv - rank.available_kv) / rank.kv_bytes_per_token
    assert gained == pytest.approx(2 * 13_107, abs=5)


def test_vllm_captures_51_sizes_unless_the_batch_is_small():
    assert len(capture_sizes(DEFAULTS)) == 51
    assert capture_sizes(replace(DEFAULTS, max_num_seqs=4)) == (1, 2, 4, 8)
    assert capture_sizes(replace(DEFAULTS, enforce_eager=True)) == ()


def test_fp8_halves_a_token_and_nearly_halves_the_weights():
    rank = ledger(LLAMA_70B, DEFAULTS)
    fp8 = ledger(LLAMA_70B, replace(DEFAULTS, quantization="fp8", kv_cache_dtype="fp8"))
    assert fp8.kv_bytes_per_token * 2 == rank.kv_bytes_per_token
    assert 0.5 < fp8.weights / rank.weights < 0.53


def test_kv_heads_are_replicated_when_ranks_outnumber_them():
    eight = LLAMA_70B.kv_bytes_per_token(tensor_parallel_size=8)
    assert LLAMA_70B.kv_bytes_per_token(tensor_parallel_size=16) == eight


def test_atlas_holds_what_its_card_states():
    rank = ledger(ATLAS_70B, replace(DEFAULTS, num_gpu_blocks_override=7168))
    assert rank.weights == 35_000_000_000
    assert rank.kv_tokens == 114_688
    assert rank.kv_cache == 35 * GIB
    assert rank.free > 4 * 1024 * MIB


@pytest.mark.parametrize("bad", [{"gpu_memory_utilization": 1.2}, {"max_model_len": 0}])
def test_flags_that_mean_nothing_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        MemoryFlags(**bad)
