"""From a parsed command to a reading: which instrument it is, what it prints, which signals can be seen in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.console import FAST, Command, filtered
from labs.instruments import dashboards, promql
from labs.instruments.hardware_signals import HARDWARE_SIGNALS
from labs.instruments.prometheus.exposition import REFUSED
from labs.instruments.prometheus.scrapes import process_at
from labs.instruments.registry import SIGNALS
from labs.instruments.signals import window_words
from labs.instruments.sources import SOURCES, NotMeasured
from labs.instruments.sources.sglang import check_engine
from labs.specs.panels import PREFIX, SHOWS

if TYPE_CHECKING:
    from labs.instruments.dashboards import Panel
    from labs.instruments.registry import Value
    from labs.instruments.signals import View

__all__ = [
    "READING_VERBS",
    "NotMeasured",
    "Shown",
    "check_engine",
    "free_answer",
    "instrument_of",
    "take",
]

READING_VERBS = {*SOURCES, "promql", "dashboard"}


@dataclass(frozen=True)
class Shown:
    """What a reading shows: the text, and the signals in it by name (None: nothing in the window)."""

    text: str
    signals: dict[str, Value]
    panel: Panel | None = None
    """What a dashboard draws."""


def instrument_of(command: Command) -> str:
    """Return the instrument's key in the lab's spec, which has its price.

    Raises NotMeasured for a query or a view that no instrument has.
    """
    if command.verb == "promql":
        return promql.instrument_of(_query(command))
    if command.verb == "dashboard":
        return PREFIX + command.target
    source = SOURCES.get(command.verb)
    if source is None:
        raise NotMeasured(f"There is no {command.verb} on this cluster.")
    return source.key(command)


def take(view: View, command: Command) -> Shown:
    """Return what the command prints at ``view.now_s``. Raises NotMeasured for what cannot be shown."""
    check_engine(view.fleet.engine, command)
    instrument_of(command)  # What no instrument has is not measured.
    _check_window(view, command)
    view = replace(view, replica=_replica(view, command))
    if command.verb == "promql":
        query = _query(command)
        value = promql.evaluate(view, query)
        text = filtered(promql.answer(view, value, query), command.filters)
        return Shown(text, dict(promql.signal_of(view, query, value)) if text else {})
    if command.verb == "dashboard":
        drawn = dashboards.panel(view, command.target, from_s=round(view.healthy_from_s))
        name = SHOWS.get(command.target)
        signals = {} if name is None else {name: SIGNALS[name](view)}
        return Shown(filtered(dashboards.text(drawn), command.filters), signals, drawn)
    source = SOURCES[command.verb]
    told = None if view.real is None else view.real(view.now_s, view.replica, command)
    if isinstance(told, Shown):
        return told
    whole = source.text(view, command) if told is None else told
    text = filtered(whole, command.filters)
    lines = text.splitlines()
    if source.last_line_only:  # Earlier lines show what was, not what is.
        lines = [line for line in lines[-1:] if line == whole.rpartition("\n")[2]]
    names = [
        name
        for mark, name in source.marks(command).items()
        if (view.cluster.hardware is not None or name not in HARDWARE_SIGNALS)
        and any(re.search(mark, line) for line in lines)
    ]
    return Shown(
        text or "(no line matches)", {name: SIGNALS[name](view) for name in dict.fromkeys(names)}
    )


def _check_window(view: View, command: Command) -> None:
    """Raise NotMeasured for the shorter window of a real engine where the lab keeps another."""
    asked, kept = command.options.get("last"), window_words(view.windows.panel_s)
    is_fast = any(asked in fast for fast in FAST.values())
    if is_fast and command.verb != "request-log" and asked != kept.replace(" ", ""):
        raise NotMeasured(f"{command.verb}: here the window is the last {kept}; leave --last away.")


def free_answer(view: View, command: Command) -> str:
    """Return what ``/health`` or ``/version`` answers: it costs nothing and no signal is seen in it.

    vLLM binds its port once the engine is up, so a server that starts or is gone refuses the connection.
    """
    replica = _replica(view, command)
    if view.real is not None:
        answer: str = view.real(view.now_s, replica, command) or REFUSED
        return answer
    engine = view.cluster.engines[replica]
    if process_at(engine, view.now_s) is None:
        return REFUSED
    return "HTTP 200, empty body" if command.target == "/health" else '{"version":"0.32.0"}'


def _replica(view: View, command: Command) -> int:
    replica, count = int(command.options.get("replica", 0)), len(view.cluster.engines)
    if replica >= count:
        names = ", ".join(f"replica-{index}" for index in range(count))
        raise NotMeasured(f"There is no replica {replica} on this cluster; it has {names}.")
    return replica


def _query(command: Command) -> promql.Query:
    try:
        return promql.parse(command.target)
    except promql.PromqlError as exc:
        raise NotMeasured(f"promql: {exc}") from exc
