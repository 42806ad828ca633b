"""Every figure of the pages in groups 5 and 6 that follows from others, computed anew."""

import math
import random
from collections import OrderedDict

import numpy as np
import pytest

from lessons.exact.comparisons import amdahl, false_alarms, runs_needed, runs_needed_by_t
from lessons.exact.loops import Server, Stall, closed_loop, open_loop, paced_loop
from lessons.exact.numerics import bfloat16
from lessons.exact.queueing import Service
from lessons.exact.reductions import accumulate, flips
from lessons.exact.retrieval import margin, perplexity, recall

from .pages import holds, row

TOKEN_MS = 0.071


def percent(share, digits=0):
    return f"{100 * share:.{digits}f} %"


def test_a_penalty_favours_the_end():
    odds = [math.exp(6.0 - 6.5 / penalty) for penalty in (1.0, 1.1)]
    holds(
        "5.1",
        row("`comma ÷ penalty`", f"{6.5:.2f}", f"{6.5 / 1.1:.2f}"),
        row("`odds`", *(f"{each:.2f}" for each in odds)),
        f"{odds[1] / odds[0]:.1f} times as likely",
        f"At 0.002 that is {1 / 0.002:.0f}",
        f"it is {1 / 0.003:.0f}",
    )


def test_another_order_of_a_sum_flips_near_ties():
    found = [flips(4, seed=seed, positions=200, depth=1_024, vocab=4_096) for seed in range(1, 6)]
    changes, margins, shares = (
        sorted(getattr(each, name) for each in found)
        for name in ("largest_change", "median_margin", "flipped")
    )
    mean = round(float(np.mean(shares)), 3)
    flip = (mean, 0.01, 0.001, 0.0001)
    holds(
        "5.2",
        f"| {changes[0]:.2f} to {changes[-1]:.2f} |",
        f"| {margins[0]:.2f} to {margins[-1]:.2f} |",
        f"| {100 * shares[0]:.1f} to {percent(shares[-1], 1)}, mean {percent(mean, 1)} |",
        row("flip, share of positions", percent(mean, 1), "1 %", "0.1 %", "0.01 %"),
        row("tokens to the first flip, mean", *(f"{1 / each:,.0f}" for each in flip)),
        f"| {percent((1 - mean) ** 200, 1)} | "
        + " | ".join(percent((1 - each) ** 200) for each in flip[1:]),
    )


def test_one_scale_for_all_follows_the_loudest():
    holds("5.3", f"| {60 / 448:.3f} |", f"| {60 / 448 / 0.0087:.1f} |")


def test_a_margin_shrinks_with_length_and_noise_does_not():
    lengths = (512, 2_048, 8_192, 32_768)
    found = [recall("int4 per token", lengths, seed=seed) for seed in range(1, 5)]
    exact = [recall("bf16", lengths, seed=seed) for seed in range(1, 5)]
    losses = [np.mean([each[3].loss for each in runs]) for runs in (exact, found)]
    before, after = (perplexity(2.0, loss, 0.01) for loss in losses)
    mean = [np.mean([each[place].found for each in found]) for place in range(4)]
    holds(
        "5.4",
        row("`ln L`", *(f"{math.log(length):.2f}" for length in lengths)),
        row("`margin`", *(f"{margin(12.0, length):.2f}" for length in lengths)),
        row("INT4, scale per token", "0.63", *(f"{share:.2f}" for share in mean)),
        f"from {before:.2f} to {after:.2f}, by less than 2 %",
        f"± {100 * math.sqrt(0.8 * 0.2 / 100) * 1.96:.0f} points",
    )  # fmt: skip
    assert after / before - 1 < 0.02


