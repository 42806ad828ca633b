import re
from dataclasses import replace

import pytest

from labs.simulator.memory.ledger import GIB, LLAMA_70B, MemoryFlags
from labs.simulator.memory.messages import cuda_out_of_memory, size
from labs.simulator.memory.phases import Other
from labs.simulator.memory.startup import start_up

DEFAULTS = MemoryFlags()


def test_the_phases_come_in_order_and_add_up():
    start = start_up(LLAMA_70B, DEFAULTS)
    assert [phase.name for phase in start.phases] == [
        "device init",
        "memory check",
        "weight load",
        "profile",
        "kv sizing",
        "graph capture",
        "warm-up",
    ]
    assert start.failure is None
    assert start.ready_after_s == pytest.approx(sum(p.to_s - p.from_s for p in start.phases))
    assert all(a.to_s == b.from_s for a, b in zip(start.phases, start.phases[1:], strict=False))


def test_a_start_logs_its_ledger_in_the_engines_words():
    text = "\n".join(line.text for line in start_up(LLAMA_70B, DEFAULTS).lines)
    assert "Model loading took 32.85 GiB memory" in text
    assert "Available KV cache memory: 34.41 GiB" in text
    assert re.search(
        r"GPU KV cache size: 451,0\d\d tokens, Maximum concurrency for 32,768 tokens", text
    )
    assert (
        "CUDA graph pool memory: 2.0 GiB (actual), 2.0 GiB (estimated), difference: 0.0 GiB" in text
    )


def test_a_cold_cache_makes_the_first_start_longer_and_eager_makes_it_shorter():
    cached = start_up(LLAMA_70B, DEFAULTS)
    cold = start_up(LLAMA_70B, DEFAULTS, compiled=False)
    eager = start_up(LLAMA_70B, replace(DEFAULTS, enforce_eager=True))
    assert cold.took_s - cached.took_s == pytest.approx(45.0)
    assert eager.took_s < cached.took_s


def test_another_process_on_one_gpu_fails_the_first_check_of_its_rank():
    others = ((), (), (Other(4711, 20 * GIB),))
    start = start_up(LLAMA_70B, DEFAULTS, others=others, gpus=(4, 5, 6, 7))
    assert start.failure is not None
    assert (start.failure.phase, start.failure.rank) == ("memory check", 2)
    assert start.failure.message.startswith("Free memory on device cuda:6 (58.97/79.2 GiB)")
    assert start.ready_after_s is None
    assert "Engine core initialization failed" in start.lines[-1].text


def test_one_gpu_cannot_load_70b_in_bf16():
    start = start_up(LLAMA_70B, replace(DEFAULTS, tensor_parallel_size=1))
    assert start.failure is not None
    assert start.failure.phase == "weight load"
    assert start.failure.message.startswith("CUDA out of memory. Tried to allocate ")
    assert "GPU 0 has a total capacity of 79.20 GiB of which" in start.failure.message


def test_fp8_weights_load_on_one_gpu_but_leave_too_little():
    start = start_up(LLAMA_70B, replace(DEFAULTS, tensor_parallel_size=1, quantization="fp8"))
    assert start.failure is not None
    assert start.failure.phase == "kv sizing"


@pytest.mark.parametrize("length", [131_072, 32_768])
def test_two_gpus_hold_the_weights_but_not_one_request_of_the_greatest_length(length):
    start = start_up(LLAMA_70B, replace(DEFAULTS, tensor_parallel_size=2, max_model_len=length))
    assert start.failure is not None
    assert start.failure.phase == "kv sizing"
    needed = {131_072: "20.0", 32_768: "5.0"}[length]
    assert f"({needed} GiB KV cache is needed" in start.failure.message
    assert "estimated maximum model length is 10208" in start.failure.message


def test_a_shorter_context_or_four_gpus_start():
    short = replace(DEFAULTS, tensor_parallel_size=2, max_model_len=8192)
    assert start_up(LLAMA_70B, short).failure is None
    assert start_up(LLAMA_70B, replace(DEFAULTS, max_model_len=131_072)).failure is None


def test_nothing_left_for_the_pool_is_said_so():
    start = start_up(
        LLAMA_70B, replace(DEFAULTS, tensor_parallel_size=2, gpu_memory_utilization=0.88)
    )
    assert start.failure is not None
    assert start.failure.message.startswith("No available memory for the cache blocks.")


def test_graphs_that_nobody_estimated_run_out_at_capture():
    flags = replace(DEFAULTS, gpu_memory_utilization=0.985, estimate_cudagraphs=False)
    start = start_up(LLAMA_70B, flags)
    assert start.failure is not None
    assert start.failure.phase == "graph capture"
    assert start_up(LLAMA_70B, replace(flags, gpu_memory_utilization=0.95)).failure is None


def test_the_whole_device_cannot_be_asked_for():
    start = start_up(LLAMA_70B, replace(DEFAULTS, gpu_memory_utilization=1.0))
    assert start.failure is not None
    assert start.failure.phase == "memory check"


def test_a_neighbour_that_comes_after_the_check_breaks_the_capture():
    start = start_up(LLAMA_70B, DEFAULTS, others=(), others_later=((Other(9, 8 * GIB),),))
    assert start.failure is not None
    assert start.failure.phase == "graph capture"
    assert "Process 9 has 8.00 GiB memory in use." in start.failure.message


def test_sizes_read_as_torch_prints_them():
    assert [size(n) for n in (12, 2048, 3 << 20, 5 << 30)] == [
        "12 bytes",
        "2.00 KiB",
        "3.00 MiB",
        "5.00 GiB",
    ]


def test_torchs_message_separates_free_allocated_and_reserved():
    text = cuda_out_of_memory(
        tried=2 * GIB, gpu=1, capacity=79 * GIB, free=GIB, in_use=78 * GIB, allocated=70 * GIB, reserved=77 * GIB
    )  # fmt: skip
    assert (
        "70.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated"
        in text
    )
