"""What prompts begin with, and what of it is found in the cache again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.instruments.signals import sent_between, window, window_words

if TYPE_CHECKING:
    from labs.instruments.signals import View
    from labs.simulator.request import Request


def hit_share(view: View) -> float | None:
    """Return the share of looked-up prompt tokens that were found cached, over five minutes; None without any."""
    pair = window(view, view.windows.panel_s)
    if pair is None:
        return None
    looked_up = pair[1].prefix_cache_queries - pair[0].prefix_cache_queries
    found = pair[1].prefix_cache_hits - pair[0].prefix_cache_hits
    return found / looked_up if looked_up else None


def two_of_a_tenant(view: View) -> tuple[Request, Request] | None:
    """Return the two latest requests of the tenant who sent last among those who sent twice in five minutes."""
    latest: dict[str, Request] = {}
    for request in reversed(
        sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    ):
        if not request.prefix:
            continue
        name = request.prefix[-1][0]
        if name in latest:
            return request, latest[name]
        latest[name] = request
    return None


def first_difference(view: View) -> float | None:
    """Return the token at which two prompts of one tenant begin to differ; None if nobody sent twice."""
    pair = two_of_a_tenant(view)
    return None if pair is None else float(min(one.prefix[-1][1] for one in pair))


def tokenized(view: View) -> str:
    """Return what ``POST /tokenize`` says of two prompts of one tenant, compared."""
    pair = two_of_a_tenant(view)
    at = first_difference(view)
    if pair is None or at is None:
        return f"no tenant sent twice in the last {window_words(view.windows.panel_s)}"
    one, other = pair
    rows = [
        f"{each.request_id}  {each.prefix[-1][0]}  {each.prompt_tokens:,} tokens, sent {view.now_s - each.sent_s:.0f} s ago"
        for each in pair
    ]
    same = min(one.prompt_tokens, other.prompt_tokens)
    rows.append(f"first difference at token {at:,.0f} of {same:,}")
    size = view.engine.config.block_size
    rows.append(f"equal whole blocks of {size} before it: {int(at) // size}")
    return "\n".join(rows)


def distinct(view: View) -> float | None:
    """Return how many different texts the prompts of five minutes begin with; None if nobody sent anything."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    names = {request.prefix[-1][0] for request in sent if request.prefix}
    return float(len(names)) if names else None


def by_tenant(view: View) -> str:
    """Return how many tenants sent in five minutes, and how many prompts each."""
    sent = sent_between(view.cluster, view.now_s - view.windows.panel_s, view.now_s)
    counts: dict[str, int] = {}
    for request in sent:
        if request.prefix:
            name = request.prefix[-1][0]
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return "no request arrived in this window"
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    rows = [
        f"tenants {len(counts)}    requests {sum(counts.values())} in {window_words(view.windows.panel_s)}"
    ]
    rows += [f"  {name:16}{count:5d}" for name, count in ordered[:5]]
    return "\n".join(rows)