def test_a_cut_support_biases_each_token_the_same_way():
    masses = (0.99, 0.97, 0.95)
    logits = np.array([2.0, 1.0, 0.0])
    engine, trainer = (np.exp(logits / t) / np.exp(logits / t).sum() for t in (0.6, 1.0))
    holds(
        "5.5",
        " | ".join(f"−{-math.log(mass):.3f}" for mass in masses),
        " | ".join(f"−{-300 * math.log(mass):.1f}" for mass in masses),
        f"| {0.99**300:.3f} | {0.97**300:.4f} |",
        *(
            f"| {a:.3f} | {b:.3f} | {b / a:.2f} |"
            for a, b in zip(engine.tolist(), trainer.tolist(), strict=True)
        ),
    )
    assert pytest.approx(2e-7, rel=0.05) == 0.95**300


def test_a_narrow_sum_stops():
    ones = accumulate(np.ones(600, dtype=np.float32))
    blocks = accumulate(np.full(1_024, 64.0, dtype=np.float32))
    holds(
        "5.6",
        f"600 ones add up to {ones:.0f}",
        f"256 × 64 = {blocks:,.0f} keys",
        f"| 1 | {65_536 / blocks:.0f} | {262_144 / blocks:.0f} |",
    )
    assert bfloat16(np.array([257.0], dtype=np.float32))[0] == 256


@pytest.mark.parametrize(
    ("mistake", "kept"),
    [
        ("none", lambda a, k: 1 + a),
        ("no rollback", lambda a, k: 1 + k),
        ("keeps one too many", lambda a, k: 1 + a + (a < k)),
        ("forgets the last draft when all are accepted", lambda a, k: 1 + a - (a == k)),
    ],
)
def test_a_wrong_commit_has_its_own_first_wrong_length(mistake, kept):
    drafts, length, found = 4, 4, []
    for accepted in (2, 4):
        length += kept(accepted, drafts)
        found.append(length)
    holds("5.7", f"| {mistake} | {found[0]} | {found[1]} |")


def test_lengths_follow_from_what_is_accepted():
    sequence, kept, rows = 5, 4, {"seq": [5], "written": [], "kv": [4]}
    for accepted in (2, 4, 0, 3):
        rows["written"].append(kept + 5)
        sequence, kept = sequence + 1 + accepted, kept + 1 + accepted
        rows["seq"].append(sequence)
        rows["kv"].append(kept)
        assert kept == sequence - 1
    holds(
        "5.7",
        row("sequence length", *rows["seq"]),
        " | ".join(map(str, rows["written"])),
        row("KV length after the rollback", *rows["kv"]),
    )


def token(number):
    return "x" if number < 0.5 else "y" if number < 0.8 else "z"


def test_a_stream_gives_its_numbers_by_order():
    rng = random.Random(0)
    numbers = [rng.random() for _ in range(4)]
    first, other = dict(zip("ABCD", numbers, strict=True)), dict(zip("CADB", numbers, strict=True))
    holds(
        "5.8",
        *(
            row(name, f"{first[name]:.3f}", token(first[name]), f"{other[name]:.3f}", token(other[name]))
            for name in "ABCD"
        ),
        f"| {0.9**2 + 0.1**2:.2f} | {0.5**2 + 0.3**2 + 0.2**2:.2f} |",
        f"| {0.82**20:.3f} | {0.38**20:.0e}".replace("e-09", " × 10⁻⁹"),
    )  # fmt: skip


def test_a_rare_failure_needs_many_clean_runs():
    runs = [math.ceil(math.log(0.01) / math.log(1 - p)) for p in (0.01, 0.001)]
    holds(
        "5.9",
        row("`runs` needed without a failure", *(f"{each:,}" for each in runs)),
        f"| {percent(1 - 0.99**20)} | {percent(1 - 0.999**20)} |",
    )


def test_two_inputs_of_amdahl_and_three_tools():
    server = Server(Service(0.1, 0, "deterministic"), stall=Stall(50, 60))
    tools = {
        "closed loop, one client": closed_loop(
            server, clients=1, think_s=0, duration_s=120, seed=1
        ),
        "open loop, 5 a second": open_loop(
            server, rate_rps=5, duration_s=120, seed=1, poisson=False
        ),
        "paced at 5 a second, timed from when it really sent": paced_loop(
            server, connections=1, rate_rps=5, duration_s=120, seed=1
        ),
    }
    holds(
        "6.1",
        row(
            "speed-up of the whole",
            *(f"{amdahl(f, s):.2f}" for f, s in ((0.9, 2), (0.9, 1.25), (0.45, 2), (0.45, 1.25))),
        ),
        *(
            row(
                name,
                f"{len(found.recorded_s):,}",
                *(f"{np.quantile(found.recorded_s, share):.2f} s" for share in (0.5, 0.9, 0.99)),
            )
            for name, found in tools.items()
        ),
    )  # fmt: skip


