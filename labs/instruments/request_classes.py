"""Who sends: the gateway's request log by class of request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.signals import quantile, sent_between

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.request import Request

ORDINARY = "chat"


def by_class(view: View) -> dict[str, list[Request]]:
    """Return the requests sent in the last five minutes by class, in the order of the first of each."""
    found: dict[str, list[Request]] = {}
    for request in sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s):
        found.setdefault(request.request_class, []).append(request)
    return found


def other_share(view: View) -> float | None:
    """Return the share of requests that are not of the ordinary class; None if nobody sent anything."""
    found = by_class(view)
    total = sum(map(len, found.values()))
    return 1 - len(found.get(ORDINARY, ())) / total if total else None


def table(view: View) -> str:
    """Return how many requests of each class came in five minutes, and how long their prompts are."""
    found = by_class(view)
    if not found:
        return "no request arrived in this window"
    total = sum(map(len, found.values()))
    rows = [f"{'class':12}{'requests':>9}{'share':>8}{'per s':>8}{'prompt p50':>12}{'p95':>8}"]
    for name, requests in sorted(found.items()):
        prompts = [float(request.prompt_tokens) for request in requests]
        rows.append(
            f"{name:12}{len(requests):9d}{len(requests) / total:8.3f}{len(requests) / view.windows.panel_s:8.2f}"
            f"{quantile(prompts, 0.5) or 0:12,.0f}{quantile(prompts, 0.95) or 0:8,.0f}"
        )
    others = f"not {ORDINARY}: {other_share(view) or 0.0:.3f} of {total} requests"
    return "\n".join([*rows, others])
