from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.simulator.cost_model import profile
from lessons.exact.roofline import (
    A100_SXM,
    ACCELERATORS,
    H100_SXM,
    H200_SXM,
    LAYER_KERNELS,
    Setup,
    bandwidth_in_flight,
    decode_step,
    host_ms,
    in_flight_bytes,
    kernel_s,
    last_wave,
    needed_in_flight,
    ridge_tokens,
    wave_share,
)

BF16 = Setup()
DYNAMIC = Setup("fp8", "dynamic")
STATIC = Setup("fp8", "static")
PER_TENSOR = Setup("fp8", "dynamic per tensor")
SETUPS = (BF16, DYNAMIC, STATIC, PER_TENSOR, Setup("fp8", native=False), Setup("int4"))


def step(setup, batch=32, context_tokens=1_100, **rest):
    return decode_step(setup, batch=batch, context_tokens=context_tokens, **rest)


def test_a_kernel_takes_the_longer_of_its_two_times_and_its_launch():
    rates = {"bytes_per_s": 1e12, "flops": 1e15}
    assert kernel_s(1e9, 1e9, **rates) == pytest.approx(1e-3)
    assert kernel_s(1e3, 1e12, **rates, launch_s=5e-6) == pytest.approx(1.005e-3)
    with pytest.raises(ValueError, match="above 0"):
        kernel_s(1, 1, bytes_per_s=0, flops=1)


def test_a_read_of_the_weights_is_the_floor_of_decode():
    share = 0.85 * 3.35e12
    for n_bytes, ms in ((35.28e9, 12.39), (17.64e9, 6.19), (36.65e9 / 4, 3.22)):
        assert 1e3 * kernel_s(n_bytes, 0, bytes_per_s=share, flops=1) == pytest.approx(ms, abs=0.01)
    assert 1e3 * kernel_s(35.28e9, 0, bytes_per_s=3.35e12, flops=1) == pytest.approx(10.5, abs=0.05)


def test_the_ridge_lies_at_295_tokens():
    assert ridge_tokens(H100_SXM) == pytest.approx(295, abs=0.5)
    assert ridge_tokens(H100_SXM, "fp8") == pytest.approx(295, abs=0.5)
    assert ridge_tokens(H100_SXM, "int4") == pytest.approx(295 * 4.15625 / 16, abs=0.5)
    assert ridge_tokens(H200_SXM) == pytest.approx(206, abs=0.5)


@given(st.floats(1, 1e5), st.sampled_from(list(ACCELERATORS.values())))
def test_bandwidth_grows_with_the_bytes_in_flight_until_the_peak(in_flight, accelerator):
    needed = needed_in_flight(accelerator)
    found = bandwidth_in_flight(accelerator, in_flight)
    expected = accelerator.hbm_bytes_per_s * min(1.0, in_flight / needed)
    assert found == pytest.approx(expected)


def test_one_load_a_thread_is_half_of_the_bandwidth():
    one = in_flight_bytes(blocks_per_sm=4, threads=128, loads_per_thread=1, bytes_per_load=16)
    assert one == 8_192
    assert bandwidth_in_flight(H100_SXM, one) / 1e12 == pytest.approx(1.80, abs=0.01)
    assert bandwidth_in_flight(H100_SXM, one) / H100_SXM.hbm_bytes_per_s == pytest.approx(
        0.54, abs=0.005
    )
    assert bandwidth_in_flight(H100_SXM, 2 * one) == H100_SXM.hbm_bytes_per_s
    assert bandwidth_in_flight(H200_SXM, 2 * one) / 1e12 == pytest.approx(3.60, abs=0.01)


@pytest.mark.parametrize(
    ("accelerator", "kilobytes"), [(H100_SXM, 15.2), (A100_SXM, 11.3), (H200_SXM, 21.8)]
)
def test_faster_memory_needs_more_bytes_in_flight(accelerator, kilobytes):
    assert needed_in_flight(accelerator) / 1e3 == pytest.approx(kilobytes, abs=0.05)


def test_a_last_wave_of_one_block_halves_the_use():
    assert wave_share(132, H100_SXM) == 1.0
    assert wave_share(133, H100_SXM) == pytest.approx(133 / 264)
    with pytest.raises(ValueError, match="block"):
        wave_share(0, H100_SXM)


def test_a_last_wave_bound_by_latency_alone_takes_as_long_as_a_full_one():
    assert last_wave(528 + 12, H100_SXM, 8_192, blocks_per_sm=4) == pytest.approx(1.0)
    assert last_wave(528, H100_SXM, 8_192, blocks_per_sm=4) == 0.0


def test_a_last_wave_of_a_kernel_that_fills_memory_takes_the_share_of_bytes_that_it_needs():
    # 528 blocks of 8,192 bytes in flight ask for twice what memory gives; twelve have it for themselves.
    took = last_wave(528 + 12, H100_SXM, 4 * 8_192, blocks_per_sm=4)
    assert took == pytest.approx(needed_in_flight(H100_SXM) / (4 * 8_192))
    share = wave_share(528 + 12, H100_SXM, blocks_per_sm=4, last=took)
    assert share == pytest.approx((528 + 12 * took) / (528 * (1 + took)))
    assert wave_share(528 + 12, H100_SXM, blocks_per_sm=4) == 540 / 1056 < share < 1


