"""Where things are on this cluster's nodes: what a file or an address of the console is."""

from __future__ import annotations

import re

FILES: dict[str, str] = {
    "engine.log": "engine-log",
    "server.log": "sglang-log",
    "startup.log": "startup-log",
    "nccl.log": "nccl-log",
    "access.log": "access-log",
}
"""Name of a file under /var/log/vllm or /var/log/sglang -> its verb. ``engine-1.log`` is replica 1's."""

ADDRESSES: dict[tuple[int, str], str] = {
    (8000, "/metrics"): "metrics",
    (9400, "/metrics"): "dcgm",
    (30000, "/server_info"): "server-info",
    (30000, "/get_server_info"): "server-info",
    (30000, "/v1/loads"): "loads",
}
"""(port, path) -> the verb that asks it. The host is localhost, or ``replica-1`` for replica 1's node."""

OLD_NAMES = {"/get_server_info": "/server_info"}
"""Paths that SGLang still answers, deprecated -> what they are called now. The command's target keeps the old one."""

_FILE = re.compile(r"(?:.*/)?(?P<name>[a-z]+)(?:-(?P<replica>\d))?\.log", re.ASCII)
_HOST = re.compile(r"localhost|127\.0\.0\.1|replica-(?P<replica>\d)", re.ASCII)


def file_at(path: str) -> tuple[str, dict[str, str]] | None:
    """Return the verb that reads a file, and its options; None for a file that is not there."""
    match = _FILE.fullmatch(path)
    verb = FILES.get(f"{match['name']}.log") if match else None
    if match is None or verb is None:
        return None
    return verb, {"replica": match["replica"]} if match["replica"] else {}


def host_at(name: str) -> dict[str, str] | None:
    """Return the options that a host stands for; None for a host that does not answer."""
    match = _HOST.fullmatch(name)
    if match is None:
        return None
    return {"replica": match["replica"]} if match["replica"] else {}
