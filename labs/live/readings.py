"""What a real engine itself answers: its metrics, its log, its steps; and which instruments it has nothing for."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.request import Request

from labs.instruments.answers import body_of
from labs.instruments.prometheus.exposition import REFUSED
from labs.instruments.signals import window_words
from labs.instruments.sources.source import NotMeasured
from labs.live import gpu_readings, servers, startup_logs
from labs.live.chats import CHAT, probe_body
from labs.live.scraping import OtherMetrics, read
from labs.simulator.gateway import own_answer, passed_on
from labs.simulator.http_answers import HttpAnswer
from labs.specs.panels import GPUS

if TYPE_CHECKING:
    from labs.console import Command
    from labs.instruments.take import Shown
    from labs.live.clusters import LiveCluster
    from labs.live.replicas import Replica
    from labs.specs import LabSpec
    from labs.worlds import Real

ASK_LIMIT_S = 5.0
LOG_LINES = 400
PROBE_LIMIT_S = 20.0
KEPT_CHARACTERS = 24
OF_THE_RECORD = {
    *("starts", "request-log", "request-tenants", "tokenize-diff", "promql", "dashboard", "panel"),
    *("connections", "streams", "slots", "in-flight", "attempts"),
    *("access-log", "upstream-log", "answer-lengths"),
    *("ages", "endings", "stops"),
}
"""Answered by what the gateway and the scrapes have noted."""
_NOT_HERE = {
    "kv-ledger": "vLLM tells how full its pool is, and not who holds it: /metrics has the usage",
    "nvidia-smi": "this box has no GPU",
    "dcgm": "this box has no GPU, and so nothing that counts its pipes",
}
_STEP_LINE = re.compile(r"Iteration\(\d+\): ")


OTHERS = "this engine is run by somebody else, and what it logs is not here"
_OF_THE_LOG = {"engine-log", "steps", "startup-log"}
OF_THE_ENGINE = {*_OF_THE_LOG, "metrics", "probe"}
"""Answered by the engine itself, or by what it logs."""
_DCGM = "no Prometheus here keeps what the GPUs' exporter says; `curl` it"


def real_of(spec: LabSpec, cluster: LiveCluster, *, is_ours: bool = True) -> Real:
    """Return what answers for the engines of a live world. Of an engine that is not ours there is no log."""

    def real(now_s: float, replica: int, command: Command) -> str | Shown | None:
        engine = cluster.replicas[replica]
        if command.verb in _OF_THE_LOG and not is_ours:
            raise NotMeasured(f"{command.verb}: {OTHERS}. Nothing was charged.")
        if cluster.machine is not None and command.verb in gpu_readings.VERBS:
            return cluster.machine.take(command, cluster.replicas, spec, now_s)
        if command.verb == "metrics":
            return _get(
                engine, command.target if command.target.startswith("/") else "/metrics", cluster
            )
        if command.verb == "probe":
            return probed(engine, cluster, command.target)
        if command.verb == "engine-log":
            return engine_log(engine)
        if command.verb == "startup-log":
            text = _started(engine)
            # Of a replica whose starts the world follows, it says what the lines show.
            is_followed = replica in cluster.memory
            return text if is_followed else startup_logs.take(text, command, spec.signals)
        if command.verb == "steps":
            return steps(engine, now_s, float(spec.windows.short_s))
        why = untold(command, has_gpus=cluster.machine is not None)
        if why:
            raise NotMeasured(f"{command.verb}: {why}. Nothing was charged.")
        return None

    return real


def untold(command: Command, *, has_gpus: bool) -> str:
    """Return why nothing that was noted of a real engine answers a command; '' if something does."""
    # Whose starts are followed on a box with GPUs, no record says.
    if command.verb in OF_THE_RECORD and not (has_gpus and command.verb == "starts"):
        is_gpu_panel = command.verb == "dashboard" and command.target in GPUS
        is_exporter = command.verb == "promql" and "DCGM_" in command.target
        return _DCGM if is_gpu_panel or is_exporter else ""
    told = gpu_readings.UNTOLD if has_gpus else _NOT_HERE
    return told.get(command.verb, "a real engine of this box has no such instrument")


def _get(engine: Replica, path: str, cluster: LiveCluster) -> str:
    """Return what ``curl`` prints for a path of the engine's server; a page of metrics is noted as a sample as well."""
    server = engine.server
    if server is None:
        return REFUSED
    asked_s = cluster.clock.now_s()
    try:
        with urllib.request.urlopen(server.base_url + path, timeout=ASK_LIMIT_S) as answer:  # noqa: S310  (loopback)
            text: str = answer.read().decode(errors="replace")
    except urllib.error.HTTPError as exc:
        return f"HTTP {exc.code}\n{exc.read().decode(errors='replace')}"
    except TimeoutError:
        return f"curl: (28) Operation timed out after {ASK_LIMIT_S * 1000:.0f} milliseconds"
    except OSError:
        return REFUSED
    if path == "/metrics":
        try:
            engine.telling.note(read(text), asked_s=asked_s)
        except OtherMetrics as exc:
            raise NotMeasured(str(exc)) from exc
        return text.rstrip("\n")
    return text or "HTTP 200, empty body"


