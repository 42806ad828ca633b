"""The two orders in which requests wait."""

import heapq
from collections import deque
from collections.abc import Iterator

from labs.simulator.request import Request


class FcfsQueue:
    """Waiting requests, first come first served; the preempted come back in front."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: deque[Request] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._queue)

    def add(self, request: Request) -> None:
        """Put a new request at the end."""
        self._queue.append(request)

    def put_back(self, request: Request) -> None:
        """Put a preempted request at the front."""
        self._queue.appendleft(request)

    def head(self) -> Request:
        """Return the next to be admitted."""
        return self._queue[0]

    def pop(self) -> Request:
        """Remove and return the next to be admitted."""
        return self._queue.popleft()

    def remove(self, request: Request) -> None:
        """Remove a request wherever it is."""
        self._queue.remove(request)


class PriorityQueue:
    """Waiting requests by priority, then arrival; the preempted take their place again."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, Request]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return (entry[-1] for entry in sorted(self._heap, key=lambda entry: entry[:3]))

    def add(self, request: Request) -> None:
        """Put a request where it belongs."""
        heapq.heappush(self._heap, (request.priority, request.arrival_ps, request.index, request))

    put_back = add

    def head(self) -> Request:
        """Return the next to be admitted."""
        return self._heap[0][-1]

    def pop(self) -> Request:
        """Remove and return the next to be admitted."""
        return heapq.heappop(self._heap)[-1]

    def remove(self, request: Request) -> None:
        """Remove a request wherever it is."""
        self._heap = [entry for entry in self._heap if entry[-1] is not request]
        heapq.heapify(self._heap)
