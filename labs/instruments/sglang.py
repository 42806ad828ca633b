"""What an SGLang 0.5.23 server says of itself: ``/server_info``, ``/v1/loads`` and its log, for labs whose fleet runs it.

The engine underneath is the simulator's, whose scheduling rules are vLLM's; formats and names are SGLang's.
A retraction is what vLLM calls a preemption. What this engine has no counterpart for is null.
"""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from labs.instruments.clock import time_of
from labs.instruments.prometheus.exposition import number
from labs.instruments.prometheus.scrapes import EPOCH_S, process_at
from labs.instruments.signals import sample_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.instruments.signals import View
    from labs.simulator.engine import Engine
    from labs.simulator.request import Request
    from labs.simulator.scheduler import EngineConfig
    from labs.simulator.telemetry import Sample
    from labs.worlds import Fleet

VERSION = "0.5.23"
PORT = 30000
SECTIONS = ("core", "memory", "spec", "lora", "disagg", "queues")
LOG_KEPT_S = 300
INIT_NEW_TOKEN_RATIO = 0.7
"""SGLang's guess, at conservativeness 1, of how much of its max_new_tokens a request will use."""
MIN_NEW_TOKEN_RATIO = 0.14 * INIT_NEW_TOKEN_RATIO
RETRACT_DECODE_STEPS = 20
"""Tokens that SGLang reserves for each running request when it recomputes the ratio after a retraction."""
_GIB = 2**30


def launch(fleet: Fleet, *, between: str = " ") -> str:
    """Return the command line that a server runs with, under SGLang's names for the engine's settings."""
    config = fleet.config
    words = [
        f"python -m sglang.launch_server --model-path {fleet.profile_name}",
        f"--tp {fleet.tensor_parallel_size}",
        f"--port {PORT}",
        f"--max-running-requests {config.max_num_seqs}",
        f"--chunked-prefill-size {_chunk(config)}",
        f"--context-length {config.max_model_len}",
        f"--kv-cache-dtype {'fp8_e4m3' if fleet.fp8_kv else 'auto'}",
        f"--page-size {config.block_size}",
        f"--schedule-policy {config.policy}",
        "--schedule-conservativeness 1.0",
        *([] if config.enable_prefix_caching else ["--disable-radix-cache"]),
        "--enable-metrics",
    ]
    return between.join(words)


def _chunk(config: EngineConfig) -> int:
    """Return the tokens that a prefill batch takes at most; SGLang says -1 where prompts go in whole."""
    return config.max_num_batched_tokens if config.enable_chunked_prefill else -1


def server_info(view: View, replica: int = 0) -> str:
    """Return the JSON of ``/server_info``: resolved arguments, the scheduler, and each DP rank's state."""
    engine = view.cluster.engines[replica]
    config, profile = engine.config, view.fleet.profile
    tokens = config.usable_blocks * config.block_size
    process = process_at(engine, view.now_s)
    arguments = {
        "model_path": profile.name,
        "served_model_name": profile.name,
        "host": "0.0.0.0",  # noqa: S104  (what the server was told, in the fleet that is told of)
        "port": PORT,
        "tp_size": view.fleet.tensor_parallel_size,
        "dp_size": 1,
        "context_length": config.max_model_len,
        "schedule_policy": "fcfs" if config.policy == "fcfs" else "priority",
        "schedule_conservativeness": 1.0,
        "chunked_prefill_size": _chunk(config),
        "max_running_requests": config.max_num_seqs,
        "kv_cache_dtype": "fp8_e4m3" if view.fleet.fp8_kv else "auto",
        "disable_radix_cache": not config.enable_prefix_caching,
        "page_size": config.block_size,
        "enable_metrics": True,
    }
    return json.dumps(
        {
            **arguments,
            "launch_command": launch(view.fleet),
            "scheduler_info": {
                "status": "ready" if process is not None else "starting",
                "max_total_num_tokens": tokens,
                "max_req_input_len": config.max_model_len - 6,
            },
            "kv_events": None,
            "startup_time": None if process is None else EPOCH_S + process.up_s,
            "version": VERSION,
            "internal_states": [_internal_state(view, engine)],
        },
        indent=1,
    )


