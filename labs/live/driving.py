"""A given list of requests driven through a running engine, with the metrics scraped meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp

from labs.live.scraping import read, sample_of
from labs.live.streams import completion_body, stream
from labs.simulator.request import PS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.simulator.request import Request
    from labs.simulator.telemetry import Sample


@dataclass
class Drive:
    """What a drive saw. Times are seconds since its start."""

    requests: list[Request]
    samples: list[Sample] = field(default_factory=list)
    wall_s: float = 0.0
    tokens_ps: dict[str, list[int]] = field(default_factory=dict)
    """When each token came, by the id of its request; picoseconds."""


def drive(
    base_url: str,
    requests: Sequence[Request],
    *,
    model: str,
    scrape_every_s: float = 0.25,
    limit_s: float = 600.0,
) -> Drive:
    """Send each request at its ``arrival_s`` after now, follow all to their end, and return what was seen.

    Raises TimeoutError if they have not ended within ``limit_s``, OtherMetrics for a page that is not vLLM's.
    """
    return asyncio.run(_drive(base_url, requests, model, scrape_every_s, limit_s))


async def _drive(
    base_url: str, requests: Sequence[Request], model: str, every_s: float, limit_s: float
) -> Drive:
    found = Drive(list(requests))
    bodies = [completion_body(request, model) for request in requests]
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        began_ns = time.monotonic_ns()

        def now_ps() -> int:
            return (time.monotonic_ns() - began_ns) * (PS_PER_S // 1_000_000_000)

        async def scrape() -> None:
            async with session.get(f"{base_url}/metrics") as answer:
                text = await answer.text()
            found.samples.append(sample_of(read(text), now_ps() / PS_PER_S))

        async def scrapes() -> None:
            while True:
                await scrape()
                await asyncio.sleep(every_s)

        async def one(request: Request, body: dict[str, object]) -> None:
            await asyncio.sleep(max(0.0, request.arrival_s - now_ps() / PS_PER_S))
            came = found.tokens_ps.setdefault(request.request_id, [])
            url = f"{base_url}/v1/completions"
            await stream(session, url, body, request, now_ps, heard=came.append)

        await scrape()
        watching = asyncio.create_task(scrapes())
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.gather(*(one(r, b) for r, b in zip(requests, bodies, strict=True)))
            found.wall_s = now_ps() / PS_PER_S
            await scrape()
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
    found.samples.sort(key=lambda sample: sample.t_s)
    return found
