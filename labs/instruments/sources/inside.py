"""What a console can read of what is special within the engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import host_stacks, prefixes, profile_window, request_classes
from labs.instruments.inside_signals import PROFILE_S
from labs.instruments.logs.kernels import lines
from labs.instruments.sources import memory
from labs.instruments.sources.source import Source, always

if TYPE_CHECKING:
    from labs.console import Command
    from labs.instruments.signals import View


def _start(view: View, command: Command) -> str:
    """Return what the servers said of their kernels at their latest start, or of their memory where that is followed."""
    replicas = [r for r in sorted(view.cluster.kernels) if r < len(view.cluster.engines)]
    if not replicas or view.replica in view.cluster.memory:
        return _MEMORY.text(view, command)
    texts: list[str] = []
    for replica in replicas:
        up_s = view.cluster.engines[replica].processes[-1].up_s
        texts += [str(entry) for entry in lines(view.cluster.kernels[replica], up_s)]
    return "\n".join(texts)


_MEMORY = memory.SOURCES["startup-log"]
_KERNELS = {"attention backend out": "attention_backend", "^.*Selected ": "linear_kernel"}

SOURCES: dict[str, Source] = {
    "request-classes": Source(
        always("classes"),
        lambda view, command: request_classes.table(view),
        always({"^not chat": "other_class_share_5m"}),
    ),
    "request-tenants": Source(
        always("tenants"),
        lambda view, command: prefixes.by_tenant(view),
        always({"^tenants": "tenants_5m"}),
    ),
    "tokenize-diff": Source(
        always("tokenize"),
        lambda view, command: prefixes.tokenized(view),
        always({"^first difference": "first_diff_token"}),
    ),
    "startup-log": Source(
        _MEMORY.key,
        _start,
        lambda command: {**_MEMORY.marks(command), **_KERNELS},
    ),
    "torch-profile": Source(
        always("profile"),
        lambda view, command: profile_window.profile_table(
            view, PROFILE_S, profiler="torch", replica=view.replica
        ),
        always(
            {
                "^gemm ": "gemm_share",
                "^attention ": "attention_share",
                "^gaps ": "gaps_share",
            }
        ),
    ),
    "py-spy": Source(
        always("stacks"),
        lambda view, command: host_stacks.stacks(view),
        always(
            {
                "^between steps": "host_lost_share",
                "(?#holder)^between steps": "host_holder",
            }
        ),
    ),
}