def _internal_state(view: View, engine: Engine) -> dict[str, object]:
    return {
        "world_size": view.fleet.tensor_parallel_size,
        "effective_max_running_requests_per_dp": engine.config.max_num_seqs,
        "last_gen_throughput": round(_throughput(view, engine), 2),
        "memory_usage": _memory(view, engine),
        "disaggregation_mode": "null",
        "decode_cuda_graph_bs": None,
        "decode_cuda_graph_memory_gb": None,
        "avg_spec_accept_length": None,
    }


def _memory(view: View, engine: Engine) -> dict[str, object]:
    tokens = engine.config.usable_blocks * engine.config.block_size
    per_token = view.fleet.profile.kv_bytes_per_token / (2 if view.fleet.fp8_kv else 1)
    return {
        "weight": round(view.fleet.profile.weights_bytes / _GIB, 2),
        "kvcache": round(tokens * per_token / _GIB, 2),
        "startup_available": None,
        "token_capacity": tokens,
        "token_capacity_swa": None,
        "graph": {},
    }


def _throughput(view: View, engine: Engine) -> float:
    """Return output tokens per second between the last two samples."""
    last = sample_at(engine, view.now_s)
    before = None if last is None else sample_at(engine, last.t_s - 1e-6)
    if last is None or before is None:
        return 0.0
    return (last.generation_tokens - before.generation_tokens) / (last.t_s - before.t_s)


def loads(
    view: View, replica: int = 0, *, include: Sequence[str] = ("core",), prometheus: bool = False
) -> str:
    """Return ``/v1/loads?include=…`` as JSON, or with ``format=prometheus`` the core section as text.

    What runs, waits and is held is as the last sample left it, as the signals have it.

    Raises ValueError, whose message helps, for a section that does not exist.
    """
    unknown = [section for section in include if section not in (*SECTIONS, "all")]
    if unknown:
        raise ValueError(f"/v1/loads: no section {unknown[0]!r}; there are {', '.join(SECTIONS)}.")
    wanted = SECTIONS if "all" in include else tuple(include)
    engine = view.cluster.engines[replica]
    core = _core(view, engine)
    if prometheus:
        labels = f'{{dp_rank="0",model_name="{view.fleet.profile_name}"}}'
        return "\n".join(
            line
            for name, value in core.items()
            for line in (f"# TYPE sglang:{name} gauge", f"sglang:{name}{labels} {number(value)}")
        )
    rank: dict[str, object] = {"dp_rank": 0}
    for section in wanted:
        if section == "core":
            rank |= core
        elif section == "memory":
            rank["memory"] = _memory(view, engine)
        elif section == "queues":
            _, queued, _ = _gauges(view, engine)
            again = sum(1 for request in engine.waiting if request.num_output_tokens)
            retracted = min(queued, again)
            rank["queues"] = {"waiting": queued - retracted, "retracted": retracted}
        else:
            rank[section] = None
    return json.dumps(
        {"timestamp": EPOCH_S + view.now_s, "version": VERSION, "loads": [rank]}, indent=1
    )


def _core(view: View, engine: Engine) -> dict[str, float]:
    total = engine.config.usable_blocks * engine.config.block_size
    running, queued, usage = _gauges(view, engine)
    used = round(usage * total)
    waiting = sum(request.num_tokens for request in engine.waiting)
    served = [request for request in engine.requests if request.first_scheduled_ps is not None]
    prompts = sum(request.prompt_tokens for request in served)
    cached = sum(request.cached_tokens for request in served)
    return {
        "num_running_reqs": running,
        "num_waiting_reqs": queued,
        "num_waiting_uncached_tokens": waiting,
        "num_used_tokens": used,
        "num_total_tokens": used + waiting,
        "max_total_num_tokens": total,
        "max_running_requests": engine.config.max_num_seqs,
        "token_usage": round(usage, 4),
        "gen_throughput": round(_throughput(view, engine), 2),
        "cache_hit_rate": round(cached / prompts, 4) if prompts else 0.0,
        "utilization": round(running / engine.config.max_num_seqs, 4),
    }


def _gauges(view: View, engine: Engine) -> tuple[int, int, float]:
    """Return (running, waiting, share of the pool held), as the last sample left them."""
    sample = sample_at(engine, view.now_s)
    return (
        (0, 0, 0.0)
        if sample is None
        else (sample.running, sample.waiting, sample.kv_cache_usage_perc)
    )


