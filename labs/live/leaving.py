"""An engine that was told to stop: when it is told, when it has gone, and what it answers meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labs.live import servers
from labs.simulator.http_answers import SERVER_ERROR
from labs.simulator.request import Status

if TYPE_CHECKING:
    from labs.simulator.request import Request

FLAG = "--shutdown-timeout"
LOOK_EVERY_S = 0.2
"""How often its port is tried."""
KEPT_S = 60.0
"""How long after its time a process may stay that has gone but for those who wait: then it is killed, and their streams
break off."""


@dataclass
class Leaving:
    """One engine on its way out.

    What ``--shutdown-timeout`` a vLLM runs with cannot be changed. One that is to have more time than it was started with
    gets it before SIGTERM: it is told once nothing runs on it, or once the time is over.
    """

    server: servers.Server
    shutdown_timeout_s: float
    began_at: float = field(default_factory=time.monotonic)
    is_told: bool = False
    looked_at: float = 0.0

    @property
    def started_with_s(self) -> float:
        """Return what it ends by itself, seconds after SIGTERM; vLLM's default is 0."""
        argv = self.server.launch.argv
        return float(argv[argv.index(FLAG) + 1]) if FLAG in argv else 0.0

    def may_be_told(self, unfinished: int) -> bool:
        """Return whether it is time for SIGTERM."""
        waited_s = time.monotonic() - self.began_at
        has_less = self.started_with_s < self.shutdown_timeout_s
        return not (has_less and unfinished and waited_s < self.shutdown_timeout_s)

    def tell(self) -> None:
        """Send SIGTERM, to the server alone."""
        self.is_told = True
        servers.tell_to_stop(self.server, within_s=self.started_with_s + KEPT_S)

    def is_gone(self) -> bool:
        """Return whether its port is closed, or its process has ended; looked at now and then."""
        if not self.server.is_alive:
            return True
        now = time.monotonic()
        if not self.is_told or now - self.looked_at < LOOK_EVERY_S:
            return False
        self.looked_at = now
        return not servers.is_open(self.server)


def has_ended(server: servers.Server) -> bool:
    """Return whether the process of a server that has gone has ended; what holds on to it is let go."""
    if server.is_alive:
        return False
    servers.stop(server)
    return True


def refused(request: Request, *, is_leaving: bool) -> None:
    """Make a 500 of an answer that ended without a token.

    To a stream that comes after SIGTERM vLLM 0.32 says 200, no token, and its end; to one that comes last of all, 500. The
    gateway, which waits for the first token before it says anything, says 500 to both.
    """
    is_empty = request.status is Status.FINISHED and request.first_token_ps is None
    if is_empty:
        request.status, request.finish_reason = Status.ABORTED, "error"
        request.http_status, request.refusal = SERVER_ERROR, "no token came"
    if is_leaving and request.http_status == SERVER_ERROR and request.first_token_ps is None:
        request.refusal = "shutting_down"
