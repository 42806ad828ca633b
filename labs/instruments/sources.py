"""What a command of the console reads: its instrument, its text, and the lines that show a signal.

A source is known by the verb of its command. Its key names the entry of a lab's instruments that has the price. A
signal counts as read when a line that shows it is still there after the filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments import engine_state, gpus, logs, prometheus, requests
from labs.instruments.signals import LONG_S, PANEL_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labs.console import Command
    from labs.instruments.signals import View

type Marks = Mapping[str, str]
"""Regular expression of a line -> the signal that it shows."""


class NotMeasured(ValueError):  # noqa: N818
    """An instrument that refuses; the message helps, and nothing is charged."""


@dataclass(frozen=True)
class Source:
    """One verb that measures."""

    key: Callable[[Command], str]
    """Return the instrument's key in a lab's spec. Raises NotMeasured for a view that does not exist."""
    text: Callable[[View, Command], str]
    """Return the whole answer. Raises NotMeasured for what cannot be shown."""
    marks: Callable[[Command], Marks]
    last_line_only: bool = False
    """Whether only the last line shows what is, and earlier ones what was."""


def _always[T](value: T) -> Callable[[Command], T]:
    return lambda command: value


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
    ("summary", "5m"): {"^tokens wanted": "offered_load_5m"},
    ("gaps", "5m"): {"p95": "gap_p95_s"},
    ("waiting", "5m"): {"^waiting": "queue_depth", "^waiting .*oldest": "queue_age_s"},
}


def _request_key(command: Command) -> str:
    view, last = command.options["view"], command.options["last"]
    if view == "summary":
        return "offered_load" if last == "12m" else "offered_load_short"
    if last != "5m":
        raise NotMeasured(f"request-log: --{view} is kept for five minutes; leave --last away.")
    return view


def _request_text(view: View, command: Command) -> str:
    if command.options["view"] == "gaps":
        return requests.gaps(view)
    if command.options["view"] == "waiting":
        return requests.waiting(view)
    return requests.summary(view, LONG_S if command.options["last"] == "12m" else PANEL_S)


SOURCES: dict[str, Source] = {
    "metrics": Source(
        _always("counters"),
        lambda view, command: prometheus.metrics_text(view),
        _always(
            {
                r"^vllm:kv_cache_usage_perc\{": "kv_usage",
                r"^vllm:num_requests_waiting\{": "queue_depth",
            }
        ),
    ),
    "nvidia-smi": Source(_always("gpu"), _nvidia_smi, _gpu_marks),
    "dcgm": Source(
        _always("dcgm"),
        lambda view, command: gpus.dcgm_text(view),
        _always(
            {
                r"^DCGM_FI_DEV_GPU_UTIL\{": "gpu_util",
                r"^DCGM_FI_PROF_PIPE_TENSOR_ACTIVE\{": "tensor_active",
            }
        ),
    ),
    "engine-log": Source(
        _always("log"),
        lambda view, command: logs.engine_log(view),
        _always({"Waiting:": "queue_depth", "KV cache usage:": "kv_usage"}),
        last_line_only=True,
    ),
    "steps": Source(
        _always("steps"),
        lambda view, command: engine_state.steps(view),
        _always(
            {"largest prefill": "largest_prefill_tokens", "time: recompute": "recompute_share"}
        ),
    ),
    "kv-ledger": Source(
        _always("ledger"),
        lambda view, command: engine_state.kv_ledger(view),
        _always({"held by no live request": "unaccounted_share", r"usage \d": "kv_usage"}),
    ),
    "request-log": Source(
        _request_key,
        _request_text,
        lambda command: _REQUEST_MARKS[command.options["view"], command.options["last"]],
    ),
}
