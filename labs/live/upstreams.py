"""What a gateway has under way at one replica: requests, the streams that carry them, and those that wait for an engine."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from labs.live import leaving
from labs.live.streams import stream
from labs.simulator.request import Request, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.live.streams import Ask
    from labs.live.wires import Clock, Strand, Wire

DROP_LIMIT_S = 2.0
"""For streams to end that are cut off."""


class Upstreams:
    """The requests of one replica, over all its processes."""

    def __init__(
        self,
        wire: Wire,
        clock: Callable[[], Clock],
        *,
        model: str,
        ask: Ask,
        passes_on: Callable[[Request], None],
        is_leaving: Callable[[], bool],
    ) -> None:
        """Make one without requests.

        ``passes_on`` is told of each that has ended, before anybody else; ``is_leaving`` says whether the engine has been told to stop.
        """
        self.requests: list[Request] = []
        """All that were handed over, in this order: a request's index is its place."""
        self.reads_on = False
        """Whether the gateway goes on reading what nobody waits for any more."""
        self._wire = wire
        self._clock = clock
        self._model = model
        self._ask = ask
        self._passes_on = passes_on
        self._is_leaving = is_leaving
        self._streams: dict[int, Strand] = {}
        self._ended: deque[Request] = deque()
        self._held: list[Request] = []
        """What is sent once an engine answers."""

    def hand_over(self, request: Request, base_url: str | None) -> None:
        """Send a request to an engine; where there is none, hold it until one answers."""
        request.index = len(self.requests)
        self.requests.append(request)
        self._send(request, base_url)

    def release(self, base_url: str | None) -> None:
        """Send what was held."""
        held, self._held = self._held, []
        for request in held:
            self._send(request, base_url)

    def _send(self, request: Request, base_url: str | None) -> None:
        if base_url is None:
            self._held.append(request)
            return
        path, body = self._ask(request, self._model)
        self._streams[request.index] = self._wire.spawn(
            self._follow(f"{base_url}{path}", body, request)
        )

    async def _follow(self, url: str, body: dict[str, Any], request: Request) -> None:
        def now_ps() -> int:
            return self._clock().now_ps()

        await stream(self._wire.session, url, body, request, now_ps, reads_on=lambda: self.reads_on)
        leaving.refused(request, is_leaving=self._is_leaving())
        self._passes_on(request)
        self._streams.pop(request.index, None)
        self._ended.append(request)

    def leave(self, request: Request) -> None:
        """Close the stream of a request: its client has gone. A gateway that reads on keeps it open."""
        if self.reads_on:
            return
        under_way = self._streams.pop(request.index, None)
        if under_way is not None:
            under_way.cancel()
        if request in self._held:
            self._held.remove(request)
        if request.finish_ps is None:
            request.status, request.finish_reason = Status.ABORTED, "abort"
            request.finish_ps = self._clock().now_ps()

    def hold_open(self) -> None:
        """Cut off every stream without its client's leaving, and hold what has not ended until an engine answers."""
        # Who streams from a server that has gone hears nothing of the next one.
        cut = {
            index: strand
            for index, strand in self._streams.items()
            if self.requests[index].status is not Status.STRANDED
        }
        left_ps = {each.index: each.client_left_ps for each in self.requests if each.index in cut}
        for strand in cut.values():
            strand.cancel()
        give_up_at = time.monotonic() + DROP_LIMIT_S
        for strand in cut.values():
            strand.wait(max(0.0, give_up_at - time.monotonic()))
        held = {request.index for request in self._held}
        for request in self.requests:
            if request.status is Status.STRANDED:
                continue
            was_cut = request.index in cut and request.client_left_ps is not None
            if request.index not in held and (was_cut or request.finish_ps is None):
                self._streams.pop(request.index, None)
                request.status, request.finish_reason = Status.PREEMPTED, None
                request.finish_ps = None
                request.client_left_ps = left_ps.get(request.index, request.client_left_ps)
                request.refusal, request.http_status = "", 200
                self._held.append(request)
        self._held.sort(key=lambda request: request.index)

    def strand(self) -> None:
        """Note that the server of all that is open has gone: no error and no end comes, until a client goes."""
        for request in self.open():
            request.status = Status.STRANDED

    def open(self) -> list[Request]:
        """Return the requests that have not ended, and whose server is there."""
        return [
            request
            for request in self.requests
            if request.finish_ps is None and request.status is not Status.STRANDED
        ]

    def take_ended(self) -> list[Request]:
        """Return the requests that have ended since the last call."""
        found: list[Request] = []
        while self._ended:
            found.append(self._ended.popleft())
        return found