def sglang_log(view: View, replica: int = 0) -> str:
    """Return the last five minutes of the log: prefill batches, decode batches, and the warnings of retractions.

    A prefill line comes with each admission of new requests. A decode line comes with each sample, every five
    seconds (a server's own comes every 40 decode steps); a retraction is told with the sample after it, with
    the mean that a running request held and has sent at that time.
    """
    engine = view.cluster.engines[replica]
    entries = [*_prefills(view, engine), *_decodes(view, engine)]
    kept = [entry for entry in entries if view.now_s - LOG_KEPT_S < entry[0] <= view.now_s]
    kept.sort(key=lambda entry: entry[0])
    return "\n".join(f"[{_stamp(t_s)} TP0] {text}" for t_s, text in kept)


def _stamp(t_s: float) -> str:
    return f"{time_of(t_s // 1):%Y-%m-%d %H:%M:%S}"


def _prefills(view: View, engine: Engine) -> Iterator[tuple[float, str]]:
    admitted = sorted(
        (
            request
            for request in engine.requests
            if request.first_scheduled_s is not None
            and request.first_scheduled_s > view.now_s - LOG_KEPT_S
        ),
        key=lambda request: (request.first_scheduled_ps or 0, request.index),
    )
    for t_ps, group in groupby(admitted, key=lambda request: request.first_scheduled_ps or 0):
        batch, t_s = list(group), t_ps / 1e12
        sample = sample_at(engine, t_s)
        if sample is None:
            continue
        cached = sum(request.cached_tokens for request in batch)
        new = sum(request.prompt_tokens for request in batch) - cached
        chunk = min(new, engine.config.max_num_batched_tokens)
        yield (
            t_s,
            (
                f"Prefill batch, #new-seq: {len(batch)}, #new-token: {chunk}, #cached-token: {cached}, "
                f"token usage: {sample.kv_cache_usage_perc:.2f}, #running-req: {sample.running}, "
                f"#queue-req: {sample.waiting}, #pending-token: {new - chunk}, cuda graph: False"
            ),
        )


def _decodes(view: View, engine: Engine) -> Iterator[tuple[float, str]]:
    total = engine.config.usable_blocks * engine.config.block_size
    ratio = INIT_NEW_TOKEN_RATIO
    for before, after in pairwise(engine.samples):
        steps = after.steps - before.steps
        retracted = after.preemptions - before.preemptions
        lower = max(
            MIN_NEW_TOKEN_RATIO, ratio - steps * (INIT_NEW_TOKEN_RATIO - MIN_NEW_TOKEN_RATIO) / 600
        )
        is_shown = view.now_s - LOG_KEPT_S < after.t_s <= view.now_s
        if retracted:
            raised = _ratio_after(engine, after) if is_shown else lower
            if is_shown:
                held = after.kv_cache_usage_perc * total / max(1, after.running)
                yield (
                    after.t_s,
                    (
                        f"KV cache pool is full. Retract requests. #retracted_reqs: {retracted}, "
                        f"#new_tokens_gained: {round(retracted * held)}, "
                        f"#new_token_ratio: {lower:.4f} -> {raised:.4f}"
                    ),
                )
            lower = raised
        ratio = lower
        if is_shown and after.running:
            generated = (after.generation_tokens - before.generation_tokens) / (
                after.t_s - before.t_s
            )
            yield (
                after.t_s,
                (
                    f"Decode batch, #running-req: {after.running}, #token: {round(after.kv_cache_usage_perc * total)}, "
                    f"token usage: {after.kv_cache_usage_perc:.2f}, cuda graph: True, "
                    f"gen throughput (token/s): {generated:.2f}, #queue-req: {after.waiting}"
                ),
            )


def _ratio_after(engine: Engine, sample: Sample) -> float:
    """Return SGLang's new_token_ratio after a retraction: decoded and reserved tokens over all that may come."""
    alive = [
        request
        for request in engine.requests
        if request.first_token_s is not None
        and request.first_token_s <= sample.t_s
        and (request.finish_s is None or request.finish_s > sample.t_s)
    ]
    decoded = sum(_sent(request, sample.t_s) for request in alive)
    wanted = sum(request.max_tokens for request in alive)
    return min(1.0, (decoded + RETRACT_DECODE_STEPS * len(alive)) / (wanted + 1))


def _sent(request: Request, t_s: float) -> float:
    """Return about how many tokens a stream had sent at ``t_s``, as if it had flowed evenly."""
    first_s, last_s = request.first_token_s or 0.0, request.last_token_s or 0.0
    if last_s <= first_s:
        return float(request.num_output_tokens)
    return request.num_output_tokens * min(1.0, (t_s - first_s) / (last_s - first_s))
