"""What a console can read of what is special within the engines."""

from __future__ import annotations

from labs.instruments import host_stacks, prefixes, profile_window, request_classes
from labs.instruments.inside_signals import PROFILE_S
from labs.instruments.sources.source import Source, always

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
