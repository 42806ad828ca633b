"""What the engine's steps were made of, and who holds its KV blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.sglang import launch
from labs.instruments.signals import SIGNALS, window, window_words

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.worlds import Fleet

_CONTINUED = " \\\n    "


def steps(view: View) -> str:
    """Return one minute of steps: how many, how long, and what their time went to."""
    pair = window(view, view.windows.short_s)
    if pair is None or pair[0].steps == pair[1].steps:
        return f"no step in the last {window_words(view.windows.short_s)}"
    first, last = pair
    count, busy_s = last.steps - first.steps, last.busy_s - first.busy_s
    prefill_s, recompute_s = last.prefill_s - first.prefill_s, last.recompute_s - first.recompute_s
    generated = last.generation_tokens - first.generation_tokens
    computed = last.computed_tokens - first.computed_tokens
    recomputed = last.recomputed_tokens - first.recomputed_tokens
    largest = SIGNALS["largest_prefill_tokens"](view) or 0.0
    rows = [
        ("steps", f"{count}", f"mean {1000 * busy_s / count:.1f} ms"),
        ("tokens computed", f"{computed:,}", f"{computed / view.windows.short_s:,.0f} /s"),
        ("  sent to clients", f"{generated:,}", f"{generated / view.windows.short_s:,.0f} /s"),
        (
            "  computed again",
            f"{recomputed:,}",
            f"{100 * recomputed / max(1, computed):.1f} % of the tokens",
        ),
        ("largest prefill", f"{largest:,.0f} tokens", "in one step"),
        (
            "time: decode",
            f"{busy_s - prefill_s:.1f} s",
            f"{100 * (busy_s - prefill_s) / busy_s:.1f} %",
        ),
        (
            "time: first prefill",
            f"{prefill_s - recompute_s:.1f} s",
            f"{100 * (prefill_s - recompute_s) / busy_s:.1f} %",
        ),
        ("time: recompute", f"{recompute_s:.1f} s", f"{100 * recompute_s / busy_s:.1f} %"),
    ]
    return "\n".join(f"{name:22}{value:>12}  {note}" for name, value, note in rows)


def kv_ledger(view: View) -> str:
    """Return the blocks of the pool by who holds them."""
    engine = view.engine
    total = engine.config.usable_blocks
    leaked = engine.num_leaked_blocks
    free = engine.num_free_blocks
    held = total - free - leaked
    rows = [
        (
            "pool",
            total,
            f"{total * engine.config.block_size:,} tokens, {'fp8' if view.fleet.fp8_kv else 'auto'}",
        ),
        ("held by running", held, f"{len(engine.running)} requests"),
        ("held by no live request", leaked, f"{100 * leaked / total:.1f} %"),
        ("free", free, f"usage {1 - free / total:.3f}"),
    ]
    lines = [f"{name:24}{blocks:>6} blocks  {note}" for name, blocks, note in rows]
    lines.append(
        f"{'wanted by waiting':24}{_wanted(view):>6} blocks  {len(engine.waiting)} requests, as they are now"
    )
    return "\n".join(lines)


def _wanted(view: View) -> int:
    size = view.engine.config.block_size
    return sum(-(-request.num_tokens // size) for request in view.engine.waiting)


def flags(fleet: Fleet) -> str:
    """Return the command line that the engine runs with, in the words of the fleet's engine."""
    if fleet.engine == "sglang":
        return launch(fleet, between=_CONTINUED)
    config = fleet.config
    words = [
        f"vllm serve {fleet.profile_name}",
        f"--tensor-parallel-size {fleet.tensor_parallel_size}",
        f"--max-num-seqs {config.max_num_seqs}",
        f"--max-num-batched-tokens {config.max_num_batched_tokens}",
        f"--max-model-len {config.max_model_len}",
        f"--kv-cache-dtype {'fp8' if fleet.fp8_kv else 'auto'}",
        f"--watermark {config.watermark:g}",
        f"--{'' if config.enable_chunked_prefill else 'no-'}enable-chunked-prefill",
        f"--{'' if config.scheduler_reserve_full_isl else 'no-'}scheduler-reserve-full-isl",
        f"--{'' if config.enable_prefix_caching else 'no-'}enable-prefix-caching",
    ]
    if config.allow_whole_prefill:
        words.append("--allow-whole-prefill")
    return _CONTINUED.join(words)
