import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.simulator.memory.ledger import ATLAS_70B, GIB, LLAMA_70B, MemoryFlags, ledger
from labs.simulator.memory.phases import Other
from lessons.exact.ledger import (
    DEVICES,
    INT4_BITS,
    LLAMA_8B,
    budget,
    full_after_tokens,
    held_tokens,
    least_ranks,
    recompute_ms,
    safe_sequences,
    shape,
    staggered_sequences,
)

LONG = 131_072


def at(ranks, max_model_len=32_768):
    return MemoryFlags(tensor_parallel_size=ranks, max_model_len=max_model_len)


@pytest.mark.parametrize("device", DEVICES.values())
@pytest.mark.parametrize("precision", ["bf16", "fp8", "int4"])
@pytest.mark.parametrize("model", [LLAMA_70B, ATLAS_70B, LLAMA_8B])
def test_the_lines_add_up_to_what_the_engine_may_take(model, precision, device):
    found = budget(model, at(4), device, precision=precision)
    assert sum(line.n_bytes for line in found.lines) == found.requested
    assert found.lines[-1].name == "pool"
    assert found.lines[-1].n_bytes == found.sums.available_kv


def test_a_budget_is_the_ledger_that_the_labs_run_on():
    assert budget(LLAMA_70B, at(4)).sums == ledger(LLAMA_70B, at(4))


def test_two_ranks_refuse_though_the_weights_fit_in_both_together():
    found = budget(LLAMA_70B, at(2, LONG))
    pool = found.lines[-1]
    assert pool.gib == pytest.approx(1.56, abs=0.01)
    assert found.kv_tokens == 10_208
    assert found.needed_for(LONG) / GIB == 20.0
    assert found.needed_for(32_768) / GIB == 5.0
    assert found.refusal.phase == "kv sizing"
    assert "max seq len (131072), (20.0 GiB KV cache is needed" in found.refusal.message
    assert budget(LLAMA_70B, at(2)).refusal is not None
    assert budget(LLAMA_70B, at(2, 10_208)).refusal is None


def test_four_ranks_start():
    found = budget(LLAMA_70B, at(4, LONG))
    assert found.refusal is None
    assert found.lines[-1].gib == pytest.approx(34.4, abs=0.05)
    assert found.needed_for(LONG) / GIB == 10.0
    assert found.kv_tokens == 451_024


@pytest.mark.parametrize(
    ("ranks", "precision", "phase"),
    [(1, "bf16", "weight load"), (1, "fp8", "kv sizing"), (2, "bf16", "kv sizing"), (1, "int4", None)],
)  # fmt: skip
def test_what_refuses_depends_on_how_far_the_sums_come(ranks, precision, phase):
    refusal = budget(LLAMA_70B, at(ranks), precision=precision).refusal
    assert (refusal.phase if refusal else None) == phase


def test_another_process_is_refused_before_anything_is_loaded():
    others = ((Other(4242, 10 * GIB),),)
    refusal = budget(LLAMA_70B, at(4), others=others).refusal
    assert refusal.phase == "memory check"
    assert refusal.message.startswith("Free memory on device cuda:0")


def test_the_least_ranks_follow_from_the_precision():
    assert least_ranks(LLAMA_70B, at(1)) == 4
    assert least_ranks(LLAMA_70B, at(1), precision="fp8") == 2
    assert least_ranks(LLAMA_70B, at(1), precision="int4") == 1
    assert least_ranks(LLAMA_8B, at(1)) == 1
    assert least_ranks(LLAMA_70B, at(1), most=2) is None


def test_int4_takes_a_little_more_than_four_bits_and_leaves_the_outer_layers():
    assert pytest.approx(4.156, abs=0.001) == INT4_BITS
    weights = budget(LLAMA_70B, at(1), precision="int4").sums.weights
    assert weights / 1e9 == pytest.approx(39.76, abs=0.01)
    # All of the parameters at that width would be less: embedding and head are 2.1e9 of them.
    assert LLAMA_70B.parameters * INT4_BITS / 8e9 == pytest.approx(36.65, abs=0.01)


def test_more_ranks_than_kv_heads_hold_the_same_heads_twice():
    eight, sixteen = (budget(LLAMA_70B, at(ranks)).kv_bytes_per_token for ranks in (8, 16))
    assert eight == sixteen == 40 * 1024


def test_a_card_gives_the_shape_of_a_real_model():
    found = shape("a", parameters=70_550_000_000, layers=80, hidden=8192, kv_heads=8, head_dim=128)
    assert (found.heads, found.vocab) == (64, 128_256)
    assert found.ffn == pytest.approx(28_672, abs=3)
    small = shape("b", parameters=8_030_000_000, layers=32, hidden=4096, kv_heads=8, head_dim=128)
    assert (small.heads, small.ffn) == (32, 14_336)


@pytest.mark.parametrize(
    "wrong", [{"parameters": 10}, {"layers": 0}, {"head_dim": 100}, {"kv_heads": 7}]
)
def test_dimensions_that_no_model_has_are_refused(wrong):
    card = {
        "parameters": 70_550_000_000,
        "layers": 80,
        "hidden": 8192,
        "kv_heads": 8,
        "head_dim": 128,
    }
    with pytest.raises(ValueError, match="x: "):
        shape("x", **(card | wrong))


@given(
    st.sampled_from([2, 4, 8]),
    st.floats(0.5, 0.95),
    st.sampled_from(["bf16", "fp8", "int4"]),
    st.integers(16, 40_000),
)
def test_sequences_never_hold_more_than_the_pool(ranks, share, precision, tokens):
    flags = MemoryFlags(tensor_parallel_size=ranks, gpu_memory_utilization=share)
    found = budget(LLAMA_70B, flags, precision=precision)
    count = found.sequences_of(tokens)
    assert count * found.needed_for(tokens) <= max(0, found.lines[-1].n_bytes)
    assert count <= found.kv_tokens // tokens


def test_prompts_that_fit_grow_beyond_the_pool():
    pool, run = 458_752, {"prompt_tokens": 1_500}
    assert held_tokens(200, **run, generated_tokens=0) / pool == pytest.approx(0.65, abs=0.005)
    assert held_tokens(200, **run, generated_tokens=500) / pool == pytest.approx(0.87, abs=0.005)
    assert held_tokens(200, **run, generated_tokens=1_000) / pool == pytest.approx(1.09, abs=0.005)
    assert safe_sequences(pool, **run, output_tokens=1_000) == 183
    assert staggered_sequences(pool, **run, output_tokens=1_000) == 229
    assert full_after_tokens(pool, 200, **run) == 793
    assert recompute_ms(2_000, prefill_ms_per_token=0.071) == pytest.approx(142)
    assert recompute_ms(2_000, prefill_ms_per_token=0.071, cached_tokens=2_400) == 0


def test_prompts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="prompts"):
        full_after_tokens(1_000, 2, prompt_tokens=600)


def test_a_gib_of_graphs_is_thirteen_thousand_tokens():
    assert GIB // budget(LLAMA_70B, at(4)).kv_bytes_per_token == 13_107