def hit_shares(runs, room):
    cache, found = OrderedDict(), []
    for prompts in runs:
        hits = 0
        for prompt in range(prompts):
            hits += prompt in cache
            cache[prompt] = None
            cache.move_to_end(prompt)
            if len(cache) > room:
                cache.popitem(last=False)
        found.append(hits / prompts)
    return found


def test_the_order_of_a_sweep_decides_its_hits():
    room = 458_752 // 4_096
    up, down = hit_shares((32, 64, 128, 256), room), hit_shares((256, 128, 64, 32), room)
    assert (up, down) == ([0, 0.5, 0.5, 0], [0, 0, 0, 1.0])
    holds(
        "6.2",
        f"holds {room} prompts",
        f"prompts {128 - room} to 127",
        f"| {4_096 * TOKEN_MS:.0f} ms | {16 * TOKEN_MS:.1f} ms |",
        f"mean prefill is {(4_096 + 16) * TOKEN_MS / 2:.0f} ms",
    )


def test_a_difference_is_measured_in_spreads():
    cases = ((0.025, 1), (0.025, 9), (0.010, 1))
    spreads = [cv * math.sqrt(2 / runs) for cv, runs in cases]
    alone = 1.96 * spreads[0]
    holds(
        "6.3",
        " | ".join(f"{100 * spread:.2f}" for spread in spreads),
        " | ".join(f"{0.034 / spread:.2f}" for spread in spreads),
        " | ".join(
            f"{100 * false_alarms(0.034, cv, runs):.{digits}f}"
            for (cv, runs), digits in zip(cases, (0, 1, 1), strict=True)
        ),
        f"so {runs_needed(0.034, 0.025)} each",
        f"the t-test wants {runs_needed_by_t(0.034, 0.025)}",
        f"it is {runs_needed(0.034, 0.01)} by formula and {runs_needed_by_t(0.034, 0.01)} in truth",
        f"from − {100 * (alone - 0.034):.1f} to + {100 * (alone + 0.034):.1f}",
    )


def test_bytes_say_what_moved():
    expected, one = 500 * 4_096 * 327_680, 4_096 * 327_680
    holds(
        "6.4",
        f"| {expected / 1e9:.0f} GB | 134 GB |",
        f"{percent(134e9 / expected)} |",
        f"{4_096 * TOKEN_MS:.0f} ms of prefill each, against {one / 50e6:.0f} ms to move {one / 1e9:.2f} GB",
    )


def test_more_in_flight_is_older():
    flying = (256, 512, 1_024, 2_048)
    step_ms = [9.5 + 0.061 * each for each in flying]
    rates = [each / step * 1e3 for each, step in zip(flying, step_ms, strict=True)]
    holds(
        "6.5",
        " | ".join(f"{round(rate, -2):,.0f}" for rate in rates),
        " | ".join(f"{4_000 * step / 1e3:.0f} s" for step in step_ms),
        f"{percent(rates[2] / rates[1] - 1)} more tokens and the trainer gets {percent(1 - 2.17 / 2.40)} fewer",
    )


def test_load_gathers_where_a_prefix_is_popular():
    loads = [share * 24 * service for share, service in ((0.25, 0.12), (0.385, 0.10), (0.17, 0.10))]
    holds(
        "6.6",
        row("`ρ` load of that replica", *(f"{load:.2f}" for load in loads)),
        f"from {loads[0]:.2f} to {24 / 4 * 0.10:.2f}; the hottest rose to {loads[1]:.2f}",
    )
    assert round(loads[1] / (2 * (1 - loads[1]))) == 6
