"""What a console can read of what stands in front of the engines, and their lifetime."""

from __future__ import annotations

from labs.instruments import front_views
from labs.instruments.sources.source import Source, always

SOURCES: dict[str, Source] = {
    "slots": Source(
        always("slots"),
        lambda view, command: front_views.slots(view),
        always({"^running": "slots_used", "^pool": "kv_usage", "^waiting": "queue_depth"}),
    ),
    "streams": Source(
        always("streams"),
        lambda view, command: front_views.streams(view),
        always({"p95": "tpot_p95_s"}),
    ),
}
