"""What a console can read of how calls end, and of how replicas are stopped and replaced."""

from __future__ import annotations

from labs.instruments import endings, stops
from labs.instruments.sources.source import Source, always

SOURCES: dict[str, Source] = {
    "endings": Source(
        always("endings"),
        lambda view, command: endings.endings(view),
        always({"^silent": "silent_share_5m", "^given up": "give_up_age_s"}),
    ),
    "stops": Source(
        always("stops"),
        lambda view, command: stops.stops(view),
        always({"^left without": "left_at_stop_10m", "^came after": "late_at_stop_10m"}),
    ),
}
