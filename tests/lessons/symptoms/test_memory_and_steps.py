"""Every figure of the pages in groups 3 and 4 that follows from others, computed anew."""

import math

import numpy as np
import pytest

from labs.simulator.kv_cache import blocks_for
from labs.simulator.memory.ledger import LLAMA_70B, MemoryFlags
from lessons.exact.ledger import budget
from lessons.exact.percentiles import Fleet
from lessons.exact.roofline import (
    A100_SXM,
    H100_SXM,
    H200_SXM,
    Setup,
    bandwidth_in_flight,
    decode_step,
    needed_in_flight,
)
from lessons.exact.timelines import SCENARIOS, analyse, removed, timeline

from .pages import holds, row

GIB, KIB = 1024**3, 1024
BYTES_PER_S = 0.80 * 3.35e12
LINEAR = (LLAMA_70B.parameters - 2 * LLAMA_70B.vocab * LLAMA_70B.hidden) / 4
POOL_BLOCKS = 28_671


def on(ranks, precision="bf16", **flags):
    return budget(LLAMA_70B, MemoryFlags(tensor_parallel_size=ranks, **flags), precision=precision)


def test_a_start_is_judged_on_one_rank():
    two, four = on(2), on(4)
    small = on(2, max_num_batched_tokens=2_048, max_num_seqs=128)
    holds(
        "3.1",
        row("`tokens` in whole blocks, at 160 and 80 KiB each", f"{two.kv_tokens:,}", f"{four.kv_tokens:,}"),
        f"| {two.lines[-1].gib:.2f} GiB | {four.lines[-1].gib:.2f} GiB |",
        f"{four.lines[-1].gib / two.lines[-1].gib:.0f} times the pool",
        f"needs {two.needed_for(131_072) / GIB:.1f} GiB on a TP2 rank, one of 32,768 needs {two.needed_for(32_768) / GIB:.1f}",
        f"131,072 need {four.needed_for(131_072) / GIB:.1f} GiB",
        f"{on(2, kv_cache_dtype='fp8').kv_tokens:,}",
        f"| {small.lines[-1].gib:.2f} GiB | {small.kv_tokens:,} |",
        f"| {on(2, 'fp8').lines[-1].gib:.1f} GiB | {on(2, 'fp8').kv_tokens:,} |",
    )  # fmt: skip


def test_blocks_at_the_end_decide():
    tokens = (1_500, 2_000, 2_499)
    each = [blocks_for(count, 16) for count in tokens]
    over_ages = np.ceil((1_500 + np.arange(1_000)) / 16)
    spare = POOL_BLOCKS - 220 * over_ages.mean()
    holds(
        "3.2",
        row("blocks of each", *each),
        row(f"`blocks` of a pool of {POOL_BLOCKS:,}", *(f"{200 * count:,}" for count in each)),
        row("share of the pool", *(f"{200 * count / POOL_BLOCKS:.0%}".replace("%", " %") for count in each)),
        f"answers are {POOL_BLOCKS // 200 * 16 - 1_500 + 1} tokens long",
        f"÷ {each[2]} = {POOL_BLOCKS // each[2]} requests",
        f"average is {over_ages.mean():.1f} blocks, and {int(POOL_BLOCKS / over_ages.mean())}",
        f"{2_000 * 0.071:.0f} ms on average",
    )  # fmt: skip
    assert spare / (over_ages.std() * math.sqrt(220)) == pytest.approx(4, abs=0.1)


