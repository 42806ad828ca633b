"""The asyncio loop, in a thread of its own, that carries a world's streams and scrapes while others decide what is sent."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp

from labs.simulator.request import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Coroutine

logger = logging.getLogger(__name__)

PS_PER_NS = PS_PER_S // 1_000_000_000
CONNECT_S = 5.0
CLOSE_S = 5.0


@dataclass
class Clock:
    """Incident time of a live world: the wall clock, 0 at the page."""

    page_ns: int
    """``time.monotonic_ns`` of the page."""

    @classmethod
    def standing_at(cls, now_s: float) -> Clock:
        """Return a clock that shows ``now_s`` now."""
        return cls(time.monotonic_ns() - round(now_s * 1e9))

    def now_ps(self) -> int:
        """Return the time, picoseconds."""
        return (time.monotonic_ns() - self.page_ns) * PS_PER_NS

    def now_s(self) -> float:
        """Return the time, seconds."""
        return (time.monotonic_ns() - self.page_ns) / 1e9


class Strand:
    """One coroutine in the loop of a wire."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._over = threading.Event()
        loop.call_soon_threadsafe(self._begin, work)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            logger.error("a coroutine of a live world ended: %r", fault, exc_info=fault)
        self._over.set()

    def cancel(self) -> None:
        """Cancel it there; it may go on for a moment, see ``wait``."""
        with suppress(RuntimeError):  # The loop is closed, and all that ran in it was cancelled.
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def wait(self, within_s: float) -> bool:
        """Wait until nothing of it runs; False if it still does."""
        return self._over.wait(within_s)


class Wire:
    """A loop in a thread, and one HTTP client in it. ``close`` ends both."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="live-streams", daemon=True)
        self._thread.start()
        self.session: aiohttp.ClientSession = asyncio.run_coroutine_threadsafe(
            _client(), self._loop
        ).result(CLOSE_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def spawn(self, work: Coroutine[Any, Any, None]) -> Strand:
        """Run a coroutine in the loop. What it raises is logged."""
        return Strand(self._loop, work)

    def close(self) -> None:
        """Cancel all that runs, close the client, end the thread; what does not end by itself ends with the loop."""
        if self._loop.is_closed():
            return
        winding_up = asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop)
        with suppress(TimeoutError):
            winding_up.result(CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _wind_up(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.session.close()


async def _client() -> aiohttp.ClientSession:
    # A connection for each request: one that is kept may be closed by the server in the instant in which it is used.
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
    )
