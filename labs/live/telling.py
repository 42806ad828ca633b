"""What an engine tells of itself while it serves: ``/metrics``, read twice a second, and the steps in its log."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import aiohttp

from labs.live.iterations import Iteration, iterations
from labs.live.scraping import OtherMetrics, Page, read, sample_of
from labs.simulator.telemetry import Sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from labs.live.wires import Clock, Strand, Wire

SCRAPE_EVERY_S = 0.5
SCRAPE_LIMIT_S = 5.0
STOP_LIMIT_S = 2.0
GAUGES = {"t_s", "running", "waiting", "kv_cache_usage_perc", "leaked_blocks", "oldest_waiting_s", "max_prefill_tokens_in_step"}  # fmt: skip
"""Of a sample; everything else counts on over restarts."""


class Telling:
    """The samples of one replica, over all its processes."""

    def __init__(
        self,
        wire: Wire,
        clock: Callable[[], Clock],
        *,
        oldest_waiting_s: Callable[[float], float],
        other: Callable[[OtherMetrics], None],
    ) -> None:
        """Make one that is silent yet.

        ``oldest_waiting_s`` says, at a time, how long the request has waited that has waited longest; ``other`` is told of a page that is
        not this vLLM's.
        """
        self.samples: list[Sample] = []
        self.page: Page | None = None
        """The last read of ``/metrics``."""
        self.steps: deque[tuple[float, Iteration]] = deque(maxlen=20_000)
        """(when its line was read, what the engine's log says of it)."""
        self.base: Sample | None = None
        """What had been counted before its process started: added to all that it counts."""
        self.heard_at = time.monotonic()
        """When a page was read last."""
        self.log_began = 0
        """Where in its log the last start begins, bytes."""
        self._log: Path | None = None
        self._log_at = 0
        self._wire = wire
        self._clock = clock
        self._oldest_waiting_s = oldest_waiting_s
        self._other = other
        self._noting = threading.Lock()
        self._scraping: Strand | None = None

    def read_log(self, log: Path, since: int) -> None:
        """Read the steps of an engine that was started just now from its log, from a byte on."""
        self._log, self._log_at, self.log_began = log, since, since

    def listen(self, base_url: str) -> None:
        """Read the page of an engine, which answers from now on, until ``hush``."""
        self.heard_at = time.monotonic()
        self._scraping = self._wire.spawn(self._scrapes(f"{base_url}/metrics"))

    def hush(self, *, wait: bool = True) -> None:
        """Read nothing any more."""
        scraping, self._scraping = self._scraping, None
        if scraping is not None:
            scraping.cancel()
            if wait:
                scraping.wait(STOP_LIMIT_S)

    def rest(self) -> float:
        """Have what the next process counts come on top of what was counted until now; return the time."""
        with self._noting:
            self.base = self.samples[-1] if self.samples else None
            return self._clock().now_s()

    async def _scrapes(self, url: str) -> None:
        while True:
            await self._scrape(url)
            await asyncio.sleep(SCRAPE_EVERY_S)

    async def _scrape(self, url: str) -> None:
        limit = aiohttp.ClientTimeout(total=SCRAPE_LIMIT_S)
        asked_s = self._clock().now_s()
        try:
            async with self._wire.session.get(url, timeout=limit) as answer:
                page = read(await answer.text())
        except OtherMetrics as exc:
            self._other(exc)
            return
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return
        self.note(page, asked_s=asked_s)

    def note(self, page: Page, *, asked_s: float) -> None:
        """Take a read of ``/metrics`` as a sample, with what the log has told of steps since the last.

        A page that was asked for before the last sample was taken may be older than that: counters would fall.
        """
        self.heard_at = time.monotonic()
        with self._noting:
            if not self.samples or asked_s >= self.samples[-1].t_s:
                self._note(page, self._clock().now_s())

    def _note(self, page: Page, now_s: float) -> None:
        self.page = page
        told = self._told(now_s)
        sample = sample_of(
            page,
            now_s,
            oldest_waiting_s=self._oldest_waiting_s(now_s) if page_waits(page) else 0.0,
            max_prefill_tokens=max((each.prefill_tokens for each in told), default=0),
        )
        last = self.samples[-1] if self.samples else None
        computed, prefill, busy_s = (
            (last.computed_tokens, last.prefill_tokens, last.busy_s) if last else (0, 0, 0.0)
        )
        sample = replace(
            on_top_of(self.base, sample),
            computed_tokens=computed + sum(each.tokens for each in told),
            prefill_tokens=prefill + sum(each.prefill_tokens for each in told),
            busy_s=busy_s + sum(each.elapsed_ms for each in told) / 1000,
        )
        self.samples.append(sample)

    def _told(self, now_s: float) -> list[Iteration]:
        """Read what the engine has logged of its steps since the last time."""
        if self._log is None:
            return []
        try:
            with self._log.open("rb") as log:
                log.seek(self._log_at)
                new = log.read()
        except OSError:
            return []
        whole = new.rpartition(b"\n")[0] + b"\n" if b"\n" in new else b""
        self._log_at += len(whole)
        found = list(iterations(whole.decode(errors="replace")))
        self.steps.extend((now_s, each) for each in found)
        return found


def page_waits(page: Page) -> bool:
    """Return whether the engine says that anybody waits."""
    return page.total("vllm:num_requests_waiting") > 0


def on_top_of(base: Sample | None, sample: Sample) -> Sample:
    """Return a sample of a new process with what had been counted before it added."""
    if base is None:
        return sample
    added: dict[str, Any] = {}
    for each in fields(Sample):
        if each.name in GAUGES:
            continue
        before, now = getattr(base, each.name), getattr(sample, each.name)
        added[each.name] = (
            tuple(a + b for a, b in zip(before, now, strict=True))
            if isinstance(now, tuple)
            else before + now
        )
    return replace(sample, **added)
