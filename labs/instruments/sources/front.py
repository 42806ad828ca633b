"""What a console can read of what stands in front of the engines, and their lifetime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments import answers, front_views
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
    "access-log": Source(
        always("access_log"),
        lambda view, command: answers.access_log(view),
        always({"^400": "share_4xx_5m", "^429": "share_429_5m", "^5xx": "share_5xx_5m"}),
    ),
    "upstream-log": Source(
        always("upstream"),
        lambda view, command: answers.upstream(view),
        always({"^upstream 400": "turned_share_5m"}),
    ),
    "answer-lengths": Source(
        always("lengths"),
        lambda view, command: answers.lengths(view),
        always({"^ended at the context": "short_share_5m"}),
    ),
    "probe": Source(
        lambda command: f"probe_{command.target.replace('-', '_')}",
        lambda view, command: answers.probe(view, command.target),
        lambda command: {"^HTTP": f"probe_{command.target.replace('-', '_')}"},
    ),
    "connections": Source(
        always("connections"),
        lambda view, command: front_views.connections(view),
        always(
            {
                "^  without": "ghost_share",
                "^closed by": "closed_share_5m",
                "^computed": "run_on_share_5m",
            }
        ),
    ),
    "attempts": Source(
        always("attempts"),
        lambda view, command: answers.attempts(view),
        always({"^first": "first_rate_5m", "^sent again": "retry_share_5m"}),
    ),
    "ages": Source(
        always("ages"),
        lambda view, command: front_views.ages(view),
        always({"^asked while": "young_ttft_p95_s", "^asked later": "settled_ttft_p95_s"}),
    ),
    "slots": Source(
        always("slots"),
        lambda view, command: front_views.slots(view),
        always({"^running": "slots_used", "^pool": "kv_usage", "^waiting": "queue_depth"}),
    ),
    "in-flight": Source(
        always("in_flight"),
        lambda view, command: front_views.in_flight(view),
        always(
            {
                "^batch ": "batch_in_flight",
                "^batch .*": "batch_tokens_each",
                "^wanted ": "open_load",
            }
        ),
    ),
    "streams": Source(
        always("streams"),
        lambda view, command: front_views.streams(view),
        always({"p95": "tpot_p95_s"}),
    ),
}