def probed(engine: Replica, cluster: LiveCluster, name: str) -> str:
    """Return what a request of one's own is answered: by the gateway, or by the engine as the gateway passes it on."""
    gateway = cluster.front.gateway
    asked = body_of(name, gateway.model, engine.config.max_model_len)
    own = own_answer(gateway, engine.config, asked)
    if own is not None:
        return f"HTTP/1.1 {own.status}\n{own.body}"
    if engine.server is None:
        return REFUSED
    body = json.dumps(probe_body(asked, cluster.model)).encode()
    to = Request(  # noqa: S310  (loopback)
        engine.server.base_url + CHAT, body, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(to, timeout=PROBE_LIMIT_S) as answer:  # noqa: S310  (loopback)
            theirs = HttpAnswer(answer.status, _shortened(answer.read()), "")
    except urllib.error.HTTPError as exc:
        theirs = HttpAnswer(exc.code, exc.read().decode(errors="replace"), "")
    except TimeoutError:
        return f"curl: (28) Operation timed out after {PROBE_LIMIT_S * 1000:.0f} milliseconds"
    except OSError:
        return REFUSED
    passed = passed_on(gateway, theirs)
    return f"HTTP/1.1 {passed.status}\n{passed.body}"


def _shortened(body: bytes) -> str:
    """Return an answer without most of what the model said: its weights are random."""
    told = json.loads(body)
    for choice in told["choices"]:
        said = choice["message"]["content"] or ""
        choice["message"]["content"] = said[:KEPT_CHARACTERS] + "…" * (len(said) > KEPT_CHARACTERS)
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def engine_log(engine: Replica) -> str:
    """Return the end of the engine's log as it was printed, without the lines of single steps: ``steps`` has those."""
    path = engine.log_path
    text = "" if path is None else servers.tail(path, 20 * LOG_LINES)
    lines = [line for line in text.splitlines() if not _STEP_LINE.search(line)]
    if engine.server is None:
        lines.append("the engine is down; its log ends here")
    return "\n".join(lines[-LOG_LINES:]) or "the log is empty"


def _started(engine: Replica) -> str:
    """Return what the engine said while it started, also of one that did not come up."""
    text = startup_logs.read(engine)
    return text if engine.server is not None else f"{text}\nthe engine is down; its log ends here"


def steps(engine: Replica, now_s: float, window_s: float) -> str:
    """Return what the engine has logged of its steps within the window: tokens by what they were for, and times."""
    told = [each for at_s, each in engine.steps if now_s - window_s < at_s <= now_s]
    if not told:
        return f"no step in the last {window_words(window_s)}"
    elapsed_ms = sum(each.elapsed_ms for each in told)
    prefill = sum(each.prefill_tokens for each in told)
    decode = sum(each.decoding for each in told)
    largest = max(each.prefill_tokens for each in told)
    rows = [
        ("steps", f"{len(told)}", f"mean {elapsed_ms / len(told):.1f} ms of execution"),
        ("tokens computed", f"{prefill + decode:,}", f"{(prefill + decode) / window_s:,.0f} /s"),
        ("  of prompts", f"{prefill:,}", "and of prompts and outputs computed again"),
        ("  of outputs", f"{decode:,}", "one for each decoding request"),
        ("largest prefill", f"{largest:,} tokens", "in one step"),
        ("time: in steps", f"{elapsed_ms / 1000:.1f} s", f"of {window_words(window_s)}"),
    ]
    return "\n".join(f"{name:22}{value:>12}  {note}" for name, value, note in rows)
