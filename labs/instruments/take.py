"""From a parsed command to a reading: which instrument it is, what it prints, which signals can be seen in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.console import Command, filtered
from labs.instruments import engine_state, gpus, logs, prometheus, promql, requests
from labs.instruments.signals import LONG_S, PANEL_S, SIGNALS

if TYPE_CHECKING:
    from labs.instruments.signals import View

INSTRUMENT_OF_VERB = {
    "metrics": "counters",
    "nvidia-smi": "gpu",
    "dcgm": "dcgm",
    "engine-log": "log",
    "steps": "steps",
    "kv-ledger": "ledger",
}
READING_VERBS = {*INSTRUMENT_OF_VERB, "promql", "request-log"}

# A signal counts as read when a line that shows it now is still there after the filters.
_MARKS = {
    "metrics": {
        r"^vllm:kv_cache_usage_perc\{": "kv_usage",
        r"^vllm:num_requests_waiting\{": "queue_depth",
    },
    "dcgm": {
        r"^DCGM_FI_DEV_GPU_UTIL\{": "gpu_util",
        r"^DCGM_FI_PROF_PIPE_TENSOR_ACTIVE\{": "tensor_active",
    },
    "engine-log": {"Waiting:": "queue_depth", "KV cache usage:": "kv_usage"},
    "steps": {"largest prefill": "largest_prefill_tokens", "time: recompute": "recompute_share"},
    "kv-ledger": {"held by no live request": "unaccounted_share", r"usage \d": "kv_usage"},
}
_GPU_MARKS = {"table": r"\d%", "dmon": r"^ +\d", "query": r"^(?!.*utilization\.gpu).*\d"}
_REQUEST_MARKS = {
    ("summary", "12m"): {
        "^arrivals": "arrival_rate_12m",
        "^prompt tokens": "prompt_p95_tokens",
        "^tokens wanted": "offered_load_12m",
    },
    ("summary", "5m"): {"^tokens wanted": "offered_load_5m"},
    ("gaps", "5m"): {"p95": "gap_p95_s"},
    ("waiting", "5m"): {"^waiting": "queue_depth", "^waiting .*oldest": "queue_age_s"},
}


class NotMeasured(ValueError):  # noqa: N818
    """An instrument that refuses; the message helps, and nothing is charged."""


@dataclass(frozen=True)
class Shown:
    """What a reading shows: the text, and the signals in it by name (None: nothing in the window)."""

    text: str
    signals: dict[str, float | None]


def instrument_of(command: Command) -> str:
    """Return the instrument's key in the lab's spec, which has its price.

    Raises NotMeasured for a query or a view that no instrument has.
    """
    if command.verb == "promql":
        return promql.instrument_of(_query(command))
    if command.verb == "request-log":
        view, last = command.options["view"], command.options["last"]
        if view == "summary":
            return "offered_load" if last == "12m" else "offered_load_short"
        if last != "5m":
            raise NotMeasured(f"request-log: --{view} is kept for five minutes; leave --last away.")
        return view
    return INSTRUMENT_OF_VERB[command.verb]


def take(view: View, command: Command) -> Shown:
    """Return what the command prints at ``view.now_s``. Raises NotMeasured for what cannot be shown."""
    instrument_of(command)  # What no instrument has is not measured.
    if command.verb == "promql":
        query = _query(command)
        value = promql.evaluate(view, query)
        text = filtered(promql.answer(view, value, query), command.filters)
        return Shown(text, promql.signal_of(query, value) if text else {})
    whole = _text(view, command)
    text = filtered(whole, command.filters)
    lines = text.splitlines()
    if command.verb == "engine-log":  # Earlier lines show what was, not what is.
        lines = [line for line in lines[-1:] if line == whole.rpartition("\n")[2]]
    names = [
        name
        for mark, name in _marks(command).items()
        if any(re.search(mark, line) for line in lines)
    ]
    return Shown(
        text or "(no line matches)", {name: SIGNALS[name](view) for name in dict.fromkeys(names)}
    )


def _query(command: Command) -> promql.Query:
    try:
        return promql.parse(command.target)
    except promql.PromqlError as exc:
        raise NotMeasured(f"promql: {exc}") from exc


def _marks(command: Command) -> dict[str, str]:
    if command.verb == "request-log":
        return _REQUEST_MARKS[command.options["view"], command.options["last"]]
    if command.verb == "nvidia-smi":
        if command.target.startswith("--query-gpu="):
            return {_GPU_MARKS["query"]: "gpu_util"} if "utilization.gpu" in command.target else {}
        return {_GPU_MARKS["dmon" if command.target else "table"]: "gpu_util"}
    return _MARKS[command.verb]


def _text(view: View, command: Command) -> str:
    match command.verb:
        case "metrics":
            return prometheus.metrics_text(view)
        case "dcgm":
            return gpus.dcgm_text(view)
        case "engine-log":
            return logs.engine_log(view)
        case "steps":
            return engine_state.steps(view)
        case "kv-ledger":
            return engine_state.kv_ledger(view)
        case "nvidia-smi":
            return _nvidia_smi(view, command.target)
        case _:
            return _request_text(view, command)


def _nvidia_smi(view: View, target: str) -> str:
    try:
        return gpus.nvidia_smi(view, target)
    except ValueError as exc:
        raise NotMeasured(str(exc)) from exc


def _request_text(view: View, command: Command) -> str:
    if command.options["view"] == "gaps":
        return requests.gaps(view)
    if command.options["view"] == "waiting":
        return requests.waiting(view)
    return requests.summary(view, LONG_S if command.options["last"] == "12m" else PANEL_S)
