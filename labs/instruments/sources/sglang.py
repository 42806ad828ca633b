"""What a console can read of servers that run SGLang, and who answers where: vLLM on port 8000, SGLang on 30000."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from labs.console.places import OLD_NAMES
from labs.instruments.prometheus.scrapes import process_at
from labs.instruments.sglang import PORT, loads, server_info, sglang_log
from labs.instruments.sources.source import NotMeasured, Source, always

if TYPE_CHECKING:
    from labs.console import Command
    from labs.instruments.signals import View

_FORMATS = {"json", "prometheus"}
REFUSED = (
    f"curl: (7) Failed to connect to localhost port {PORT} after 0 ms: Couldn't connect to server"
)
"""What the reader sees while the server is down."""

_ON_8000 = f"Nothing listens on port 8000: these servers run SGLang, on port {PORT}. `curl -s replica-0:{PORT}/v1/loads?include=core` asks one for its load."
_ON_30000 = f"Nothing listens on port {PORT}: this fleet runs vLLM, on port 8000. `curl -s localhost:8000/metrics` has its load."
_VLLM_LOG = (
    "There is no such file: these servers run SGLang, which writes /var/log/sglang/server.log."
)
_SGLANG_LOG = "There is no such file: this fleet runs vLLM, which writes /var/log/vllm/engine.log."
_NO_SERIES = f"No series here begins with vllm: these servers run SGLang. `curl -s replica-0:{PORT}/v1/loads?include=core` asks one for its load."

_NOT_HERE: dict[str, dict[str, str]] = {
    "sglang": {"metrics": _ON_8000, "engine-log": _VLLM_LOG, "startup-log": _VLLM_LOG},
    "vllm": {"server-info": _ON_30000, "loads": _ON_30000, "sglang-log": _SGLANG_LOG},
}
"""A fleet's engine -> the verbs that only the other engine answers, and what to say."""


def check_engine(engine: str, command: Command) -> None:
    """Raise NotMeasured for a command that servers of this engine do not answer; it names what they do."""
    said = _NOT_HERE[engine].get(command.verb)
    if said is None and engine == "sglang" and command.verb == "promql":
        said = _NO_SERIES if "vllm:" in command.target else None
    if said is not None:
        raise NotMeasured(said)


def _server_info(view: View, command: Command) -> str:
    if process_at(view.engine, view.now_s) is None:
        return REFUSED
    text = server_info(view, view.replica)
    new = OLD_NAMES.get(command.target)
    if new is None:
        return text
    return f"WARNING (server log): {command.target} is deprecated; ask {new}\n{text}"


def _loads(view: View, command: Command) -> str:
    asked = parse_qs(command.target)
    unknown = sorted(set(asked) - {"include", "format"})
    if unknown:
        raise NotMeasured(
            f"/v1/loads: it knows `include` and `format`, not `{unknown[0][:40]}`: `/v1/loads?include=core,queues`."
        )
    include = [section for value in asked.get("include", ["core"]) for section in value.split(",")]
    formats = asked.get("format", ["json"])
    if not set(formats) <= _FORMATS:
        raise NotMeasured("/v1/loads: format is json or prometheus.")
    if process_at(view.engine, view.now_s) is None:
        return REFUSED
    try:
        return loads(view, view.replica, include=include, prometheus=formats[-1] == "prometheus")
    except ValueError as exc:
        raise NotMeasured(str(exc)) from exc


def _load_line(name: str) -> str:
    return rf'"{name}":|^sglang:{name}\{{'


SOURCES: dict[str, Source] = {
    "server-info": Source(always("server_info"), _server_info, always({})),
    "loads": Source(
        always("loads"),
        _loads,
        always(
            {
                _load_line("num_running_reqs"): "running",
                _load_line("num_waiting_reqs"): "queue_depth",
                _load_line("token_usage"): "kv_usage",
            }
        ),
    ),
    "sglang-log": Source(
        always("sglang_log"),
        lambda view, command: sglang_log(view, view.replica),
        always(
            {
                "#running-req:": "running",
                "#queue-req:": "queue_depth",
                "token usage:": "kv_usage",
            }
        ),
        last_line_only=True,
    ),
}