@given(st.integers(1, 2_000), st.integers(256, 65_536))
def test_a_last_wave_takes_no_longer_than_a_full_one_and_no_less_than_its_share_of_blocks(
    blocks, in_flight
):
    took, left = last_wave(blocks, H100_SXM, in_flight), blocks % 132
    assert left / 132 * (1 - 1e-12) <= took <= 1 + 1e-12


@pytest.mark.parametrize("batch", [1, 8, 32, 64, 128])
def test_a_bf16_step_is_that_of_the_labs_profile(batch):
    cost = profile("llama-70b").cost_model()
    expected = cost.step_ps(
        kv_tokens=batch * 1_100, prefill_tokens=0, sequences=batch, tokens=batch
    )
    # The embedding is not read: its 1.05e9 parameters are the difference.
    assert step(BF16, batch).step_ms == pytest.approx(expected / 1e9, rel=0.012)


def test_fp8_halves_the_layers_weights_and_nothing_else():
    bf16, fp8 = step(BF16), step(Setup("fp8", "static", fused=True))
    assert fp8.ms("gemm") == pytest.approx(bf16.ms("gemm") / 2)
    for name in ("attention", "all-reduce", "lm_head", "gaps"):
        assert fp8.ms(name) == bf16.ms(name)
    assert bf16.step_ms / fp8.step_ms < 2


@pytest.mark.parametrize(
    ("setup", "kernels", "us", "ms"),
    [(STATIC, 320, 3, 0.96), (DYNAMIC, 320, 8, 2.56), (PER_TENSOR, 640, 8, 5.12),
     (Setup("fp8", "static", fused=True), 80, 3, 0.24), (Setup("fp8", "dynamic", fused=True), 160, 3, 0.48)],
)  # fmt: skip
def test_quantizing_kernels_eat_the_saving(setup, kernels, us, ms):
    table = step(replace(setup, quant_us=us))
    found = next(part for part in table.parts if part.name == "quant")
    assert (found.kernels, found.ms) == (kernels, pytest.approx(ms))


def test_without_graphs_the_host_sets_the_pace_and_fp8_is_slower():
    slow = {"graphs": False}
    bf16, fp8 = step(Setup(**slow)), step(Setup("fp8", "dynamic", **slow))
    assert fp8.step_ms > bf16.step_ms > step(BF16).step_ms
    # A host of 5 us a kernel stays ahead of the GPU: its launches are hidden.
    quick = step(Setup("fp8", "dynamic", graphs=False, host_us=5.0))
    assert host_ms(Setup(host_us=5.0), 80) == pytest.approx(80 * len(LAYER_KERNELS) * 0.005)
    assert quick.step_ms == pytest.approx(step(DYNAMIC).step_ms)


@given(
    st.sampled_from(SETUPS),
    st.integers(1, 256),
    st.integers(1, 32_768),
    st.sampled_from([1, 2, 4, 8]),
)
def test_a_step_never_gets_shorter_with_more_to_do(setup, batch, context_tokens, ranks):
    rest = {"tensor_parallel_size": ranks}
    table = step(setup, batch, context_tokens, **rest)
    assert all(part.ms >= 0 for part in table.parts)
    assert step(setup, batch + 1, context_tokens, **rest).step_ms >= table.step_ms - 1e-9
    assert step(setup, batch, context_tokens + 64, **rest).step_ms >= table.step_ms
    assert (table.ms("all-reduce") > 0) == (ranks > 1)


def test_above_the_ridge_native_fp8_beats_fp8_widened_in_the_kernel():
    small = [step(s, 64).ms("gemm") for s in (STATIC, Setup("fp8", native=False))]
    large = [step(s, 512).ms("gemm") for s in (STATIC, Setup("fp8", native=False))]
    assert small[0] == small[1]
    assert large[0] == pytest.approx(large[1] / 2, rel=0.01)


def test_faster_memory_speeds_the_reads_by_its_factor():
    one, other = step(BF16), step(BF16, accelerator=H200_SXM)
    ratio = H200_SXM.hbm_bytes_per_s / H100_SXM.hbm_bytes_per_s
    assert one.ms("gemm") / other.ms("gemm") == pytest.approx(ratio)
    assert one.ms("gaps") == other.ms("gaps")


@pytest.mark.parametrize(
    ("weights", "activations", "native"),
    [("bf16", "static", True), ("fp8", "none", True), ("fp8", "dynamic", False), ("int4", "static", True)],
)  # fmt: skip
def test_activations_that_no_kernel_would_use_are_refused(weights, activations, native):
    with pytest.raises(ValueError, match="activations"):
        Setup(weights, activations, native=native)


def test_a_step_of_nothing_is_refused():
    with pytest.raises(ValueError, match="sequence"):
        step(BF16, 0)
    with pytest.raises(ValueError, match="above 0"):
        bandwidth_in_flight(H100_SXM, 1, latency_s=0)
    with pytest.raises(KeyError):
        step(BF16).ms("other")
