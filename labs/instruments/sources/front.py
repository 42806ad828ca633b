"""What a console can read of what stands in front of the engines, and their lifetime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import front_views
from labs.instruments.sources.source import Source, always

if TYPE_CHECKING:
    from labs.console import Command
    from labs.instruments.sources.source import Marks


def _panel_marks(command: Command) -> Marks:
    return {f"^{command.target} .*": front_views.PANELS[command.target][0]}


SOURCES: dict[str, Source] = {
    "panel": Source(
        always("panel"),
        lambda view, command: front_views.panel(view, command.target),
        _panel_marks,
    ),
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
