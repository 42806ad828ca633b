"""What every lab's console can read of an engine that serves, its GPUs, and the requests that it was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.console import KEPT
from labs.instruments import engine_state, gpus, logs, prometheus, requests
from labs.instruments.sources.source import NotMeasured, Source, always

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.console import Command
    from labs.instruments.signals import View
    from labs.instruments.sources.source import Marks


def _nvidia_smi(view: View, command: Command) -> str:
    try:
        return gpus.nvidia_smi(view, command.target)
    except ValueError as exc:
        raise NotMeasured(str(exc)) from exc


def _gpu_marks(command: Command) -> Marks:
    if command.target.startswith("--query-gpu="):
        shows_it = "utilization.gpu" in command.target
        return {r"^(?!.*utilization\.gpu).*\d": "gpu_util"} if shows_it else {}
    return {r"^ +\d" if command.target else r"\d%": "gpu_util"}


_REQUEST_MARKS: Mapping[tuple[str, str], Marks] = {
    ("summary", "12m"): {
        "^arrivals": "arrival_rate_12m",
        "^prompt tokens": "prompt_p95_tokens",
        "^tokens wanted": "offered_load_12m",
    },
    ("summary", "5m"): {
        "^arrivals": "arrival_rate_5m",
        "^prompt tokens": "prompt_mean_tokens_5m",
        "^output tokens": "output_mean_tokens_5m",
        "^tokens wanted": "offered_load_5m",
    },
    ("gaps", "5m"): {"p95": "gap_p95_s"},
    ("waiting", "5m"): {"^waiting": "queue_depth", "^waiting .*oldest": "queue_age_s"},
}


_LONG = {"12m", "1m", "3m"}
_SECONDS = {name: float(seconds) for seconds, name in KEPT.items()}


def _request_key(command: Command) -> str:
    view, last = command.options["view"], command.options["last"]
    if view == "summary":
        return "offered_load" if last in _LONG else "offered_load_short"
    if last in _LONG:
        raise NotMeasured(
            f"request-log: --{view} is kept for five minutes (30 s on a real engine of ours); leave --last away."
        )
    return view


def _request_text(view: View, command: Command) -> str:
    if command.options["view"] == "gaps":
        return requests.gaps(view)
    if command.options["view"] == "waiting":
        return requests.waiting(view)
    last, windows = command.options["last"], view.windows
    seconds = windows.long_s if last in _LONG else windows.panel_s
    if _SECONDS[last] != seconds:
        kept = f"{KEPT[round(windows.panel_s)]} or {KEPT[round(windows.long_s)]}"
        raise NotMeasured(f"request-log: this gateway keeps --last {kept}.")
    return requests.summary(view, seconds)


SOURCES: dict[str, Source] = {
    "metrics": Source(
        always("counters"),
        lambda view, command: prometheus.metrics_text(view, view.replica),
        always(
            {
                r"^vllm:kv_cache_usage_perc\{": "kv_usage",
                r"^vllm:num_requests_running\{": "running",
                r"^vllm:num_requests_waiting\{": "queue_depth",
            }
        ),
    ),
    "nvidia-smi": Source(always("gpu"), _nvidia_smi, _gpu_marks),
    "dcgm": Source(
        always("dcgm"),
        lambda view, command: gpus.dcgm_text(view),
        always(
            {
                r"^DCGM_FI_DEV_GPU_UTIL\{": "gpu_util",
                r"^DCGM_FI_PROF_PIPE_TENSOR_ACTIVE\{": "tensor_active",
            }
        ),
    ),
    "engine-log": Source(
        always("log"),
        lambda view, command: logs.engine_log(view, view.replica),
        always({"Waiting:": "queue_depth", "KV cache usage:": "kv_usage"}),
        last_line_only=True,
    ),
    "steps": Source(
        always("steps"),
        lambda view, command: engine_state.steps(view),
        always(
            {
                "largest prefill": "largest_prefill_tokens",
                "time: recompute": "recompute_share",
                "time: first prefill": "prefill_share",
            }
        ),
    ),
    "kv-ledger": Source(
        always("ledger"),
        lambda view, command: engine_state.kv_ledger(view),
        always(
            {
                "^held by running": "held_per_running_tokens",
                "held by no live request": "unaccounted_share",
                r"usage \d": "kv_usage",
            }
        ),
    ),
    "request-log": Source(
        _request_key,
        _request_text,
        lambda command: _REQUEST_MARKS[
            command.options["view"], "12m" if command.options["last"] in _LONG else "5m"
        ],
    ),
}