def test_graphs_are_paid_in_tokens():
    tokens = [int(gib * 1_048_576 / 80) for gib in (1, 2.5, 6.25)]
    blocks = [count // 16 for count in tokens]
    holds(
        "3.3",
        row("blocks of 16", *(f"{count:,}" for count in blocks)),
        row("requests that end at 2,500 tokens (157 blocks)", *(count // 157 for count in blocks)),
        row("`tokens lost`", *(f"{count:,}" for count in tokens)),
        f"13 are {13 / 182:.0%}".replace("%", " %"),
        f"| {7 / 16:.0%} |".replace("%", " %"),
        f"| {15 / 272:.1%} |".replace("%", " %"),
        f"| {12 / 512:.1%} |".replace("%", " %"),
        f"80 × 14 × 5 µs = {80 * 14 * 5 / 1e3:.1f} ms",
    )


def test_growth_over_a_count_is_the_size_of_an_object():
    grown, hours = 2.1 * GIB, 48
    requests = 3 * 3_600 * hours
    holds(
        "3.4",
        f"{requests:,} | {round(grown / requests, -1):,.0f} B",
        f"| {grown / (hours * 3_600 / 0.025):.0f} B |",
        f"{grown / (hours * 3_600) / 1e3:.1f} kB",
        f"{grown / 2_000 / 1e6:.2f} MB",
        f"{4_350 // 4:,} token ids",
        f"lie {0.08 * 79.2:.1f} GiB",
        f"is {8_192 * 128_256 * 4 / GIB:.1f} GiB of FP32",
    )
    days = (0.08 * 79.2 - 0.3) / (2.1 / 2)
    assert days == pytest.approx(5.7, abs=0.1)


def test_an_encoder_pays_by_patches_and_by_their_square():
    sizes = [(round(w / 28) * 28, round(h / 28) * 28) for w, h in ((1920, 1080), (4096, 3072))]
    patches = [w // 14 * (h // 14) for w, h in sizes]
    tokens = [count // 4 for count in patches]
    holds(
        "3.5",
        row("rounded to multiples of 28 pixels", *(f"{w} × {h}" for w, h in sizes)),
        " | ".join(f"{count:,}" for count in patches),
        " | ".join(f"{count:,}" for count in tokens),
        " | ".join(f"{count * 8_192 * 2 / 2**20:.0f} MiB" for count in tokens),
        " | ".join(f"{count * 2 * 3_420 * 2 / GIB:.2f} GiB" for count in patches),
        " | ".join(f"{count * 80 * KIB / GIB:.2f} GiB" for count in tokens),
        f"| {16 * patches[0] ** 2 * 2 / GIB:.1f} GiB | {16 * patches[1] ** 2 * 2 / GIB:.0f} GiB |",
        f"grows by {(patches[1] / patches[0]) ** 2:.0f}",
    )


def test_a_count_of_operations_names_the_layer():
    holds("3.6", f"1 + 160 + 1 = {1 + 2 * 80 + 1}", f"did not finish | {math.ceil((37 - 1) / 2)} |")


def test_half_the_bytes_halve_one_class():
    setups = (
        Setup(),
        Setup("fp8", "static", fused=True),
        Setup("fp8", "static"),
        Setup("fp8", "static", graphs=False),
    )
    steps = [decode_step(setup, batch=32, context_tokens=1_100) for setup in setups]
    rest = [step.ms("attention") + step.ms("all-reduce") + step.ms("lm_head") for step in steps]
    holds(
        "4.1",
        row("matrix products", *(f"{step.ms('gemm'):.2f}" for step in steps)),
        row("quantisation", *(f"{step.ms('quant'):.2f}".replace("0.00", "0") for step in steps)),
        row("attention, all-reduce, head", *(f"{each:.2f}" for each in rest)),
        row("gaps", *(f"{step.ms('gaps'):.2f}" for step in steps)),
        row("step", *(f"{step.step_ms:.2f}" for step in steps)),
        f"best case is {steps[0].step_ms / steps[1].step_ms:.1f} times",
        f"those are {320 * 3 / 1e3:.2f} and {640 * 3 / 1e3:.2f} ms",
        f"take {640 * 8 / 1e3:.2f} of the {steps[0].ms('gemm') - steps[1].ms('gemm'):.2f} ms",
        f"17 kernels a layer, {17 * 80:,} in all; at 15 µs that is {17 * 80 * 15 / 1e3:.1f} ms",
    )


def test_a_kernel_that_unpacks_again_climbs_stairs():
    read = [1e3 * LINEAR * width / BYTES_PER_S for width in (2, 4.16 / 8)]
    old = [1e3 * math.ceil(rows / 16) * LINEAR / 1.5e12 for rows in (16, 32, 64)]
    token_ms = 1e3 * 2 * LINEAR / (0.60 * 989.5e12)
    holds(
        "4.2",
        row("`rows` 1 to 16, ms", f"{read[0]:.1f}", f"{read[1]:.1f}", f"{old[0]:.1f}"),
        row("`rows` 32, ms", f"{read[0]:.1f}", f"{read[1]:.1f}", f"{old[1]:.1f}"),
        row("`product` at 64 rows, ms", f"{read[0]:.1f}", f"{64 * token_ms:.1f}", f"{old[2]:.1f}"),
        f"near {read[1] / token_ms:.0f} rows",
        f"near {round(read[0] / token_ms, -1):.0f}, BF16's own",
        f"loses by {old[1] / read[0]:.1f} times",
    )


def test_a_smaller_budget_costs_steps():
    first = [steps * 15.2 + 8_192 * 0.065 for steps in (1, 4)]
    longest = [15.2 + chunk * 0.065 for chunk in (8_192, 2_048)]
    holds(
        "4.3",
        f"| {longest[0]:.0f} ms | {longest[1]:.0f} ms |",
        f"| {first[0]:.0f} ms | {first[1]:.0f} ms |",
        f"a long prompt {first[1] / first[0] - 1:.0%} and takes {round(longest[0] - longest[1], -1):.0f} ms".replace("%", " %"),
        f"{2.5 / 79.2 * 100:.1f} points",
        f"{int(2.5 * 1_048_576 / 80):,} tokens",
        f"pool + {0.02 * 79.2:.1f} GiB",
    )  # fmt: skip


def test_a_small_model_waits_for_the_cpu():
    gpu_ms = 1.24e9 * 2 / BYTES_PER_S * 1e3
    turns, overlap = gpu_ms + 4, 4.0
    holds(
        "4.4",
        f"{gpu_ms:.2f} ms",
        f"{turns:.2f} ms",
        f"| {gpu_ms / turns:.0%} | {gpu_ms / overlap:.0%} |".replace("%", " %"),
        f"| {round(64 / turns * 1e3, -3):,.0f} | {64 / overlap * 1e3:,.0f} |",
        f"allow {round(64 / gpu_ms * 1e3, -3):,.0f}",
    )


def test_a_step_is_taken_apart_by_cause():
    step = analyse(timeline(SCENARIOS["several"], 0))
    without = {
        cause: analyse(timeline(removed(SCENARIOS["several"], cause), 0)).step_us / 1e3
        for cause in ("launch", "sync", "host")
    }
    ms = {cause: f"{us / 1e3:.2f}" for cause, us in step.idle_us.items()}
    holds(
        "4.5",
        f"to the next | {step.step_us / 1e3:.2f}",
        f"kernels | {step.busy_us / 1e3:.2f}",
        *(f"| {ms[cause]} | {left:.2f} |" for cause, left in without.items()),
        f"| {ms['normal']} | |",
        f"| {sum(step.idle_us.values()) / 1e3:.2f} | |",
        f"worth {1 - without['sync'] * 1e3 / step.step_us:.0%} of the step".replace("%", " %"),
    )


def test_bandwidth_is_bytes_on_their_way():
    flying = [512 * each for each in (4, 16, 32)]
    rates = [
        [bandwidth_in_flight(card, each) / 1e12 for each in flying] for card in (H200_SXM, H100_SXM)
    ]
    late = [bandwidth_in_flight(H100_SXM, each, latency_s=800e-9) / 3.35e12 for each in flying]
    needed = [needed_in_flight(card) / 1e3 for card in (H100_SXM, H200_SXM, A100_SXM)]
    holds(
        "4.6",
        *(" | ".join(f"{rate:.2f}" for rate in each) for each in rates),
        f"needs {needed[0]:.1f} KB",
        f"H200 {needed[1]:.1f} KB",
        f"{needed[2]:.1f} KB",
        f"{rates[1][1] / 3.35:.0%} of peak".replace("%", " %"),
        f"{late[1]:.0%}, and even the last column would stop at {100 * late[2]:.0f}".replace("%", " %", 1),
    )  # fmt: skip


def test_faster_memory_helps_what_it_bounds():
    quick = 3.35 / 4.8
    holds(
        "4.7",
        f"{1 / quick:.2f} times the bandwidth",
        f"{quick:.2f} of their time",
        f"| {20.0:.1f} | {8 * 0.7 + 4 + 8:.1f} | {8 * 0.7 + 4 + 12:.1f} |",
        f"lost its {20 - (8 * 0.7 + 4 + 8):.1f} ms",
    )


def test_the_late_rank_waits_least():
    hops = [6.6 + 2 * (ranks - 1) * 0.6 for ranks in (4, 8)]
    all_ms = [160 * each / 1e3 for each in hops]
    weights = [2 * 70.55e9 / ranks / BYTES_PER_S * 1e3 for ranks in (4, 8)]
    shares = [a / (a + w) for a, w in zip(all_ms, weights, strict=True)]
    holds(
        "4.8",
        " | ".join(f"{each:.1f} µs" for each in hops),
        " | ".join(f"{each:.1f} ms" for each in all_ms),
        " | ".join(f"{each:.1f} ms" for each in weights),
        " | ".join(f"{each:.0%}".replace("%", " %") for each in shares),
        *(f"{160 * (wait + 8) / 1e3:.2f}" for wait in (1.42, 0.23, 2.18, 0.01, 3.91)),
    )


def test_experts_cost_their_weights_or_their_tokens():
    expert = 3 * 7_168 * 2_048
    read = 32 * expert / BYTES_PER_S * 1e3
    token_ms = 2 * expert / (0.5 * 1_979e12) * 1e3
    holds(
        "4.9",
        f"32 × {expert / 1e6:.1f} MB",
        " | ".join(f"{tokens * token_ms:.2f}" for tokens in (512, 32_768, 60_800)),
        f"| {read:.2f} | {32_768 * token_ms:.2f} | {60_800 * token_ms:.2f} |",
        f"{read / token_ms / 32:.0f} tokens an expert at these shares, {1_979e12 / (2 * 3.35e12):.0f} by",
        f"is {1_024 / 1_900:.2f}",
        f"once in {3_000 * 0.025:.0f} s",
    )


def test_an_eighth_owns_the_tail():
    fleets = [Fleet(slow_factor=factor) for factor in (1.3, 2.0)]
    tails = [fleet.quantile(0.99) for fleet in fleets]
    shares = []
    for fleet, tail in zip(fleets, tails, strict=True):
        healthy, slow = fleet.beyond(tail)
        shares.append(slow / (healthy + slow))
    holds(
        "4.10",
        " | ".join(f"{fleet.slow_quantile(0.99):.2f}" for fleet in fleets),
        " | ".join(f"{fleet.quantile(0.5):.2f}" for fleet in fleets),
        " | ".join(f"{share:.0%}".replace("%", " %") for share in shares),
        " | ".join(f"{tail:.2f}" for tail in tails),
        f"it gives {fleets[0].slow_quantile(0.92):.2f}",
    )
