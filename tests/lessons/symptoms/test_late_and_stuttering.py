"""Every figure of the pages in groups 1 and 2 that follows from others, computed anew."""

import math

import numpy as np
import pytest

from lessons.exact.percentiles import Freezes, over_gaps, over_streams, stream_gaps_ms
from lessons.exact.periods import full_collection_allocations
from lessons.exact.queueing import pollaczek_khinchine_s, service, sojourn_quantile_s

from .pages import holds, row

TOKEN_MS = 0.071
POOL = 458_752
KIB = 1024


def test_a_date_at_token_12_voids_the_prefix():
    hits = [16 * (place // 16) for place in (3_000, 12)]
    prefill = [(3_300 - hit) * TOKEN_MS for hit in hits]
    holds(
        "1.1",
        f"whole blocks of 16 | {hits[0]:,} | {hits[1]} |",
        f"before the first token | {prefill[0]:.1f} ms | {prefill[1]:.0f} ms |",
        f"from {3 * prefill[0] / 1e3:.2f} of the engine's time to {3 * prefill[1] / 1e3:.2f}",
    )


def test_the_wait_grows_with_the_spread():
    mean_s = 0.150
    served = {cv2: service(mean_s, cv2) for cv2 in (0, 1, 4)}
    waits = [pollaczek_khinchine_s(0.8 / mean_s, each) for each in served.values()]
    tail = {
        (cv2, load): sojourn_quantile_s(load / mean_s, each, 0.99)
        for cv2, each in served.items()
        for load in (0.5, 0.7, 0.8, 0.9)
    }
    holds(
        "1.2",
        f"mean prefill: 2,113 tokens at 0.071 ms | {2_113 * TOKEN_MS:.0f} ms",
        "| " + " | ".join(f"{wait:.2f} s" for wait in waits) + " |",
        *(row(cv2, *(f"{tail[cv2, load]:.3g}" for load in (0.5, 0.7)))[:-2] for cv2 in (1, 4)),
        f"{tail[4, 0.8]:.1f} | {tail[4, 0.9]:.1f} | 0.2",
        f"{2 / (TOKEN_MS / 1e3):,.0f} tokens",
    )


def survival_s(sessions, gap_s, kept, new_per_s):
    """Che's survival time, by bisection."""
    low, high = 0.0, 1e5
    for _ in range(100):
        middle = (low + high) / 2
        held = sessions * 3_000 * -math.expm1(-middle / gap_s) + new_per_s * middle
        low, high = (middle, high) if held < kept else (low, middle)
    return high


def test_survival_against_the_gap_decides_the_hits():
    night = survival_s(60, 30, POOL - 40_000, 1_200)
    peak = survival_s(600, 60, POOL - 330_000, 6_000)
    one = [
        survival_s(60, 6, POOL - 40_000, 6_000),
        survival_s(60, 6, POOL - 330_000, 6_000),
        survival_s(600, 60, POOL - 40_000, 6_000),
        survival_s(240, 120, POOL - 40_000, 1_200),
    ]
    hits = [-math.expm1(-each / gap) for each, gap in zip(one, (6, 6, 60, 120), strict=True)]
    holds(
        "1.3",
        f"| {POOL - 40_000:,} | {POOL - 330_000:,} |",
        f"solves the first equation | {night:.0f} s | {peak:.1f} s |",
        f"| {-math.expm1(-night / 30):.3f} | {-math.expm1(-peak / 60):.2f} |",
        *(
            f"| {each:.{digits}f} s | {gap} s | {hit:.{places}f} |"
            for each, gap, hit, digits, places in zip(
                one, (6, 6, 60, 120), hits, (0, 1, 1, 0), (3, 2, 2, 2), strict=True
            )
        ),
        f"{0.999 * 3_000 / 3_600:.2f} at night, {0.06 * 3_000 / 3_600:.2f} at the peak",
    )


def test_order_of_arrival_takes_capacity_away():
    served = [1e3 / (TOKEN_MS * (200 + 4_000 * (1 - found))) for found in (0.35, 0.20)]
    holds(
        "1.4",
        f"| {served[0]:.2f} | {served[1]:.2f} |",
        f"5.0 − {served[1]:.2f} = {5 - served[1]:.2f}",
    )


def test_a_hit_in_the_host_tier_pays_from_a_length_on():
    n_bytes, pieces = 2_048 * 80 * KIB, 128 * 80 * 2
    whole_ms, cut_ms = n_bytes / 55e9 * 1e3, pieces * 5e-3
    even = [120 / (TOKEN_MS - copy / 2_048) for copy in (whole_ms, cut_ms)]
    holds(
        "1.5",
        f"{n_bytes / 1e6:.0f} MB",
        f"| {whole_ms:.1f} ms | {cut_ms:.0f} ms |",
        f"| {even[0]:,.0f} | {even[1]:,.0f} |",
        f"a miss costs {4_096 * TOKEN_MS:.0f} ms, a hit in one piece {120 + 2 * whole_ms:.0f}, a hit in small pieces {120 + 2 * cut_ms:.0f}",
        f"{n_bytes / cut_ms / 1e6:.1f} GB/s",
        f"{8 * KIB / 55e9 * 1e6:.2f} µs for 8 KiB",
    )


def test_one_rank_holds_all_others_up():
    chunks = (8_192, 2_048, 512)
    ratios = [8 * (chunk + 32) / (chunk + 8 * 32) for chunk in chunks]
    steps = [25 + chunk * TOKEN_MS for chunk in chunks]
    holds(
        "1.6",
        row("max ÷ mean, the imbalance ratio", *(f"{ratio:.2f}" for ratio in ratios)),
        " | ".join(f"{step:.0f} ms" for step in steps),
        f"{1 - 25 / steps[0]:.0%} of the long step".replace("%", " %"),
        f"(170 + 4 × 25) ÷ 5 = {(steps[1] + 100) / 5:.0f} ms",
        f"4 × {steps[1]:.1f} + 12 × 25 = {4 * steps[1] + 300:.0f} ms instead of {steps[0]:.0f}",
    )


@pytest.mark.parametrize("budget", [512, 2_048, 8_192])
def test_a_budget_moves_gaps_and_not_their_mean(budget):
    chunk = min(budget, 6_000)
    load = 0.5 * 6_000 * TOKEN_MS / 1e3
    steps_per_s = (1 - load) / 0.025
    slow = 0.5 * math.ceil(6_000 / budget) / steps_per_s
    own_ms = math.ceil(6_000 / budget) * 25 + 6_000 * TOKEN_MS
    share = f"{100 * slow:.0f} %" if slow > 0.1 else f"{100 * slow:.1f} %"
    holds(
        "2.1",
        f"{25 + chunk * TOKEN_MS:.0f} ms",
        row(f"{budget:,}", share, f"{25 / (1 - load):.1f} ms", f"{own_ms:.0f} ms"),
        f"{load:.0%} of the time".replace("%", " %"),
        f"{steps_per_s:.1f} steps",
    )


def test_a_collection_follows_allocations():
    steps = full_collection_allocations() / 1_000
    holds(
        "2.2",
        f"{full_collection_allocations():,} new objects",
        f"{steps:.0f} steps | {steps * 0.025:.1f} s | {steps * 0.040:.1f} s |",
        f"{1.25e6 * 27e-9 * 1e3:.0f} ms | 41 s",
        f"{41 / 74.8e6 * 1e9:.0f} ns".replace("548", "550"),
    )


def test_freezes_are_too_few_for_a_percentile_of_gaps():
    reads = {}
    for name, queue_ms in (("front", 0.0), ("end", 8_000.0)):
        gaps = [stream_gaps_ms(Freezes(queue_ms=queue_ms), seed) for seed in (1, 2, 3)]
        reads[name] = [
            [f"{f(each, share) / scale:.{digits}f}" for each in gaps]
            for f, share, scale, digits in (
                (over_gaps, 0.99, 1, 0),
                (over_gaps, 0.999, 1, 0),
                (over_streams, 0.75, 1e3, 1),
                (over_streams, 0.95, 1e3, 1),
            )
        ]
    spans = {
        name: [f"{min(v, key=float)} to {max(v, key=float)} s" for v in found[2:]]
        for name, found in reads.items()
    }
    assert {*reads["front"][0], *reads["end"][0]} == {"28"}
    assert {*reads["front"][1], *reads["end"][1]} == {"29"}
    holds(
        "2.3",
        f"one in {500 / 0.30:,.0f}",
        row("its p75", spans["front"][0], spans["end"][0]),
        row("its p95", spans["front"][1], spans["end"][1]),
    )


def test_drafts_cost_more_in_a_fuller_step():
    weights, token = 2 * 70.55e9 / 4, 80 * KIB
    reads, works, bases, specs = [], [], [], []
    for batch in (16, 128, 256):
        read = 1e3 * (weights + batch * 2_000 * token) / (0.85 * 3.35e12)
        work = 1e3 * batch * 5 * weights / (0.60 * 989e12)
        reads.append(read)
        works.append(work)
        bases.append(read + 4)
        specs.append(max(read, work) + 4 + 4 * 0.6)
    gains = [
        [(1 - a**5) / (1 - a) * base / spec for base, spec in zip(bases, specs, strict=True)]
        for a in (0.8, 0.4)
    ]
    ms = [
        " | ".join(f"{value:.1f} ms" for value in values) for values in (reads, works, bases, specs)
    ]
    at_a = [np.floor(10 * value + 0.5) / 10 for value in gains[0][1:]]
    holds(
        "2.4",
        *ms,
        f"{at_a[0]:.1f} | {at_a[1]:.1f} |",
        " | ".join(f"{value:.1f}" for value in gains[1]),
        f"{weights / (0.85 * 3.35e12) / (weights / (0.60 * 989e12)):.0f} tokens on",
    )


def test_masks_are_filled_in_rounds():
    holds(
        "2.5",
        f"| {64 * 0.06:.2f} ms | {128 * 0.06:.2f} ms | {2 * 16 * 0.06:.2f} ms |",
        f"{128_256 // 32:,} words of 4 bytes, {64 * 128_256 // 32 * 4 / 1e6:.2f} MB",
    )


def test_a_gap_between_events_is_tokens_times_time():
    holds(
        "2.6",
        f"| 8 | {192.6 / 22.0:.2f} | {8.72 / 3.42:.2f} |",
        f"| {8 * 25} ms | 192.6 ms | 8.72 ms |",
    )


def test_a_transfer_takes_bytes_over_bandwidth():
    n_bytes = 4_096 * 320 * KIB
    ms = [n_bytes / rate * 1e3 for rate in (45e9, 10e9, 1e9)]
    reserved = 10 * ms[2] / 1e3 * 4_096
    holds(
        "2.7",
        f"{n_bytes / 1e9:.2f} GB",
        f"| {ms[0]:.1f} ms | {ms[1]:.0f} ms | {ms[2]:,.0f} ms |",
        f"four links take {n_bytes / 180e9 * 1e3:.1f} ms",
        f"= {round(reserved, -3):,.0f} tokens, {reserved / POOL:.0%}".replace("%", " %"),
        f"it is {10 * ms[0] / 1e3 * 4_096 / POOL:.1%}".replace("%", " %"),
    )
