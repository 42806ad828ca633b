"""The dashboard that every lab has: its panels, added to the instruments that a lab's file declares.

A panel is no bargain: it costs what the lab's cheapest instrument for the same signal costs. So it adds nothing to what
can be learned in a minute, only another way to look.
"""

from __future__ import annotations

from typing import Any

PREFIX = "dashboard_"
COST_S = 15
"""What a panel costs that shows none of the lab's signals; a scenario constant."""

SERVING = {
    "ttft": ("TTFT", "p95 time to first token, as clients see it"),
    "itl": ("ITL", "p99 inter-token latency"),
    "queue": ("Queue", "requests waiting, each replica"),
    "running": ("Running", "requests running, each replica"),
    "kv": ("KV cache", "KV cache usage, each replica"),
    "preemptions": ("Preemptions", "in five minutes, each replica"),
    "tokens": ("Tokens", "tokens sent a second, each replica"),
    "goodput": ("Goodput", "requests a second: sent, and served within 2 s"),
    "busy": ("Busy", "share of time within steps, each replica"),
}
"""Panel -> (title, question) of every lab."""

GPUS = {
    "gpu-clock": ("GPU clocks", "SM clock of each GPU"),
    "gpu-power": ("GPU power", "power of each GPU"),
}
"""Those of a lab that has [fleet.hardware]."""

SHOWS = {
    "ttft": "ttft_p95_s",
    "itl": "itl_p99_s",
    "queue": "queue_depth",
    "running": "running",
    "kv": "kv_usage",
    "preemptions": "preemptions_5m",
    "busy": "gpu_util",
    "gpu-clock": "sm_clock_mhz_min",
    "gpu-power": "power_w_min",
}
"""Panel -> the signal that its latest point is."""


def with_panels(data: dict[str, Any]) -> dict[str, Any]:
    """Return a lab's tables with the dashboard's panels among its instruments.

    What is not as a lab's file should be is left for validation to name.
    """
    own, signals, fleet = (data.get(key) for key in ("instruments", "signals", "fleet"))
    if not (isinstance(own, dict) and isinstance(signals, dict) and isinstance(fleet, dict)):
        return data
    panels = SERVING | (GPUS if "hardware" in fleet else {})
    alarm = data.get("alarm")
    rings = alarm.get("signal") if isinstance(alarm, dict) else None
    added = {
        PREFIX + name: {
            "title": title,
            "question": question,
            "command": f"dashboard {name}",
            "cost_s": max(COST_S, min(prices, default=COST_S)),
            "signals": [shown] if shown in signals else [],
            "is_alarm": shown is not None and shown == rings,
        }
        for name, (title, question) in panels.items()
        for shown in [SHOWS.get(name)]
        for prices in [_prices(own, shown)]
    }
    return {
        **data,
        "instruments": own | {key: each for key, each in added.items() if key not in own},
    }


def _prices(instruments: dict[str, Any], signal: str | None) -> list[int]:
    """Return what the instruments cost that show a signal, seconds."""
    return [
        each["cost_s"]
        for each in instruments.values()
        if isinstance(each, dict)
        and isinstance(each.get("cost_s"), int)
        and isinstance(each.get("signals"), list)
        and signal in each["signals"]
    ]
