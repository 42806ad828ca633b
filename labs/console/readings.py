"""The lines that look: what may stand before a pipe and is answered by an instrument."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from labs.console.commands import (
    Command,
    Filter,
    Reader,
    Refusal,
    for_a_replica,
    of_replica,
    unknown,
)
from labs.console.durations import duration_s
from labs.console.filters import read_filter
from labs.console.places import ADDRESSES, OLD_NAMES, file_at, host_at


def _curl(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    urls = [word for word in arguments if not word.startswith("-")]
    flags = [word for word in arguments if word.startswith("-")]
    unknown = [
        flag for flag in flags if flag not in {"-s", "-sS", "-S", "-sf", "-f", "-G", "--silent"}
    ]
    if unknown:
        return Refusal(
            f"curl: this console knows -s and nothing else; take out `{unknown[0][:40]}`."
        )
    if len(urls) != 1:
        return Refusal("curl: give it one address: `curl -s localhost:8000/metrics`.")
    address = urls[0] if "://" in urls[0] else f"http://{urls[0]}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return Refusal(
            f"curl: `{urls[0][:60]}` is no address. `curl -s localhost:8000/metrics` is one."
        )
    options = host_at(host)
    if options is None:
        return Refusal(
            "curl: localhost answers, and replica-0, replica-1, … where a lab has several: 8000 is vLLM, 30000 SGLang, 9090 Prometheus, 9400 DCGM."
        )
    if port == 8000 and parts.path in {"/health", "/version"}:  # noqa: PLR2004
        return Command("metrics", target=parts.path, options=options, filters=filters)
    verb = ADDRESSES.get((port or 80, parts.path))
    if verb is not None:
        target = parts.path if parts.path in OLD_NAMES else parts.query
        return Command(verb, target=target, options=options, filters=filters)
    if port == 9090 and parts.path == "/api/v1/query":  # noqa: PLR2004
        raw = parts.query
        queries = parse_qs(raw.replace("+", "%2B")).get("query", [])
        if len(queries) != 1:
            return Refusal(
                "curl: Prometheus wants one `query=`: `curl -s 'localhost:9090/api/v1/query?query=vllm:num_requests_waiting'`."
            )
        return Command("promql", target=unquote(queries[0]), filters=filters)
    return Refusal(
        "curl: nothing answers there. localhost:8000/metrics is vLLM, localhost:30000/v1/loads and /server_info SGLang, localhost:9090/api/v1/query?query=… Prometheus, localhost:9400/metrics DCGM."
    )


def _promql(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if not arguments:
        return Refusal(
            "promql: give it an expression: `promql 'increase(vllm:num_preemptions_total[5m])'`."
        )
    return Command("promql", target=" ".join(arguments), filters=filters)


def _nvidia_smi(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if not arguments or arguments[0] == "dmon" or arguments[0].startswith("--query-gpu="):
        target = " ".join(arguments)
        return Command("nvidia-smi", target=target, filters=filters)
    return Refusal(
        "nvidia-smi: this lab has the plain table, `dmon`, and `--query-gpu=… --format=csv`."
    )


def _dcgm(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if arguments and arguments[0] != "dmon":
        return Refusal(
            "dcgmi: this lab has `dcgmi dmon`, the same counters as localhost:9400/metrics."
        )
    return Command("dcgm", filters=filters)


KEPT = {300: "5m", 720: "12m", 30: "30s", 60: "1m", 90: "90s", 150: "150s", 180: "3m"}
"""Windows that a gateway may keep, seconds, and their names: the first two on a cluster, the others where all goes faster."""


def _request_log(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    options: dict[str, str] = {"view": "summary", "last": "5m"}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--last":
            seconds = duration_s(words.pop(0) if words else "")
            if seconds not in KEPT:
                return Refusal(
                    "request-log: --last takes 5m or 12m, the two windows that the gateway keeps; on a real engine of ours 30s or 1m."
                )
            options["last"] = KEPT[seconds]
        elif word in {"--summary", "--gaps", "--waiting"}:
            options["view"] = word.removeprefix("--")
        else:
            return unknown("request-log", word, ["--last", "--summary", "--gaps", "--waiting"])
    return Command("request-log", options=options, filters=filters)


def _steps(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    rest, options = of_replica(arguments)
    if options is None or rest not in ([], *(["--last", each] for each in ("60s", "1m", "10s"))):
        return Refusal(
            "steps: it logs one minute of steps: `steps --last 60s`, or `steps --replica 1`; on a real engine of ours `steps --last 10s`."
        )
    return Command("steps", options=options, filters=filters)


def grep_file(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    parsed = read_filter(["grep", *arguments[:-1]]) if len(arguments) > 1 else None
    found = file_at(arguments[-1]) if arguments else None
    if parsed is None or found is None:
        return Refusal(
            "grep: give it a pattern and the file /var/log/vllm/engine.log, or put it behind a pipe."
        )
    if isinstance(parsed, Refusal):
        return parsed
    verb, where = found
    return Command(verb, options=where, filters=(parsed, *filters))


def read_file(name: str, arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    found = file_at(arguments[-1])
    if found is None:
        return Refusal(
            f"{name}: the file here is /var/log/vllm/engine.log, or /var/log/sglang/server.log where SGLang serves."
        )
    verb, where = found
    options = arguments[:-1]
    if name in {"cat", "less"}:
        if options:
            return Refusal(f"{name}: it takes the file and nothing else.")
        return Command(verb, options=where, filters=filters)
    cut = read_filter([name, *options])
    if isinstance(cut, Refusal):
        return cut
    return Command(verb, options=where, filters=(cut, *filters))


PANELS = (
    "ttft", "itl", "queue", "running", "kv", "preemptions", "tokens", "goodput", "busy", "gpu-power", "gpu-clock",
)  # fmt: skip
"""What `dashboard` can draw, from the healthy window until now."""


def _dashboard(arguments: list[str], filters: tuple[Filter, ...]) -> Command | Refusal:
    if len(arguments) != 1:
        return Refusal(f"dashboard: name one panel: {', '.join(PANELS)}.")
    if arguments[0] not in PANELS:
        return unknown("dashboard", arguments[0], sorted(PANELS))
    return Command("dashboard", target=arguments[0], filters=filters)


READERS: dict[str, Reader] = {
    "dashboard": _dashboard,
    "curl": _curl,
    "promql": _promql,
    "nvidia-smi": _nvidia_smi,
    "dcgmi": _dcgm,
    "request-log": _request_log,
    "steps": _steps,
    "kv-ledger": for_a_replica("kv-ledger"),
}
