"""One request to a real engine: sent, streamed token by token, and noted on the simulator's ``Request``.

A stream that ends oddly says how: refused with its status and body, broken off, given up by its client, or silent.
"""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any, Literal

import aiohttp

from labs.simulator.request import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.simulator.request import Request

FIRST_ID, LAST_ID = 6, 400
"""Token ids of prompts: past the special ones, within the vocabulary of the smallest model."""
OK = 200
KEPT_BODY = 2_000
COMPLETIONS = "/v1/completions"

type End = Literal["whole", "closed", "broken"]
"""How a stream ended: to its last token, closed since its user had gone, or neither."""
type Ask = Callable[[Request, str], tuple[str, dict[str, Any]]]
"""(a request, the model's name) -> the path and the body that its client sends."""


def token_ids(name: str, count: int) -> list[int]:
    """Return ``count`` token ids that follow from a name alone."""
    return random.Random(f"tokens:{name}").choices(range(FIRST_ID, LAST_ID), k=count)


def prompt_of(request: Request) -> list[int]:
    """Return the token ids of a request's prompt: the shared texts it begins with, then its own."""
    ids: list[int] = []
    for name, upto in request.prefix:
        ids += token_ids(name, upto)[len(ids) :]
    return ids + token_ids(request.request_id, request.prompt_tokens - len(ids))


def completion_body(request: Request, model: str) -> dict[str, Any]:
    """Return the body of a streamed completion of exactly ``max_tokens`` tokens, unless the context ends sooner."""
    had = token_ids(f"outputs:{request.request_id}", request.num_output_tokens)
    return {"prompt": prompt_of(request) + had, **asked(request, model)}


def asked(request: Request, model: str) -> dict[str, Any]:
    """Return what every body says beside its prompt.

    What a request has had before its engine was restarted is part of its prompt now, and is not asked for again.
    """
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": max(1, request.max_tokens - request.num_output_tokens),
        "ignore_eos": True,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.priority:
        body["priority"] = request.priority
    return body


def completion(request: Request, model: str) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of a request that sends token ids."""
    return COMPLETIONS, completion_body(request, model)


async def stream(
    session: aiohttp.ClientSession,
    url: str,
    body: dict[str, Any],
    request: Request,
    now_ps: Callable[[], int],
    *,
    heard: Callable[[int], None] = lambda at_ps: None,
    reads_on: Callable[[], bool] = lambda: False,
) -> None:
    """Send a request and follow its answer until it ends; everything seen is noted on ``request``.

    ``heard`` is told when each token came. ``reads_on`` is asked when its user closes the stream: whether the gateway
    goes on reading from the engine all the same, to the end. Never raises for what the engine does; cancelling the task closes the connection, as a client that leaves does.
    """
    request.status = Status.RUNNING
    end: End
    why = "stream broke off"
    try:
        async with session.post(url, json=body) as answer:
            request.http_status = answer.status
            if answer.status != OK:
                text = await answer.text()
                _ended(request, now_ps(), Status.ABORTED, "error", refusal=text[:KEPT_BODY])
                return
            end = await _read(answer, request, now_ps, heard, reads_on)
    except asyncio.CancelledError:
        request.client_left_ps = now_ps()
        _ended(request, request.client_left_ps, Status.ABORTED, "abort")
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        # What came is no event of a stream as vLLM writes it.
        end = "broken"
    except (aiohttp.ClientError, TimeoutError, OSError) as exc:
        if request.first_token_ps is None:
            request.http_status = 503
        end, why = "broken", type(exc).__name__
    if end == "whole":
        _ended(request, now_ps(), Status.FINISHED, "length")
    elif end == "closed" or request.is_cancelled:
        # Whatever becomes of a stream that its user has closed, nobody is told.
        _ended(request, now_ps(), Status.ABORTED, "abort")
    else:
        _ended(request, now_ps(), Status.ABORTED, "error", refusal=why)


def _ended(request: Request, at_ps: int, status: Status, reason: str, *, refusal: str = "") -> None:
    request.status = status
    request.finish_reason = reason
    request.finish_ps = at_ps
    request.refusal = refusal


async def _read(
    answer: aiohttp.ClientResponse,
    request: Request,
    now_ps: Callable[[], int],
    heard: Callable[[int], None],
    reads_on: Callable[[], bool],
) -> End:
    """Note each token as it comes, and when its user closes the stream; return how it ended."""
    had = request.num_output_tokens
    async for line in answer.content:
        if not line.startswith(b"data: "):
            continue
        data = line[6:].strip()
        if data == b"[DONE]":
            return "whole"
        event = json.loads(data)
        if "error" in event:
            request.http_status = int(event["error"].get("code") or 500)
            return "broken"
        usage = event.get("usage")
        if usage:
            request.num_output_tokens = had + int(usage["completion_tokens"])
        if event.get("choices") and "role" not in event["choices"][0].get("delta", {}):
            at_ps = now_ps()
            _token(request, at_ps)
            heard(at_ps)
            if request.is_cancelled and request.closed_ps is None:
                request.closed_ps = at_ps
                if not reads_on():
                    return "closed"
    return "broken"


def _token(request: Request, at_ps: int) -> None:
    request.num_output_tokens += 1
    if request.first_token_ps is None:
        request.first_token_ps = at_ps
    elif request.last_token_ps is not None:
        request.longest_gap_ps = max(request.longest_gap_ps, at_ps - request.last_token_ps)
    request.last_token_ps = at_ps
