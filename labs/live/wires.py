"""The asyncio loop, in a thread of its own, that carries a world's streams and scrapes while others decide what is sent."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp

from labs.simulator.request import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Coroutine

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

    def spawn(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Run a coroutine in the loop. Cancelling the future cancels it there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel all that runs, close the client, end the thread."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop).result(CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        self._loop.close()

    async def _wind_up(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.session.close()


async def _client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
    )
